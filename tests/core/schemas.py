"""Schemas of every sort, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from l2c.core.binning import Binning, Edges, EqualFrequency, MinimalEntropy, Tree, ZeroOrPositive
from l2c.core.feature import Feature
from l2c.core.limits import Limits
from l2c.core.rules import Implies
from l2c.core.schema import Schema

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12)
costs = st.floats(0, 1e300)


@st.composite
def binnings(draw: st.DrawFn) -> Binning:
    cuts = draw(st.lists(numbers, min_size=1, max_size=5, unique=True))
    return draw(
        st.sampled_from(
            [
                EqualFrequency(draw(st.integers(2, 99))),
                ZeroOrPositive(),
                MinimalEntropy(),
                Tree(draw(st.integers(2, 99))),
                Edges(tuple(sorted(cuts)), draw(texts)),
            ]
        )
    )


@st.composite
def features(draw: st.DrawFn, name: str) -> Feature:
    kind = draw(st.sampled_from(["numeric", "ordinal", "categorical", "binary"]))
    moves = st.sampled_from(["both", "never"] + (["rises", "falls"] if kind != "categorical" else []))
    common: dict[str, Any] = {
        "moves": draw(moves),
        "role": draw(st.sampled_from(["plain", "quasi", "sensitive"])),
        "label": draw(texts),
        "unit": draw(texts),
        "missing": draw(st.booleans()),
        "cost": draw(costs),
        "binning": draw(binnings()),
    }
    if kind != "categorical":
        common |= {"cost_up": draw(st.just(0.0) | costs), "cost_down": draw(st.just(0.0) | costs)}
    own = draw(numeric_settings() if kind == "numeric" else level_settings(2 if kind == "binary" else None))
    return Feature(name=name, kind=kind, **common, **own)


@st.composite
def numeric_settings(draw: st.DrawFn) -> dict[str, Any]:
    low, high = sorted(draw(st.lists(numbers, min_size=2, max_size=2, unique=True)))
    return {
        "integer": draw(st.booleans()),
        "low": draw(st.sampled_from([None, low])),
        "high": draw(st.sampled_from([None, high])),
    }


@st.composite
def level_settings(draw: st.DrawFn, count: int | None) -> dict[str, Any]:
    value, most = draw(st.sampled_from([(texts, 12), (st.integers(), 12), (numbers, 12), (st.booleans(), 2)]))
    wanted = count or draw(st.integers(1, most))
    levels = draw(st.lists(value, min_size=wanted, max_size=wanted, unique=True))
    labels = draw(st.lists(texts, min_size=wanted, max_size=wanted))
    prices = draw(st.just([]) | st.lists(costs, min_size=wanted, max_size=wanted))
    return {
        "levels": tuple(levels),
        "labels": tuple(draw(st.sampled_from([[], labels]))),
        "level_costs": tuple(prices),
    }


@st.composite
def choices(draw: st.DrawFn, feature: Feature) -> object:
    """Levels or a range of a feature, written in any way."""
    if feature.numeric:
        low, high = sorted(draw(st.lists(numbers, min_size=2, max_size=2)))
        by_name = st.sampled_from([{"from": low}, {"to": high}, {"from": low, "to": high}])
        return draw(st.sampled_from([(low, high), [low, high], (low, None), (None, high), low]) | by_name)
    some = draw(st.lists(st.sampled_from(feature.levels), min_size=1, max_size=3))
    if not feature.ordered or draw(st.booleans()):
        return draw(st.sampled_from([some, tuple(some), some[0]]))
    low, high = sorted(feature.levels.index(level) for level in (some * 2)[:2])
    ends = {"from": feature.levels[low], "to": feature.levels[high]}
    return draw(st.sampled_from([ends, {"from": ends["from"]}, {"to": ends["to"]}]))


@st.composite
def limits_for(draw: st.DrawFn, features: list[Feature], lockable: list[str]) -> Limits:
    """Limits of every sort that fit the features."""
    permit = {feature.name: draw(choices(feature)) for feature in features if draw(st.booleans())}
    ends = {feature.name: st.just("*") | choices(feature) for feature in features}
    where = []
    for feature in features:
        name = "`" + feature.name.replace("`", "``") + "`"
        if feature.numeric and draw(st.booleans()):
            where.append(draw(st.sampled_from([f"{name} <= was.{name} + 10", f"{name} >=\n 3 or {name} < -1.5e3"])))
    return Limits(
        lock=[name for name in lockable if draw(st.booleans())],
        # A range may lie outside the declared one, or hold no whole number.
        permit={
            name: given for name, given in permit.items() if not any(Limits(permit={name: given}).problems(features))
        },
        forbid={
            name: draw(st.lists(st.tuples(end, end), max_size=2)) for name, end in ends.items() if draw(st.booleans())
        },
        where=where,
        max_changes=draw(st.none() | st.integers(1, 99)),
        min_sparsity=draw(st.none() | st.floats(0, 1)),
        max_cost=draw(st.none() | costs),
    )


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Return a schema that contradicts nothing: its rules go from earlier to later features that may rise, unlocked."""
    *names, target = draw(st.lists(texts, min_size=3, max_size=7, unique=True))
    described = [draw(features(name)) for name in names]
    described.append(Feature(name=f"{''.join(names)}{target}!", kind="numeric", binning=draw(binnings())))
    rising = [feature.name for feature in described if feature.ordered and feature.may_rise]
    hows = st.sampled_from(["must_rise", "must_not_fall", "only_if"])
    rules = [Implies(cause, rising[-1], draw(hows)) for cause in rising[:-1] if draw(st.booleans())]
    limits = draw(limits_for(described, [name for name in names if name not in rising]) | st.just(Limits()))
    return Schema(tuple(described), draw(st.sampled_from([None, target])), tuple(rules), limits)
