"""An independent counter of classes: which of a released frame break a privacy policy.

It shares no code with the package. It reads `schema.to_dict()`, the cut points as lists, a policy as plain data and
pandas frames, and goes through them one row and one cell at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

Class = list[int]
"""The places of the rows of one class."""

CLOSE = 1e-9


@dataclass(frozen=True)
class Counter:
    """Counts the classes of frames.

    Parameters
    ----------
    schema
        The schema as plain data.
    cuts
        The cut points of each number.
    """

    schema: Mapping[str, Any]
    cuts: Mapping[str, Sequence[float]]

    def broken(
        self, long: pd.DataFrame, policy: Mapping[str, Any], population: pd.DataFrame | None = None
    ) -> list[str]:
        """Return a line for every class of a released frame that breaks a policy, and how it does."""
        rows = long.to_dict("records")
        told: list[str] = []
        people = self._people(population) if policy.get("k_map") and population is not None else {}
        for classes in self.tables(rows, policy).values():
            whole = [place for members in classes.values() for place in members]
            for key, members in classes.items():
                told += [f"{key}: {breach}" for breach in self._breaches(rows, members, whole, policy)]
                found = people.get(key[:-1], 0)
                if 0 < found < policy.get("k_map", 0):
                    told.append(f"{key}: matches {found}")
        return told

    def tables(self, rows: Sequence[Mapping[str, Any]], policy: Mapping[str, Any]) -> dict[Any, dict[Any, Class]]:
        """Return the classes of each table: of every set, or of the release."""
        tables: dict[Any, dict[Any, Class]] = defaultdict(lambda: defaultdict(list))
        for place, row in enumerate(rows):
            table = row["row"] if policy["scope"] == "set" else "release"
            tables[table][(*self._quasi(row, policy), row["prediction"])].append(place)
        return tables

    def _quasi(self, row: Mapping[str, Any], policy: Mapping[str, Any]) -> tuple[Any, ...]:
        features = [feature for feature in self.schema["features"] if feature.get("role") == "quasi"]
        if policy.get("generalise"):  # they are told in texts, and what reads alike is alike
            return tuple(row[feature["name"]] for feature in features)
        return tuple(self.level(feature, row[feature["name"]]) for feature in features)

    def _breaches(
        self, rows: Sequence[Mapping[str, Any]], members: Class, whole: Class, policy: Mapping[str, Any]
    ) -> list[str]:
        size = len({rows[place]["row"] for place in members}) if policy["count"] == "people" else len(members)
        told = [] if size >= policy["k"] else [f"{size} {policy['count']}"]
        for feature in self.schema["features"]:
            if feature.get("role") != "sensitive":
                continue
            name = feature["name"]
            part, every = ([self.level(feature, rows[place][name]) for place in some] for some in (members, whole))
            if policy.get("l") and len(set(part)) < policy["l"]:
                told.append(f"{len(set(part))} values of {name}")
            if policy.get("t") is not None and (apart := self._apart(feature, part, every)) > policy["t"] + CLOSE:
                told.append(f"{apart:.4f} away in {name}")
        return told

    def level(self, feature: Mapping[str, Any], value: Any) -> int:
        """Return the level of a value; missing is -1."""
        if value is None or value != value:
            return -1
        if feature["kind"] == "numeric":
            return bisect_left(list(self.cuts[feature["name"]]), float(value))
        return list(feature["levels"]).index(value)

    def _apart(self, feature: Mapping[str, Any], part: list[int], whole: list[int]) -> float:
        """Return how far a part is from its whole: the share that has to move, and in an order how far it goes."""
        numeric = feature["kind"] == "numeric"
        known = len(self.cuts[feature["name"]]) + 1 if numeric else len(feature["levels"])
        p, q = ([some.count(level) / len(some) for level in range(-1, known)] for some in (part, whole))
        if feature["kind"] == "categorical":
            return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
        there = min(1 - p[0], 1 - q[0])
        p, q = ([there * one / (1 - side[0]) if side[0] < 1 else 0.0 for one in side[1:]] for side in (p, q))
        gone = abs(part.count(-1) / len(part) - whole.count(-1) / len(whole))
        carried = [sum(p[: i + 1]) - sum(q[: i + 1]) for i in range(known)]
        return sum(abs(one) for one in carried) / max(known - 1, 1) + gone

    def _people(self, population: pd.DataFrame) -> dict[tuple[Any, ...], int]:
        """Return how many rows of a population have each combination of levels."""
        features = [feature for feature in self.schema["features"] if feature.get("role") == "quasi"]
        counts: dict[tuple[Any, ...], int] = defaultdict(int)
        for row in population.to_dict("records"):
            counts[tuple(self.level(one, row[one["name"]]) for one in features)] += 1
        return counts
