"""The features of a table, the rules between them, and the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from l2c.core.binning import Binning
from l2c.core.feature import Feature, feature_from_dict
from l2c.core.inference import features_of
from l2c.core.rules import Implies
from l2c.core.table import summarise
from l2c.core.types import Label, Mask
from l2c.errors import SchemaError, nearest


@dataclass(frozen=True, slots=True)
class Schema:
    """The features in order, the rules between them, and the target column's name.

    Raises
    ------
    SchemaError
        With every problem at once, if the description contradicts itself.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"hours": range(20, 60), "job": ["clerk", "nurse"] * 20, "paid": [0, 1] * 20})
    >>> schema = Schema.infer(rows, target="paid", rises=["hours"])
    >>> schema["hours"].moves, schema["job"].levels
    ('rises', ('clerk', 'nurse'))
    >>> schema.edit("hours", unit="a week")["hours"].title
    'hours (a week)'
    """

    features: tuple[Feature, ...]
    target: str | None = None
    rules: tuple[Implies, ...] = ()

    def __post_init__(self) -> None:
        problems = [*self._feature_problems(), *self._rule_problems()]
        if problems:
            raise SchemaError(problems)

    @classmethod
    def infer(
        cls,
        frame: object,
        *,
        target: str | None = None,
        immutable: Iterable[str] = (),
        rises: Iterable[str] = (),
        falls: Iterable[str] = (),
        rules: Iterable[Implies] = (),
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        ordinal: Mapping[str, Sequence[Label]] | None = None,
        bins: int | Mapping[str, Binning | int] = 4,
        costs: Mapping[str, float] | None = None,
    ) -> Schema:
        """Return a first schema for a frame; look at it, then edit what it could not know.

        Text becomes categorical, two values binary, a number with few values ordinal, the rest numeric. A
        column with a single value never moves.

        Parameters
        ----------
        frame
            A pandas, polars or Arrow table.
        target
            The column to predict; it is left out of the features.
        immutable, rises, falls
            Features that never move, may only rise, may only fall.
        rules
            What must hold between features, such as `Implies("education", "age")`.
        quasi, sensitive
            Features that help to identify a person; features that must not be inferred.
        ordinal
            Levels in rising order for features whose order the data does not show.
        bins
            The largest number of bins, or a binning for each numeric feature.
        costs
            The relative effort of changing a feature, 1 where not given.
        """
        features = features_of(
            summarise(frame),
            target=target,
            moves={"never": list(immutable), "rises": list(rises), "falls": list(falls)},
            roles={"quasi": list(quasi), "sensitive": list(sensitive)},
            ordinal=dict(ordinal or {}),
            bins=bins,
            costs=dict(costs or {}),
        )
        return cls(features, target, tuple(rules))

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.index(name)]

    def index(self, name: str) -> int:
        """Return the position of a feature, or raise with the nearest known name."""
        if name not in self.names:
            raise SchemaError(f"there is no feature {name!r}{nearest(name, self.names)}")
        return self.names.index(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def mutable(self) -> Mask:
        """Which features may move at all."""
        return np.array([feature.moves != "never" for feature in self.features])

    def edit(self, name: str, **changes: Any) -> Schema:
        """Return a schema in which one feature is changed, checked as a whole again."""
        position = self.index(name)
        unknown = [key for key in changes if key not in Feature.__dataclass_fields__]
        if unknown:
            raise SchemaError(
                f"a feature has no {key!r}{nearest(key, Feature.__dataclass_fields__)}" for key in unknown
            )
        edited = list(self.features)
        edited[position] = replace(edited[position], **changes)
        return replace(self, features=tuple(edited))

    def _feature_problems(self) -> Iterator[str]:
        for feature in self.features:
            yield from feature.problems()
        for name in sorted({name for name in self.names if self.names.count(name) > 1}):
            yield f"feature {name!r} is declared twice"
        if self.target is not None and self.target in self.names:
            yield f"{self.target!r} is the target and cannot be a feature too"
        if not self.features:
            yield "there are no features"
        elif not any(feature.moves != "never" for feature in self.features):
            yield "nothing may move: every feature is immutable, so no counterfactual can exist"

    def _rule_problems(self) -> Iterator[str]:
        known = {feature.name: feature for feature in self.features}
        sound = []
        for rule in self.rules:
            unknown = [name for name in (rule.cause, rule.effect) if name not in known]
            unordered = [name for name in (rule.cause, rule.effect) if name in known and not known[name].ordered]
            for name in unknown:
                yield f"rule '{rule.sentence()}': there is no feature {name!r}{nearest(name, known)}"
            for name in unordered:
                yield f"rule '{rule.sentence()}': {name!r} is categorical and cannot rise; declare it ordinal"
            if not unknown and not unordered:
                sound.append(rule)
                if known[rule.cause].may_rise and not known[rule.effect].may_rise:
                    yield (
                        f"rule '{rule.sentence()}': {rule.effect!r} may not rise, so {rule.cause!r} never can; "
                        f"let {rule.effect!r} rise, or declare {rule.cause!r} immutable"
                    )
        cycle = _cycle(sound)
        if cycle:
            yield f"the rules go round in a circle: {' → '.join(cycle)}"

    def to_dict(self) -> dict[str, object]:
        """Return the schema as plain data; `from_dict` reads it back, equal."""
        data: dict[str, object] = {} if self.target is None else {"target": self.target}
        if self.rules:
            data["rules"] = [{"cause": rule.cause, "effect": rule.effect} for rule in self.rules]
        return data | {"features": [feature.to_dict() for feature in self.features]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Return the schema that plain data describes, or raise with every problem found in it."""
        problems = [
            f"unknown key {key!r}{nearest(key, ['target', 'rules', 'features'])}"
            for key in data
            if key not in ("target", "rules", "features")
        ]
        features = [
            feature_from_dict(item, position, problems) for position, item in _tables(data, "features", problems)
        ]
        rules = [_rule_from_dict(item, position, problems) for position, item in _tables(data, "rules", problems)]
        target = data.get("target")
        if target is not None and not isinstance(target, str):
            problems.append(f"target must be a column's name, not {target!r}")
        if problems:
            raise SchemaError(problems)
        return cls(tuple(feature for feature in features if feature), target, tuple(rule for rule in rules if rule))


def _tables(data: Mapping[str, Any], key: str, problems: list[str]) -> list[tuple[int, Mapping[str, Any]]]:
    items = data.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        problems.append(f"{key} must be a list of tables")
        return []
    return list(enumerate(items))


def _rule_from_dict(item: Mapping[str, Any], position: int, problems: list[str]) -> Implies | None:
    if set(item) != {"cause", "effect"} or not all(isinstance(name, str) for name in item.values()):
        problems.append(f"rule {position}: expected cause and effect, the names of two features")
        return None
    return Implies(item["cause"], item["effect"])


def _cycle(rules: Sequence[Implies]) -> list[str]:
    """Return the names along a circle of rules, or nothing."""
    effects: dict[str, list[str]] = {}
    for rule in rules:
        effects.setdefault(rule.cause, []).append(rule.effect)
    finished: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for effect in effects.get(name, []):
            found = walk(effect, [*path, name])
            if found:
                return found
        finished.add(name)
        return []

    return next((found for name in effects if (found := walk(name, []))), [])
