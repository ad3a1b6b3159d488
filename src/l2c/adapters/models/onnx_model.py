"""An ONNX classifier, asked through onnxruntime on the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.columns import decoded, family, numbers
from l2c.adapters.frames.stored import whole
from l2c.adapters.frames.storing import to_arrow
from l2c.adapters.models.columns import all_columns, column_named
from l2c.adapters.models.frame_model import FrameModel, asked, two_columns
from l2c.adapters.models.labels import listed, one_hot
from l2c.core.blackbox import plain_labels
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import InputError, MissingExtraError, ModelError, nearest

TEXT = "tensor(string)"
FRACTIONS: dict[str, Any] = {"tensor(float)": np.float32, "tensor(double)": np.float64}
WHOLE: dict[str, Any] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
MAPPINGS = "seq(map("

TIE = 1e-6
"""How far a labelled class may be from the most probable one: rounding, not disagreement."""


class OnnxModel:
    """A classifier in the ONNX format.

    Its inputs are one for each column, by the column's name, or one matrix of all columns in the frame's order. It
    answers with probabilities, as a matrix or as a mapping for each row, with labels beside them or not; or with
    labels alone.

    Parameters
    ----------
    source
        The path of a file, or its bytes.
    classes
        The labels, in the order of the probabilities. A model that answers with mappings tells them itself; whole
        numbers from 0 on are assumed where the labels agree with that; others must be named.
    threads
        How many threads work on one question. With one, a row's answer depends on no other row, and no thread
        spins while it waits for the next question.
    """

    def __init__(self, source: str | Path | bytes, classes: Sequence[Label] | None = None, *, threads: int = 1) -> None:
        self.session = _session(source, threads)
        self.named = None if classes is None else plain_labels(classes)

    def blackbox(self, shape: FrameShape, examples: Cells) -> FrameModel:
        """Return the model as a black box for frames of this shape."""
        feed, outputs = _feed(self.session.get_inputs(), shape), _outputs(self.session.get_outputs())

        def ask(frame: Any) -> _Answer:
            return _read(outputs, self.session.run([output.name for output in outputs], feed(to_arrow(frame))))

        first = asked(ask, shape.build(examples))
        classes, guessed = first.classes(self.named), self.named is None
        return FrameModel(
            lambda frame: ask(frame).probabilities(classes, guessed), shape, classes, labels_only=first.proba is None
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What the model says of some rows: probabilities, by named columns or not, and labels, where it has them."""

    proba: np.ndarray | None = None
    names: tuple[Label, ...] | None = None
    labels: np.ndarray | None = None

    def classes(self, named: tuple[Label, ...] | None) -> tuple[Label, ...]:
        """Return the model's classes: those that the user or the model names, or 0, 1, …."""
        if self.names is not None:
            if named is not None and set(named) != set(self.names):
                raise InputError(f"the ONNX model's classes are {listed(self.names)}, not {listed(named)}")
            return named or self.names
        if named is not None:
            return named
        if self.proba is None or (self.labels is not None and self.labels.dtype.kind not in "biu"):
            raise InputError(
                "the ONNX model does not tell its classes: name them, in the order of its probabilities, "
                "as in OnnxModel(path, classes=('bad', 'good'))"
            )
        return tuple(range(self.proba.shape[1]))

    def probabilities(self, classes: tuple[Label, ...], guessed: bool) -> Probabilities:
        """Return the probability of each class; classes that were only guessed must fit the labels."""
        if self.proba is None:
            return one_hot(np.asarray(self.labels), classes)
        if self.names is not None:
            return self.proba[:, [self.names.index(label) for label in classes]]
        if guessed and self.labels is not None:
            _same(self.labels, self.proba, classes)
        return self.proba


def _same(labels: np.ndarray, proba: Probabilities, classes: tuple[Label, ...]) -> None:
    chosen = np.isin(labels, classes)
    if chosen.all():
        chosen = (proba * one_hot(labels, classes)).sum(axis=1) >= proba.max(axis=1) - TIE
    if not chosen.all():
        raise ModelError(
            "the ONNX model's labels are not the places of its probabilities: name its classes, in the order of its "
            "probabilities, as in OnnxModel(path, classes=(1, 2))"
        )


def _outputs(outputs: Sequence[Any]) -> list[Any]:
    """Return the outputs that hold probabilities and labels, the first of each."""
    proba = [output for output in outputs if output.type in FRACTIONS or output.type.startswith(MAPPINGS)]
    labels = [output for output in outputs if output.type == TEXT or output.type in WHOLE]
    if not proba and not labels:
        told = ", ".join(f"{output.name!r} ({output.type})" for output in outputs)
        raise InputError(f"the ONNX model answers with neither probabilities nor labels: {told}")
    return proba[:1] + labels[:1]


def _read(outputs: Sequence[Any], values: Sequence[Any]) -> _Answer:
    found = dict(zip((output.type for output in outputs), values, strict=True))
    labels = next((value for kind, value in found.items() if kind == TEXT or kind in WHOLE), None)
    for kind, value in found.items():
        if kind in FRACTIONS:
            return _Answer(two_columns(value), None, labels)
        if kind.startswith(MAPPINGS):
            # The runtime makes them row by row, each with the same keys in the same order.
            names = tuple(value[0]) if value else ()
            return _Answer(np.array([[*row.values()] for row in value]).reshape(-1, len(names)), names, labels)
    return _Answer(labels=labels)


def _feed(inputs: Sequence[Any], shape: FrameShape) -> Callable[[pa.Table], dict[str, np.ndarray]]:
    """Return the function from a table to what the model's inputs take."""
    taken = _columns(inputs, shape)
    for each in inputs:
        if each.type != TEXT and each.type not in FRACTIONS and each.type not in WHOLE:
            raise InputError(f"the ONNX model's input {each.name!r} takes {each.type}, not numbers or texts")

    def fed(table: pa.Table) -> dict[str, np.ndarray]:
        return {
            each.name: np.column_stack([_values(table, name, each.type) for name in taken[each.name]]).reshape(
                (-1,) if len(each.shape) == 1 else (len(table), len(taken[each.name]))
            )
            for each in inputs
        }

    return fed


def _columns(inputs: Sequence[Any], shape: FrameShape) -> dict[str, list[str]]:
    """Return the columns that each input takes: its namesake, or all of them in a single matrix."""
    there = [name for name, _ in shape.columns]
    found = {each.name: column_named(each.name, there) for each in inputs}
    if len(inputs) == 1 and (found[inputs[0].name] is None or _width(inputs[0]) != 1):
        width = _width(inputs[0])
        return {inputs[0].name: there if width is None else all_columns(width, shape, "the ONNX model")}
    absent = [name for name, column in found.items() if column is None]
    if absent:
        unused = [name for name in there if name not in found.values()]
        raise InputError(
            f"the ONNX model has an input {name!r} that the schema does not have{nearest(name, unused)}"
            for name in absent
        )
    return {name: [column] for name, column in found.items() if column is not None}


def _width(each: Any) -> int | None:
    """Return how many columns an input takes, or None if it does not say."""
    if len(each.shape) == 1:
        return 1
    return each.shape[1] if len(each.shape) == 2 and isinstance(each.shape[1], int) else None


def _values(table: pa.Table, name: str, kind: str) -> np.ndarray:
    """Return a column as an input's kind of values, or raise if it cannot hold them."""
    column = decoded(whole(table.column(name)))
    text = family(column) == "text"
    if text != (kind == TEXT):
        raise InputError(
            f"the ONNX model takes {'texts' if kind == TEXT else 'numbers'}, "
            f"and column {name!r} holds {'texts' if text else 'numbers'}"
        )
    if kind in FRACTIONS:
        return numbers(column).astype(FRACTIONS[kind])
    if column.null_count:
        raise InputError(f"the ONNX model's input for column {name!r} cannot hold a missing value")
    if text:
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=object)
    values = numbers(column)
    if (values != values.astype(WHOLE[kind])).any():
        raise InputError(f"the ONNX model takes whole numbers for column {name!r}, and it holds fractions")
    return values.astype(WHOLE[kind])


def _session(source: str | Path | bytes, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("an ONNX model", "onnxruntime", "onnx") from error
    named = "these bytes" if isinstance(source, bytes) else f"file {str(source)!r}"
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise InputError(f"there is no {named}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what goes wrong is raised, not printed
    try:
        return onnxruntime.InferenceSession(
            source if isinstance(source, bytes) else str(source), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise InputError(f"{named} cannot be read as an ONNX model: {told}") from error
