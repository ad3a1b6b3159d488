"""Training rows to levels: where each numeric feature is cut, and which values stand for its bins.

Bins are right-closed, `(a, b]`, with exact cuts; the first one includes its left end. A bin has two values that
stand for it, one for each way of decoding. Its `median` is the median of its training values, for a whole-numbered
feature the lower one of two. Its `midpoint` is the middle of its ends; an open-ended bin has no middle, so that
its median stands in, as for the positive level of `ZeroOrPositive`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.binning import Edges, EqualFrequency, MinimalEntropy, Tree, ZeroOrPositive
from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.engine.minimal_entropy import minimal_entropy_cuts
from l2c.engine.tree_cuts import tree_cuts
from l2c.errors import SchemaError

Cuts = tuple[float, ...]
Column = Float64[np.ndarray, " rows"]
Classes = Int64[np.ndarray, " rows"]


def discretise(schema: Schema, cells: Cells, predicted: Classes) -> Layout:
    """Return the levels of every feature, as the training rows and the schema's binnings make them.

    A feature on which `MinimalEntropy` or `Tree` accepts no cut, or whose quantiles are all its least value, is cut
    once, at its median: with a single bin it could not move. A declared range (`Feature.low`, `Feature.high`) takes
    the place of the outer ends, and what stands for a bin lies in that range wherever the bin reaches into it.

    Parameters
    ----------
    schema
        The features, with how each is to be cut.
    cells
        The training rows; numbers are finite, or NaN where missing.
    predicted
        The black box's class for each row; only `MinimalEntropy` and `Tree` look at it.

    Raises
    ------
    SchemaError
        With every feature that has no value in the rows, and every bin of a whole-numbered one that holds none.

    Examples
    --------
    >>> schema = Schema((Feature(name="age", kind="numeric", integer=True, binning=EqualFrequency(2)),))
    >>> axis = discretise(schema, np.array([[20.0], [30.0], [31.0], [70.0]]), np.zeros(4, dtype=np.int64)).axes[0]
    >>> axis.cuts, axis.midpoint, axis.median
    ((30.5,), (25.0, 50.0), (20.0, 31.0))
    """
    shared = _cuts_of_shared_trees(schema, cells, predicted)
    axes: list[Axis] = []
    problems: list[str] = []
    for i, feature in enumerate(schema.features):
        try:
            axes.append(_axis(feature, cells[:, i], predicted, shared.get(i, ())))
        except SchemaError as error:
            problems += error.problems
    if problems:
        raise SchemaError(problems)
    return Layout(schema, tuple(axes))


def public_layout(schema: Schema) -> Layout:
    """Return the levels of every feature as the schema alone makes them: no training row has a part in it.

    What stands for a bin is the middle of its ends. An open-ended one is taken to be as wide as its neighbour.

    Raises
    ------
    SchemaError
        With every feature whose bins cannot be told without looking at rows.

    Examples
    --------
    >>> axis = public_layout(Schema((Feature(name="age", kind="numeric", binning=Edges((30, 45, 60))),))).axes[0]
    >>> axis.midpoint, axis.low, axis.high
    ((22.5, 37.5, 52.5, 67.5), None, None)
    """
    problems = [*_unpublic(schema)]
    if problems:
        raise SchemaError(problems)
    features = schema.features
    return Layout(schema, tuple(_public_axis(one) if one.numeric else categorical_axis(one) for one in features))


def _unpublic(schema: Schema) -> Iterator[str]:
    """Yield why some features' bins cannot be told from the schema alone."""
    numbers = [feature for feature in schema.features if feature.numeric]
    learned = [feature.name for feature in numbers if not isinstance(feature.binning, Edges | ZeroOrPositive)]
    if learned:
        yield (
            f"an interval release speaks over public edges, and those of {', '.join(map(repr, learned))} come from "
            "data: give them in the schema, as bins={'age': l2c.Edges((30, 45, 60))}, or have them made with "
            "differential privacy by l2c.private_edges"
        )
    for feature in numbers:
        here, low, high = f"feature {feature.name!r}", feature.low, feature.high
        match feature.binning:
            case ZeroOrPositive() if high is None or high <= 0:
                yield f"{here}: without data nobody knows how far 'over 0' reaches; declare its high"
            case Edges(cuts=(_,)) if low is None or high is None:
                yield f"{here}: one cut point does not tell how wide its two bins are; declare low and high"
            case Edges(cuts=cuts) if (low is not None and low >= cuts[0]) or (high is not None and high <= cuts[-1]):
                yield f"{here}: the range that it is proposed in ends inside a bin; drop the cut points beyond it"


def _public_axis(feature: Feature) -> Axis:
    cuts = feature.binning.cuts if isinstance(feature.binning, Edges) else (0.0,)
    # Of the values only that they are not below zero is looked at.
    bins = _bins(feature, np.zeros(1), tuple(float(cut) for cut in cuts))
    _refuse_vacant(feature, bins)
    middles = tuple(
        _moved_inside(_middle(bins, level, reach=0.5), place, feature.integer) for level, place in enumerate(bins)
    )
    low = _end(bins[0].left) if isinstance(feature.binning, Edges) else feature.low
    return Axis(tuple(float(cut) for cut in cuts), low, _end(bins[-1].right), middles, middles, feature.missing)


def equal_frequency_cuts(values: Column, at_most: int) -> Cuts:
    """Return the quantiles k / at_most that part the values, as `pandas.qcut` does without its empty bins.

    >>> equal_frequency_cuts(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 9.0]), 4)
    (0.5, 1.75)
    """
    quantiles = np.unique(np.quantile(values, np.arange(1, at_most) / at_most))
    inner = quantiles[(quantiles > values.min()) & (quantiles < values.max())]
    _, parting = np.unique(np.searchsorted(np.sort(values), inner, side="right"), return_index=True)
    return tuple(inner[parting].tolist())


def _cuts_of_shared_trees(schema: Schema, cells: Cells, predicted: Classes) -> dict[int, Cuts]:
    """Return the cuts of the features that ask for a tree; those that ask for the same one share it."""
    asking = {i: f.binning for i, f in enumerate(schema.features) if f.numeric and isinstance(f.binning, Tree)}
    cuts: dict[int, Cuts] = {}
    for tree in set(asking.values()):
        members = [i for i, asked in asking.items() if asked == tree]
        cuts |= zip(members, tree_cuts(cells[:, members], predicted, tree.min_split), strict=True)
    return cuts


def _axis(feature: Feature, column: Column, predicted: Classes, shared: Cuts) -> Axis:
    if not feature.numeric:
        return categorical_axis(feature)
    known = ~np.isnan(column)
    if not known.any():
        raise SchemaError(f"feature {feature.name!r}: no training row holds a value; drop the feature")
    # Adding zero makes -0.0 and 0.0 one, and no level is called "-0".
    values = column[known] + 0.0
    cuts = _cuts(feature, values, predicted[known], shared)
    bins = _bins(feature, values, cuts)
    _refuse_vacant(feature, bins)
    midpoint, median = zip(*_representatives(feature, bins), strict=True)
    return Axis(cuts, _end(bins[0].left), _end(bins[-1].right), midpoint, median, feature.missing)


def _cuts(feature: Feature, values: Column, classes: Classes, shared: Cuts) -> Cuts:
    match feature.binning:
        case EqualFrequency(at_most=at_most):
            return equal_frequency_cuts(values, at_most) or _halving_cut(values)
        case ZeroOrPositive():
            return (0.0,)
        case MinimalEntropy():
            return minimal_entropy_cuts(values, classes) or _halving_cut(values)
        case Tree():
            return shared or _halving_cut(values)
        case Edges(cuts=cuts):
            return tuple(float(cut) for cut in cuts)


def _halving_cut(values: Column) -> Cuts:
    """Return the median as the only cut, or the value below the largest where most rows hold the largest."""
    smaller = values[values < values.max()]
    if not len(smaller):
        return ()
    median = np.median(values)
    return (float(median if median < values.max() else smaller.max()),)


@dataclass(frozen=True, slots=True, eq=False)
class _Bin:
    """One bin of a numeric feature.

    Parameters
    ----------
    left, right
        Its ends, infinite where it is open.
    first, last
        The least and the greatest value that may stand for it.
    values
        Its training values, rising.
    """

    left: float
    right: float
    first: float
    last: float
    values: Column

    @property
    def bounded(self) -> bool:
        return self.left > -np.inf and self.right < np.inf

    @property
    def vacant(self) -> bool:
        """Whether no value may stand for it."""
        return self.first > self.last

    def within(self, low: float, high: float) -> _Bin:
        """Return what a range leaves of this bin; its training values stay."""
        left, right = max(self.left, low), min(self.right, high)
        return replace(self, left=left, right=right, first=max(self.first, low), last=min(self.last, high))

    def whole(self) -> _Bin:
        """Return this bin with only whole numbers to stand for it."""
        return replace(self, first=float(np.ceil(self.first)), last=float(np.floor(self.last)))


def _bins(feature: Feature, values: Column, cuts: Cuts) -> list[_Bin]:
    """Return the bins between the cuts, each kept to the declared range if it reaches into it."""
    low, high = _outer_ends(feature, values)
    firsts = [low, *np.nextafter(cuts, np.inf).tolist()]
    if isinstance(feature.binning, ZeroOrPositive) and (values.min() >= 0 or 0 in values):
        # Even where some rows, or the declared range, go below zero.
        firsts[0] = 0.0
    rising = np.sort(values)
    parts = np.split(rising, np.searchsorted(rising, cuts, side="right"))
    ends = zip([low, *cuts], [*cuts, high], firsts, parts, strict=True)
    return [_kept_to_range(feature, _Bin(left, right, first, right, part)) for left, right, first, part in ends]


def _refuse_vacant(feature: Feature, bins: Sequence[_Bin]) -> None:
    problems = [
        f"feature {feature.name!r}: there is no whole number between {place.left} and {place.right}; "
        "move the cut points, or declare that it is not integer"
        for place in bins
        if place.vacant
    ]
    if problems:
        raise SchemaError(problems)


def _outer_ends(feature: Feature, values: Column) -> tuple[float, float]:
    """Return the ends of the first and the last bin, wide enough for the declared range."""
    low, high = float(values.min()), float(values.max())
    if isinstance(feature.binning, Edges):
        low, high = -np.inf, np.inf
    elif isinstance(feature.binning, ZeroOrPositive):
        low, high = min(0.0, low), np.inf
    declared = [float(end) for end in (feature.low, feature.high) if end is not None]
    return min([low, *declared]), max([high, *declared])


def _kept_to_range(feature: Feature, place: _Bin) -> _Bin:
    """Return what the declared range leaves of a bin, or all of it where nothing is left."""
    low = -np.inf if feature.low is None else float(feature.low)
    high = np.inf if feature.high is None else float(feature.high)
    kept = place.within(low, high)
    if feature.integer:
        kept, place = kept.whole(), place.whole()
    return place if kept.vacant else kept


def _representatives(feature: Feature, bins: Sequence[_Bin]) -> Iterator[tuple[float, float]]:
    """Yield the midpoint and the median of each bin."""
    for level, place in enumerate(bins):
        middle = _middle(bins, level)
        median = _median(place.values, feature.integer) if len(place.values) else middle
        yield (
            _moved_inside(middle if place.bounded else median, place, feature.integer),
            _moved_inside(median, place, feature.integer),
        )


def _middle(bins: Sequence[_Bin], level: int, reach: float = 1.0) -> float:
    """Return the middle of a bin's ends, or an open bin's one end moved by its neighbour's width, else by 1.

    With another `reach` it is moved by that share of it.
    """
    place = bins[level]
    if place.bounded:
        return place.left / 2 + place.right / 2
    neighbour = bins[1] if level == 0 else bins[-2]
    width = neighbour.right - neighbour.left
    step = reach * (width if 0 < width < np.inf else 1.0)
    return place.left + step if place.right == np.inf else place.right - step


def _median(rising: Column, whole: bool) -> float:
    return float(rising[(len(rising) - 1) // 2] if whole else np.median(rising))


def _moved_inside(value: float, place: _Bin, whole: bool) -> float:
    # Rounding may give -0.0; adding zero makes it 0.0.
    return float(np.clip(np.rint(value) if whole else value, place.first, place.last)) + 0.0


def _end(end: float) -> float | None:
    return end if np.isfinite(end) else None
