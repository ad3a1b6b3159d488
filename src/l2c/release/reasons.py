"""Why a row got none, or too few: which limits stand in the way, and the smallest relaxation that helps.

Each limit is loosened by itself and the search is made again, as the caller would make it; only what helped is named.
A number of changes grows one by one, a cost or a range to the nearest found beyond it, and any other limit is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from l2c.core.explanation import Outcome, Reason, Relaxation, Released
from l2c.core.feature import Feature
from l2c.core.limits import NO_LIMITS, Limits, Span, chosen_levels, in_words
from l2c.core.schema import Schema
from l2c.core.types import Mask

Stack = tuple[Limits, ...]
"""The limits that hold for a row: the schema's standing ones first, then the call's, then the row's own."""

Again = Callable[[Sequence["Plea"], Sequence[Stack], "np.ndarray | None"], Released]
"""From rows, with other limits for each and perhaps a lower probability, to all that a search then finds.

A row of the answer is a place among those asked about."""

Alone = Callable[[Sequence["Plea"]], Released]
"""From rows, with their own limits, to all that a search then finds under the model alone and without a margin."""

MORE_CHANGES = 5
"""How many more changes are tried, one by one."""

EXPLORED = 200
"""How many are sought to see how small a relaxation can be; whether it helps is then seen as the caller would."""

CHEAPER_ROUNDS = 4
"""How often a cost that is enough is tried to be undercut."""

SEEN_AGAIN = 1e-4
"""By what share a probability is lowered, and by a tenth of it outright, to be seen again: a twin's is not quite the
model's, whose own last bits vary with the batch."""

TOLD = 3
"""How many relaxations a sentence names; all of them are in the data."""


LACKING = ("partial", "none_valid", "infeasible")
"""How a row ends that got none or too few, and may ask why."""


@dataclass(frozen=True, slots=True)
class Plea:
    """One row that got too few: its limits, how many it has, and how many would do.

    `low` is the probability that it should reach, NaN where the model's decision counts; `best` the highest seen.
    """

    row: int
    stack: Stack
    found: int
    wanted: int
    low: float = np.nan
    best: float = 0.0

    @property
    def helped(self) -> str:
        """What to say where a relaxation helps."""
        return "enough" if self.found else "feasible"


def pleas_of(released: Released, best: np.ndarray, stacks: Sequence[Stack]) -> list[Plea]:
    """Return the rows of a release that got none or too few, with their limits."""
    return [
        Plea(row, stack or (NO_LIMITS,), outcome.found, released.asked if outcome.found else 1, float(low), float(most))
        for row, (outcome, stack, low, most) in enumerate(
            zip(released.outcomes, stacks, released.goal.low, best, strict=True)
        )
        if outcome.status in LACKING
    ]


def explained(
    outcomes: Sequence[Outcome], pleas: Sequence[Plea], schema: Schema, again: Again, alone: Alone | None = None
) -> list[Outcome]:
    """Return the outcomes with the reason added to those of the rows that got too few.

    `alone` is given where a counterfactual must withstand more than the model as it is.
    """
    found: dict[int, list[Relaxation]] = {plea.row: [] for plea in pleas}
    for row, relaxation in _less_robust(pleas, alone):
        found[row].append(relaxation)
    for row, relaxation in _less_sure(pleas, again):
        found[row].append(relaxation)
    for relax in (_more_changes, _more_cost, _wider_ranges, _dropped):
        for row, relaxation in relax([plea for plea in pleas if any(plea.stack)], schema, again):
            found[row].append(relaxation)
    stuck = [plea for plea in pleas if any(plea.stack) and not found[plea.row]]
    for row, relaxation in _all_dropped(stuck, again):
        found[row].append(relaxation)
    told = list(outcomes)
    for plea in pleas:
        told[plea.row] = _told(told[plea.row], plea, tuple(found[plea.row]))
    return told


def _told(outcome: Outcome, plea: Plea, relaxations: tuple[Relaxation, ...]) -> Outcome:
    """Return an outcome whose sentence says what would help."""
    proven = outcome.reason is not None and outcome.reason.proven
    sentence = outcome.sentence
    if relaxations:
        named = [relaxation.sentence for relaxation in relaxations[:TOLD]]
        more = len(relaxations) - TOLD
        named += [f"{more} other relaxation{'s' if more > 1 else ''} would help too"] if more > 0 else []
        sentence = f"{sentence}; {'; or '.join(named)}"
    elif not any(plea.stack) and not plea.found and np.isnan(plea.low):
        sentence = f"{sentence}; no limit stands in the way, only the model and what may move"
    return replace(outcome, sentence=sentence, reason=Reason(proven, relaxations))


def _helps(kept: Released, pleas: Sequence[Plea]) -> Mask:
    """Return which rows now have as many as they want; rows of `kept` are places in `pleas`."""
    counts = np.bincount(kept.row, minlength=len(pleas))
    return np.array([count >= plea.wanted for count, plea in zip(counts, pleas, strict=True)], dtype=bool)


def _less_robust(pleas: Sequence[Plea], alone: Alone | None) -> Iterator[tuple[int, Relaxation]]:
    """Yield that there are enough under the model alone, where more was asked."""
    if alone is None or not pleas:
        return
    for plea, good in zip(pleas, _helps(alone(pleas), pleas), strict=True):
        if good:
            yield plea.row, Relaxation("robust", None, None, f"{plea.helped} if it need not be robust")


def _less_sure(pleas: Sequence[Plea], again: Again) -> Iterator[tuple[int, Relaxation]]:
    """Yield the highest probability that was seen, where a higher one was asked for."""
    ranged = [plea for plea in pleas if plea.best < plea.low and not plea.found]
    if not ranged:
        return
    kept = again(ranged, [plea.stack for plea in ranged], np.array([_just_below(plea.best) for plea in ranged]))
    for place, (plea, good) in enumerate(zip(ranged, _helps(kept, ranged), strict=True)):
        if good:
            reached = _rounded_down(float(kept.chance[kept.row == place].max()))
            sentence = f"a probability of {plea.low:g} was not reached; {reached:g} was"
            yield plea.row, Relaxation("desired_proba", None, reached, sentence)


def _just_below(chance: float) -> float:
    """Return a probability so little below one that was seen that it will be seen again."""
    return max((1 - SEEN_AGAIN) * chance - SEEN_AGAIN / 10, 0.0)


def _rounded_down(chance: float) -> float:
    """Return a probability to four digits and not above it.

    >>> _rounded_down(0.98765), _rounded_down(0.00012345)
    (0.9876, 0.0001234)
    """
    if chance <= 0:
        return 0.0
    digits = 3 - int(np.floor(np.log10(chance)))
    return float(np.floor(chance * 10.0**digits) / 10.0**digits)


def _more_changes(pleas: list[Plea], schema: Schema, again: Again) -> Iterator[tuple[int, Relaxation]]:
    """Yield the least number of changes that helps, where their number is limited."""
    features = len(schema.features)
    counted = [(plea, _most_changes(plea.stack, features)) for plea in pleas]
    pending = [(plea, most) for plea, most in counted if most < features]
    for step in range(1, MORE_CHANGES + 1):
        pending = [(plea, most) for plea, most in pending if most + step <= features]
        if not pending:
            return
        stacks = [_with_changes(plea.stack, most + step) for plea, most in pending]
        kept = again([plea for plea, _ in pending], stacks, None)
        helps = _helps(kept, [plea for plea, _ in pending])
        for (plea, most), good in zip(pending, helps, strict=True):
            if good:
                yield plea.row, _changes_relaxation(plea, most, most + step, features)
        pending = [entry for entry, good in zip(pending, helps, strict=True) if not good]


def _most_changes(stack: Stack, features: int) -> int:
    return min(limits.most_changes(features) for limits in stack)


def _with_changes(stack: Stack, most: int) -> Stack:
    return tuple(
        replace(
            limits,
            max_changes=None if limits.max_changes is None else max(limits.max_changes, most),
            min_sparsity=None,
        )
        if limits.max_changes is not None or limits.min_sparsity is not None
        else limits
        for limits in (*stack, Limits(max_changes=most))
    )


def _changes_relaxation(plea: Plea, most: int, enough: int, features: int) -> Relaxation:
    few = f"{most} feature{'s' if most != 1 else ''}"
    what = f"too few valid changes within {few}" if plea.found else f"no valid change within {few}"
    by_count = _most_changes(tuple(replace(limits, min_sparsity=None) for limits in plea.stack), features) < enough
    by_share = _most_changes(tuple(replace(limits, max_changes=None) for limits in plea.stack), features) < enough
    limit = "max_changes and min_sparsity" if by_count and by_share else "max_changes" if by_count else "min_sparsity"
    return Relaxation(limit, None, enough if by_count else 1 - enough / features, f"{what}; {enough} suffice")


def _more_cost(pleas: list[Plea], schema: Schema, again: Again) -> Iterator[tuple[int, Relaxation]]:
    """Yield the least cost that was found to help, where the cost is limited."""
    del schema
    pending = [plea for plea in pleas if any(limits.max_cost is not None for limits in plea.stack)]
    free = {plea.row: tuple(replace(limits, max_cost=None) for limits in plea.stack) for plea in pending}
    prices: dict[int, np.ndarray] = {}
    for _ in range(CHEAPER_ROUNDS):
        if not pending:
            break
        # Each round may pay no more than the last one found to be enough, and so finds cheaper ones.
        purses = [prices[plea.row][0] if plea.row in prices else None for plea in pending]
        stacks = [(*free[plea.row], Limits(max_cost=purse)) for plea, purse in zip(pending, purses, strict=True)]
        kept, cheaper = again(_widely(pending), stacks, None), []
        for place, (plea, purse) in enumerate(zip(pending, purses, strict=True)):
            enough = np.unique(np.sort(kept.cost[kept.row == place])[plea.wanted - 1 :])
            if len(enough) and (purse is None or enough[0] < purse):
                prices[plea.row] = enough
                cheaper.append(plea)
        pending = cheaper
    tried = [(plea, prices[plea.row][:CHEAPER_ROUNDS].tolist()) for plea in pleas if plea.row in prices]
    while tried:
        asked = [plea for plea, _ in tried]
        stacks = [(*free[plea.row], Limits(max_cost=costs[0])) for plea, costs in tried]
        ended = list(zip(tried, _helps(again(asked, stacks, None), asked), strict=True))
        yield from ((plea.row, _cost_relaxation(plea, costs[0])) for (plea, costs), good in ended if good)
        tried = [(plea, costs[1:]) for (plea, costs), good in ended if not good and len(costs) > 1]


def _cost_relaxation(plea: Plea, price: float) -> Relaxation:
    paid = min(limits.max_cost for limits in plea.stack if limits.max_cost is not None)
    what = "too few valid changes" if plea.found else "no valid change"
    return Relaxation("max_cost", None, price, f"{what} for a cost of {paid:.10g}; {price:.10g} is enough")


def _widely(pleas: Sequence[Plea]) -> list[Plea]:
    """Return the rows as if they wanted many, so that the nearest of these is near."""
    return [replace(plea, wanted=max(plea.wanted, EXPLORED)) for plea in pleas]


def _wider_ranges(pleas: list[Plea], schema: Schema, again: Again) -> Iterator[tuple[int, Relaxation]]:
    """Yield, for each permitted range or list of levels, the nearest value beyond it that helps."""
    for i, feature in enumerate(schema.features):
        held = [plea for plea in pleas if any(feature.name in limits.permit for limits in plea.stack)]
        if not held:
            continue
        kept = again(_widely(held), [_without_permit(plea.stack, feature.name) for plea in held], None)
        pending = [
            (plea, values)
            for place, plea in enumerate(held)
            for values in _beyond(plea.stack, feature, np.unique(kept.cells[kept.row == place, i]))
        ]
        while pending:
            asked = [plea for plea, _ in pending]
            stacks = [_with_permit(plea.stack, feature, values[0]) for plea, values in pending]
            ended = list(zip(pending, _helps(again(asked, stacks, None), asked), strict=True))
            yield from (
                (plea.row, _range_relaxation(plea, feature, values[0])) for (plea, values), good in ended if good
            )
            pending = [(plea, values[1:]) for (plea, values), good in ended if not good and len(values) > 1]


def _without_permit(stack: Stack, name: str) -> Stack:
    return tuple(
        replace(limits, permit={key: given for key, given in limits.permit.items() if key != name}) for limits in stack
    )


def _permits(stack: Stack, feature: Feature) -> Iterator[Span | tuple[object, ...]]:
    for limits in stack:
        if feature.name in limits.permit:
            yield chosen_levels(feature, limits.permit[feature.name])


def _beyond(stack: Stack, feature: Feature, values: np.ndarray) -> Iterator[list[Any]]:
    """Yield the found values above the permitted ones, and those below, the nearest first; or each other level."""
    if not feature.numeric:
        allowed = _permitted_levels(stack, feature)
        known = (feature.levels[int(code)] for code in values if not np.isnan(code))
        yield from ([level] for level in known if level not in allowed)
        return
    low, high = _bounds(stack, feature)
    yield from (found for found in (values[values > high].tolist(), values[values < low][::-1].tolist()) if found)


def _permitted_levels(stack: Stack, feature: Feature) -> list[object]:
    allowed: list[object] = list(feature.levels)
    for chosen in _permits(stack, feature):
        if isinstance(chosen, Span):
            first = 0 if chosen.low is None else feature.levels.index(chosen.low)
            last = len(feature.levels) if chosen.high is None else feature.levels.index(chosen.high) + 1
            chosen = feature.levels[first:last]
        allowed = [level for level in allowed if level in chosen]
    return allowed


def _bounds(stack: Stack, feature: Feature) -> tuple[float, float]:
    low, high = -np.inf, np.inf
    for chosen in _permits(stack, feature):
        if isinstance(chosen, Span):
            low = max(low, -np.inf if chosen.low is None else float(chosen.low))
            high = min(high, np.inf if chosen.high is None else float(chosen.high))
    return low, high


def _with_permit(stack: Stack, feature: Feature, value: Any) -> Stack:
    """Return the limits with a feature's permitted values widened to one more."""
    if feature.numeric:
        low, high = _bounds(stack, feature)
        low, high = min(low, value), max(high, value)
        span = Span(None if np.isinf(low) else low, None if np.isinf(high) else high)
        return (*_without_permit(stack, feature.name), Limits(permit={feature.name: span}))
    levels = [*_permitted_levels(stack, feature), value]
    return (*_without_permit(stack, feature.name), Limits(permit={feature.name: levels}))


def _range_relaxation(plea: Plea, feature: Feature, value: Any) -> Relaxation:
    if not feature.numeric:
        return Relaxation("permit", feature.name, value, f"{plea.helped} if {feature.name} may also become {value!r}")
    low, high = _bounds(plea.stack, feature)
    way = f"exceed {high:.10g}" if value > high else f"fall below {low:.10g}"
    sentence = f"{plea.helped} if {feature.name} may {way} ({value:.10g} is enough)"
    return Relaxation("permit", feature.name, value, sentence)


def _dropped(pleas: list[Plea], schema: Schema, again: Again) -> Iterator[tuple[int, Relaxation]]:
    """Yield the locks, forbidden transitions and conditions without any one of which there would be enough."""
    del schema
    for drop in dict.fromkeys(drop for plea in pleas for limits in plea.stack for drop in _drops(limits)):
        held = [plea for plea in pleas if drop.left(plea.stack) != plea.stack]
        kept = again(held, [drop.left(plea.stack) for plea in held], None)
        for plea, good in zip(held, _helps(kept, held), strict=True):
            if good:
                sentence = f"{plea.helped} {drop.words()}"
                yield plea.row, Relaxation(drop.limit, drop.feature, drop.what or None, sentence)


@dataclass(frozen=True, slots=True)
class _Drop:
    """One thing that limits hold and could do without: a lock, a transition (its words), a condition (its text)."""

    limit: Literal["lock", "forbid", "where"]
    feature: str | None
    what: str = ""

    def left(self, stack: Stack) -> Stack:
        """Return the limits without it."""
        return tuple(self._without(limits) for limits in stack)

    def _without(self, limits: Limits) -> Limits:
        if self.limit == "lock":
            return replace(limits, lock=tuple(name for name in limits.lock if name != self.feature))
        if self.limit == "where":
            return replace(limits, where=tuple(text for text in limits.where if text != self.what))
        kept = {
            name: tuple(pair for pair in pairs if name != self.feature or _transition(pair) != self.what)
            for name, pairs in limits.forbid.items()
        }
        return replace(limits, forbid={name: pairs for name, pairs in kept.items() if pairs})

    def words(self) -> str:
        """Return what would have to be otherwise."""
        if self.limit == "lock":
            return f"if {self.feature} may change"
        if self.limit == "where":
            return f"without '{' '.join(self.what.split())}'"
        return f"if {self.feature} may go from {self.what}"


def _drops(limits: Limits) -> Iterator[_Drop]:
    yield from (_Drop("lock", name) for name in limits.lock)
    yield from (_Drop("forbid", name, _transition(pair)) for name, pairs in limits.forbid.items() for pair in pairs)
    yield from (_Drop("where", None, text) for text in limits.where)


def _transition(pair: tuple[object, object]) -> str:
    return f"{in_words(pair[0])} to {in_words(pair[1])}"


def _all_dropped(pleas: list[Plea], again: Again) -> Iterator[tuple[int, Relaxation]]:
    """Yield that several limits stand in the way together, where none by itself does."""
    if not pleas:
        return
    kept = again(pleas, [(NO_LIMITS,) for _ in pleas], None)
    for plea, good in zip(pleas, _helps(kept, pleas), strict=True):
        if good:
            sentence = f"{plea.helped} only if several limits are relaxed together: without any there are enough"
            yield plea.row, Relaxation("all", None, None, sentence)
