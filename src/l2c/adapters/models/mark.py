"""By what a file recognises the model that it was made with: the frames it takes, its classes, its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from l2c.adapters.frames import FrameShape
from l2c.adapters.models import as_blackbox
from l2c.core.blackbox import BlackBox
from l2c.core.fingerprint import fingerprint, probe_rows, same_model
from l2c.core.layout import Layout
from l2c.core.types import Label, Probabilities
from l2c.errors import OtherModelError


@dataclass(frozen=True, slots=True, eq=False)
class ModelMark:
    """A model's frames, classes and fingerprint."""

    shape: FrameShape
    classes: tuple[Label, ...]
    fingerprint: Probabilities

    @classmethod
    def of(cls, blackbox: BlackBox, shape: FrameShape, layout: Layout) -> ModelMark:
        """Return the mark of a model that was just explained."""
        return cls(shape, blackbox.classes, fingerprint(blackbox, layout))

    def recognise(self, model: object, layout: Layout, where: str) -> BlackBox:
        """Return the model as a black box, or raise if it is another than the one that was marked."""
        blackbox = as_blackbox(model, self.shape, probe_rows(layout)[:1])
        if blackbox.classes != self.classes:
            raise OtherModelError(
                f"{where} was made with a model of the classes {self.classes}, not {blackbox.classes}"
            )
        if not same_model(self.fingerprint, fingerprint(blackbox, layout)):
            raise OtherModelError(f"{where} was made with another model: this one answers its probe rows differently")
        return blackbox

    def to_dict(self) -> dict[str, object]:
        """Return the mark as plain data; the schema is kept apart."""
        return {
            "shape": self.shape.to_dict(),
            "classes": list(self.classes),
            "fingerprint": self.fingerprint.tolist(),
        }

    @classmethod
    def from_dict(cls, layout: Layout, data: Mapping[str, Any]) -> ModelMark:
        """Return the mark that `to_dict` wrote for this layout."""
        shape = FrameShape.from_dict(layout.schema, data["shape"])
        return cls(shape, tuple(data["classes"]), np.array(data["fingerprint"], dtype=np.float64))
