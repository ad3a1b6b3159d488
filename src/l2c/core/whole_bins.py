"""Limits over whole intervals: where a release tells bins and not numbers, a limit on a number is kept by the bin.

A permitted range lets through the bins that lie wholly inside it; a forbidden transition begins in every bin that its
range reaches into. (Where it leads to, every bin that is touched is closed in any case.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout
from l2c.core.limits import ANY, Limits, Span, chosen_levels, in_words

Ends = tuple[float, float]
"""The least and the greatest number of a bin, infinite where it is open."""


def bin_ends(feature: Feature, axis: Axis) -> list[Ends]:
    """Return the least and the greatest number of each bin of a numeric feature.

    >>> age = Feature(name="age", kind="numeric", integer=True)
    >>> bin_ends(age, Axis((30.0, 45.0), None, 99.0, (20.0, 38.0, 72.0), (20.0, 38.0, 72.0)))
    [(-inf, 30.0), (31.0, 45.0), (46.0, 99.0)]
    """
    return [_ends(feature, axis, level) for level in range(axis.known)]


def _ends(feature: Feature, axis: Axis, level: int) -> Ends:
    left, right = axis.bounds(level)
    least = -np.inf if left is None else left
    # Only the first bin holds its left end.
    least = float(np.nextafter(least, np.inf)) if level else least
    greatest = np.inf if right is None else right
    return (float(np.ceil(least)), float(np.floor(greatest))) if feature.integer else (least, greatest)


def over_whole_bins(limits: Limits, layout: Layout) -> tuple[Limits, list[str]]:
    """Return limits that are kept by whole bins, and what is wrong with those that cannot be."""
    problems: list[str] = []
    permit = {name: _permitted(layout, name, given, problems) for name, given in limits.permit.items()}
    permit = {name: given for name, given in permit.items() if given != Span()}
    forbid = {
        name: tuple((_begun(layout, name, before), after) for before, after in pairs)
        for name, pairs in limits.forbid.items()
    }
    return replace(limits, permit=permit, forbid=forbid), problems


def _permitted(layout: Layout, name: str, given: object, problems: list[str]) -> object:
    feature, bins = _numeric(layout, name)
    if feature is None:
        return given
    low, high = _numbers(chosen_levels(feature, given))
    inside = [ends for ends in bins if low <= ends[0] and ends[1] <= high]
    if not inside:
        cuts = ", ".join(f"{cut:g}" for cut in layout.axes[layout.schema.index(name)].cuts)
        problems.append(
            f"permit {name!r}: no interval lies within {in_words(given, feature)}, and an interval release permits "
            f"whole ones alone; the edges are {cuts}"
        )
        return given
    return _span(inside)


def _begun(layout: Layout, name: str, before: object) -> object:
    feature, bins = _numeric(layout, name)
    if feature is None or before == ANY:
        return before
    low, high = _numbers(chosen_levels(feature, before))
    touched = _span([ends for ends in bins if ends[0] <= high and low <= ends[1]])
    return ANY if touched == Span() else touched


def _numeric(layout: Layout, name: str) -> tuple[Feature | None, list[Ends]]:
    place = layout.schema.index(name)
    feature = layout.schema.features[place]
    return (feature, bin_ends(feature, layout.axes[place])) if feature.numeric else (None, [])


def _numbers(chosen: object) -> Ends:
    assert isinstance(chosen, Span)  # of a number nothing else can be chosen
    return tuple(_finite_or(end, open_end) for end, open_end in ((chosen.low, -np.inf), (chosen.high, np.inf)))  # type: ignore[return-value]


def _finite_or(end: object, otherwise: float) -> float:
    return otherwise if end is None else float(end)  # type: ignore[arg-type]


def _span(bins: list[Ends]) -> Span:
    low, high = min(ends[0] for ends in bins), max(ends[1] for ends in bins)
    return Span(None if np.isinf(low) else low, None if np.isinf(high) else high)
