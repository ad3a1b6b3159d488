"""Schemas of every sort, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from l2c.core.binning import Binning, Edges, EqualFrequency, MinimalEntropy, Tree, ZeroOrPositive
from l2c.core.feature import Feature
from l2c.core.rules import Implies
from l2c.core.schema import Schema

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12)


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
        "cost": draw(st.floats(0, 1e300)),
        "binning": draw(binnings()),
    }
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
    return {"levels": tuple(levels), "labels": tuple(draw(st.sampled_from([[], labels])))}


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Return a schema that contradicts nothing: its rules go from earlier to later features that may rise."""
    *names, target = draw(st.lists(texts, min_size=3, max_size=7, unique=True))
    described = [draw(features(name)) for name in names]
    described.append(Feature(name=f"{''.join(names)}{target}!", kind="numeric", binning=draw(binnings())))
    rising = [feature.name for feature in described if feature.ordered and feature.may_rise]
    rules = [Implies(cause, rising[-1]) for cause in rising[:-1] if draw(st.booleans())]
    return Schema(tuple(described), draw(st.sampled_from([None, target])), tuple(rules))
