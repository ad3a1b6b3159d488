"""The features of a table, the rules between them, the limits of every change, and the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from jaxtyping import Int64

from l2c.core.binning import Binning
from l2c.core.feature import Feature, feature_from_dict
from l2c.core.inference import argument_problems, features_of, names_of
from l2c.core.limits import NO_LIMITS, Limits, in_words
from l2c.core.rules import How, Implies, cycle
from l2c.core.table import summarise
from l2c.core.types import Label, Mask
from l2c.errors import InputError, SchemaError, nearest


@dataclass(frozen=True, slots=True)
class Schema:
    """The features in order, the rules between them, the limits of every change, and the target column's name.

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
    limits: Limits = NO_LIMITS
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    numeric: Mask = field(init=False, repr=False, compare=False)
    """Which features are numbers."""
    integer: Mask = field(init=False, repr=False, compare=False)
    """Which are whole ones."""
    missing: Mask = field(init=False, repr=False, compare=False)
    """Which may be missing."""
    level_counts: Int64[np.ndarray, " features"] = field(init=False, repr=False, compare=False)
    """How many levels each declares."""
    level_codes: tuple[Mapping[Label, float], ...] = field(init=False, repr=False, compare=False)
    """From the levels of each to their indices."""
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        features = self.features
        worked_out = {
            "names": tuple(feature.name for feature in features),
            "numeric": np.array([feature.numeric for feature in features], dtype=bool),
            "integer": np.array([bool(feature.integer) for feature in features], dtype=bool),
            "missing": np.array([bool(feature.missing) for feature in features], dtype=bool),
            "level_counts": np.array([len(feature.levels) for feature in features], dtype=np.int64),
            "_places": {feature.name: place for place, feature in reversed(list(enumerate(features)))},
        }
        for name, value in worked_out.items():
            object.__setattr__(self, name, value)
        problems = [*self._feature_problems(), *self._rule_problems(), *self.limits.problems(self.features)]
        if problems:
            raise SchemaError(problems)
        codes = ({level: float(code) for code, level in enumerate(feature.levels)} for feature in features)
        object.__setattr__(self, "level_codes", tuple(codes))

    @classmethod
    def infer(
        cls,
        frame: object,
        *,
        target: str | None = None,
        immutable: Iterable[str] = (),
        rises: Iterable[str] = (),
        falls: Iterable[str] = (),
        rules: Implies | Iterable[Implies] = (),
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        ordinal: Mapping[str, Sequence[Label]] | None = None,
        bins: int | Mapping[str, Binning | int] = 4,
        costs: Mapping[str, float] | None = None,
        limits: Limits = NO_LIMITS,
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
        limits
            What every change must keep to, whoever asks.
        """
        named = {"immutable": immutable, "rises": rises, "falls": falls, "quasi": quasi, "sensitive": sensitive}
        several = tuple(rules) if isinstance(rules, Iterable) else (rules,)
        problems = argument_problems(named, ordinal or {}, bins, costs or {}, several, limits)
        if told := list(problems):
            raise SchemaError(told)
        features = features_of(
            summarise(frame),
            target=target,
            moves={"never": names_of(immutable), "rises": names_of(rises), "falls": names_of(falls)},
            roles={"quasi": names_of(quasi), "sensitive": names_of(sensitive)},
            ordinal=dict(ordinal or {}),
            bins=bins,
            costs=dict(costs or {}),
        )
        return cls(features, target, several, limits)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.index(name)]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def declares(self, names: Set[object]) -> bool:
        """Return whether these are the names of all features, and of nothing else."""
        return self._places.keys() == names

    def index(self, name: str) -> int:
        """Return the position of a feature, or raise with the nearest known name."""
        if name not in self._places:
            raise SchemaError(f"there is no feature {name!r}{nearest(name, self.names)}")
        return self._places[name]

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
        elif not any(feature.moves != "never" and feature.name not in self.limits.lock for feature in self.features):
            fixed = "immutable or locked" if self.limits.lock else "immutable"
            yield f"nothing may move: every feature is {fixed}, so no counterfactual can exist"

    def _rule_problems(self) -> Iterator[str]:
        known = {feature.name: feature for feature in self.features}
        sound = []
        for rule in self.rules:
            if rule.how not in get_args(How):
                yield f"rule from {rule.cause!r} to {rule.effect!r}: {_how_problem(rule.how)}"
                continue
            here, wrong = f"rule '{rule.sentence()}'", []
            for name in (rule.cause, rule.effect):
                if name not in known:
                    wrong.append(f"{here}: there is no feature {name!r}{nearest(name, known)}")
                elif not known[name].ordered:
                    wrong.append(f"{here}: {name!r} is categorical and cannot rise; declare it ordinal")
            yield from wrong
            if not wrong:
                sound.append(rule)
                yield from self._contradiction(rule)
        circle = cycle(sound)
        if circle:
            yield f"the rules go round in a circle: {' → '.join(circle)}"

    def _contradiction(self, rule: Implies) -> Iterator[str]:
        """Yield the sentence on a rule by which a feature that may rise never can."""
        cause_may, effect_may = self._may_rise(rule.cause), self._may_rise(rule.effect)
        here = f"rule '{rule.sentence()}'"
        if rule.how == "must_rise" and cause_may and not effect_may:
            yield (
                f"{here}: {rule.effect!r} may not rise, so {rule.cause!r} never can; "
                f"let {rule.effect!r} rise, or declare {rule.cause!r} immutable"
            )
        if rule.how == "only_if" and effect_may and not cause_may:
            yield (
                f"{here}: {rule.cause!r} may not rise, so {rule.effect!r} never can; "
                f"let {rule.cause!r} rise, or declare {rule.effect!r} immutable"
            )

    def _may_rise(self, name: str) -> bool:
        return self[name].may_rise and name not in self.limits.lock

    def sentences(self) -> list[str]:
        """Return all that a change must keep to, in words.

        >>> age = Feature(name="age", kind="numeric", moves="rises")
        >>> Schema((age, Feature(name="sex", kind="binary", levels=("f", "m"), moves="never"))).sentences()
        ['age may only rise', 'sex never changes']
        """
        words = {"rises": "may only rise", "falls": "may only fall", "never": "never changes"}
        told = [f"{feature.name} {words[feature.moves]}" for feature in self.features if feature.moves != "both"]
        told += [
            f"{feature.name} is proposed {in_words((feature.low, feature.high))}"
            for feature in self.features
            if feature.low is not None or feature.high is not None
        ]
        told += [rule.sentence() for rule in self.rules]
        told += [sentence for feature in self.features for sentence in feature.cost_sentences()]
        return told + self.limits.sentences(self.features)

    def to_dict(self) -> dict[str, object]:
        """Return the schema as plain data; `from_dict` reads it back, equal."""
        data: dict[str, object] = {} if self.target is None else {"target": self.target}
        if self.rules:
            data["rules"] = [_rule_to_dict(rule) for rule in self.rules]
        if self.limits:
            data["limits"] = self.limits.to_dict()
        return data | {"features": [feature.to_dict() for feature in self.features]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Return the schema that plain data describes, or raise with every problem found in it."""
        problems = [f"unknown key {key!r}{nearest(key, _KEYS)}" for key in data if key not in _KEYS]
        features = [
            feature_from_dict(item, position, problems) for position, item in _tables(data, "features", problems)
        ]
        rules = [_rule_from_dict(item, position, problems) for position, item in _tables(data, "rules", problems)]
        target = data.get("target")
        if target is not None and not isinstance(target, str):
            problems.append(f"target must be a column's name, not {target!r}")
        limits = _limits_from_dict(data.get("limits", {}), problems)
        if problems:
            raise SchemaError(problems)
        sound = tuple(rule for rule in rules if rule)
        return cls(tuple(feature for feature in features if feature), target, sound, limits)


_KEYS = ("target", "rules", "limits", "features")


def _tables(data: Mapping[str, Any], key: str, problems: list[str]) -> list[tuple[int, Mapping[str, Any]]]:
    items = data.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        problems.append(f"{key} must be a list of tables")
        return []
    return list(enumerate(items))


def _rule_to_dict(rule: Implies) -> dict[str, str]:
    data = {"cause": rule.cause, "effect": rule.effect}
    return data if rule.how == "must_rise" else data | {"how": rule.how}


def _rule_from_dict(item: Mapping[str, Any], position: int, problems: list[str]) -> Implies | None:
    names = {key: value for key, value in item.items() if key != "how"}
    if set(names) != {"cause", "effect"} or not all(isinstance(name, str) for name in names.values()):
        problems.append(f"rule {position}: expected cause and effect, the names of two features")
        return None
    how = item.get("how", "must_rise")
    if how not in get_args(How):
        problems.append(f"rule {position}: {_how_problem(how)}")
        return None
    return Implies(item["cause"], item["effect"], how)


def _how_problem(how: object) -> str:
    return f"how is one of {', '.join(get_args(How))}, not {how!r}{nearest(how, get_args(How))}"


def _limits_from_dict(data: object, problems: list[str]) -> Limits:
    if not isinstance(data, Mapping):
        problems.append(f"limits must be a table, not {data!r}")
        return NO_LIMITS
    try:
        return Limits.from_dict(data)
    except InputError as error:
        problems += error.problems
        return NO_LIMITS
