"""The gate at the door: the privacy policy that a caller asks for, checked, and as the release needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from l2c.app.audited_tables import population_of
from l2c.core.given_numbers import is_number, is_whole, whole_number_problems
from l2c.core.layout import Layout, places
from l2c.core.schema import Schema
from l2c.core.types import Label
from l2c.errors import InputError
from l2c.release.policy import Count, Crowd, Policy, Scope


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A privacy policy that every released class keeps, or the row is withheld.

    A class is the counterfactuals that agree, by level, on the schema's quasi-identifiers, and on the predicted class.

    Parameters
    ----------
    k
        The least number of counterfactuals in a class, or of people.
    l
        The least number of different values of every sensitive feature in a class.
    t
        The most that a class may differ from its set, or from the release, in a sensitive feature: the earth mover's
        distance from 0 to 1, as in the audit.
    population, k_map
        Rows that an attacker may hold, with the quasi-identifying columns at least; and of how many of them a class
        must not be told apart: one that matches none, or at least `k_map`, passes.
    population_prediction
        The model's answers for the population: the name of a column of it, or as many labels as it has rows. With
        them, people are linked by the predicted class too; without them, by the other quasi-identifiers alone.
    scope
        Whether the policy holds in every input's `set`, or in the whole `release`. What a row gets then depends on the
        other rows of the batch.
    count
        Whether k counts `samples` or `people`, that is different input rows; people need the scope of a release.
    generalise
        Whether a row that cannot keep the policy is told in coarser levels of the quasi-identifiers, instead of being
        withheld.

    Raises
    ------
    InputError
        With every problem at once, if it cannot be asked for.

    Examples
    --------
    >>> Gate(k=5, l=2).sentence
    'every class of a set has at least 5 counterfactuals and 2 values of every sensitive feature'
    >>> Gate(k=0, count="people")
    Traceback (most recent call last):
    l2c.errors.InputError: 2 problems:
      - k must be at least 1, not 0
      - a set belongs to one person: count='people' needs scope='release'
    """

    k: int = 2
    l: int | None = None  # noqa: E741  # its name in the literature
    t: float | None = None
    population: Any = None
    k_map: int | None = None
    scope: Scope = "set"
    count: Count = "samples"
    generalise: bool = False
    population_prediction: Any = None

    def __post_init__(self) -> None:
        problems = [*self._problems()]
        if problems:
            raise InputError(problems)

    def _problems(self) -> Iterator[str]:
        for name in ("k", "l", "k_map"):
            value = getattr(self, name)
            if value is None and name != "k":
                continue
            yield from whole_number_problems((name, value, 1))
        if self.t is not None and not (is_number(self.t) and 0 <= self.t <= 1):
            yield f"t must be between 0 and 1, not {self.t!r}"
        for name, known in (("scope", get_args(Scope)), ("count", get_args(Count))):
            if getattr(self, name) not in known:
                yield f"{name} must be {' or '.join(map(repr, known))}, not {getattr(self, name)!r}"
        if self.generalise not in (True, False):
            yield f"generalise must be True or False, not {self.generalise!r}"
        if self.count == "people" and self.scope == "set":
            yield "a set belongs to one person: count='people' needs scope='release'"
        if (self.population is None) != (self.k_map is None):
            given, lacking = ("k_map", "population") if self.population is None else ("population", "k_map")
            yield f"{given} says nothing without {lacking}: give both"
        if self.population is None and self.population_prediction is not None:
            yield "population_prediction says nothing without population: give both"

    def problems(self, schema: Schema, n: object) -> Iterator[str]:
        """Yield why this policy cannot be kept for sets of n under a schema."""
        roles = [feature.role for feature in schema.features]
        if "quasi" not in roles:
            yield (
                "the gate needs to know by what people can be linked, and no feature has the role 'quasi': declare "
                "what others may know of a person, as Schema.infer(..., quasi=['age', 'job']) or role = \"quasi\" in "
                "the schema"
            )
        asked = [f"{name} = {value:g}" for name in ("l", "t") if (value := getattr(self, name)) is not None]
        if asked and "sensitive" not in roles:
            yield f"the gate's {' and '.join(asked)} is about sensitive features, and none has the role 'sensitive'"
        if self.scope == "set" and is_whole(n) and n < self.k:
            yield f"n = {n} is less than the gate's k = {self.k}: a set of {n} cannot hold a class of {self.k}"

    def policy(self, layout: Layout, classes: tuple[Label, ...]) -> Policy:
        """Return the policy as the release keeps it, over these levels and the model's classes.

        Raises
        ------
        InputError
            If no class could ever have so many values of a sensitive feature.
        """
        few = [
            f"the gate's l = {self.l}: {layout.schema.names[i]!r} has only {layout.axes[i].size} levels"
            for i in places(layout, "sensitive")
            if self.l is not None and layout.axes[i].size < self.l
        ]
        if few:
            raise InputError(few)
        return Policy(
            layout,
            int(self.k),
            self.l,
            self.t,
            self.k_map,
            self._crowd(layout, classes),
            self.scope,
            self.count,
            self.generalise,
        )

    def _crowd(self, layout: Layout, classes: tuple[Label, ...]) -> Crowd | None:
        people = population_of(self.population, self.population_prediction, layout, classes)
        return None if people is None else Crowd(layout.levels(people.cells)[:, places(layout, "quasi")], people.label)

    @property
    def sentence(self) -> str:
        """The policy in words."""
        where = "a set" if self.scope == "set" else "the release"
        members = "counterfactuals" if self.count == "samples" else "people"
        parts = [f"at least {self.k} {members}"]
        if self.l is not None:
            parts.append(f"{self.l} values of every sensitive feature")
        told = f"every class of {where} has {' and '.join(parts)}"
        if self.t is not None:
            told += f", differs by at most {self.t:g} from {'its set' if self.scope == 'set' else where}"
        if self.k_map is not None:
            told += f", matches no row of the population or at least {self.k_map}"
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data for a file's notes; of a population, how many rows it has."""
        numbers = {name: int(value) for name in ("k", "l", "k_map") if (value := getattr(self, name)) is not None}
        data: dict[str, Any] = {**numbers, **({} if self.t is None else {"t": float(self.t)})}
        data |= {"scope": self.scope, "count": self.count, "generalise": bool(self.generalise)}
        return data if self.population is None else data | {"population": len(self.population)}
