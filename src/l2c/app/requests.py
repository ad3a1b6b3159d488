"""What a caller asks of `fit` and `explain`, checked: every problem at once, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import cycle
from typing import Any, get_args

import numpy as np

from l2c.app.aims import NOT_ROBUST, Robust
from l2c.app.asked import Asked, plainly
from l2c.app.gate import Gate
from l2c.app.privacy import OPEN, Privacy
from l2c.core.blackbox import decide
from l2c.core.conditions import Condition
from l2c.core.given_numbers import is_number, is_whole, whole_number_problems
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.number_range import OUTSIDE_AND_INSIDE
from l2c.core.schema import Schema
from l2c.core.types import Label, Mask, Probabilities
from l2c.core.whole_bins import over_whole_bins
from l2c.engine.recipe import Recipe, Strategy, usual_pool
from l2c.errors import InputError, nearest

LEAST_DRAWS = 20_000
DRAWS_SHARE = 40
"""Proposals drawn at the most for each valid one sought."""

MOST = 10**9
"""The largest number of counterfactuals, proposals or pool that anything could be done with."""

ENDLESS = 1e8
"""Seconds, more than three years, that are no deadline."""

PATIENCE_SHARE = 2.5
"""Proposals drawn at the most for each one of a pool that nobody asked for, once there are enough for a set."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a change should lead to and keep to: of a whole call, or of one row on top of it.

    Parameters
    ----------
    desired
        The indices of the classes that will do; None for any other than the row has.
    proba
        The range in which their probability should be; None for the model's decision.
    limits
        What the change must keep to.
    """

    desired: tuple[int, ...] | None = None
    proba: tuple[float, float] | None = None
    limits: Limits = NO_LIMITS


@dataclass(frozen=True, slots=True)
class Request:
    """What `explain` was asked for, with every default filled in.

    Parameters
    ----------
    n, seed, tries, seconds, plausibility, select, pool
        As `Explainer.explain` takes them.
    patience
        How many proposals to draw for a full pool, once there are enough for a set; None to go on.
    wish
        What all rows should reach and keep to.
    by_row
        What single rows add to it, by their position.
    reasons
        Whether to find out what would help the rows that got too few.
    robust
        What counterfactuals must withstand.
    privacy
        What may leave.
    gate
        The privacy policy that every released class keeps.
    """

    n: int
    seed: int
    tries: int
    seconds: float | None
    plausibility: float
    select: Strategy
    pool: int
    patience: int | None
    wish: Wish
    by_row: Mapping[int, Wish]
    reasons: bool
    robust: Robust = NOT_ROBUST
    privacy: Privacy = OPEN
    gate: Gate | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what decides the answer, for a file's notes."""
        names = ("seed", "tries", "seconds", "plausibility", "select", "pool")
        # In an interval release what decides the draws is secret.
        data = {name: getattr(self, name) for name in names if not (name == "seed" and self.privacy.intervals)}
        data |= {"limits": self.wish.limits.to_dict()} if self.wish.limits else {}
        data |= {"gate": self.gate.to_dict()} if self.gate else {}
        return data | self.robust.to_dict() | self.privacy.to_dict()

    def limits(self, readable: np.ndarray) -> list[tuple[Limits, Mask]]:
        """Return the limits, each with the rows that it is for, among those that could be read."""
        asked = [(self.wish.limits, np.ones(len(readable), dtype=bool))] if self.wish.limits else []
        same: dict[str, tuple[Limits, list[int]]] = {}
        for row, wish in self.by_row.items():
            if wish.limits:
                same.setdefault(repr(wish.limits), (wish.limits, []))[1].append(row)
        return asked + [(limits, np.isin(readable, rows)) for limits, rows in same.values()]

    def conditions(self, schema: Schema, readable: np.ndarray) -> list[tuple[Condition, Mask]]:
        """Return all conditions, each with the rows that it is for, among those that could be read."""
        everyone = np.ones(len(readable), dtype=bool)
        asked = [(schema.limits, everyone), *self.limits(readable)]
        return [(condition, rows) for limits, rows in asked for condition in limits.conditions(schema.features)]

    def over_whole_bins(self, layout: Layout) -> tuple[Request, list[str]]:
        """Return the request with limits that whole bins keep, and what is wrong with those that cannot be."""
        limits, problems = over_whole_bins(self.wish.limits, layout)
        by_row = {}
        for row, wish in self.by_row.items():
            own, wrong = over_whole_bins(wish.limits, layout)
            by_row[row] = replace(wish, limits=own)
            problems += [f"limits of row {row}: {problem}" for problem in wrong]
        return replace(self, wish=replace(self.wish, limits=limits), by_row=by_row), problems

    def stacks(self, schema: Schema, readable: np.ndarray) -> list[tuple[Limits, ...]]:
        """Return all limits of each row that could be read: the schema's, the call's, its own."""
        own = [self.by_row[row].limits if row in self.by_row else NO_LIMITS for row in readable.tolist()]
        standing = schema.limits.split(schema.features)
        return [tuple(limits for limits in (standing, self.wish.limits, row) if limits) for row in own]

    def goal(self, proba: Probabilities, readable: np.ndarray, threshold: float | None = None) -> Goal:
        """Return what each row that could be read should reach, given the model's answers for it as it is.

        They may be given for all rows several times over.
        """
        if self.wish.desired is None:
            accepted = decide(proba, threshold)[:, None] != np.arange(proba.shape[1])
        else:
            accepted = np.repeat(_row(self.wish, proba), len(proba), axis=0)
        low, high = np.full(len(proba), np.nan), np.full(len(proba), np.nan)
        if self.wish.proba is not None:
            low[:], high[:] = self.wish.proba
        for place, row in zip(range(len(proba) if self.by_row else 0), cycle(readable.tolist()), strict=False):
            wish = self.by_row.get(row)
            if wish is None:
                continue
            if wish.desired is not None:
                accepted[place] = _row(wish, proba)
            if wish.proba is not None:
                low[place], high[place] = wish.proba
        return Goal(accepted, low, high, threshold, self.robust.margin)


def _row(wish: Wish, proba: Probabilities) -> np.ndarray:
    """Return which classes a wish accepts, as a row."""
    row = np.zeros((1, proba.shape[1]), dtype=bool)
    row[0, list(wish.desired or ())] = True
    return row


def checked_request(
    asked: Asked,
    recipe: Recipe,
    classes: tuple[Label, ...],
    schema: Schema,
    *,
    rows: int,
    wish: Mapping[str, Any] | None = None,
    refused: Iterable[str] = (),
) -> Request:
    """Return the request, or raise with every problem in it and with what was refused before.

    Parameters
    ----------
    rows
        How many rows it is about.
    wish
        What all rows should reach and keep to, if that is not just what was asked.
    """
    gate, privacy, seconds = asked.gate, asked.privacy, asked.seconds
    counts: list[tuple[str, object, int]] = [("n", asked.n, 1)]
    others = (("seed", asked.seed, 0), ("tries", asked.tries, 1), ("pool", asked.pool, 1))
    counts += [(name, given, least) for name, given, least in others if given is not None]
    problems = [*whole_number_problems(*counts), *refused]
    problems += [
        f"{name} must be at most {MOST}, not {given}"
        for name, given, _ in counts
        if name != "seed" and is_whole(given) and given > MOST
    ]
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        problems.append(f"seconds must be above 0, not {seconds!r}")
    dial = recipe.plausibility if asked.plausibility is None else asked.plausibility
    if not (is_number(dial) and 0 <= dial <= 1):
        problems.append(f"plausibility is a dial from 0 to 1, not {dial!r}")
    strategy = recipe.select if asked.select is None else asked.select
    if strategy not in get_args(Strategy):
        problems.append(f"select must be one of {', '.join(get_args(Strategy))}, not {strategy!r}")
    wish = asked.wish if wish is None else wish
    common = _wish(wish, classes, schema, problems)
    single = _wishes(asked.limits, rows, classes, schema, problems)
    problems += gate_problems(gate, schema, asked.n, memorised=privacy.intervals)
    robust = Robust.of(asked.robust)
    if problems:
        raise InputError(problems)
    n, pool = int(asked.n), asked.pool
    size = _pool_size(n, strategy, recipe.pool if pool is None else pool)
    if gate is not None and gate.count == "people":  # people can only meet where there is something to choose from
        size = max(size, _pool_size(n, "balanced", pool))
    return Request(
        n=n,
        seed=0 if asked.seed is None else int(asked.seed),
        tries=max(LEAST_DRAWS, DRAWS_SHARE * size) if asked.tries is None else int(asked.tries),
        seconds=None if seconds is not None and seconds >= ENDLESS else seconds,
        plausibility=float(dial),
        select=strategy,
        pool=size,
        patience=None if recipe.pool or pool else int(PATIENCE_SHARE * size),
        wish=common,
        by_row=single,
        reasons=asked.reasons,
        robust=robust,
        privacy=privacy,
        gate=gate,
    )


def gate_problems(gate: object, schema: Schema, n: object, *, memorised: bool) -> Iterator[str]:
    """Yield what is wrong with a gate for sets of n; where answers are memorised, they may not depend on the batch."""
    if isinstance(gate, Gate):
        yield from gate.problems(schema, n)
        if memorised and gate.scope == "release":
            yield (
                "the gate's scope is a release, in which an answer depends on the other rows; in an interval release "
                "the same question always gets the same answer: use scope='set'"
            )
    elif gate is not None:
        yield f"gate must be an l2c.Gate, such as l2c.Gate(k=5, l=2), not {gate!r}"


def _wishes(
    given: Sequence[Mapping[str, Any] | Limits | None] | None,
    rows: int,
    classes: tuple[Label, ...],
    schema: Schema,
    problems: list[str],
) -> dict[int, Wish]:
    """Return what single rows add; what is wrong is added to `problems`, with the row."""
    if given is None:
        return {}
    listed = isinstance(given, Iterable) and not isinstance(given, Mapping | str)
    entries: list[Any] = list(given) if listed else []
    if len(entries) != rows:
        found = len(entries) if listed else repr(given)
        problems.append(f"limits takes one entry for each of the {rows} rows (None for no more), not {found}")
        return {}
    wishes = {}
    for row, entry in enumerate(entries):
        if entry is None:
            continue
        wrong: list[str] = []
        if isinstance(entry, Limits):
            entry = {field.name: getattr(entry, field.name) for field in fields(Limits)}
        if classes == OUTSIDE_AND_INSIDE and isinstance(entry, Mapping) and entry.get("desired") is not None:
            entry = {name: value for name, value in entry.items() if name != "desired"}
            wrong.append("the range that a predicted number should come to lie in is desired of the whole call")
        wishes[row] = _wish(entry, classes, schema, wrong)
        problems += [f"limits of row {row}: {problem}" for problem in wrong]
    return wishes


def _wish(given: Any, classes: tuple[Label, ...], schema: Schema, problems: list[str]) -> Wish:
    """Return what is wished; what is wrong with it is added to `problems`."""
    if not isinstance(given, Mapping):
        problems.append(f"expected limits by name, not {given!r}")
        return Wish()
    asked = {name: plainly(value) for name, value in given.items() if value is not None}
    desired, proba = asked.pop("desired", None), asked.pop("desired_proba", None)
    wanted = _classes(desired, classes, problems)
    wrong = [] if proba is None else list(_range_problems(proba))
    problems += wrong
    if asked.get("lock") in ((), []):
        del asked["lock"]
    limits = _limits(asked, schema, problems) if asked else NO_LIMITS
    return Wish(wanted, None if proba is None or wrong else tuple(proba), limits)


def _limits(asked: Mapping[str, Any], schema: Schema, problems: list[str]) -> Limits:
    """Return the limits that are asked for; what is wrong with them is added to `problems`."""
    try:
        limits = Limits.from_dict(asked)
    except InputError as error:
        problems += error.problems
        return NO_LIMITS
    unfit = list(limits.problems(schema.features))
    problems += unfit
    return limits if unfit else limits.split(schema.features)


def _classes(desired: object, classes: tuple[Label, ...], problems: list[str]) -> tuple[int, ...] | None:
    """Return the indices of the classes that will do."""
    if desired is None:
        return None
    several = isinstance(desired, Iterable) and not isinstance(desired, str)
    wanted: list[Any] = list(desired) if several else [desired]  # type: ignore[call-overload]
    if not wanted:
        problems.append("desired names no class at all")
    for label in wanted:
        if not _is_among(label, classes):
            problems.append(
                f"desired {label!r} is no class of the model; its classes are "
                f"{', '.join(map(repr, classes))}{nearest(label, classes)}"
            )
    return tuple(classes.index(label) for label in wanted if _is_among(label, classes))


def _is_among(label: object, classes: tuple[Label, ...]) -> bool:
    """Return whether something is one of the classes; what cannot be compared with them, such as pandas' NA, is not."""
    return isinstance(label, Label) and label in classes


def _range_problems(proba: object) -> Iterator[str]:
    pair = isinstance(proba, Sequence) and len(proba) == 2 and all(map(is_number, proba))
    if not (isinstance(proba, Sequence) and pair and 0 <= proba[0] <= proba[1] <= 1):
        yield f"desired_proba is a range (low, high) within 0 to 1, not {proba!r}"


def _pool_size(n: int, select: Strategy, pool: int | None) -> int:
    if select == "first":
        return n
    return max(n, usual_pool(n) if pool is None else int(pool))
