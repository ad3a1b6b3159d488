"""How many threads may work at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from l2c.app import processors
from l2c.app.processors import threads
from l2c.errors import InputError


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"L2C_THREADS": "5"}, 5),
        ({"L2C_THREADS": "40"}, 40),
        ({"OMP_NUM_THREADS": "2"}, 2),
        ({"OMP_NUM_THREADS": " 3,1"}, 3),
        ({"OMP_NUM_THREADS": "99"}, processors.MOST),
        ({"OMP_NUM_THREADS": "many"}, 6),
        ({"OMP_NUM_THREADS": "0"}, 6),
        ({}, 6),
    ],
)
def test_the_environment_says_threads(told: dict[str, str], expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "processors", lambda: 6)
    assert threads(told) == expected


@pytest.mark.parametrize("told", ["0", "-1", "two", "1.5", ""])
def test_what_is_no_number_of_threads_is_refused(told: str) -> None:
    with pytest.raises(InputError, match="L2C_THREADS must be a whole number above 0"):
        threads({"L2C_THREADS": told})


@pytest.mark.parametrize(
    ("told", "expected"),
    [("max 100000", 12), ("300000 100000", 3), ("50000 100000", 1), ("9900000 100000", 12), ("", 12), (None, 12)],
)
def test_a_container_uses_no_more_than_it_may(
    told: str | None, expected: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quota = tmp_path / "cpu.max"
    if told is not None:
        quota.write_text(told)
    monkeypatch.setattr(processors, "QUOTA", quota)
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    assert processors.processors.__wrapped__() == expected
