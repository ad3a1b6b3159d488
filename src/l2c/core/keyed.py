"""A keyed hash of many rows at once: SipHash-2-4 (Aumasson and Bernstein 2012), a word at a time for all rows together.

Without the key nobody can tell which row a hash is of, nor make two rows that share one. It is a hash for a batch: a
million rows of a few words take a fraction of a second.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import UInt64

from l2c.core.types import Levels

KEY_BYTES = 16

Words = UInt64[np.ndarray, " rows"]

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def level_words(levels: Levels) -> UInt64[np.ndarray, "rows words"]:
    """Return rows of levels as 64-bit words, four features in each.

    >>> [hex(word) for word in level_words(np.array([[1, 2, 3, 4, 5]], dtype=np.int16))[0].tolist()]
    ['0x4000300020001', '0x5']
    """
    rows, features = levels.shape
    padded = np.zeros((rows, -(-features // 4) * 4), dtype="<i2")
    padded[:, :features] = levels
    return padded.view("<u8").astype(np.uint64, copy=False)


def keyed_hash(words: UInt64[np.ndarray, "rows words"], key: bytes) -> Words:
    """Return SipHash-2-4 of each row of words under a key of 16 bytes.

    >>> hex(keyed_hash(np.array([[0x0706050403020100]], dtype=np.uint64), bytes(range(16)))[0])
    '0x93f5f5799a932462'
    """
    halves = np.frombuffer(key, dtype="<u8")
    state = [np.full(len(words), np.uint64(word) ^ halves[i % 2]) for i, word in enumerate(_START)]
    length = np.full(len(words), np.uint64((8 * words.shape[1] % 256) << 56))
    for word in (*words.T, length):
        state[3] = state[3] ^ word
        for _ in range(2):
            _round(state)
        state[0] = state[0] ^ word
    state[2] = state[2] ^ np.uint64(0xFF)
    for _ in range(4):
        _round(state)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _round(state: list[Words]) -> None:
    """Mix the four words of every row's state, in place; overflow is part of it."""
    a, b, c, d = state
    a, c = a + b, c + d
    b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
    a, c = _turned(a, 32) + d, c + b
    d, b = _turned(d, 21) ^ a, _turned(b, 17) ^ c
    state[:] = a, b, _turned(c, 32), d


def _turned(words: Words, bits: int) -> Words:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)))
