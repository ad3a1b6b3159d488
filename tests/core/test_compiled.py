"""Compiled loops, where there is a compiler."""

from __future__ import annotations

import numpy as np
import pytest

from l2c.core.compiled import Compiled, compiles


@Compiled
def doubled(number: int) -> int:
    """Return twice a number."""
    return 2 * number


@Compiled
def total_of_doubles(numbers: np.ndarray) -> int:
    total = 0
    for number in numbers:
        total += doubled(number)
    return total


def test_a_loop_keeps_its_name_and_its_plain_self():
    assert doubled.__name__ == "doubled"
    assert doubled.__doc__ == "Return twice a number."
    assert doubled.plain(4) == 8


def test_compiled_loops_call_each_other():
    if not compiles():
        pytest.skip("numba is not installed")
    assert total_of_doubles(np.arange(5)) == 20
    assert doubled(21) == 42
    assert len(total_of_doubles.fast.signatures) == 1
