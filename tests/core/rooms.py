"""Random rows with random limits, on a grid of halves, and what they may become: one level at a time, in plain Python.

Cuts, ends, values and limits fall on the same few numbers, so that they often coincide, and halves add without error.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, floor, inf, isnan, nan
from typing import Any

import numpy as np

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Decode, Layout, categorical_axis
from l2c.core.limits import Limits
from l2c.core.room import Room, room_for
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.errors import SchemaError

Row = Sequence[float]


@dataclass(frozen=True)
class Said:
    """A condition, with the one feature that it binds (None for any other number) and its meaning."""

    text: str
    feature: int | None
    means: Callable[[float, Row], bool]


@dataclass(frozen=True)
class Asked:
    """Limits for some rows, with the meaning of each of their conditions."""

    limits: Limits
    rows: tuple[bool, ...]
    said: tuple[Said, ...]


@dataclass(frozen=True)
class Case:
    """Rows with their limits: the schema's standing ones first, then the caller's."""

    layout: Layout
    cells: tuple[Row, ...]
    standing: Asked
    asked: tuple[Asked, ...]
    decode: Decode

    @property
    def levels(self) -> np.ndarray:
        return self.layout.levels(np.array(self.cells))

    def room(self) -> Room:
        limits = [(asked.limits, np.array(asked.rows)) for asked in self.asked]
        return room_for(self.layout, np.array(self.cells), self.levels, self.decode, limits)

    def of_row(self, row: int) -> list[Asked]:
        """Return what is asked of one row."""
        return [asked for asked in (self.standing, *self.asked) if asked.rows[row]]

    def alone(self, row: int) -> Case:
        """Return one row with its own limits, as if no other had been there."""
        single = tuple(replace(asked, rows=(True,)) for asked in self.asked if asked.rows[row])
        return replace(self, cells=(self.cells[row],), standing=replace(self.standing, rows=(True,)), asked=single)


# Cases


def random_case(seed: int, *, conditions: bool = True) -> Case:
    """Return rows and limits of every sort; without conditions every row may stay as it is."""
    rng = random.Random(seed)
    parts = [random_feature(rng, f"f{i}", fixed=i > 0 and rng.random() < 0.15) for i in range(rng.randint(1, 4))]
    features, axes = zip(*parts, strict=True)
    rows = rng.randint(1, 4)
    standing = random_asked(rng, features, rows, conditions=conditions and rng.random() < 0.3, everyone=True)
    schema = random_schema(rng, features, standing.limits if rng.random() < 0.5 else Limits())
    standing = standing if schema.limits else Asked(Limits(), (True,) * rows, ())
    cells = tuple(tuple(random_cell(rng, feature) for feature in features) for _ in range(rows))
    asked = tuple(random_asked(rng, features, rows, conditions=conditions) for _ in range(rng.randint(0, 3)))
    return Case(Layout(schema, axes), cells, standing, asked, rng.choice(["median", "midpoint"]))


def random_feature(rng: random.Random, name: str, *, fixed: bool) -> tuple[Feature, Axis]:
    kind = rng.choice(["numeric", "numeric", "ordinal", "categorical", "binary"])
    ways = ["both", "both"] if kind == "categorical" else ["both", "both", "rises", "falls"]
    common: dict[str, Any] = {"moves": "never" if fixed else rng.choice(ways), "missing": rng.random() < 0.3}
    common["cost"] = rng.choice([1.0, 1.0, 0.0, 0.5, 2.0])
    if kind != "categorical" and rng.random() < 0.3:
        common |= {"cost_up": rng.choice([0.0, 0.5, 2.0]), "cost_down": rng.choice([0.0, 0.5, 1.0])}
    if kind == "numeric":
        integer = rng.random() < 0.5
        low, high = sorted(rng.sample(range(-8, 24), 2))
        common |= {"low": rng.choice([None, None, low / 2]), "high": rng.choice([None, None, high / 2])}
        return Feature(name=name, kind=kind, integer=integer, **common), random_axis(rng, integer, common["missing"])
    count = 2 if kind == "binary" else rng.randint(1, 4)
    levels = tuple(f"{name} {code}" for code in range(count))
    if rng.random() < 0.3:
        common["level_costs"] = tuple(rng.choice([0.0, 0.5, 1.0]) for _ in levels)
    feature = Feature(name=name, kind=kind, levels=levels, **common)
    return feature, categorical_axis(feature)


def random_axis(rng: random.Random, integer: bool, missing: bool) -> Axis:
    """Return bins that all hold a whole number; the first may be a single one, and there may be only one bin."""
    cuts = [rng.randint(-6, 6) / 2]
    for _ in range(rng.randint(0, 3)):
        cuts.append(cuts[-1] + rng.choice([1.0, 1.5, 2.0, 4.5]))
    low = rng.choice([None, cuts[0] - 1.0, cuts[0] - 3.5, float(floor(cuts[0])) if integer else cuts[0]])
    high = rng.choice([None, cuts[-1] + 1.0, cuts[-1] + 3.0])
    cuts = [] if rng.random() < 0.1 else cuts
    inside = [bin_halves(cuts, low, high, level, integer) for level in range(len(cuts) + 1)]
    midpoint, median = (tuple(rng.choice(values) for values in inside) for _ in range(2))
    return Axis(tuple(cuts), low, high, midpoint, median, missing)


def bin_halves(cuts: Sequence[float], low: float | None, high: float | None, level: int, integer: bool) -> list[float]:
    """Return the halves, or the whole numbers, that a bin holds."""
    found = []
    for twice in range(-40, 61):
        value = twice / 2
        if integer and value != int(value):
            continue
        if sum(value > cut for cut in cuts) != level:
            continue
        if (low is None or value >= low) and (high is None or value <= high):
            found.append(value)
    return found


def random_cell(rng: random.Random, feature: Feature) -> float:
    if feature.missing and rng.random() < 0.25:
        return nan
    if not feature.numeric:
        return float(rng.randrange(len(feature.levels)))
    return float(rng.randint(-12, 24)) if feature.integer else rng.randint(-24, 48) / 2


def random_schema(rng: random.Random, features: tuple[Feature, ...], limits: Limits) -> Schema:
    """Return a schema with up to three rules that contradict nothing, in any order."""
    rules: list[Implies] = []
    order = [feature.name for feature in features if feature.ordered]
    rng.shuffle(order)
    for _ in range(rng.choice([0, 1, 2, 3]) if len(order) > 1 else 0):
        cause, effect = sorted(rng.sample(order, 2), key=order.index)
        rules.append(Implies(cause, effect, rng.choice(["must_rise", "must_not_fall", "only_if"])))
    while True:
        try:
            return Schema(features, rules=tuple(rules), limits=limits)
        except SchemaError:
            if not rules:
                return Schema(features)
            rules.pop()


def random_asked(
    rng: random.Random, features: Sequence[Feature], rows: int, *, conditions: bool, everyone: bool = False
) -> Asked:
    permit: dict[str, object] = {}
    forbid: dict[str, Any] = {}
    for feature in features:
        if rng.random() < 0.4:
            permit[feature.name] = random_choice(rng, feature)
        if rng.random() < 0.3:
            forbid[feature.name] = [
                tuple("*" if rng.random() < 0.3 else random_choice(rng, feature) for _ in range(2))
                for _ in range(rng.randint(1, 2))
            ]
    permit = {name: given for name, given in permit.items() if not any(Limits(permit={name: given}).problems(features))}
    said = tuple(random_condition(rng, features) for _ in range(rng.randint(0, 3))) if conditions else ()
    limits = Limits(
        lock=[feature.name for feature in features if rng.random() < 0.15],
        permit=permit,
        forbid=forbid,
        where=tuple(part.text for part in said),
        max_changes=rng.choice([None, None, 1, 2]),
        min_sparsity=rng.choice([None, None, 0.25, 0.5]),
        max_cost=rng.choice([None, None, 0.0, 1.0, 2.5, 6.0]),
    )
    assert not list(limits.problems(features))
    return Asked(limits, tuple(everyone or rng.random() < 0.6 for _ in range(rows)), said)


def random_choice(rng: random.Random, feature: Feature) -> object:
    """Return a range or levels: a value, a pair, a list, or a range by name that may be open."""
    if feature.numeric:
        low, high = sorted(rng.randint(-24, 48) / (4 if rng.random() < 0.3 else 2) for _ in range(2))
        return rng.choice([(low, high), (low, high), (None, high), {"from": low}, {"from": low, "to": high}, high])
    levels = rng.sample(feature.levels, rng.randint(1, len(feature.levels)))
    if feature.ordered and rng.random() < 0.5:
        low, high = sorted(rng.choices(range(len(feature.levels)), k=2))
        ends = {"from": feature.levels[low], "to": feature.levels[high]}
        return rng.choice([ends, {"from": ends["from"]}, {"to": ends["to"]}])
    return rng.choice([levels, levels[0]])


def random_condition(rng: random.Random, features: Sequence[Feature]) -> Said:
    """Return a condition on one feature, mostly; a comparison with what is missing is false."""
    i = rng.randrange(len(features))
    name = features[i].name
    if features[i].numeric:
        c, d = rng.randint(-12, 24) / 2, rng.randint(0, 8) / 2
        j = rng.choice([j for j, feature in enumerate(features) if feature.numeric])
        choices = [
            Said(f"{name} >= {c}", i, lambda now, _: now >= c),
            Said(f"{name} < {c}", i, lambda now, _: now < c),
            Said(f"not {name} > {c}", i, lambda now, _: not now > c),
            Said(f"{name} != {c}", i, lambda now, _: now < c or now > c),
            Said(f"{c} <= {name} <= {c + d}", i, lambda now, _: c <= now <= c + d),
            Said(f"{name} <= was.{name} + {d}", i, lambda now, was: now <= was[i] + d),
            Said(f"{name} - {d} >= was.{features[j].name}", i, lambda now, was: now - d >= was[j]),
            Said(f"was.{features[j].name} > {c} or {name} > {d}", i, lambda now, was: was[j] > c or now > d),
            Said(f"was.{name} > {c}", None, lambda *_: True),
        ]
        if j != i:
            choices.append(Said(f"{name} <= {features[j].name} + {d}", None, lambda *_: True))
        return rng.choice(choices)
    code = rng.randrange(len(features[i].levels))
    level = features[i].levels[code]
    choices = [
        Said(f"{name} == '{level}'", i, lambda now, _: now == code),
        Said(f"not {name} == '{level}'", i, lambda now, _: now != code),
        Said(f"{name} != '{level}'", i, lambda now, _: now != code and not isnan(now)),
        Said(f"{name} in ['{level}', '{features[i].levels[0]}']", i, lambda now, _: now in (code, 0)),
        Said(f"{name} == was.{name} or {name} == '{level}'", i, lambda now, was: now == was[i] or now == code),
    ]
    if features[i].ordered:
        choices.append(Said(f"{name} >= '{level}'", i, lambda now, _: now >= code))
        choices.append(Said(f"{name} >= was.{name}", i, lambda now, was: now >= was[i]))
    return rng.choice(choices)


# What they may become


@dataclass
class SlowRoom:
    """The room of one row: for each feature, the values of its open levels, by first and second choice.

    Rules are not followed through yet. `behind` are the levels that a direction alone forbids.
    """

    values: list[dict[int, float]]
    others: list[dict[int, float]]
    behind: list[set[int]]


def slow_room(case: Case, row: int) -> SlowRoom:
    """Return what one row may become, from the limits themselves."""
    own, was, asked = case.levels[row].tolist(), case.cells[row], case.of_row(row)
    room = SlowRoom([], [], [])
    for i, feature in enumerate(case.layout.schema.features):
        values, others, behind = {}, {}, set()
        for level in range(case.layout.axes[i].size):
            found = slow_values(case, asked, i, was, own[i], level)
            if found is None or (level != own[i] and slow_price(feature, was[i], found[0]) > slow_spend(asked)):
                continue
            if level != own[i] and not right_way(feature, case.layout.axes[i], own[i], level):
                behind.add(level)
            else:
                values[level], others[level] = found
        room.values.append(values)
        room.others.append(others)
        room.behind.append(behind)
    return room


def slow_spend(asked: Sequence[Asked]) -> float:
    return min((a.limits.max_cost for a in asked if a.limits.max_cost is not None), default=inf)


def slow_changes(case: Case, row: int, choices: Sequence[dict[int, float]]) -> int:
    """Return the most features that may change, given the levels that each may take with their values."""
    own, was, asked, features = case.levels[row].tolist(), case.cells[row], case.of_row(row), len(choices)
    most = min(most_changes(a.limits, features) for a in asked)
    cheapest = []
    for i, feature in enumerate(case.layout.schema.features):
        prices = [slow_price(feature, was[i], value) for level, value in choices[i].items() if level != own[i]]
        cheapest += [min(prices)] if prices else []
    affordable = [count for count in range(len(cheapest) + 1) if sum(sorted(cheapest)[:count]) <= slow_spend(asked)]
    return min(most, max(affordable)) if slow_spend(asked) < inf else most


def slow_values(
    case: Case, asked: Sequence[Asked], i: int, was: Row, own: int, level: int
) -> tuple[float, float] | None:
    """Return what a level stands for, first and second choice, whatever its direction; None if it is closed."""
    feature, axis = case.layout.schema.features[i], case.layout.axes[i]
    means = [said.means for a in asked for said in a.said if said.feature == i]
    if level == own:
        return (was[i], was[i]) if all(meaning(was[i], was) for meaning in means) else None
    if level == axis.known or feature.moves == "never" or any(feature.name in a.limits.lock for a in asked):
        return None
    stands = (axis.median[level], axis.midpoint[level])
    value, other = stands if case.decode == "median" else reversed(stands)
    choices = [value, other]
    if feature.numeric:
        low, high = slow_range(feature, asked)
        if not any(low <= number <= high for number in slow_numbers(axis, level, feature.integer, (low, high))):
            return None
        choices = [min(max(choice, low), high) for choice in (value, other, *slow_ends(axis, level, feature.integer))]
    elif any(level not in codes(feature, a.limits.permit.get(feature.name, feature.levels)) for a in asked):
        return None
    pairs = [pair for a in asked for pair in a.limits.forbid.get(feature.name, ())]
    if any(slow_forbidden(feature, axis, pair, was[i], level, choices[0]) for pair in pairs):
        return None
    good = [choice for choice in choices if not isnan(choice) and all(meaning(choice, was) for meaning in means)]
    if not good:
        return None
    return good[0], choices[1] if choices[1] in good else good[0]


def slow_range(feature: Feature, asked: Sequence[Asked]) -> tuple[float, float]:
    """Return the range in which a number is proposed to a row, in whole numbers where it is whole."""
    spans = [ends((feature.low, feature.high))]
    spans += [ends(a.limits.permit[feature.name]) for a in asked if feature.name in a.limits.permit]
    low, high = max(first for first, _ in spans), min(last for _, last in spans)
    if feature.integer:
        low, high = low if low == -inf else ceil(low), high if high == inf else floor(high)
    return low, high


def slow_numbers(axis: Axis, level: int, integer: bool, others: Sequence[float]) -> Iterator[float]:
    """Yield numbers of a bin; if it has any in a range that ends at `others`, then one of them."""
    for value in (*axis.median, *others, *(twice / 4 for twice in range(-200, 241))):
        if (
            abs(value) < inf
            and sum(value > cut for cut in axis.cuts) == level
            and not (integer and value != int(value))
        ):
            yield value


def slow_ends(axis: Axis, level: int, integer: bool) -> list[float]:
    """Return the least and the greatest value of a bin that are tried for a condition, NaN for none."""
    edges = [axis.low, *axis.cuts, axis.high]
    left, right = edges[level], edges[level + 1]
    greatest = nan if right is None else floor(right) if integer else right
    if left is None:
        return [nan, greatest]
    if level == 0:
        return [ceil(left) if integer else left, greatest]
    if integer or right is None:
        return [floor(left) + 1, greatest]
    return [left + 0.01 * (right - left), greatest]


def slow_forbidden(
    feature: Feature, axis: Axis, pair: tuple[object, object], was: float, level: int, value: float
) -> bool:
    before, after = pair
    if before != "*" and feature.numeric and not ends(before)[0] <= was <= ends(before)[1]:
        return False
    if before != "*" and not feature.numeric and was not in codes(feature, before):
        return False
    if after == "*":
        return True
    if not feature.numeric:
        return level in codes(feature, after)
    low, high = ends(after)
    edges = [ends((axis.low, None))[0], *axis.cuts, ends((None, axis.high))[1]]
    reaches = low <= edges[level + 1] and (high >= edges[0] if level == 0 else high > edges[level])
    return reaches or low <= value <= high


def ends(given: Any) -> tuple[float, float]:
    """Return the ends of a range of numbers, however it was given."""
    if hasattr(given, "low"):
        given = (given.low, given.high)
    low, high = given if isinstance(given, tuple) else (given, given)
    return -inf if low is None else low, inf if high is None else high


def codes(feature: Feature, given: Any) -> list[int]:
    """Return the places of the levels that were given, one by one or as a range."""
    if hasattr(given, "low"):
        first = 0 if given.low is None else feature.levels.index(given.low)
        last = len(feature.levels) - 1 if given.high is None else feature.levels.index(given.high)
        return list(range(first, last + 1))
    return [feature.levels.index(level) for level in (given if isinstance(given, tuple) else (given,))]


def right_way(feature: Feature, axis: Axis, own: int, level: int) -> bool:
    if feature.moves == "both":
        return True
    return own != axis.known and (level > own if feature.moves == "rises" else level < own)


def slow_price(feature: Feature, was: float, now: float) -> float:
    """Return what it costs to take on another level, with this value."""
    distance = 0.0 if isnan(was) else now - was
    unit = feature.cost_up if distance > 0 else feature.cost_down
    extra = feature.level_costs[int(now)] if feature.level_costs else 0.0
    return feature.cost + unit * abs(distance) + extra


def most_changes(limits: Limits, features: int) -> int:
    most = features if limits.max_changes is None else limits.max_changes
    share = limits.min_sparsity or 0.0
    return max(count for count in range(features + 1) if count <= most and (features - count) / features >= share)


def obeys_rules(schema: Schema, own: Sequence[int], levels: Sequence[int]) -> bool:
    for rule in schema.rules:
        cause, effect = schema.names.index(rule.cause), schema.names.index(rule.effect)
        rises = levels[cause] > own[cause]
        if rule.how == "must_rise" and rises and not levels[effect] > own[effect]:
            return False
        if rule.how == "must_not_fall" and rises and levels[effect] < own[effect]:
            return False
        if rule.how == "only_if" and levels[effect] > own[effect] and not rises:
            return False
    return True


def rule_proof(schema: Schema, own: Sequence[int], choices: Sequence[dict[int, float]]) -> list[set[int]]:
    """Return the levels that are part of some proposal that keeps every rule, by trying all proposals."""
    kept: list[set[int]] = [set() for _ in choices]
    for levels in product(*choices):
        if obeys_rules(schema, own, levels):
            for found, level in zip(kept, levels, strict=True):
                found.add(level)
    return kept
