"""Random numbers by row, seed and position."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from l2c.core.streams import Streams, row_keys, scramble
from tables import SEEDS

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15

TABLES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.floats(-1e6, 1e6) | st.just(np.nan)
)


def slow_scramble(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


@given(st.lists(st.integers(0, MASK), min_size=1, max_size=20))
def test_words_are_mixed_as_splitmix64_says(words):
    mixed = scramble(np.array(words, dtype=np.uint64))
    assert [int(word) for word in mixed] == [slow_scramble(word) for word in words]


def test_a_stream_is_splitmix64_from_its_key():
    # The published first outputs of SplitMix64 from state 0.
    words = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    drawn = Streams(np.array([0], dtype=np.uint64)).draws(np.array([0]), 3, each=2)
    assert drawn.tolist() == [[[word & 0xFFFFFFFF, word >> 32] for word in words]]


@given(TABLES, SEEDS)
def test_equal_rows_have_equal_keys_wherever_they_stand(table, seed):
    twice = np.concatenate([table, table[::-1]])
    keys = row_keys(twice, seed)
    assert (keys[: len(table)] == row_keys(table, seed)).all()
    assert (keys[len(table) :] == row_keys(table, seed)[::-1]).all()


def test_a_key_depends_on_the_seed_every_cell_and_their_order():
    table = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0], [np.nan, 2.0], [1.0, np.nan]])
    keys = np.concatenate([row_keys(table, seed) for seed in (0, 1, -1, 2**64 - 2)])
    assert len(set(keys.tolist())) == len(keys)


def test_a_seed_of_any_size_and_sign_counts_modulo_two_to_the_64():
    table = np.array([[1.0, 2.0]])
    assert row_keys(table, -1) == row_keys(table, 2**64 - 1)
    assert row_keys(table, 2**64 + 5) == row_keys(table, 5)


def test_negative_zero_is_zero_and_every_nan_is_one():
    odd_nan = np.array([0x7FF8000000000ABC], dtype=np.uint64).view(np.float64)[0]
    keys = row_keys(np.array([[0.0, np.nan], [-0.0, odd_nan]]), 3)
    assert keys[0] == keys[1]


@given(TABLES, SEEDS, st.integers(1, 5), st.data())
def test_a_draw_is_found_by_its_position_alone(table, seed, each, data):
    streams = Streams.for_rows(table, seed)
    all_draws = streams.draws(np.zeros(len(table), dtype=np.int64), 12, each)
    first = np.array(data.draw(st.lists(st.integers(0, 8), min_size=len(table), max_size=len(table))))
    count = data.draw(st.integers(1, 4))
    windows = streams.draws(first, count, each)
    for row, begin in enumerate(first.tolist()):
        assert (windows[row] == all_draws[row, begin : begin + count]).all()


@given(TABLES, SEEDS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_a_row_draws_the_same_in_any_company(table, seed, each, shuffle):
    order = list(range(len(table)))
    shuffle.shuffle(order)
    first = np.zeros(len(table), dtype=np.int64)
    together = Streams.for_rows(table, seed).draws(first, 3, each)
    shuffled = Streams.for_rows(table[order], seed).draws(first, 3, each)
    taken = Streams.for_rows(table, seed).take(np.array(order)).draws(first, 3, each)
    assert (shuffled == together[order]).all()
    assert (taken == together[order]).all()
    alone = Streams.for_rows(table[:1], seed).draws(first[:1], 3, each)
    assert (alone == together[:1]).all()


@pytest.mark.parametrize("each", [1, 2, 3])
def test_draws_are_uniform_and_streams_of_similar_rows_unrelated(each):
    rows = np.arange(400, dtype=np.float64)[:, None]
    drawn = Streams.for_rows(rows, 11).draws(np.zeros(400, dtype=np.int64), 60, each)
    assert drawn.shape == (400, 60, each)
    assert drawn.dtype == np.uint32
    counts = np.bincount((drawn >> np.uint32(28)).ravel(), minlength=16)
    expected = drawn.size / 16
    assert ((counts - expected) ** 2 / expected).sum() < 45  # chi-square, 15 degrees of freedom: p about 1e-4
    shares = drawn.astype(np.float64) / 2**32
    correlation = np.corrcoef(shares.reshape(400, -1)[:, : 60 * each].T)
    off_diagonal = correlation[~np.eye(len(correlation), dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.3  # six standard deviations of 1/√400
    between_rows = np.corrcoef(shares[:-1].ravel(), shares[1:].ravel())[0, 1]
    assert abs(between_rows) < 6 / np.sqrt(drawn.size)


def test_drawing_leaves_the_global_random_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    Streams.for_rows(np.ones((3, 2)), 1).draws(np.zeros(3, dtype=np.int64), 5, 4)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
