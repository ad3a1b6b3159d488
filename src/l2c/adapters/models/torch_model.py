"""A torch module as a black box, asked through the input it was trained on."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float64

from l2c.adapters.models.one_hot_input import OneHotInput
from l2c.core.blackbox import checked, of_second, plain_labels
from l2c.core.exponential import shares
from l2c.core.layout import Layout
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from torch import Tensor

BLOCK, LARGE_BLOCK = 1024, 4096
"""Rows a call: the last block is padded, so that an answer does not depend on the other rows."""

FEW_WEIGHTS = 1024
"""With no more weights than these a module answers sooner than it is called, and gets the large blocks."""


class TorchModel:
    """A torch classifier with the input it was trained on.

    Parameters
    ----------
    module
        Takes the matrix of `inputs`; a frozen copy of it, in evaluation mode, is used.
    inputs
        From rows to the module's input.
    classes
        The labels, in the order of the module's outputs. A single output is the second class.
    outputs
        Whether the module answers with `logits` or with `probabilities`.
    """

    labels_only = False
    threshold: float | None = None

    def __init__(
        self,
        module: Any,
        inputs: OneHotInput,
        classes: Sequence[Label] = (0, 1),
        outputs: Literal["logits", "probabilities"] = "logits",
    ) -> None:
        self.module = copy.deepcopy(module).eval().requires_grad_(False)
        self.inputs = inputs
        self.classes = plain_labels(classes)
        self.outputs = outputs
        weights = sum(weight.numel() for weight in self.module.parameters())
        self.block = BLOCK if weights > FEW_WEIGHTS else LARGE_BLOCK

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.proba_of_parts((cells,))

    def proba_of_parts(self, parts: Sequence[Cells]) -> Probabilities:
        """Return the same for rows that are given in parts, one after the other."""
        torch, rows = _torch(), sum(len(part) for part in parts)
        # One block for all, filled again and again: it stays near, where a matrix of all rows would not.
        block = np.empty((self.block, self.inputs.width), dtype=np.float32)
        matrix, told = torch.from_numpy(block), np.empty((0, 0))
        with torch.no_grad():
            for start in range(0, max(rows, 1), self.block):
                filled = 0
                for some in _of_block(parts, start, self.block):
                    self.inputs.encoder.fill(block[filled:], some)
                    filled += len(some)
                block[filled:] = 0.0
                answer = self._asked(matrix)
                if not start:
                    told = np.empty((rows, answer.shape[1]))
                told[start : start + filled] = answer.numpy()[:filled]
        return checked(self._probabilities(told), rows, len(self.classes))

    def _probabilities(self, answer: Float64[np.ndarray, "rows outputs"]) -> Probabilities:
        """Return the probability of each class, from the module's outputs."""
        if self.outputs == "logits" and answer.shape[1] > 1:
            return np.asarray(_torch().from_numpy(answer).softmax(dim=1))
        if answer.shape[1] > 1:
            return answer
        # torch rounds the sigmoid of the last few numbers of an array otherwise than that of the others.
        return of_second(shares(answer[:, 0]) if self.outputs == "logits" else answer[:, 0])

    def differentiable(self, layout: Layout) -> DifferentiableModule:
        """Return the same model for soft rows, with gradients."""
        return DifferentiableModule(self, layout)

    def _logits(self, matrix: Any) -> Any:
        return self._as_logits(self._both(self._asked(matrix)))

    def _as_logits(self, answer: Any) -> Any:
        if self.outputs == "logits":
            return answer
        # The logarithm of 0 has no gradient.
        return answer.clamp_min(_torch().finfo(answer.dtype).tiny).log()

    def _asked(self, matrix: Any) -> Any:
        """Return the module's outputs for a matrix, in columns."""
        try:
            answer = self.module(matrix)
        except Exception as error:
            raise ModelError(f"the module raised {type(error).__name__}: {error}") from error
        return self._in_columns(answer, matrix.shape[0])

    def scores_of(self, answer: Any) -> Any:
        """Return a score for each class, whose softmax are the probabilities, from what the module's layers answer."""
        return self._as_logits(self._both(self._in_columns(answer, answer.shape[0])))

    def _both(self, answer: Any) -> Any:
        """Return the outputs with a column for each class, also where the module has one for the second alone."""
        if answer.shape[1] > 1:
            return answer
        torch = _torch()
        first = torch.zeros_like(answer) if self.outputs == "logits" else 1 - answer
        return torch.cat([first, answer], dim=1)

    def _in_columns(self, answer: Any, rows: int) -> Any:
        """Return the module's outputs as a matrix."""
        torch = _torch()
        if not torch.is_tensor(answer):
            raise ModelError(f"the module answered with a {type(answer).__name__}, not a tensor")
        if answer.ndim == 1:
            answer = answer[:, None]
        if answer.ndim != 2 or answer.shape[0] != rows:
            raise ModelError(f"the module answered {rows} rows with shape {tuple(answer.shape)}")
        return answer


@dataclass(frozen=True, slots=True, eq=False)
class DifferentiableModule:
    """A torch model asked with soft rows: numeric features by value, the others by relaxed one-hot."""

    model: TorchModel
    layout: Layout

    def logits(self, values: Tensor, one_hot: Tensor) -> Tensor:
        """Return class logits; the module's input is put together as `OneHotInput` does for hard rows."""
        torch, encoder = _torch(), self.model.inputs.encoder
        parts = []
        for i, (feature, axis) in enumerate(zip(self.layout.schema.features, self.layout.axes, strict=True)):
            start = int(self.layout.offsets[i])
            if feature.numeric:
                missing = one_hot[:, start + axis.known : start + axis.size]
                known = 1 - missing.sum(dim=1, keepdim=True)
                parts += [
                    (values[:, i : i + 1] - float(encoder.mean[i]) * known) / float(encoder.scale[i]),
                    missing,
                ]
            else:
                parts.append(one_hot[:, start : start + axis.size])
        answer: Tensor = self.model._logits(torch.cat(parts, dim=1))
        return answer


def _of_block(parts: Sequence[Cells], start: int, size: int) -> Iterator[Cells]:
    """Yield what lies in a block of rows that are given in parts."""
    for part in parts:
        some = part[max(start, 0) : max(start + size, 0)]
        if len(some):
            yield some
        start -= len(part)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:  # pragma: no cover - a torch module cannot exist without torch
        raise MissingExtraError("a torch model", "torch", "fit") from error
    return torch
