"""The keyed hash is SipHash-2-4, and words of levels tell rows apart."""

from __future__ import annotations

import numpy as np
import pytest

from l2c.core.keyed import keyed_hash, level_words

MASK = (1 << 64) - 1


def siphash_by_hand(message: bytes, key: bytes) -> int:
    """Return SipHash-2-4 of a message, as its authors describe it: one byte string, plain integers."""

    def turned(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (64 - bits))) & MASK

    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v0, v1, v2, v3 = (
        k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573,
    )  # fmt: skip

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0 = (v0 + v1) & MASK
            v1 = turned(v1, 13) ^ v0
            v0 = turned(v0, 32)
            v2 = (v2 + v3) & MASK
            v3 = turned(v3, 16) ^ v2
            v0 = (v0 + v3) & MASK
            v3 = turned(v3, 21) ^ v0
            v2 = (v2 + v1) & MASK
            v1 = turned(v1, 17) ^ v2
            v2 = turned(v2, 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def test_the_version_by_hand_gives_the_authors_own_example():
    assert siphash_by_hand(bytes(range(15)), bytes(range(16))) == 0xA129CA6149BE45E5


@pytest.mark.parametrize("words", [1, 2, 5, 33])
def test_the_hash_of_a_batch_is_that_of_each_row(words):
    rng = np.random.default_rng(words)
    rows, key = rng.integers(0, 2**64, (20, words), dtype=np.uint64), rng.bytes(16)
    expected = [siphash_by_hand(row.astype("<u8").tobytes(), key) for row in rows]
    assert keyed_hash(rows, key).tolist() == expected


def test_another_key_gives_another_hash():
    rows = np.arange(100, dtype=np.uint64)[:, None]
    assert not np.isin(keyed_hash(rows, bytes(16)), keyed_hash(rows, bytes(15) + b"\x01")).any()


@pytest.mark.parametrize("features", [1, 3, 4, 5, 12])
def test_words_of_levels_are_equal_only_where_all_levels_are(features):
    levels = np.random.default_rng(features).integers(0, 300, (500, features)).astype(np.int16)
    words = level_words(levels)
    assert words.shape == (500, -(-features // 4))
    assert len(np.unique(words, axis=0)) == len(np.unique(levels, axis=0))


def test_no_rows_have_no_hashes():
    assert keyed_hash(level_words(np.empty((0, 5), dtype=np.int16)), bytes(16)).shape == (0,)
