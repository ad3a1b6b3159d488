"""Edges of bins from data, with differential privacy: quantiles picked by OpenDP among public candidates.

Each edge is chosen by noisy max among candidates that are scored by how far from a quantile they lie in rank, which one
row more or less hardly moves. Whatever follows from the edges alone costs no more privacy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.adapters import frames
from l2c.core.binning import Edges
from l2c.core.feature import Feature
from l2c.core.given_numbers import is_number
from l2c.core.schema import Schema
from l2c.errors import InputError, MissingExtraError, nearest

CANDIDATES = 1000
"""The most candidates for an edge, evenly spread between the bounds."""

Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class PrivateEdges:
    """A schema with private edges, and what they cost.

    Parameters
    ----------
    schema
        The schema; each binning names its source and its share of the cost.
    epsilon
        What was spent in all: adding or removing one row of the frame changes the chance of any outcome by a factor
        of at most exp(epsilon).
    """

    schema: Schema
    epsilon: float


def private_edges(frame: Any, schema: Schema, bounds: Bounds, *, epsilon: float = 1.0, bins: int = 4) -> PrivateEdges:
    """Return a schema in which some numbers have bins of about equal frequency, found with differential privacy.

    The draws come from OpenDP's own source and cannot be seeded: who could repeat them could undo them. Call it once
    and keep the schema: every call spends its epsilon again.

    Parameters
    ----------
    frame
        The training rows, one person each.
    bounds
        The features to cut, each with a range that is known without looking at the data: its lowest and highest edge
        lie inside it, and it is declared as the feature's range where the schema has none.
    epsilon
        The privacy budget of all edges together; each edge gets an equal part.
    bins
        How many bins a feature gets; fewer where edges fall together.
    """
    problems = [*_problems(schema, bounds, epsilon, bins)]
    if problems:
        raise InputError(problems)
    cells = frames.strict(frames.read(frame, schema))
    each = epsilon / (len(bounds) * (bins - 1))
    spent, cut = 0.0, schema
    for name, (low, high) in bounds.items():
        column = cells[:, schema.index(name)]
        edges, cost = _quantiles(column[~np.isnan(column)], _candidates(schema[name], low, high), bins, each)
        spent += cost
        cut = _with_edges(cut, name, edges, cost, (low, high))
    return PrivateEdges(cut, spent)


def _with_edges(schema: Schema, name: str, cuts: tuple[float, ...], cost: float, ends: tuple[float, float]) -> Schema:
    feature = schema[name]
    low, high = (end if given is None else given for end, given in zip(ends, (feature.low, feature.high), strict=True))
    source = f"quantiles with differential privacy by OpenDP, epsilon = {cost:.6g}"
    return schema.edit(name, binning=Edges(cuts, source), low=low, high=high)


def _candidates(feature: Feature, low: float, high: float) -> Float64[np.ndarray, " candidates"]:
    """Return where an edge may lie: strictly between the bounds, at whole numbers where the feature is whole."""
    if feature.integer:
        # A bin holds its right end and not its left one, so an edge on the lower bound parts nothing but it.
        first, last = np.floor(low) + 1, np.ceil(high) - 1
        return np.unique(np.rint(np.linspace(first, last, min(CANDIDATES, int(last - first) + 1))))
    return np.linspace(low, high, CANDIDATES + 2)[1:-1]


def _quantiles(
    values: Float64[np.ndarray, " rows"], candidates: Float64[np.ndarray, " candidates"], bins: int, epsilon: float
) -> tuple[tuple[float, ...], float]:
    """Return the edges that part some values evenly, and what they cost in all; each may cost so much."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    rows, places, spent = values.tolist(), candidates.tolist(), 0.0
    edges = set()
    for share in np.arange(1, bins) / bins:
        scored = domain >> dp.t.then_quantile_score_candidates(places, float(share))

        def pick(scale: float, scored: Any = scored) -> Any:
            return scored >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)

        chosen = dp.binary_search_chain(pick, d_in=1, d_out=epsilon, T=float)
        edges.add(places[chosen(rows)])
        spent += chosen.map(1)
    return tuple(sorted(edges)), spent


def _problems(schema: Schema, bounds: Bounds, epsilon: float, bins: int) -> Iterator[str]:
    if not bounds:
        yield "bounds name no feature: give each number to cut a range that is known without looking at the data"
    for name, ends in bounds.items():
        if name not in schema.names:
            yield f"bounds: there is no feature {name!r}{nearest(name, schema.names)}"
        elif not schema[name].numeric:
            yield f"bounds: {name!r} is {schema[name].kind}, and only numbers have edges"
        elif not _is_range(ends):
            yield f"bounds of {name!r}: expected a range (low, high) of finite numbers, not {ends!r}"
        elif not len(_candidates(schema[name], *ends)):
            yield f"bounds of {name!r}: there is no whole number between {ends[0]:g} and {ends[1]:g} to cut at"
    if not (is_number(epsilon) and epsilon > 0):
        yield f"epsilon must be above 0, not {epsilon!r}"
    if not isinstance(bins, int) or bins < 2:
        yield f"bins must be a whole number of at least 2, not {bins!r}"


def _is_range(ends: Any) -> bool:
    try:
        low, high = ends
        return bool(np.isfinite(low) and np.isfinite(high) and low < high)
    except (TypeError, ValueError):
        return False


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingExtraError("making edges with differential privacy", "opendp", "dp") from error
    # OpenDP calls all of its mechanisms so that are not yet vetted through and through, and wants it to be said.
    dp.enable_features("contrib")
    return dp
