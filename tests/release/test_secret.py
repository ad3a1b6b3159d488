"""The secret of a bundle tells copies of training rows, holds none of them, and decides draws."""

from __future__ import annotations

import numpy as np

from l2c.release.secret import Secret


def test_copies_are_exactly_the_rows_that_were_there():
    rng = np.random.default_rng(0)
    rows, others = (rng.integers(0, 3, (400, 6)).astype(np.int16) for _ in range(2))
    known = {tuple(row) for row in rows.tolist()}
    expected = [tuple(row) in known for row in others.tolist()]
    assert 0 < sum(expected) < len(expected)
    assert Secret.of(rows, rng.bytes(32)).copies(others).tolist() == expected


def test_a_secret_is_not_printed():
    assert repr(Secret.of(np.zeros((1, 2), dtype=np.int16), bytes(range(32)))) == "Secret()"


def test_no_training_rows_have_no_copies():
    secret = Secret.of(np.empty((0, 2), dtype=np.int16), bytes(32))
    assert secret.copies(np.zeros((3, 2), dtype=np.int16)).tolist() == [False] * 3


def test_the_key_decides_the_hashes_and_the_draws():
    rows = np.arange(12, dtype=np.int16).reshape(6, 2)
    one, again, other = (Secret.of(rows, bytes([byte]) * 32) for byte in (1, 1, 2))
    assert one.hashes.tolist() == again.hashes.tolist()
    assert one.seed == again.seed
    assert not np.isin(one.hashes, other.hashes).any()
    assert one.seed != other.seed


def test_the_half_of_the_key_that_draws_does_not_hash():
    rows = np.arange(12, dtype=np.int16).reshape(6, 2)
    one, other = (Secret.of(rows, bytes(16) + bytes([byte]) * 16) for byte in (1, 2))
    assert one.hashes.tolist() == other.hashes.tolist()
    assert one.seed != other.seed
