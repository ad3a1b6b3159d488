"""What a bundle keeps for privacy's sake: a secret key, and under it the hashes of the rows that were learned from.

It holds no row. Who has the hashes alone learns how many different rows there were. Who has the key too can test any
guess: whether some combination of levels was among the training rows. Keep it as safe as those rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import UInt64

from l2c.core.keyed import KEY_BYTES, keyed_hash, level_words
from l2c.core.types import Levels, Mask

SECRET_BYTES = 2 * KEY_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Secret:
    """A secret key, and the sorted hashes of the training rows by level.

    Examples
    --------
    >>> rows = np.array([[0, 1], [2, 1], [0, 1]], dtype=np.int16)
    >>> secret = Secret.of(rows, key=bytes(32))
    >>> len(secret.hashes), secret.copies(np.array([[2, 1], [1, 2]], dtype=np.int16)).tolist()
    (2, [True, False])
    """

    key: bytes = field(repr=False)
    hashes: UInt64[np.ndarray, " rows"] = field(repr=False)

    @classmethod
    def of(cls, levels: Levels, key: bytes) -> Secret:
        """Return the secret of training rows, given by level, under a key of `SECRET_BYTES`."""
        return cls(key, np.unique(keyed_hash(level_words(levels), key[:KEY_BYTES])))

    def copies(self, levels: Levels) -> Mask:
        """Return which rows equal a training row in every level; one in 10¹⁸ may be told to that does not."""
        if not len(self.hashes):
            return np.zeros(len(levels), dtype=bool)
        found = keyed_hash(level_words(levels), self.key[:KEY_BYTES])
        place = np.searchsorted(self.hashes, found)
        return np.asarray(self.hashes[np.minimum(place, len(self.hashes) - 1)] == found)

    @property
    def seed(self) -> int:
        """What decides the draws where no caller may: 64 bits that nobody knows without the key."""
        digest = hashlib.blake2b(key=self.key[KEY_BYTES:], digest_size=8, person=b"l2c draws").digest()
        return int.from_bytes(digest, "little")

    def mark(self, content: bytes) -> str:
        """Return a hash by which content is recognised, and by which nobody without the key can test a guess."""
        return hashlib.blake2b(content, key=self.key[KEY_BYTES:], digest_size=16, person=b"l2c mark").hexdigest()
