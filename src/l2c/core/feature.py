"""One column of the table: what it is, how it may move, how to speak of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from l2c.core.binning import Binning, EqualFrequency, binning_from_dict, binning_problems, binning_to_dict
from l2c.core.given_numbers import is_number
from l2c.core.types import Label
from l2c.errors import SchemaError, nearest

Kind = Literal["numeric", "ordinal", "categorical", "binary"]
Moves = Literal["both", "rises", "falls", "never"]
Role = Literal["plain", "quasi", "sensitive"]

STAYS, EITHER_WAY, RISES, FALLS = range(4)
WAYS: dict[Moves, int] = {"never": STAYS, "both": EITHER_WAY, "rises": RISES, "falls": FALLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the table: its kind, its levels, how it may move, and how to speak of it.

    Parameters
    ----------
    name
        The column's name in the data.
    kind
        `numeric` features are cut into bins; the levels of `ordinal` and `binary` ones are in rising order.
    levels
        The values of a feature that is not numeric.
    moves
        What a counterfactual may do to it: `both`, `rises`, `falls` or `never`.
    role
        `quasi` (helps to identify a person), `sensitive` (must not be inferred) or `plain`.
    label, unit, labels
        Words for people: the feature's, its unit's, and one for each level.
    integer
        Whether a number is whole; what is proposed is then whole too.
    low, high
        The range in which numbers are proposed. A person outside it is accepted as they are.
    missing
        Whether values may be missing; missing is then a level of its own, kept but never proposed.
    binning
        How numbers become levels.
    cost
        The relative effort of changing this feature at all.
    cost_up, cost_down
        What each unit of a number, or each step of an ordered level, adds to it on the way up and on the way down.
    level_costs
        What each level adds when it is taken on; for features that are not numeric.

    Examples
    --------
    >>> Feature(name="age", kind="numeric", integer=True, moves="rises", unit="years").title
    'age (years)'
    """

    name: str
    kind: Kind
    levels: tuple[Label, ...] = ()
    moves: Moves = "both"
    role: Role = "plain"
    label: str = ""
    unit: str = ""
    labels: tuple[str, ...] = ()
    integer: bool = False
    low: float | None = None
    high: float | None = None
    missing: bool = False
    binning: Binning = field(default_factory=EqualFrequency)
    cost: float = 1.0
    cost_up: float = 0.0
    cost_down: float = 0.0
    level_costs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("levels", "labels", "level_costs"):
            given: object = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise SchemaError(f"feature {self.name!r}: {name} takes a list, not {given!r}")
            object.__setattr__(self, name, tuple(given))

    @property
    def numeric(self) -> bool:
        return self.kind == "numeric"

    @property
    def ordered(self) -> bool:
        return self.kind != "categorical"

    @property
    def may_rise(self) -> bool:
        return self.moves in ("both", "rises")

    @property
    def title(self) -> str:
        """The name for people, with the unit."""
        name = self.label or self.name
        return f"{name} ({self.unit})" if self.unit else name

    def text(self, code: int) -> str:
        """Return the words for the level with this index."""
        return self.labels[code] if self.labels else str(self.levels[code])

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with this feature, a sentence each."""
        here = f"feature {self.name!r}"
        for given, known in ((self.kind, Kind), (self.moves, Moves), (self.role, Role)):
            if given not in get_args(known):
                yield f"{here}: {given!r} is none of {', '.join(get_args(known))}{nearest(given, get_args(known))}"
        if self.numeric:
            if self.levels or self.labels:
                yield f"{here}: a numeric feature has no levels; declare it ordinal, or remove them"
            for phrase in binning_problems(self.binning):
                yield f"{here}: {phrase}"
            ends = [end for end in (self.low, self.high) if end is not None]
            if not all(map(is_number, ends)):
                yield f"{here}: a range is from a number to a number, not {self.low!r} to {self.high!r}"
            elif len(ends) == 2 and not ends[0] < ends[1]:
                yield f"{here}: the range from {self.low} to {self.high} is empty"
        elif self.kind in get_args(Kind):
            yield from self._level_problems(here)
        if self.moves in ("rises", "falls") and not self.ordered:
            yield f"{here}: it {self.moves}, but a categorical feature has no order; declare it ordinal"
        yield from self._cost_problems(here)

    def _cost_problems(self, here: str) -> Iterator[str]:
        for cost in (self.cost, self.cost_up, self.cost_down, *self.level_costs):
            if not (is_number(cost) and np.isfinite(cost) and cost >= 0):
                yield f"{here}: a cost is a number of at least 0, not {cost!r}"
        if (self.cost_up or self.cost_down) and not self.ordered:
            yield f"{here}: cost_up and cost_down need an order, and it is categorical; use level_costs"
        if self.level_costs and len(self.level_costs) != len(self.levels):
            yield f"{here}: {len(self.level_costs)} level costs for {len(self.levels)} levels"

    def _level_problems(self, here: str) -> Iterator[str]:
        if not self.levels:
            yield f"{here}: it is {self.kind} and needs its levels"
        if len(set(self.levels)) < len(self.levels):
            yield f"{here}: a level is listed twice"
        if any(level != level for level in self.levels):
            yield f"{here}: NaN is not a level; declare missing = true instead"
        if self.labels and len(self.labels) != len(self.levels):
            yield f"{here}: {len(self.labels)} labels for {len(self.levels)} levels"
        if self.kind == "binary" and len(self.levels) != 2:
            yield f"{here}: a binary feature has 2 levels, not {len(self.levels)}"
        if self.low is not None or self.high is not None:
            yield f"{here}: a range (low, high) is for numeric features"

    def cost_sentences(self) -> Iterator[str]:
        """Yield what a change of this feature costs, in words, where it is not just 1."""
        step = self.unit or ("unit" if self.numeric else "level")
        if self.cost != 1:
            yield f"changing {self.name} costs {self.cost:g}"
        for cost, way in ((self.cost_up, "up"), (self.cost_down, "down")):
            if cost:
                yield f"each {step} that {self.name} goes {way} costs {cost:g}"
        if self.level_costs:
            levels = ", ".join(f"{self.text(code)} {cost:g}" for code, cost in enumerate(self.level_costs))
            yield f"becoming a level of {self.name} costs: {levels}"

    def to_dict(self) -> dict[str, object]:
        """Return the feature as plain data, without what is at its default."""
        plain = Feature(name=self.name, kind=self.kind)
        data: dict[str, object] = {"name": self.name, "kind": self.kind}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name not in data and value != getattr(plain, name):
                data[name] = list(value) if isinstance(value, tuple) else value
        if self.numeric or "binning" in data:
            data["binning"] = binning_to_dict(self.binning)
        return data


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,), "kind": (str,), "levels": (list,), "moves": (str,), "role": (str,), "label": (str,),
    "unit": (str,), "labels": (list,), "integer": (bool,), "low": (int, float), "high": (int, float),
    "missing": (bool,), "binning": (dict,), "cost": (int, float), "cost_up": (int, float), "cost_down": (int, float),
    "level_costs": (list,),
}  # fmt: skip


def feature_from_dict(item: Mapping[str, Any], position: int, problems: list[str]) -> Feature | None:
    """Return the feature that plain data describes; what is wrong with it is added to `problems`."""
    here = f"feature {item.get('name', position)!r}"
    wrong = [f"{here}: unknown key {key!r}{nearest(key, _FIELD_TYPES)}" for key in item if key not in _FIELD_TYPES]
    wrong += [f"{here}: {key!r} is missing" for key in ("name", "kind") if key not in item]
    for key, value in item.items():
        if key in _FIELD_TYPES and (
            not isinstance(value, _FIELD_TYPES[key]) or (isinstance(value, bool) and bool not in _FIELD_TYPES[key])
        ):
            wrong.append(f"{here}: {key} cannot be {value!r}")
    fields: dict[str, Any] = dict(item)
    for key in ("levels", "labels", "level_costs"):
        fields[key] = tuple(fields[key]) if isinstance(fields.get(key), list) else ()
    if not all(isinstance(cost, int | float) and not isinstance(cost, bool) for cost in fields["level_costs"]):
        wrong.append(f"{here}: level_costs must be numbers")
    if not all(isinstance(level, Label) for level in fields["levels"]):
        wrong.append(f"{here}: levels must be texts, numbers or booleans")
    if not all(isinstance(label, str) for label in fields["labels"]):
        wrong.append(f"{here}: labels must be texts")
    if isinstance(fields.get("binning"), Mapping):
        try:
            fields["binning"] = binning_from_dict(dict(fields["binning"]))
        except (ValueError, TypeError) as error:
            wrong.append(f"{here}: {error}")
    problems += wrong
    return None if wrong else Feature(**fields)
