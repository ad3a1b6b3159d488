"""Random tables with random rules, black boxes and limits for every row: what must hold of any request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from checker import Asked, Promise, Test
from l2c import Edges, EqualFrequency, Explainer, Explanations, Feature, Implies, Limits, Schema
from l2c.errors import SchemaError

Rng = np.random.Generator
HOWS = ("must_rise", "must_not_fall", "only_if")


@dataclass(frozen=True)
class World:
    """A schema with what it says in Python, rows that fit it, and a model."""

    schema: Schema
    standing: tuple[Test, ...]
    rows: pd.DataFrame
    model: Callable[[pd.DataFrame], np.ndarray]

    def breaches(self, explainer: Explainer, rows: pd.DataFrame, found: Explanations, asked: list[Asked]) -> list[str]:
        """Return what an independent judge finds wrong with what was found for some rows."""
        return self.promise(explainer).breaches(rows, found.to_frame(), asked)

    def promise(self, explainer: Explainer) -> Promise:
        """Return all that an explainer of this world promises, as plain data."""
        axes = zip(explainer.schema.names, explainer.layout.axes, strict=True)
        cuts = {name: list(axis.cuts) for name, axis in axes}
        return Promise(explainer.schema.to_dict(), cuts, explainer.classes, self.model, self.standing)


def random_world(rng: Rng, *, rows: int = 60, features: tuple[int, int] = (3, 8)) -> World:
    """Return a world in which everything is drawn at random; contradictions are drawn again."""
    while True:
        described = tuple(random_feature(rng, f"f{i}") for i in range(rng.integers(*features)))
        rules = random_rules(rng, described)
        table = pd.DataFrame({feature.name: random_column(rng, feature, rows) for feature in described})
        asked = random_limits(rng, described) if rng.random() < 0.3 else Request({}, ())
        try:
            schema = Schema(described, rules=rules, limits=Limits(**asked.given))
        except SchemaError:
            continue
        return World(schema, asked.tests, table, random_model(rng, schema, table))


def random_feature(rng: Rng, name: str) -> Feature:
    kind = rng.choice(["numeric", "numeric", "ordinal", "categorical", "binary"])
    moves = str(rng.choice(["both", "both", "never"] + ["rises", "falls"] * (kind != "categorical")))
    missing, cost = bool(rng.random() < 0.25), float(rng.choice([1, 1, 0, 2.5]))
    feature = Feature(name=name, kind=str(kind), moves=moves, missing=missing, cost=cost)
    if kind != "categorical" and rng.random() < 0.4:
        feature = replace(feature, cost_up=float(rng.choice([0, 0.5, 2])), cost_down=float(rng.choice([0, 0.25])))
    if kind == "numeric":
        low, high = (None if rng.random() < 0.7 else end for end in (-7.0, 6.5))
        bins = EqualFrequency(int(rng.integers(2, 6))) if rng.random() < 0.8 else Edges((-15.0, -4.0, 1.0, 5.0, 15.0))
        return replace(feature, integer=bool(rng.random() < 0.5), low=low, high=high, binning=bins)
    count = 2 if kind == "binary" else int(rng.integers(2, 5))
    whole = not missing and rng.random() < 0.4
    levels = tuple(range(1, count + 1)) if whole else tuple(f"{name}{'abcd'[code]}" for code in range(count))
    prices = tuple(float(rng.integers(0, 3)) for _ in levels) if rng.random() < 0.3 else ()
    return replace(feature, levels=levels, level_costs=prices)


def random_rules(rng: Rng, features: tuple[Feature, ...]) -> tuple[Implies, ...]:
    """Return rules from earlier features to later ones: chains and several causes come about, circles do not."""
    ordered = [feature.name for feature in features if feature.ordered]
    pairs = [(cause, effect) for i, cause in enumerate(ordered) for effect in ordered[i + 1 :]]
    chosen = rng.permutation(len(pairs))[: rng.integers(0, 4)] if pairs else ()
    return tuple(Implies(*pairs[place], str(rng.choice(HOWS))) for place in chosen)


def random_column(rng: Rng, feature: Feature, rows: int) -> pd.Series:
    if feature.numeric:
        values = rng.normal(0, 5, rows)
        column = pd.Series(values.round() if feature.integer else values)
        if feature.integer and not feature.missing:
            column = column.astype("int64")
    else:
        column = pd.Series([feature.levels[code] for code in rng.integers(0, len(feature.levels), rows)])
    if feature.missing:
        column = column.where((np.arange(rows) < 10) | (rng.random(rows) > 0.2), None)
    return column


def random_model(rng: Rng, schema: Schema, table: pd.DataFrame) -> Callable[[pd.DataFrame], np.ndarray]:
    """Return a cheap black box: a straight line or a tree, of two classes or of three."""
    classes = ("no", "yes") if rng.random() < 0.7 else ("low", "middle", "high")
    score = _line(rng, schema) if rng.random() < 0.5 else _tree(rng, schema, table)
    ends = np.quantile(score(table), [0.4, 0.8] if len(classes) == 3 else [rng.uniform(0.2, 0.8)])

    def model(frame: pd.DataFrame) -> np.ndarray:
        # Scores beyond the first end speak for the second class, and so on.
        votes = np.stack([np.zeros(len(frame)), *(score(frame) - end + 1e-9 for end in ends)], axis=1)
        mass = np.exp(np.cumsum(votes, axis=1) - np.cumsum(votes, axis=1).max(axis=1, keepdims=True))
        return mass / mass.sum(axis=1, keepdims=True)

    model.classes = classes
    return model


def _numbers(feature: Feature, frame: pd.DataFrame) -> np.ndarray:
    """Return a column as numbers: itself, or the place of each level; missing is -1."""
    if feature.numeric:
        return np.nan_to_num(frame[feature.name].to_numpy(dtype=float), nan=-1.0)
    codes = {level: float(code) for code, level in enumerate(feature.levels)}
    return frame[feature.name].map(codes).fillna(-1.0).to_numpy(dtype=float)


def _line(rng: Rng, schema: Schema) -> Callable[[pd.DataFrame], np.ndarray]:
    weights = {feature.name: rng.normal(size=len(feature.levels) + 1) for feature in schema.features}

    def score(frame: pd.DataFrame) -> np.ndarray:
        total = np.zeros(len(frame))
        for feature in schema.features:
            weight, values = weights[feature.name], _numbers(feature, frame)
            total += weight[0] * values / 4 if feature.numeric else weight[values.astype(int)]
        return total

    return score


def _tree(rng: Rng, schema: Schema, table: pd.DataFrame, depth: int = 3) -> Callable[[pd.DataFrame], np.ndarray]:
    if not depth:
        answer = float(rng.normal())
        return lambda frame: np.full(len(frame), answer)
    feature = schema.features[rng.integers(len(schema.features))]
    end = float(rng.choice(_numbers(feature, table)))
    below, above = (_tree(rng, schema, table, depth - 1) for _ in range(2))

    def score(frame: pd.DataFrame) -> np.ndarray:
        return np.where(_numbers(feature, frame) <= end, below(frame), above(frame))

    return score


# What is asked of a row


@dataclass(frozen=True)
class Request:
    """Limits as `explain` takes them, and their conditions in Python."""

    given: dict[str, Any]
    tests: tuple[Test, ...]

    def asked(self, **goal: Any) -> Asked:
        """Return what a judge should hold a release to."""
        return Asked({name: value for name, value in self.given.items() if name != "where"}, self.tests, **goal)


def random_limits(rng: Rng, features: tuple[Feature, ...]) -> Request:
    """Return one or two limits of any sort."""
    sorts = ["lock", "permit", "forbid", "max_changes", "min_sparsity", "max_cost", "where", "where"]
    given: dict[str, Any] = {}
    tests: list[Test] = []
    for sort in rng.choice(sorts, rng.integers(1, 3)):
        feature = features[rng.integers(len(features))]
        if sort == "lock":
            given["lock"] = [feature.name]
        elif sort == "permit":
            given.setdefault("permit", {})[feature.name] = _some_values(rng, feature)
        elif sort == "forbid":
            pair = tuple("*" if rng.random() < 0.3 else _some_values(rng, feature) for _ in range(2))
            given.setdefault("forbid", {}).setdefault(feature.name, []).append(pair)
        elif sort == "where":
            text, test = random_condition(rng, features)
            given.setdefault("where", []).append(text)
            tests.append(test)
        else:
            given[str(sort)] = {
                "max_changes": int(rng.integers(1, len(features) + 1)),
                "min_sparsity": float(rng.choice([0.2, 0.5, 0.75])),
                "max_cost": float(rng.choice([1.0, 2.0, 4.5, 12.0])),
            }[sort]
    return Request(given, tuple(tests))


def _some_values(rng: Rng, feature: Feature) -> Any:
    """Return a range of a number, or some levels, in one of the ways to say it."""
    if feature.numeric:
        # Every declared range holds some of it: one that is disjoint would be refused.
        low, high = (float(end) for end in np.sort(rng.normal(0, 6, 2)).clip(-6.5, 6.0).round(1))
        return [(low, high + 1), (None, high), (low, None), {"from": low, "to": high + 1}][rng.integers(4)]
    first, last = sorted(rng.integers(0, len(feature.levels), 2).tolist())
    if feature.ordered and rng.random() < 0.3:
        return {"from": feature.levels[first], "to": feature.levels[last]}
    return [feature.levels[code] for code in range(first, last + 1)]


def random_condition(rng: Rng, features: tuple[Feature, ...]) -> tuple[str, Test]:
    """Return a condition, and the same again as Python."""
    parts = [_comparison(rng, features[i]) for i in rng.integers(0, len(features), 2)]
    numbers = [feature.name for feature in features if feature.numeric]
    how = rng.random()
    if how < 0.5:
        return parts[0]
    (one, first), (other, second) = parts
    if how < 0.65:
        return f"{one} or {other}", lambda now, was: first(now, was) or second(now, was)
    if how < 0.8 or not numbers:
        return f"({one}) and not ({other})", lambda now, was: first(now, was) and not second(now, was)
    a, b = (str(rng.choice(numbers)) for _ in range(2))
    end = round(float(rng.normal(0, 8)), 1)
    return f"{a} + was.{b} * 0.5 <= {b} - {end}", lambda now, was: _less(
        _known(now[a]) + _known(was[b]) * 0.5, _known(now[b]) - end
    )


def _comparison(rng: Rng, feature: Feature) -> tuple[str, Test]:
    name = feature.name
    if feature.numeric:
        end = round(float(rng.normal(0, 5)), 1)
        if rng.random() < 0.5:
            return f"{name} <= was.{name} + {abs(end)}", lambda now, was: _less(
                _known(now[name]), _known(was[name]) + abs(end)
            )
        return f"{name} >= {end}", lambda now, was: _less(end, _known(now[name]))  # noqa: ARG005
    if rng.random() < 0.5:
        level = feature.levels[rng.integers(len(feature.levels))]
        return f"{name} != {level!r}", lambda now, was: _there(now[name]) and now[name] != level  # noqa: ARG005
    some = [level for level in feature.levels if rng.random() < 0.6] or [feature.levels[0]]
    return f"{name} in [{', '.join(map(repr, some))}]", lambda now, was: now[name] in some  # noqa: ARG005


def _there(value: Any) -> bool:
    return value is not None and value == value


def _known(value: Any) -> float:
    return float(value) if _there(value) else float("nan")


def _less(left: float, right: float) -> bool:
    return bool(left <= right)  # a missing value answers no
