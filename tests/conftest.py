"""Settings for every test."""

from hypothesis import HealthCheck, settings

# The same examples every time, and no clock: two busy cores must not fail a test.
settings.register_profile(
    "l2c", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("l2c")
