"""A black box that is asked in one thread alone, whoever asks."""

from __future__ import annotations

from dataclasses import dataclass

from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.threads import Here
from l2c.core.types import Cells, Label, Probabilities


@dataclass(frozen=True, slots=True, eq=False)
class AskedHere:
    """A black box whose questions are handed to the thread that waits for all parts of a batch.

    A model may know threads apart: by what it keeps for each, or by settings that hold in one. And few can be asked two
    questions at once.
    """

    blackbox: BlackBox
    here: Here

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.blackbox.classes

    @property
    def threshold(self) -> float | None:
        """The probability above which the second of two classes is decided."""
        return threshold_of(self.blackbox)

    @property
    def labels_only(self) -> bool:
        """Whether the model names a class and no more."""
        return bool(getattr(self.blackbox, "labels_only", False))

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.here(lambda: self.blackbox.proba(cells))
