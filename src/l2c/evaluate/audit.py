"""The audit of a release: every figure about who can be found in it.

Classes are formed twice. *By level*, as the attacker sees them who knows the bins: numbers are intervals. *By value*,
as the release shows them: a number is itself, so there are more classes, and smaller ones. What is sensitive is counted
by level in both: an interval is knowledge enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from l2c.core.identities import distinct, identities
from l2c.core.layout import Layout, places
from l2c.core.types import Cells, Levels
from l2c.errors import InputError
from l2c.evaluate import attacks, linkage
from l2c.evaluate.attacks import Anonymity, Copies, KMap
from l2c.evaluate.linkage import Classes, PerClass, PerSample, Share

By = Literal["levels", "values"]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The counterfactuals to audit.

    Parameters
    ----------
    layout
        The features, their roles and their levels.
    levels, cells
        The counterfactuals by level and by value; `cells` is None where only intervals leave.
    label
        The class that the model puts each in, as an index; it is part of the quasi-identifiers. None if unknown.
    words
        The words for these classes.
    row
        The input row that each is for; None if unknown, and then there are no sets and no people to count.
    """

    layout: Layout
    levels: Levels
    cells: Cells | None
    label: Int64[np.ndarray, " samples"] | None = None
    words: tuple[str, ...] = ()
    row: Int64[np.ndarray, " samples"] | None = None

    def __post_init__(self) -> None:
        if not len(self.quasi):
            raise InputError(
                "no feature has the role 'quasi', so there is nothing to link people by: declare what others may know "
                "of a person, as Schema.infer(..., quasi=['age', 'job']) or role = \"quasi\" in the schema"
            )

    @property
    def quasi(self) -> Int64[np.ndarray, " quasi"]:
        """The places of the quasi-identifiers."""
        return places(self.layout, "quasi")


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The rows that an attacker links the release with.

    Parameters
    ----------
    cells
        The rows by value, all features wide; only the quasi-identifiers are looked at.
    label
        The class that the model puts each row in, coded like that of the samples. If None, rows are linked by the
        other quasi-identifiers alone: a class of the release then maps to more rows, or to rows at all.
    skipped
        How many rows were left out because they cannot match: they hold a value that no released row can have.
    """

    cells: Cells
    label: Int64[np.ndarray, " population"] | None = None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Diversity:
    """What the classes say of a sensitive feature.

    Parameters
    ----------
    l
        The fewest different values in a class: the table is l-diverse. "Missing" is a value.
    one
        1-diversity: how much of the table the classes with a single value are. The paper's figure is the share of
        classes.
    t
        The largest distance between the distribution of a class and that of its table: the table is t-close.
    """

    l: int | None  # noqa: E741  # its name in the literature
    one: Share
    t: float | None


@dataclass(frozen=True, slots=True)
class Scope:
    """The figures of the sets, or of the whole release.

    Shares are means over the sets; k and l are the least, t and the highest risks the most of any set.

    Parameters
    ----------
    tables, classes
        The number of sets (the release is one table) and of the classes in them.
    by_samples, by_people
        Anonymity by either count. In a set all samples are of one person, so that by people there is nothing to
        count; nor is there where nobody says whose a sample is.
    sensitive
        The figures of each sensitive feature, by its name.
    population
        The figures of linking with the population, if one was given.
    """

    tables: int
    classes: int
    by_samples: Anonymity
    by_people: Anonymity | None
    sensitive: Mapping[str, Diversity]
    population: KMap | None


@dataclass(frozen=True, slots=True)
class View:
    """The figures over each input's set and over the whole release; `sets` is None where no sets are known."""

    sets: Scope | None
    release: Scope


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A class of the release, by level: its quasi-identifiers in words, and how many share them.

    Parameters
    ----------
    values, prediction
        The words for each quasi-identifier by its name, and for the predicted class if it is known.
    samples, people, population
        How many samples and people of the release are in the class, and how many rows of the population.
    sensitive
        The number of different values of each sensitive feature in it.
    """

    values: Mapping[str, str]
    prediction: str | None
    samples: int
    people: int | None
    population: int | None
    sensitive: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Audit:
    """Every figure about who can be found in a release; shares are fractions from 0 to 1.

    Parameters
    ----------
    samples, people
        The number of counterfactuals and of the people they are for; None if nobody says.
    quasi, sensitive
        The quasi-identifiers and the sensitive features: the words for each name.
    labelled
        Whether the predicted class is one of the quasi-identifiers.
    population, population_labelled, population_skipped
        The number of population rows, whether they were linked by their predicted class too, and how many of them
        hold a value that no released row can have. The first and last are None without a population.
    levels, values
        The figures by level and by value; the latter None where only intervals leave.
    copies
        Which counterfactuals equal a training row; None without training rows.
    at_risk
        The smallest classes of the release by level, the fewest people first.
    """

    samples: int
    people: int | None
    quasi: Mapping[str, str]
    sensitive: Mapping[str, str]
    labelled: bool
    population: int | None
    population_labelled: bool
    population_skipped: int | None
    levels: View
    values: View | None
    copies: Copies | None
    at_risk: tuple[AtRisk, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data that JSON can hold."""
        return asdict(self) | {"at_risk": [asdict(one) for one in self.at_risk]}


def audit(
    samples: Samples, *, population: Population | None = None, training: Cells | None = None, at_risk: int = 10
) -> Audit:
    """The audit of some counterfactuals.

    Parameters
    ----------
    samples
        The counterfactuals; whether they are valid makes no difference to an attacker.
    population
        Rows to link them with.
    training
        Rows that the model or the method was fitted on; none should come back.
    at_risk
        How many of the smallest classes to list.
    """
    layout, row = samples.layout, samples.row
    levels = _linked(samples, samples.levels, population, "levels")
    values = None if samples.cells is None else _linked(samples, samples.cells, population, "values")
    return Audit(
        samples=len(samples.levels),
        people=None if row is None else len(np.unique(row)),
        quasi=_titles(layout, "quasi"),
        sensitive=_titles(layout, "sensitive"),
        labelled=samples.label is not None,
        population=len(population.cells) if population else None,
        population_labelled=population is not None and population.label is not None,
        population_skipped=population.skipped if population else None,
        levels=_view(samples, levels),
        values=None if values is None else _view(samples, values),
        copies=None if training is None else _copies(samples, levels.whole, training),
        at_risk=tuple(_smallest_classes(samples, levels, at_risk)),
    )


def _titles(layout: Layout, role: Literal["quasi", "sensitive"]) -> dict[str, str]:
    return {layout.schema.names[i]: layout.schema.features[i].title for i in places(layout, role)}


@dataclass(frozen=True, slots=True, eq=False)
class _Linked:
    """The samples' classes by level or by value, and how many population rows each sample maps to."""

    keys: PerSample
    whole: Classes
    matches: PerSample | None


def _linked(samples: Samples, table: Levels | Cells, population: Population | None, by: By) -> _Linked:
    own = table[:, samples.quasi]
    keys = identities([*own.T] if samples.label is None else [*own.T, samples.label])
    return _Linked(
        keys,
        linkage.classes(keys, samples.row),
        None if population is None else _matches(samples, own, population, by),
    )


def _matches(samples: Samples, own: Levels | Cells, population: Population, by: By) -> PerSample:
    table = samples.layout.levels(population.cells) if by == "levels" else population.cells
    theirs = table[:, samples.quasi]
    if samples.label is not None and population.label is not None:
        own, theirs = np.column_stack([own, samples.label]), np.column_stack([theirs, population.label])
    return attacks.matching_rows(own, theirs)


def _view(samples: Samples, linked: _Linked) -> View:
    sets = None if samples.row is None else linkage.classes_of_sets(linked.keys, samples.row)
    return View(
        sets=None if sets is None else _scope(samples, sets, None, linked.matches),
        release=_scope(samples, linked.whole, attacks.by_people(linked.whole), linked.matches),
    )


def _scope(samples: Samples, found: Classes, people: Anonymity | None, matches: PerSample | None) -> Scope:
    layout = samples.layout
    return Scope(
        tables=found.tables,
        classes=len(found.sizes),
        by_samples=attacks.by_samples(found),
        by_people=people,
        sensitive={layout.schema.names[i]: _diversity(samples, found, i) for i in places(layout, "sensitive")},
        population=None if matches is None else attacks.k_map(found, matches[found.first]),
    )


def _diversity(samples: Samples, found: Classes, feature: int) -> Diversity:
    axis, described = samples.layout.axes[feature], samples.layout.schema.features[feature]
    values = _different_values(samples, found, feature)
    apart = linkage.distances(
        found, samples.levels[:, feature], known=axis.known, size=axis.size, ordered=described.ordered
    )
    return Diversity(
        l=linkage.smallest(values),
        one=linkage.share(found, values == 1),
        t=float(apart.max()) if len(apart) else None,
    )


def _different_values(samples: Samples, found: Classes, feature: int) -> PerClass:
    return distinct(found.of, samples.levels[:, feature].astype(np.int64), len(found.sizes))


def _copies(samples: Samples, found: Classes, training: Cells) -> Copies:
    equal = attacks.matching_rows(samples.levels, samples.layout.levels(training)) > 0
    same = None if samples.cells is None else attacks.matching_rows(samples.cells, training) > 0
    return attacks.copies(found, equal, same)


def _smallest_classes(samples: Samples, linked: _Linked, count: int) -> Iterator[AtRisk]:
    layout, found = samples.layout, linked.whole
    mapped = None if linked.matches is None else linked.matches[found.first]
    people = found.sizes if found.people is None else found.people
    # Of classes of one size, one that maps to few rows of the population is worse, and one that maps to none is best.
    last = np.zeros(len(people)) if mapped is None else np.where(mapped == 0, np.inf, mapped)
    values = {layout.schema.names[i]: _different_values(samples, found, i) for i in places(layout, "sensitive")}
    for one in np.lexsort((last, found.sizes, people))[:count]:
        place = found.first[one]
        levels = samples.levels[place]
        yield AtRisk(
            values={layout.schema.names[i]: layout.text(int(i), int(levels[i])) for i in samples.quasi},
            prediction=None if samples.label is None else samples.words[samples.label[place]],
            samples=int(found.sizes[one]),
            people=None if found.people is None else int(found.people[one]),
            population=None if mapped is None else int(mapped[one]),
            sensitive={name: int(counts[one]) for name, counts in values.items()},
        )
