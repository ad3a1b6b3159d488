"""Whether any valid counterfactual exists at all within a person's limits, decided over every combination of levels.

For a model that can be seen into (`core.sight`) the question is one of whole numbers: a yes or no for each level that
may be taken, one level for each feature, one leaf for each tree, and a sum that must be positive. OR-Tools' CP-SAT
answers it. Real numbers are rounded so that a "no" stays a proof, and a "yes" is always shown by a row that holds when
it is computed again; where neither can be had, the answer is "undecided".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float64, Int16

from l2c.core.blackbox import puts_in
from l2c.core.sight import GRID, Parts, View
from l2c.core.types import Levels, Mask
from l2c.errors import MissingExtraError

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar
    from ortools.sat.python.cp_model_helper import Literal as SignedLiteral

Rule = tuple[int, int, Literal["must_rise", "must_not_fall", "only_if"]]
"""A rule between two features by their index: the cause, the effect, and what is asked of it."""

EFFORT = 5.0
"""Work that may be spent on one question, in CP-SAT's deterministic seconds: the same on any machine, at any load."""

CUTS = 200
"""Combinations that may be struck out one by one before the question is left undecided."""

TABLED = 4096
"""Combinations of a demand's own features up to which all are asked beforehand."""

_FLOAT_ERROR = 2.0**-40
"""How far a sum of floats may be off, as a share of its summands: thousands of them lose no more."""

_DIGITS, _COST_DIGITS = 32, 40
"""Binary digits to which scores and costs are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Something else that must hold of a whole row.

    Parameters
    ----------
    holds
        From levels, rows × features, to which rows keep it.
    features
        The features that it looks at besides the person's own values; None for all of them.
    """

    holds: Callable[[Levels], Mask]
    features: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What one person may become.

    Parameters
    ----------
    own
        The person's own level of each feature.
    values
        The value at each place of the flat axis: at the person's own level their own, elsewhere the one that stands
        for the level; an index where the feature is not numeric, NaN where it is missing.
    open
        Which levels may be taken; the person's own among them, unless it must change.
    cost
        What it costs to take each level; 0 at the person's own.
    rules, demands
        What must hold between features.
    max_changes, max_cost
        The most features that change, and the most that it may cost in all.
    """

    own: Int16[np.ndarray, " features"]
    values: Float64[np.ndarray, " width"]
    open: Bool[np.ndarray, " width"]
    cost: Float64[np.ndarray, " width"]
    rules: tuple[Rule, ...] = ()
    demands: tuple[Demand, ...] = ()
    max_changes: int | None = None
    max_cost: float = math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Whether a valid counterfactual exists: True with one to show, False as a proof, None if it was not decided."""

    possible: bool | None
    witness: Int16[np.ndarray, " features"] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """The smallest number of changes, or total cost, with which a valid counterfactual exists, and one that has it."""

    amount: float
    witness: Int16[np.ndarray, " features"]


def prove(view: View, room: Case, desired: int, *, effort: float = EFFORT) -> Verdict:
    """Return whether any row within the person's room is put in the desired class.

    Parameters
    ----------
    view
        What is seen of the model.
    desired
        The index of the class that should become the person's.
    effort
        Deterministic seconds after which the question is left undecided.

    Raises
    ------
    MissingExtraError
        If OR-Tools is not installed.
    """
    return _searched(view, room, desired, None, effort)


def least(
    view: View, room: Case, desired: int, what: Literal["changes", "cost"], *, effort: float = EFFORT
) -> Least | None:
    """Return the least that a valid counterfactual takes, or None if there is none or it was not decided.

    The limit on what is asked for (`max_changes` or `max_cost`) is left out; all others hold. A cost is the least up to
    a billionth of the dearest change.
    """
    freed = replace(room, max_changes=None) if what == "changes" else replace(room, max_cost=math.inf)
    found = _searched(view, freed, desired, what, effort)
    if found.witness is None:
        return None
    changes, cost = _totals(view, room, found.witness)
    return Least(changes if what == "changes" else cost, found.witness)


def _totals(view: View, room: Case, levels: Int16[np.ndarray, " features"]) -> tuple[int, float]:
    """Return how many features change and what that costs, added up feature by feature."""
    return int((levels != room.own).sum()), float(sum(room.cost[levels + view.layout.offsets].tolist()))


def _searched(view: View, room: Case, desired: int, aim: Literal["changes", "cost"] | None, effort: float) -> Verdict:
    """Return the verdict on a question; with an aim, only the best witness counts as one."""
    cp_model = _cp_model()
    layout = view.layout
    allowed = room.open & np.isfinite(room.cost) & (room.cost <= room.max_cost)
    if not np.logical_or.reduceat(allowed, layout.offsets).all():
        return Verdict(possible=False)
    if (allowed & np.isnan(room.values) & ~view.gaps[layout.owner]).any():
        return Verdict(possible=None)
    program = _program(cp_model.CpModel(), view, replace(room, open=allowed), desired, aim)
    doubted = False
    for _ in range(CUTS):
        solver = _solver(cp_model, effort)
        status = solver.solve(program.model)
        if status == cp_model.INFEASIBLE:
            return Verdict(None if doubted else False)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            break
        levels = program.levels(solver)
        fault = program.fault(solver, levels)
        if fault is None:
            best = aim is None or (status == cp_model.OPTIMAL and not doubted)
            return Verdict(True, levels) if best else Verdict(None)
        program.model.add_bool_or([literal.negated() for literal in fault.together])
        doubted |= fault.doubtful
        effort -= solver.deterministic_time
        if effort <= 0:
            break
    return Verdict(possible=None)


def _cp_model() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise MissingExtraError("proving that no change can exist", "ortools", "prove") from error
    return cp_model


def _solver(cp_model: Any, effort: float) -> CpSolver:
    """Return a solver whose answer depends on the question and the effort alone."""
    solver: CpSolver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = effort
    # In version 9.15 the solver's presolve can call a question impossible that is not, and a "no" must be a proof. What
    # it would simplify is simple already: it costs more than it saves.
    solver.parameters.cp_model_presolve = False
    return solver


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """Why a row that was found does not count: these literals together; doubtful if it may yet be valid."""

    together: list[IntVar]
    doubtful: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """The question in whole numbers, with a literal for each open place and each leaf that can be reached."""

    model: CpModel
    view: View
    room: Case
    desired: int
    parts: Parts
    places: dict[int, IntVar]
    leaves: list[IntVar]

    def of_feature(self, feature: int) -> list[int]:
        """Return the open places of a feature."""
        start = int(self.view.layout.offsets[feature])
        return [place for place in range(start, start + int(self.view.layout.sizes[feature])) if place in self.places]

    def levels(self, solver: CpSolver) -> Int16[np.ndarray, " features"]:
        """Return the row that was found."""
        taken = np.array([place for place, literal in self.places.items() if solver.boolean_value(literal)])
        return (taken - self.view.layout.offsets).astype(np.int16)

    def fault(self, solver: CpSolver, levels: Int16[np.ndarray, " features"]) -> _Fault | None:
        """Return what is wrong with the row that was found, computed again from its levels and values."""
        at = levels + self.view.layout.offsets
        taken = [self.places[int(place)] for place in at]
        for demand in self.room.demands:
            if not demand.holds(levels[None, :]).all():
                return _Fault([taken[i] for i in _looked_at(demand, len(levels))])
        if _totals(self.view, self.room, levels)[1] > self.room.max_cost:
            # With the same dear changes among others, a row costs no less.
            return _Fault([taken[i] for i in np.flatnonzero(self.room.cost[at] > 0)])
        cells = self.room.values[at][None, :]
        scores = self.view.scores(cells)
        lead = scores[0, self.desired] - np.delete(scores[0], self.desired).max()
        valid = bool(puts_in(self.view.proba(scores), np.array([self.desired]))[0])
        if valid and lead > self.view.slack:
            return None
        # Rows that add the same parts have the same scores, so all of them are struck out at once.
        reached = [leaf for leaf in self.leaves if solver.boolean_value(leaf)]
        doubtful = bool(0 < self.view.slack >= abs(lead))
        return _Fault(reached + [taken[i] for i in np.flatnonzero(self.parts.alone)], doubtful)


def _looked_at(demand: Demand, features: int) -> Sequence[int]:
    return range(features) if demand.features is None else demand.features


def _program(model: CpModel, view: View, room: Case, desired: int, aim: Literal["changes", "cost"] | None) -> _Program:
    """Return the question put to the solver."""
    parts = view.parts(room.values, room.open)
    places = {int(place): model.new_bool_var("") for place in np.flatnonzero(room.open)}
    leaves = [model.new_bool_var("") for _ in parts.tree]
    program = _Program(model, view, room, desired, parts, places, leaves)
    for feature in range(len(room.own)):
        model.add_exactly_one([places[place] for place in program.of_feature(feature)])
    _end_in_one_leaf_of_each_tree(program)
    _keep_the_rules(program)
    _keep_the_limits(program)
    _keep_the_demands(program)
    _aim_for(program, aim, _win(program))
    return program


def _end_in_one_leaf_of_each_tree(program: _Program) -> None:
    """Let the levels decide the leaf: each leaf needs, of every feature, a level on its side."""
    model, parts, layout = program.model, program.parts, program.view.layout
    for tree in np.unique(parts.tree):
        model.add_exactly_one([program.leaves[leaf] for leaf in np.flatnonzero(parts.tree == tree)])
    narrow = np.logical_or.reduceat(program.room.open & ~parts.box, layout.offsets, axis=1)
    sides: dict[tuple[int, ...], SignedLiteral] = {}
    needing: dict[tuple[int, tuple[int, ...]], list[SignedLiteral]] = {}
    for leaf, feature in zip(*np.nonzero(narrow), strict=True):
        everywhere = program.of_feature(feature)
        side = tuple(place for place in everywhere if parts.box[leaf, place])
        if side not in sides:
            sides[side] = _one_of(program, side, [place for place in everywhere if place not in side])
        needing.setdefault((int(parts.tree[leaf]), side), []).append(program.leaves[leaf])
    for (_, side), leaves in needing.items():
        # Leaves of one tree exclude each other, so what each of them needs is said of all at once.
        model.add_at_most_one([*leaves, sides[side].negated()])


def _one_of(program: _Program, side: Sequence[int], others: Sequence[int]) -> SignedLiteral:
    """Return a literal for taking one of some places of a feature and none of its others."""
    if len(side) == 1:
        return program.places[side[0]]
    if len(others) == 1:
        return program.places[others[0]].negated()
    literal = program.model.new_bool_var("")
    program.model.add(sum(program.places[place] for place in side) == literal)
    return literal


def _keep_the_rules(program: _Program) -> None:
    own = program.room.own + program.view.layout.offsets

    def taking(feature: int, lowest: int) -> Any:
        return sum(program.places[place] for place in program.of_feature(feature) if place >= lowest)

    for cause, effect, how in program.room.rules:
        cause_rises, effect_rises = taking(cause, own[cause] + 1), taking(effect, own[effect] + 1)
        match how:
            case "must_rise":
                program.model.add(cause_rises <= effect_rises)
            case "must_not_fall":
                program.model.add(cause_rises <= taking(effect, own[effect]))
            case "only_if":
                program.model.add(effect_rises <= cause_rises)


def _keep_the_limits(program: _Program) -> None:
    room, changes = program.room, _changes(program)
    program.model.add(changes >= 1)
    if room.max_changes is not None:
        program.model.add(changes <= room.max_changes)
    if math.isfinite(room.max_cost):
        scale = _scale(room.max_cost * len(room.own), _COST_DIGITS)
        # Rounded down, no row that keeps to the limit is lost; one that slips through is found when it is added up.
        costs = np.floor(room.cost * scale)
        program.model.add(_weighed(program, costs) <= math.floor(room.max_cost * scale) + 1)


def _changes(program: _Program) -> Any:
    own = set((program.room.own + program.view.layout.offsets).tolist())
    return sum(literal for place, literal in program.places.items() if place not in own)


def _weighed(program: _Program, weights: Float64[np.ndarray, " width"]) -> Any:
    """Return the sum of whole weights over the places that are taken."""
    return sum(int(weights[place]) * literal for place, literal in program.places.items() if weights[place])


def _keep_the_demands(program: _Program) -> None:
    """Strike out beforehand what a demand on few features forbids; other demands are asked when a row is found."""
    for demand in program.room.demands:
        if demand.features is None:
            continue
        choices = [program.of_feature(feature) for feature in demand.features]
        if math.prod(len(places) for places in choices) > TABLED:
            continue
        combinations = list(product(*choices))
        rows = np.tile(program.room.own, (len(combinations), 1))
        features = list(demand.features)
        rows[:, features] = np.array(combinations) - program.view.layout.offsets[features]
        for forbidden in np.flatnonzero(~demand.holds(rows)):
            program.model.add_bool_or([program.places[place].negated() for place in combinations[forbidden]])


def _win(program: _Program) -> IntVar | None:
    """Let the desired class lead every other, and return a literal for leading beyond all rounding.

    Without the literal a row may still lead by rounding alone. It is None where there is no rounding.
    """
    parts, slack = program.parts, program.view.slack
    scale = float(GRID) if parts.exact else _scale(parts.magnitude, _DIGITS)
    error = math.ceil(scale * (slack if parts.exact else slack + _FLOAT_ERROR * parts.magnitude))
    sure = None if parts.exact and not error else program.model.new_bool_var("")
    for rival in range(len(parts.base)):
        if rival == program.desired:
            continue
        leads = [scale * (part[..., program.desired] - part[..., rival]) for part in _summands(parts)]
        program.model.add(_added(program, *map(np.ceil, leads)) + error >= 1)
        if sure is not None:
            program.model.add(_added(program, *map(np.floor, leads)) - error >= 1).only_enforce_if(sure)
    return sure


def _summands(parts: Parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return parts.base, parts.entries, parts.leaf


def _added(program: _Program, base: np.ndarray, entries: np.ndarray, leaves: np.ndarray) -> Any:
    """Return a sum of whole parts over the places that are taken and the leaves that are reached."""
    reached = sum(int(weight) * leaf for weight, leaf in zip(leaves, program.leaves, strict=True) if weight)
    return int(base) + _weighed(program, entries) + reached


def _aim_for(program: _Program, aim: Literal["changes", "cost"] | None, sure: IntVar | None) -> None:
    """Ask for the least of what is aimed for, and among equals for a row that is valid beyond rounding."""
    bonus = 0 if sure is None else sure
    if aim is not None:
        program.model.minimize(2 * (_changes(program) if aim == "changes" else _whole_cost(program)) - bonus)
    elif sure is not None:
        program.model.maximize(sure)


def _whole_cost(program: _Program) -> Any:
    cost = np.where(program.room.open, program.room.cost, 0.0)
    dearest = float(np.maximum.reduceat(cost, program.view.layout.offsets).sum())
    return _weighed(program, np.round(cost * _scale(dearest, _COST_DIGITS)))


def _scale(magnitude: float, digits: int) -> float:
    """Return a power of two that brings numbers up to a magnitude to so many binary digits.

    >>> _scale(3.0, 10)
    256.0
    """
    return 2.0 ** min(digits - math.frexp(magnitude)[1], 900)
