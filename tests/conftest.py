"""Settings for every test."""

import faulthandler
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, and no clock: two busy cores must not fail a test.
settings.register_profile(
    "l2c", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("l2c")


@pytest.fixture
def no_waiting_for_ever() -> Iterator[None]:
    """End the process, with where it stands, should a thread wait for another for good."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
