"""Features as levels: the axes that the engine draws on, and the way back to values.

A numeric feature's bins are right-closed, `(a, b]`, with exact cut points; every other feature has its own
levels. Where values may be missing, the last level of the axis is "missing": kept, never proposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from l2c.core.binning import Edges
from l2c.core.compiled import Compiled, compiles
from l2c.core.feature import WAYS, Feature
from l2c.core.schema import Schema
from l2c.core.types import Cells, Levels, Mask

Decode = Literal["auto", "median", "midpoint"]
"""Which value stands for a bin: the median of its training values, or the middle of its edges. `auto` is the median
where the edges come from data, and the middle where a person gave them: public edges then tell nothing learned."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The levels of one feature.

    Parameters
    ----------
    cuts
        The interior cut points of a numeric feature, rising; empty for the others.
    low, high
        The outer ends of a numeric feature's first and last bin; None where the bin is open-ended.
    midpoint, median
        The value that stands for each level, missing apart: for features that are not numeric, its index.
    missing
        Whether a last level stands for missing values.
    """

    cuts: tuple[float, ...]
    low: float | None
    high: float | None
    midpoint: tuple[float, ...]
    median: tuple[float, ...]
    missing: bool = False

    @property
    def known(self) -> int:
        """The number of levels that stand for a value."""
        return len(self.midpoint)

    @property
    def size(self) -> int:
        """The number of levels, c_i in the paper, missing included."""
        return self.known + self.missing

    def bounds(self, level: int) -> tuple[float | None, float | None]:
        """Return the ends of a numeric feature's bin, None where it is open."""
        left = self.low if level == 0 else self.cuts[level - 1]
        right = self.high if level == len(self.cuts) else self.cuts[level]
        return left, right


@dataclass(frozen=True, slots=True)
class Layout:
    """The axes of all features and the flat one-hot axis that they form, D = Σ c_i."""

    schema: Schema
    axes: tuple[Axis, ...]
    sizes: Int64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    known: Int64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    """How many levels of each feature stand for a value."""
    offsets: Int64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    width: int = field(init=False, repr=False, compare=False)
    owner: Int64[np.ndarray, " width"] = field(init=False, repr=False, compare=False)
    """The feature that each place of the flat axis belongs to."""
    numeric: Bool[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    low: Float64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    high: Float64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    """The range in which each number is proposed; infinite where it has no end."""
    bounded: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The numbers that are proposed within a range."""
    ways: Int64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    """What each feature may do, as one of `WAYS`."""
    priced: bool = field(init=False, repr=False, compare=False)
    """Whether some change costs more than another; otherwise a cost is the number of changes."""
    _cuts: tuple[tuple[int, np.ndarray], ...] = field(init=False, repr=False, compare=False)
    _flat_cuts: tuple[Float64[np.ndarray, " cuts"], Int64[np.ndarray, " features"]] = field(
        init=False, repr=False, compare=False
    )
    """All cut points one after the other, and where those of each feature end."""
    _stand_ins: dict[tuple[Decode, bool], np.ndarray] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what every call would ask for again."""
        features, sizes = self.schema.features, np.array([axis.size for axis in self.axes], dtype=np.int64)
        numeric = np.array([feature.numeric for feature in features], dtype=bool)
        low = np.array([-np.inf if one.low is None else one.low for one in features], dtype=np.float64)
        high = np.array([np.inf if one.high is None else one.high for one in features], dtype=np.float64)
        worked_out = {
            "sizes": sizes,
            "known": np.array([axis.known for axis in self.axes], dtype=np.int64),
            "offsets": np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
            "width": int(sizes.sum()),
            "owner": np.repeat(np.arange(len(self.axes)), sizes),
            "numeric": numeric,
            "low": low,
            "high": high,
            "bounded": tuple(np.flatnonzero(numeric & (np.isfinite(low) | np.isfinite(high))).tolist()),
            "ways": np.array([WAYS[feature.moves] for feature in features], dtype=np.int64),
            "priced": any(
                feature.cost != 1 or feature.cost_up or feature.cost_down or feature.level_costs
                for feature in features
                if feature.moves != "never"
            ),
            "_cuts": tuple((i, np.asarray(self.axes[i].cuts)) for i in np.flatnonzero(numeric).tolist()),
            "_flat_cuts": (
                np.array([cut for axis in self.axes for cut in axis.cuts], dtype=np.float64),
                np.cumsum([len(axis.cuts) for axis in self.axes]),
            ),
            "_stand_ins": {},
        }
        for name, value in worked_out.items():
            object.__setattr__(self, name, value)

    @property
    def stands_for_a_value(self) -> Mask:
        """Which places of the flat axis are not "missing"."""
        return ~np.isnan(self.representatives("midpoint"))

    def representatives(self, decode: Decode, *, other: bool = False) -> Float64[np.ndarray, " width"]:
        """Return the value that stands for each place of the flat axis, NaN for missing.

        With `other`, it is the median where the choice says midpoint, and the other way round.
        """
        if (decode, other) not in self._stand_ins:
            values: list[float] = []
            for feature, axis in zip(self.schema.features, self.axes, strict=True):
                values += stand_ins(feature, axis, decode, other=other)
                values += [np.nan] if axis.missing else []
            self._stand_ins[decode, other] = np.array(values, dtype=np.float64)
        return self._stand_ins[decode, other].copy()

    def levels(self, cells: Cells) -> Levels:
        """Return the level of every cell; numbers beyond the outer edges belong to the outer bins."""
        if compiles() and cells.ndim == 2:
            return _levels(cells, self.numeric, self.known, *self._flat_cuts)
        gone = np.isnan(cells)
        levels = np.where(gone | self.numeric, self.known, cells).astype(np.int16)
        for i, cuts in self._cuts:
            found = np.searchsorted(cuts, cells[..., i], side="left")
            levels[..., i] = np.where(gone[..., i], self.known[i], found)
        return levels

    def values(self, levels: Levels, decode: Decode, *, other: bool = False) -> Cells:
        """Return the value that stands for each level."""
        return self.representatives(decode, other=other)[levels + self.offsets]

    def one_hot(self, levels: Levels) -> Float32[np.ndarray, "rows width"]:
        """Return z, the concatenated one-hot vectors of the paper's section 3.1."""
        hot = np.zeros((len(levels), self.width), dtype=np.float32)
        np.put_along_axis(hot, levels + self.offsets, 1.0, axis=1)
        return hot

    def text(self, feature: int, level: int) -> str:
        """Return the words for a level: its label, its interval, or "missing"."""
        axis, described = self.axes[feature], self.schema.features[feature]
        if level == axis.known:
            return "missing"
        if not described.numeric:
            return described.text(level)
        return interval(*axis.bounds(level))

    def to_dict(self) -> dict[str, object]:
        """Return the axes as plain data; the schema is kept apart."""
        return {
            "axes": [
                {
                    "cuts": list(axis.cuts),
                    "low": axis.low,
                    "high": axis.high,
                    "midpoint": list(axis.midpoint),
                    "median": list(axis.median),
                    "missing": axis.missing,
                }
                for axis in self.axes
            ]
        }

    @classmethod
    def from_dict(cls, schema: Schema, data: Mapping[str, Any]) -> Layout:
        """Return the layout that `to_dict` wrote for this schema."""
        return cls(
            schema,
            tuple(
                Axis(
                    tuple(axis["cuts"]),
                    axis["low"],
                    axis["high"],
                    tuple(axis["midpoint"]),
                    tuple(axis["median"]),
                    axis["missing"],
                )
                for axis in data["axes"]
            ),
        )


@Compiled
def _levels(
    cells: Cells,
    numeric: Bool[np.ndarray, " features"],
    known: Int64[np.ndarray, " features"],
    cuts: Float64[np.ndarray, " cuts"],
    ends: Int64[np.ndarray, " features"],
) -> Levels:
    """Return the level of every cell: of a number, how many cut points are below it."""
    levels = np.empty(cells.shape, np.int16)
    for row in range(len(cells)):
        begin = 0
        for i in range(len(known)):
            value = cells[row, i]
            level = known[i]
            if not np.isnan(value):
                level = np.int64(0 if numeric[i] else value)
                if numeric[i]:
                    for cut in range(begin, ends[i]):
                        level += cuts[cut] < value
            levels[row, i] = level
            begin = ends[i]
    return levels


def interval(left: float | None, right: float | None) -> str:
    """Return the words for an interval, to be read; None is an open end.

    >>> interval(None, 30.0), interval(30.0, 45.5), interval(45.5, None), interval(1234567.5, 1234567.5)
    ('up to 30', '30 – 45.5', 'over 45.5', '1234567.5')
    """
    low, high = (None if end is None else f"{end:.12g}" for end in (left, right))
    if low is None:
        return "any" if high is None else f"up to {high}"
    if high is None:
        return f"over {low}"
    return low if low == high else f"{low} – {high}"


def categorical_axis(feature: Feature) -> Axis:
    """Return the axis of a feature that is not numeric: its levels stand for themselves."""
    codes = tuple(float(code) for code in range(len(feature.levels)))
    return Axis((), None, None, codes, codes, feature.missing)


def stand_ins(feature: Feature, axis: Axis, decode: Decode, *, other: bool = False) -> tuple[float, ...]:
    """Return the value that stands for each level of a feature, missing apart."""
    if decode == "auto":
        decode = "midpoint" if isinstance(feature.binning, Edges) else "median"
    return axis.median if (decode == "median") != other else axis.midpoint


def interval_texts(axis: Axis) -> Iterator[str]:
    """Yield the words for each bin of a numeric feature, with its exact ends, and for missing.

    >>> list(interval_texts(Axis((30.0, 45.5), None, 99.0, (20.0, 38.0, 72.0), (20.0, 38.0, 72.0), True)))
    ['up to 30', '(30, 45.5]', '(45.5, 99]', 'missing']
    """
    for level in range(axis.known):
        left, right = axis.bounds(level)
        if right is None:
            yield f"over {_exact(axis.cuts[-1])}"
        elif left is None:
            yield f"up to {_exact(right)}"
        else:
            yield _exact(left) if left == right else f"{'(' if level else '['}{_exact(left)}, {_exact(right)}]"
    if axis.missing:
        yield "missing"


def _exact(number: float) -> str:
    """Return a number with all the digits that it has, and no more."""
    return f"{int(number)}" if float(number).is_integer() else repr(float(number))


def places(layout: Layout, role: Literal["quasi", "sensitive"]) -> Int64[np.ndarray, " some"]:
    """Return the places of the features that have a role."""
    return np.flatnonzero([feature.role == role for feature in layout.schema.features])
