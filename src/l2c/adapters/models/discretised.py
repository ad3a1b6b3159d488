"""A classifier in the space of levels: it sees which bin a number is in, and never the number.

So its answer is the same all over an interval, and a counterfactual may be told as one: "aged 30 to 45", not "aged 34".
The paper recommends it where features depend on each other (section 5.4, appendix B).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float32

from l2c.adapters import frames
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.models.additive import CHECKED_ROWS, AdditiveTwin
from l2c.adapters.models.estimators import classes_of
from l2c.adapters.models.frame_model import asked
from l2c.adapters.models.labels import one_hot
from l2c.adapters.models.one_hot_input import OneHotInput
from l2c.adapters.models.packages import packages_of
from l2c.adapters.models.torch_model import TorchModel
from l2c.core.binning import MinimalEntropy, Tree
from l2c.core.blackbox import BlackBox, checked, decide
from l2c.core.feature import Feature
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.sight import TOLERANCE
from l2c.core.types import Cells, Label, Probabilities
from l2c.engine.discretise import discretise
from l2c.engine.encode import Encoder
from l2c.errors import DataError, InputError, L2CError, ModelError, nearest

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class LevelInput:
    """The matrix that a discretised model sees: every feature one-hot, a number by its bin.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"hours": range(20, 60), "job": ["clerk", "nurse"] * 20})
    >>> inputs = LevelInput.fit(rows, Schema.infer(rows, bins=2))
    >>> inputs.transform(rows)[:2].tolist()
    [[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]
    """

    layout: Layout

    @classmethod
    def fit(cls, frame: Any, schema: Schema, *, target: str | None = None) -> LevelInput:
        """Return the input whose bins come from a training frame.

        Parameters
        ----------
        target
            The column of class labels, by default the schema's; only binnings that look at classes need it.
        """
        inputs, _ = _binned(frame, schema, schema.target if target is None else target)
        return inputs

    @property
    def schema(self) -> Schema:
        return self.layout.schema

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return self.layout.width

    def transform(self, frame: Any) -> Float32[np.ndarray, "rows width"]:
        """Return the matrix for a frame."""
        return self.of_cells(frames.strict(frames.read(frame, self.schema)))

    def of_cells(self, cells: Cells) -> Float32[np.ndarray, "rows width"]:
        """Return the matrix for rows of cells."""
        return self.layout.one_hot(self.layout.levels(cells))


@dataclass(frozen=True, slots=True, eq=False)
class LevelEstimator:
    """A fitted scikit-learn classifier, asked with the matrix of levels."""

    estimator: Any
    inputs: LevelInput
    classes: tuple[Label, ...]

    @property
    def labels_only(self) -> bool:
        """Whether the model names a class and no more."""
        return not callable(getattr(self.estimator, "predict_proba", None))

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return checked(asked(self._answer, _matrix(self.inputs, cells)), len(cells), len(self.classes))

    def _answer(self, matrix: np.ndarray) -> object:
        if self.labels_only:
            return one_hot(np.asarray(self.estimator.predict(matrix)), self.classes)
        return self.estimator.predict_proba(matrix)


@dataclass(frozen=True, slots=True, eq=False)
class DiscretisedModel:
    """A classifier of levels with the bins it was trained on; an explainer for it uses the same bins.

    `discretised` fits one; `DiscretisedModel.of` takes one that was trained elsewhere.
    """

    inputs: LevelInput
    blackbox: LevelEstimator | TorchModel
    threshold: float | None = None

    @classmethod
    def of(
        cls,
        trained: Any,
        inputs: LevelInput,
        classes: Sequence[Label] | None = None,
        outputs: Literal["logits", "probabilities"] = "logits",
    ) -> DiscretisedModel:
        """Return the model of a torch module or an estimator that was trained on the matrix of `inputs`.

        Parameters
        ----------
        classes, outputs
            For a torch module, as `TorchModel` takes them; an estimator tells its own.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.naive_bayes import BernoulliNB
        >>> rows = pd.DataFrame({"hours": range(20, 60), "job": ["clerk", "nurse"] * 20})
        >>> inputs = LevelInput.fit(rows, Schema.infer(rows))
        >>> model = DiscretisedModel.of(BernoulliNB().fit(inputs.transform(rows), rows["hours"] > 40), inputs)
        >>> model.predict(rows[:2])
        [False, False]
        """
        if _is_torch_module(trained):
            as_matrix = OneHotInput(inputs.schema, _levels_encoder(inputs.layout))
            return cls(inputs, TorchModel(trained, as_matrix, (0, 1) if classes is None else classes, outputs))
        if classes is not None:
            raise InputError("classes are for a torch module; an estimator tells its own")
        return cls(inputs, LevelEstimator(trained, inputs, classes_of(trained)))

    @property
    def layout(self) -> Layout:
        """The features' levels, with the cut points that the model was trained on."""
        return self.inputs.layout

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels, in the order of the answers' columns."""
        return self.blackbox.classes

    @property
    def labels_only(self) -> bool:
        """Whether the model names a class and no more."""
        return self.blackbox.labels_only

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.blackbox.proba(cells)

    def predict_proba(self, frame: Any) -> Probabilities:
        """Return the probability of each class for each row of a frame."""
        return self.proba(frames.strict(frames.read(frame, self.layout.schema)))

    def predict(self, frame: Any) -> list[Label]:
        """Return the class that each row of a frame is put in."""
        return [self.classes[index] for index in decide(self.predict_proba(frame), self.threshold)]

    def explained_with(self, schema: Schema) -> DiscretisedModel:
        """Return the model under the schema of an explainer, which may move features otherwise but not cut them so."""
        theirs = {feature.name: _seen(feature) for feature in schema.features}
        ours = {feature.name: _seen(feature) for feature in self.layout.schema.features}
        if list(theirs) != list(ours):
            raise InputError(
                "the discretised model was trained on other features, or in another order, than the schema"
            )
        if theirs != ours:
            differing = ", ".join(repr(name) for name in ours if ours[name] != theirs[name])
            raise InputError(
                f"the discretised model was trained on other bins or levels than the schema has: {differing}; "
                "give the explainer the features that the model was given"
            )
        return replace(self, inputs=LevelInput(replace(self.layout, schema=schema)))

    def differentiable(self, rows: Cells) -> object | None:
        """Return the same model for soft rows, with gradients, or None if it has none that is exact."""
        if isinstance(self.blackbox, TorchModel):
            return DifferentiableLevels(self.blackbox)
        return None if self.labels_only else level_twin(self, self.layout, rows)


@dataclass(frozen=True, slots=True, eq=False)
class DifferentiableLevels:
    """A torch model of levels asked with soft rows: their relaxed one-hot is its input."""

    model: TorchModel

    def logits(self, values: Tensor, one_hot: Tensor) -> Tensor:  # noqa: ARG002  # a number counts by its bin alone
        """Return class logits, with gradients."""
        answer: Tensor = self.model._logits(one_hot)
        return answer


def discretised(estimator: Any, frame: Any, schema: Schema, *, target: str | None = None) -> DiscretisedModel:
    """Return a classifier fitted on levels: numbers by their bins, everything one-hot.

    Parameters
    ----------
    estimator
        A scikit-learn classifier; a copy of it is fitted. A torch module is trained by you, see `DiscretisedModel.of`.
    frame
        The training rows with their labels. The bins come from them too, and every explainer of the model keeps them.
    schema
        What the features are and how numbers are cut.
    target
        The column of class labels, by default the schema's.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> rows = pd.DataFrame({"hours": range(20, 60), "paid": ["no"] * 20 + ["yes"] * 20})
    >>> model = discretised(LogisticRegression(), rows, Schema.infer(rows, target="paid", bins=2))
    >>> model.predict(rows[18:22]), model.layout.text(0, 1)
    (['no', 'no', 'yes', 'yes'], '39.5 – 59')
    """
    if _is_torch_module(estimator):
        raise InputError(
            "a torch module is trained by you: inputs = l2c.LevelInput.fit(df_train, schema), train it on "
            "inputs.transform(df_train), then l2c.DiscretisedModel.of(module, inputs, classes=...)"
        )
    if not callable(getattr(estimator, "fit", None)):
        raise InputError(f"{type(estimator).__name__} has no fit: expected a scikit-learn classifier")
    name = schema.target if target is None else target
    if name is None:
        raise InputError("the schema names no target: say which column holds the labels, target=...")
    inputs, cells = _binned(frame, schema, name)
    fitted = copy.deepcopy(estimator)
    try:
        fitted.fit(_matrix(inputs, cells), _labels(frame, name))
    except L2CError:
        raise
    except Exception as error:
        raise ModelError(f"fitting {type(estimator).__name__} raised {type(error).__name__}: {error}") from error
    return DiscretisedModel.of(fitted, inputs)


def level_twin(blackbox: BlackBox, layout: Layout, rows: Cells) -> AdditiveTwin | None:
    """Return the exact twin of a model of levels whose log-odds are a sum over the features, or None.

    It is measured, by asking about one row with one feature at another level, for every level of every feature.

    Parameters
    ----------
    rows
        Real rows: one of them is the base of the measurement, and all of them (up to a thousand) check it.
    """
    some = rows[:CHECKED_ROWS]
    answers = blackbox.proba(some)
    # The least decided row: there the log-odds lose no digits.
    base = layout.levels(some)[answers.max(axis=1).argmin()]
    places, owner = np.arange(layout.width), layout.owner
    probes = np.tile(base, (layout.width + 1, 1))
    probes[places, owner] = (places - layout.offsets[owner]).astype(np.int16)
    logs = np.log(np.clip(blackbox.proba(layout.values(probes, "median")), 1e-300, None))
    odds = logs - logs[:, :1]
    slopes = np.zeros((len(layout.axes), odds.shape[1]))
    twin = AdditiveTwin(layout, odds[-1], slopes, odds[:-1] - odds[-1])
    return twin if np.abs(twin.proba(some) - answers).max() <= TOLERANCE else None


def _is_torch_module(model: object) -> bool:
    return "torch.nn.modules.module" in packages_of(model)


def _binned(frame: Any, schema: Schema, target: str | None) -> tuple[LevelInput, Cells]:
    """Return the levels that training rows make, and the rows."""
    cells = frames.strict(frames.read(frame, replace(schema, target=target)))
    return LevelInput(discretise(schema, cells, _classes_for_bins(frame, schema, target, len(cells)))), cells


def _matrix(inputs: LevelInput, cells: Cells) -> np.ndarray:
    """Return the matrix in double precision: some estimators compute in the precision that they are given."""
    return inputs.of_cells(cells).astype(np.float64)


def _levels_encoder(layout: Layout) -> Encoder:
    count = len(layout.axes)
    return Encoder(layout, "levels", np.zeros(count), np.ones(count))


def _seen(feature: Feature) -> tuple[object, ...]:
    """Return what decides the levels of a feature."""
    return (
        feature.numeric,
        feature.levels,
        feature.missing,
        feature.integer,
        feature.binning if feature.numeric else None,
    )


def _classes_for_bins(frame: Any, schema: Schema, target: str | None, rows: int) -> np.ndarray:
    """Return the classes of the rows as numbers; where no binning looks at them, none are needed."""
    looking = [
        feature.name
        for feature in schema.features
        if feature.numeric and isinstance(feature.binning, MinimalEntropy | Tree)
    ]
    if not looking:
        return np.zeros(rows, dtype=np.int64)
    if target is None:
        raise InputError(
            f"{', '.join(map(repr, looking))}: cut where classes differ, so the frame needs the labels, target=..."
        )
    return np.unique(_labels(frame, target), return_inverse=True)[1].astype(np.int64)


def _labels(frame: Any, name: str) -> np.ndarray:
    """Return a frame's class labels."""
    kind = library_of(frame)
    names = kind.names(frame)
    if name not in names:
        raise DataError(f"the target {name!r} is not a column{nearest(name, names)}")
    values = kind.arrow(frame[name]).to_pylist()
    for row, value in enumerate(values):
        if value is None or value != value:
            raise DataError(f"column {name!r}, row {row}: the label is missing")
    return np.array(values)
