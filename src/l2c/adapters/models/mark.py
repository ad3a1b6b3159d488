"""By what a file recognises the model that it was made with: its frames and classes, how it decides, its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.deciding import decided, range_of
from l2c.adapters.models.watch import probe_steadiness
from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.fingerprint import fingerprint, probe_rows, same_model
from l2c.core.layout import Layout
from l2c.core.number_range import NumberRange
from l2c.core.types import Label, Probabilities
from l2c.errors import OtherModelError


@dataclass(frozen=True, slots=True, eq=False)
class ModelMark:
    """A model's frames, classes and fingerprint.

    `threshold` and `wanted` say how its answer becomes a decision, where that is not by the likeliest class: by the
    probability of the second, or by a range of the number that it predicts.
    """

    shape: FrameShape
    classes: tuple[Label, ...]
    fingerprint: Probabilities
    threshold: float | None = None
    wanted: NumberRange | None = None

    @classmethod
    def of(cls, blackbox: BlackBox, shape: FrameShape, layout: Layout) -> ModelMark:
        """Return the mark of a model that was just explained."""
        answers = fingerprint(blackbox, layout)
        return cls(shape, blackbox.classes, answers, threshold_of(blackbox), range_of(blackbox))

    def recognise(self, model: object, layout: Layout, where: str) -> BlackBox:
        """Return the model as a black box, or raise if it is another than the one that was marked."""
        probes = probe_rows(layout)
        blackbox = decided(model, self.shape, probes[:1], threshold=self.threshold, wanted=self.wanted)
        if blackbox.classes != self.classes:
            raise OtherModelError(
                f"{where} was made with a model of the classes {self.classes}, not {blackbox.classes}"
            )
        if not same_model(self.fingerprint, fingerprint(blackbox, layout)):
            # A model that never answers alike is not another one: it is broken.
            probe_steadiness(blackbox, probes)
            raise OtherModelError(f"{where} was made with another model: this one answers its probe rows differently")
        return blackbox

    def to_dict(self) -> dict[str, object]:
        """Return the mark as plain data; the schema is kept apart."""
        data: dict[str, object] = {
            "shape": self.shape.to_dict(),
            "classes": list(self.classes),
            "fingerprint": self.fingerprint.tolist(),
        }
        if self.threshold is not None:
            data["threshold"] = self.threshold
        return data if self.wanted is None else data | {"range": self.wanted.to_dict()}

    @classmethod
    def from_dict(cls, layout: Layout, data: Mapping[str, Any]) -> ModelMark:
        """Return the mark that `to_dict` wrote for this layout."""
        shape = FrameShape.from_dict(layout.schema, data["shape"])
        wanted = None if "range" not in data else NumberRange.from_dict(data["range"])
        answers = np.array(data["fingerprint"], dtype=np.float64)
        return cls(shape, tuple(data["classes"]), answers, data.get("threshold"), wanted)
