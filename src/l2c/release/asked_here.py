"""A black box that is asked in one thread alone, whoever asks."""

from __future__ import annotations

from dataclasses import dataclass

from l2c.core.blackbox import Around, BlackBox
from l2c.core.threads import Here
from l2c.core.types import Cells, Probabilities


@dataclass(frozen=True, slots=True, eq=False)
class AskedHere(Around):
    """A black box whose questions are handed to the thread that waits for all parts of a batch.

    A model may know threads apart: by what it keeps for each, or by settings that hold in one. And few can be asked two
    questions at once.
    """

    blackbox: BlackBox
    here: Here

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.here(lambda: self.blackbox.proba(cells))
