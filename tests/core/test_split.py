"""The dev split: a fifth of the rows, by the seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.split import dev_rows


@given(st.integers(0, 5000), st.integers(0, 2**32 - 1))
def test_a_whole_fifth_of_any_number_of_rows_is_held_out(count, seed):
    held_out = dev_rows(count, seed)
    assert held_out.dtype == bool
    assert len(held_out) == count
    assert sum(held_out.tolist()) == count // 5


def test_another_seed_holds_out_other_rows_and_the_same_seed_the_same():
    assert dev_rows(800, 0).tolist() == dev_rows(800, 0).tolist()
    assert dev_rows(800, 0).tolist() != dev_rows(800, 1).tolist()


def test_over_many_seeds_every_row_has_its_turn():
    turns = sum(dev_rows(20, seed).astype(int) for seed in range(500))
    # Five hundred turns at one in five: 100 ± 9; five of those is never.
    assert min(turns) > 55
    assert max(turns) < 145


def test_holding_out_touches_no_global_random_state():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    dev_rows(50, 0)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize("count", [0, 1, 4])
def test_of_fewer_than_five_rows_none_is_held_out(count):
    assert not dev_rows(count, 0).any()
