"""An independent judge of what was released: which rows break which promise, from plain frames and plain data.

It shares no code with the package. It reads `schema.to_dict()`, the cut points as lists, and pandas frames, and goes
through them one row and one cell at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Row = Mapping[str, Any]
Test = Callable[[Row, Row], bool]
"""A condition in Python, from the released row and the person's own."""

CLOSE = 1e-9


@dataclass(frozen=True)
class Asked:
    """What one row should reach and keep to.

    Parameters
    ----------
    limits
        As `explain` takes them by name, without `where`.
    where
        The conditions, each written out again in Python.
    desired, proba
        The classes that will do, and the range of their probability; None for any other class, and for the decision.
    """

    limits: Mapping[str, Any]
    where: Sequence[Test] = ()
    desired: tuple[object, ...] | None = None
    proba: tuple[float, float] | None = None


@dataclass(frozen=True)
class Promise:
    """All that was promised for a release.

    Parameters
    ----------
    schema
        The schema as plain data.
    cuts
        The cut points of each number.
    standing
        The conditions that the schema itself states, in Python.
    classes, model
        The model's labels, and its probabilities for a frame of features.
    """

    schema: Mapping[str, Any]
    cuts: Mapping[str, Sequence[float]]
    classes: Sequence[object]
    model: Callable[[pd.DataFrame], np.ndarray]
    standing: Sequence[Test] = ()

    def breaches(self, rows: pd.DataFrame, long: pd.DataFrame, asked: Sequence[Asked]) -> list[str]:
        """Return a line for every promise that a released row breaks: its place in the long frame, and what."""
        names = [feature["name"] for feature in self.schema["features"]]
        people, found = (_records(frame[names]) for frame in (rows, long))
        told = [
            f"{place}: {breach}"
            for place, (row, after, cost) in enumerate(zip(long["row"], found, long["cost"], strict=True))
            for breach in (
                *self.limits_broken(people[row], after, asked[row]),
                *self._cost_breaches(people[row], after, cost),
            )
        ]
        told += _repeats(people, found, long["row"].tolist())
        return told + self._validity(rows[names], long, names, asked)

    def limits_broken(self, was: Row, now: Row, asked: Asked) -> list[str]:
        """Return what one change breaks of the schema, of its standing limits and of the row's own."""
        return [
            *self._schema_breaches(was, now),
            *self._limit_breaches(was, now, self.schema.get("limits", {}), self.standing),
            *self._limit_breaches(was, now, asked.limits, asked.where),
        ]

    def _schema_breaches(self, was: Row, now: Row) -> list[str]:
        told = []
        for feature in self.schema["features"]:
            name = feature["name"]
            breach = _moved_wrongly(feature, was[name], now[name]) if _differ(was[name], now[name]) else None
            told += [f"{name} {breach}"] if breach else []
        features = {feature["name"]: feature for feature in self.schema["features"]}
        for rule in self.schema.get("rules", []):
            cause, effect = rule["cause"], rule["effect"]
            ways = [self._way(features[name], was[name], now[name]) for name in (cause, effect)]
            how = rule.get("how", "must_rise")
            kept = {
                "must_rise": ways[0] <= 0 or ways[1] > 0,
                "must_not_fall": ways[0] <= 0 or ways[1] >= 0,
                "only_if": ways[1] <= 0 or ways[0] > 0,
            }[how]
            told += [] if kept else [f"{cause} {how} {effect}"]
        return told

    def _way(self, feature: Row, was: Any, now: Any) -> int:
        """Return 1 if a feature rises to a higher level, -1 if it falls, 0 otherwise; from missing it does neither."""
        if _missing(was) or _missing(now):
            return 0
        if feature["kind"] == "numeric":
            before, after = (bisect_left(self.cuts[feature["name"]], value) for value in (was, now))
        else:
            before, after = (feature["levels"].index(value) for value in (was, now))
        return (after > before) - (after < before)

    def _limit_breaches(self, was: Row, now: Row, limits: Row, where: Sequence[Test]) -> list[str]:
        features = {feature["name"]: feature for feature in self.schema["features"]}
        changed = [name for name in features if _differ(was[name], now[name])]
        told = [f"{name} was locked" for name in changed if name in limits.get("lock", ())]
        for name in changed:
            permitted = limits.get("permit", {}).get(name)
            if permitted is not None and not _among(features[name], permitted, now[name]):
                told.append(f"{name} was not permitted")
            for before, after in limits.get("forbid", {}).get(name, ()):
                if _among(features[name], before, was[name]) and _among(features[name], after, now[name]):
                    told.append(f"{name} went where it was forbidden")
        told += [f"condition {place} does not hold" for place, test in enumerate(where) if not test(now, was)]
        most, share, purse = (limits.get(name) for name in ("max_changes", "min_sparsity", "max_cost"))
        if most is not None and len(changed) > most:
            told.append(f"{len(changed)} changes")
        if share is not None and 1 - len(changed) / len(features) < share - CLOSE:
            told.append("too few features stay")
        if purse is not None and self._cost(was, now) > purse * (1 + CLOSE) + CLOSE:
            told.append("too dear")
        return told

    def _cost_breaches(self, was: Row, now: Row, cost: float) -> list[str]:
        own = self._cost(was, now)
        return [] if abs(own - cost) <= CLOSE * (1 + abs(own)) else [f"costs {own}, not {cost}"]

    def _cost(self, was: Row, now: Row) -> float:
        total = 0.0
        for feature in self.schema["features"]:
            before, after = was[feature["name"]], now[feature["name"]]
            if not _differ(before, after):
                continue
            total += feature.get("cost", 1.0)
            if not (_missing(before) or _missing(after)):
                step = _position(feature, after) - _position(feature, before)
                total += step * feature.get("cost_up", 0.0) if step > 0 else -step * feature.get("cost_down", 0.0)
            if feature.get("level_costs"):
                total += feature["level_costs"][feature["levels"].index(after)]
        return total

    def _validity(self, rows: pd.DataFrame, long: pd.DataFrame, names: list[str], asked: Sequence[Asked]) -> list[str]:
        if not len(long):
            return []
        before = self.model(rows).argmax(axis=1)
        told = []
        for place, (row, chances) in enumerate(zip(long["row"], self.model(long[names]), strict=True)):
            wish, own = asked[row], self.classes[before[row]]
            good = [label in wish.desired if wish.desired else label != own for label in self.classes]
            inside, outside = (
                [p for p, fine in zip(chances, good, strict=True) if fine is side] for side in (True, False)
            )
            if wish.proba is not None:
                low, high = wish.proba
                fine = low - CLOSE <= sum(inside) <= high + CLOSE
            else:
                fine = max(inside) > max(outside, default=-1.0)
            told += [] if fine else [f"{place}: not valid"]
            if long["prediction"].iloc[place] != self.classes[int(np.argmax(chances))]:
                told.append(f"{place}: the prediction is another")
        return told


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.astype(object).to_dict("records")


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value != value


def _differ(was: Any, now: Any) -> bool:
    return not (_missing(was) and _missing(now)) and (_missing(was) or _missing(now) or was != now)


def _position(feature: Row, value: Any) -> float:
    return float(value) if feature["kind"] == "numeric" else feature["levels"].index(value)


def _moved_wrongly(feature: Row, was: Any, now: Any) -> str | None:
    """Return what a cell that changed should not have done."""
    moves = feature.get("moves", "both")
    if moves == "never":
        return "moved"
    if _missing(now):
        return "went missing"
    if feature["kind"] != "numeric" and now not in feature["levels"]:
        return "has an unknown level"
    if moves in ("rises", "falls"):
        if _missing(was):
            return "moved from missing"
        if (_position(feature, now) > _position(feature, was)) != (moves == "rises"):
            return f"moved against '{moves}'"
    if feature["kind"] == "numeric":
        if not feature.get("low", -np.inf) <= now <= feature.get("high", np.inf):
            return "left its range"
        if feature.get("integer") and now != int(now):
            return "is not whole"
    return None


def _among(feature: Row, chosen: Any, value: Any) -> bool:
    """Return whether a value belongs to what a limit names: anything, a value, a range, levels."""
    if isinstance(chosen, str) and chosen == "*":
        return True
    if _missing(value):
        return False
    if isinstance(chosen, Mapping):
        low, high = chosen.get("from"), chosen.get("to")
    elif feature["kind"] == "numeric":
        low, high = chosen if isinstance(chosen, list | tuple) else (chosen, chosen)
    else:
        return value in chosen if isinstance(chosen, list | tuple | set | frozenset) else value == chosen
    at = _position(feature, value)
    above = low is None or at >= _position(feature, low)
    return above and (high is None or at <= _position(feature, high))


def _repeats(people: Sequence[Row], found: Sequence[Row], rows: Sequence[int]) -> list[str]:
    """Return the places of what its row has already, in its set or as itself."""
    seen: dict[int, set[tuple[Any, ...]]] = {}
    told = []
    for place, (row, after) in enumerate(zip(rows, found, strict=True)):
        mine = seen.setdefault(row, {_key(people[row])})
        told += [f"{place}: a repeat"] if _key(after) in mine else []
        mine.add(_key(after))
    return told


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(None if _missing(value) else value for value in row.values())
