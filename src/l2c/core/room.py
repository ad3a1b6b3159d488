"""The room that each row has to move in: which levels it may take, with what values, at what price, how many at once.

Everything that the schema and the caller's limits say of single features is worked out here once, as arrays over the
flat one-hot axis, so that proposals keep to it by construction. What ties several features together, rules and
conditions, stays to be obeyed while drawing and is checked on every proposal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.conditions import Condition
from l2c.core.costs import move_costs
from l2c.core.feature import FALLS, RISES, STAYS
from l2c.core.flat import at_levels, counted, differing, put_at_levels, spread
from l2c.core.layout import Axis, Decode, Layout
from l2c.core.limits import ANY, Limits, Span, chosen_levels
from l2c.core.rules import bonds
from l2c.core.types import Allowed, Cells, Levels, Mask

EDGE_SHARE = 0.01
"""How far inside a bin its lower end is tried, as a share of its width: the end itself belongs to the bin below."""

ROUNDING = 1e-9
"""By what share a cost may pass its limit: 0.1 and 0.2 are together no more than 0.3, whatever floating point says."""


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What each row of a batch may become.

    Parameters
    ----------
    open
        Which levels may be taken. A row's own level is among them unless a condition says that it must change.
    backwards
        Which levels a monotone constraint alone forbids.
    values, others
        What each level stands for, the row's own number at its own level; and the second choice where there is one.
    prices
        What it costs to take on each level; None where a cost is the number of changes.
    changes, spend
        The most features that may change, and the most that a change may cost.
    conditions
        What must hold between several features, each with the rows that it is for.
    """

    open: Allowed
    backwards: Allowed
    values: Float64[np.ndarray, "rows width"]
    others: Float64[np.ndarray, "rows width"]
    prices: Float64[np.ndarray, "rows width"] | None
    changes: Int64[np.ndarray, " rows"]
    spend: Float64[np.ndarray, " rows"]
    conditions: tuple[tuple[Condition, Mask], ...] = ()

    def take(self, rows: np.ndarray) -> Room:
        """Return the room of some of the rows."""
        parts = {name: getattr(self, name)[rows] for name in ("open", "backwards", "values", "others")}
        return Room(
            **parts,
            prices=None if self.prices is None else self.prices[rows],
            changes=self.changes[rows],
            spend=self.spend[rows],
            conditions=tuple((condition, which[rows]) for condition, which in self.conditions),
        )

    def choices(self, layout: Layout) -> Int64[np.ndarray, "rows features"]:
        """Return how many levels each feature may take."""
        return counted(layout, self.open)

    def two_valued(self) -> Bool[np.ndarray, "rows width"]:
        """Return which levels a second value stands for too."""
        return differing(self.values, self.others)

    def must_change(self, layout: Layout, levels: Levels) -> Bool[np.ndarray, "rows features"]:
        """Return which features may not stay as they are."""
        return ~at_levels(layout, self.open, levels)

    def combinations(self, layout: Layout, levels: Levels) -> Float64[np.ndarray, " rows"]:
        """Return how many different proposals each row has room for, itself included; rules may forbid some.

        They are counted by how many features change, so that a limit on it counts.
        """
        choices, features = self.choices(layout), levels.shape[1]
        if (self.changes >= features).all():
            return choices.prod(axis=1, dtype=np.float64)
        stay = at_levels(layout, self.open, levels)
        move = choices - stay
        most = int(self.changes.max(initial=0))
        ways = np.zeros((len(levels), most + 1))
        ways[:, 0] = 1.0
        for i in range(features):
            moved = np.concatenate([np.zeros((len(levels), 1)), ways[:, :-1]], axis=1) * move[:, i, None]
            ways = ways * stay[:, i, None] + moved
        return np.where(np.arange(most + 1)[None, :] <= self.changes[:, None], ways, 0.0).sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Plot:
    """The room while it is laid out: what single features may take, before rules are followed through."""

    layout: Layout
    cells: Cells
    levels: Levels
    open: Allowed
    low: Float64[np.ndarray, "rows features"]
    high: Float64[np.ndarray, "rows features"]

    @property
    def bounded(self) -> list[int]:
        """The numbers that have a permitted range, in some row at least."""
        ends = (np.isfinite(self.low) | np.isfinite(self.high)).any(axis=0)
        return np.flatnonzero(self.layout.numeric & ends).tolist()

    def segment(self, feature: int) -> slice:
        start = int(self.layout.offsets[feature])
        return slice(start, start + int(self.layout.sizes[feature]))


def room_for(
    layout: Layout, cells: Cells, levels: Levels, decode: Decode, limits: Sequence[tuple[Limits, Mask]] = ()
) -> Room:
    """Return the room of a batch of rows.

    Parameters
    ----------
    cells, levels
        The rows, by value and by level.
    decode
        Which value stands for a bin.
    limits
        What a caller adds to the schema's own limits, each with the rows that it is for.
    """
    everyone = np.ones(len(cells), dtype=bool)
    all_limits = [(limit, rows) for limit, rows in ((layout.schema.limits, everyone), *limits) if limit]
    plot, wrong_way = _laid_out(layout, cells, levels, limited=bool(all_limits))
    for limit, rows in all_limits:
        _restrict(plot, limit, rows)
    bounded = plot.bounded if all_limits else layout.bounded
    values, others = (_values(plot, decode, bounded, other=other) for other in (False, True))
    _drop_unreachable(plot, bounded, values)
    for limit, rows in all_limits:
        _forbid(plot, limit, rows, values)
    split = _split_conditions(layout, all_limits)
    for feature, conditions in split.single.items():
        _fit_conditions(plot, feature, conditions, values, others)
    spend, changes = np.full(len(cells), np.inf), np.full(len(cells), len(layout.axes))
    for limit, rows in all_limits:
        changes[rows] = np.minimum(changes[rows], limit.most_changes(len(layout.axes)))
        if limit.max_cost is not None:
            spend[rows] = np.minimum(spend[rows], limit.max_cost * (1 + ROUNDING))
    prices = _prices(plot, values, spend)
    backwards = plot.open & wrong_way
    np.logical_and(plot.open, ~wrong_way, out=plot.open)
    _follow_rules(plot)
    if prices is not None:
        changes = np.minimum(changes, _affordable(plot, prices, spend))
    return Room(plot.open, backwards, values, others, prices, changes, spend, split.several)


def _laid_out(layout: Layout, cells: Cells, levels: Levels, *, limited: bool) -> tuple[_Plot, Allowed]:
    """Return what the features allow whatever their direction, and which levels lie in the wrong one.

    Where rows may be limited each by itself, each has permitted ranges of its own.
    """
    low, high = layout.low[None, :], layout.high[None, :]
    if limited:
        low, high = (np.repeat(bound, len(levels), axis=0) for bound in (low, high))
    lay_open = _opened if compiles() else _opened_at_once
    proposable, wrong_way = lay_open(levels, layout.ways, layout.known, layout.offsets, layout.sizes)
    return _Plot(layout, cells, levels, proposable, low, high), wrong_way


@Compiled
def _opened(
    levels: Levels,
    ways: Int64[np.ndarray, " features"],
    known: Int64[np.ndarray, " features"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> tuple[Allowed, Allowed]:
    """Return the levels that may be taken whatever their direction, and the paper's restricted set C_i.

    In it are the levels on the wrong side of a row's own; beside a missing value nothing is higher or lower.
    """
    width = offsets[-1] + sizes[-1]
    allowed, wrong = np.empty((len(levels), width), np.bool_), np.zeros((len(levels), width), np.bool_)
    whatever = np.empty(width, np.bool_)
    for i in range(len(sizes)):
        for level in range(sizes[i]):
            whatever[offsets[i] + level] = level < known[i] and ways[i] != STAYS
    for row in range(len(levels)):
        allowed[row] = whatever
        for i in range(len(sizes)):
            own, first = levels[row, i], offsets[i]
            allowed[row, np.uint64(first + own)] = True
            if ways[i] == RISES or ways[i] == FALLS:
                for level in range(sizes[i]):
                    behind = level < own if ways[i] == RISES else level > own
                    wrong[row, np.uint64(first + level)] = level != own and (behind or own == known[i])
    return allowed, wrong


def _opened_at_once(
    levels: Levels,
    ways: Int64[np.ndarray, " features"],
    known: Int64[np.ndarray, " features"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> tuple[Allowed, Allowed]:
    """Return what `_opened` returns, all rows at once."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    level, own, way = np.arange(len(owner)) - offsets[owner], levels[:, owner], ways[owner]
    unordered = (own == known[owner]) & (level != own)
    rises, falls = way == RISES, way == FALLS
    wrong = (rises & (level < own)) | (falls & (level > own)) | ((rises | falls) & unordered)
    return ((level < known[owner]) & (way != STAYS)) | (level == own), wrong


def _restrict(plot: _Plot, limits: Limits, rows: Mask) -> None:
    """Close what a caller's limits do not allow of single features."""
    schema = plot.layout.schema
    for name in limits.lock:
        _close(plot, schema.index(name), rows)
    for name, given in limits.permit.items():
        i = schema.index(name)
        chosen = chosen_levels(schema.features[i], given)
        if isinstance(chosen, Span) and schema.features[i].numeric:
            low, high = _as_numbers(chosen)
            plot.low[rows, i] = np.maximum(plot.low[rows, i], low)
            plot.high[rows, i] = np.minimum(plot.high[rows, i], high)
        else:
            _close(plot, i, rows, ~_members(plot, i, chosen))


def _close(plot: _Plot, feature: int, rows: Mask, closed: Mask | bool = True) -> None:
    """Close levels of a feature, all by default, but never the row's own."""
    other = np.arange(int(plot.layout.sizes[feature]))[None, :] != plot.levels[:, feature, None]
    plot.open[:, plot.segment(feature)] &= ~(rows[:, None] & closed & other)


def _members(plot: _Plot, feature: int, chosen: Span | tuple[object, ...]) -> Mask:
    """Return which levels of a feature that is not numeric belong to a choice."""
    levels = plot.layout.schema.features[feature].levels
    known = np.zeros(plot.layout.axes[feature].size, dtype=bool)
    if isinstance(chosen, Span):
        first = 0 if chosen.low is None else levels.index(chosen.low)
        last = len(levels) - 1 if chosen.high is None else levels.index(chosen.high)
        known[first : last + 1] = True
    else:
        known[[levels.index(level) for level in chosen]] = True
    return known


def _forbid(plot: _Plot, limits: Limits, rows: Mask, values: Float64[np.ndarray, "rows width"]) -> None:
    """Close the levels that a forbidden transition leads to, for the rows where it begins."""
    for name, pairs in limits.forbid.items():
        i = plot.layout.schema.index(name)
        for before, after in pairs:
            begins = rows & _begins(plot, i, before)
            _close(plot, i, begins, after == ANY or _leads_to(plot, i, after, values[:, plot.segment(i)]))


def _begins(plot: _Plot, feature: int, before: object) -> Mask:
    """Return for which rows a forbidden transition begins."""
    if before == ANY:
        return np.ones(len(plot.cells), dtype=bool)
    described = plot.layout.schema.features[feature]
    chosen = chosen_levels(described, before)
    if described.numeric and isinstance(chosen, Span):
        return _within(chosen, plot.cells[:, feature])
    return _members(plot, feature, chosen)[plot.levels[:, feature]]


def _leads_to(plot: _Plot, feature: int, after: object, values: Float64[np.ndarray, "rows size"]) -> Mask:
    """Return the levels that a forbidden transition leads to."""
    described, axis = plot.layout.schema.features[feature], plot.layout.axes[feature]
    chosen = chosen_levels(described, after)
    if not described.numeric or not isinstance(chosen, Span):
        return _members(plot, feature, chosen)
    # The bin is closed if the range reaches into it: no value of it is then surely free of the transition. A permitted
    # range may have brought its value beyond the outer end.
    touched = [_touches(chosen, *axis.bounds(level), first=level == 0) for level in range(axis.known)]
    return np.array(touched + [False] * axis.missing) | _within(chosen, values)


def _within(span: Span, numbers: Float64[np.ndarray, "*any"]) -> Mask:
    low, high = _as_numbers(span)
    return np.asarray((numbers >= low) & (numbers <= high))


def _touches(span: Span, left: float | None, right: float | None, *, first: bool) -> bool:
    """Return whether a closed range and a bin have a number in common; only the first bin holds its left end."""
    low, high = _as_numbers(span)
    ends_before = left is not None and (high < left if first else high <= left)
    begins_after = right is not None and low > right
    return not ends_before and not begins_after


def _as_numbers(span: Span) -> tuple[float, float]:
    return -np.inf if span.low is None else float(span.low), np.inf if span.high is None else float(span.high)


def _values(plot: _Plot, decode: Decode, bounded: Sequence[int], *, other: bool) -> Float64[np.ndarray, "rows width"]:
    """Return what each level stands for, brought inside the permitted range; the row's own value at its own level."""
    layout = plot.layout
    stand_ins = layout.representatives(decode, other=other)
    if not bounded:
        return spread(layout, stand_ins, plot.levels, plot.cells)
    values = np.repeat(stand_ins[None, :], len(plot.cells), axis=0)
    for i in bounded:
        places = plot.segment(i)
        low, high = _permitted(plot, i)
        values[:, places] = np.clip(values[:, places], low[:, None], high[:, None]) + 0.0  # no number is "-0"
    put_at_levels(layout, values, plot.levels, plot.cells)
    return values


def _permitted(plot: _Plot, feature: int) -> tuple[Float64[np.ndarray, " rows"], Float64[np.ndarray, " rows"]]:
    """Return the range of a number, in whole numbers where it is whole."""
    low, high = plot.low[:, feature], plot.high[:, feature]
    return (np.ceil(low), np.floor(high)) if plot.layout.schema.features[feature].integer else (low, high)


def _drop_unreachable(plot: _Plot, bounded: Sequence[int], values: Float64[np.ndarray, "rows width"]) -> None:
    """Close the bins that have no value in the permitted range."""
    for i in bounded:
        axis = plot.layout.axes[i]
        low, high = _permitted(plot, i)
        start = int(plot.layout.offsets[i])
        for level in range(axis.known):
            value = values[:, start + level]
            inside = np.searchsorted(np.asarray(axis.cuts), value, side="left") == level
            inside &= (low <= value) & (value <= high)
            plot.open[:, start + level] &= inside | (plot.levels[:, i] == level)


@dataclass(frozen=True, slots=True)
class _Conditions:
    """Conditions apart by how many released features they speak of."""

    single: dict[int, list[tuple[Condition, Mask]]]
    several: tuple[tuple[Condition, Mask], ...]


def _split_conditions(layout: Layout, limits: Sequence[tuple[Limits, Mask]]) -> _Conditions:
    parts = [
        (condition, rows)
        for limit, rows in limits
        if limit.where
        for condition in limit.conditions(layout.schema.features)
    ]
    single: dict[int, list[tuple[Condition, Mask]]] = {}
    for condition, rows in parts:
        if len(condition.released) == 1:
            single.setdefault(min(condition.released), []).append((condition, rows))
    return _Conditions(single, tuple(part for part in parts if len(part[0].released) != 1))


def _fit_conditions(
    plot: _Plot,
    feature: int,
    conditions: Sequence[tuple[Condition, Mask]],
    values: Float64[np.ndarray, "rows width"],
    others: Float64[np.ndarray, "rows width"],
) -> None:
    """Close the levels of a feature with which a condition fails; another value of the bin is taken if all hold."""
    places = plot.segment(feature)
    own = np.arange(int(plot.layout.sizes[feature]))[None, :] == plot.levels[:, feature, None]
    chosen, second = values[:, places], others[:, places].copy()
    met, spare = (_all_hold(plot, feature, conditions, given) for given in (chosen, second))
    for candidate in (second, *_ends(plot, feature)):
        # A missing value meets some conditions, such as those with 'not', but is never proposed.
        better = ~met & ~own & ~np.isnan(candidate) & _all_hold(plot, feature, conditions, candidate)
        chosen, met = np.where(better, candidate, chosen), met | better
    values[:, places] = chosen
    others[:, places] = np.where(spare, second, chosen)
    plot.open[:, places] &= met


def _all_hold(
    plot: _Plot, feature: int, conditions: Sequence[tuple[Condition, Mask]], values: Float64[np.ndarray, "rows size"]
) -> Bool[np.ndarray, "rows size"]:
    """Return at which values of one feature the conditions hold, each for its rows."""
    met = np.ones(values.shape, dtype=bool)
    for condition, rows in conditions:
        was = np.repeat(plot.cells[rows], values.shape[1], axis=0)
        now = was.copy()
        now[:, feature] = values[rows].ravel()
        met[rows] &= condition.holds(now, was).reshape(-1, values.shape[1])
    return met


def _ends(plot: _Plot, feature: int) -> list[Float64[np.ndarray, "rows size"]]:
    """Return the least and the greatest value of each bin of a number, inside the permitted range."""
    described, axis = plot.layout.schema.features[feature], plot.layout.axes[feature]
    if not described.numeric:
        return []
    low, high = (end[:, None] for end in _permitted(plot, feature))
    ends = []
    for lower in (True, False):
        values = [_end(axis, level, described.integer, lower=lower) for level in range(axis.known)]
        values += [np.nan] * axis.missing
        clipped = np.clip(np.array(values)[None, :], low, high) + 0.0
        inside = np.searchsorted(np.asarray(axis.cuts), clipped, side="left") == np.arange(axis.size)[None, :]
        ends.append(np.where(inside, clipped, np.nan))
    return ends


def _end(axis: Axis, level: int, integer: bool, *, lower: bool) -> float:
    """Return the least or the greatest value of a bin, NaN where it is open; only the first bin holds its left end."""
    left, right = axis.bounds(level)
    if not lower:
        return np.nan if right is None else float(np.floor(right)) if integer else right
    if left is None:
        return np.nan
    if level == 0:
        return float(np.ceil(left)) if integer else left
    return float(np.floor(left) + 1) if integer or right is None else left + EDGE_SHARE * (right - left)


def _follow_rules(plot: _Plot) -> None:
    """Close what a rule can never let through: the rise of a cause whose effect cannot follow, and the like."""
    ordered, before = bonds(plot.layout.schema.rules, plot.layout.schema.names), -1
    # What one rule closes may be what another one needs.
    while ordered and before != (now := int(plot.open.sum())):
        before = now
        for bond in ordered:
            for cause, how in bond.causes:
                if how == "only_if":
                    _close_rise(plot, bond.effect, ~_can(plot, cause, above=True))
        for bond in reversed(ordered):
            for cause, how in bond.causes:
                if how == "must_rise":
                    _close_rise(plot, cause, ~_can(plot, bond.effect, above=True))
                elif how == "must_not_fall":
                    stuck = ~_can(plot, bond.effect, above=True) & ~_can(plot, bond.effect, above=False)
                    _close_rise(plot, cause, stuck)


def _can(plot: _Plot, feature: int, *, above: bool) -> Mask:
    """Return which rows may take a higher level of a feature, or may keep their own."""
    level, own = np.arange(int(plot.layout.sizes[feature]))[None, :], plot.levels[:, feature, None]
    sought = level > own if above else level == own
    return np.asarray((plot.open[:, plot.segment(feature)] & sought).any(axis=1))


def _close_rise(plot: _Plot, feature: int, rows: Mask) -> None:
    level, own = np.arange(int(plot.layout.sizes[feature]))[None, :], plot.levels[:, feature, None]
    plot.open[:, plot.segment(feature)] &= ~(rows[:, None] & (level > own))


def _prices(
    plot: _Plot, values: Float64[np.ndarray, "rows width"], spend: Float64[np.ndarray, " rows"]
) -> Float64[np.ndarray, "rows width"] | None:
    """Return what each level costs, None where that is the number of changes; close what is too dear by itself."""
    if not plot.layout.priced and np.isinf(spend).all():
        return None
    prices = move_costs(plot.layout, plot.cells, plot.levels, values)
    plot.open[prices > spend[:, None]] = False
    return prices


def _affordable(
    plot: _Plot, prices: Float64[np.ndarray, "rows width"], spend: Float64[np.ndarray, " rows"]
) -> Int64[np.ndarray, " rows"]:
    """Return how many changes a purse can pay for at the most: so many of the cheapest moves."""
    layout = plot.layout
    own = np.arange(layout.width)[None, :] == np.repeat(plot.levels + layout.offsets, layout.sizes, axis=1)
    moves = np.where(plot.open & ~own, prices, np.inf)
    cheapest = np.sort(np.minimum.reduceat(moves, layout.offsets, axis=1), axis=1)
    # A sum in another order may be a little smaller; the total itself is checked on every proposal.
    return np.asarray((np.cumsum(cheapest, axis=1) <= spend[:, None] * (1 + 1e-9)).sum(axis=1))
