"""The whole audit against a patient person with dictionaries, and at the edges."""

from __future__ import annotations

import json
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.audited import (
    AGE,
    CELLS,
    ILL,
    JOB,
    LAYOUT,
    SCHOOL,
    SMALL,
    Class,
    anything,
    audited,
    layout_of,
    people_in,
    picked,
    populations,
    random_cells,
    random_population,
    random_samples,
    same_value,
    slow_distance,
    slow_share,
    slow_tables,
)
from l2c.core.feature import Feature
from l2c.errors import InputError
from l2c.evaluate.audit import Audit, Population, Samples, Scope, audit
from l2c.evaluate.linkage import Share

views = st.sampled_from(["levels", "values"])
scopes = st.sampled_from(["set", "release"])


def scope_of(figures: Audit, by: str, scope: str) -> Scope:
    view = figures.levels if by == "levels" else figures.values
    assert view is not None
    found = view.sets if scope == "set" else view.release
    assert found is not None
    return found


def close(found: Share, expected: tuple[float | None, ...]) -> None:
    assert astuple(found) == pytest.approx(expected)


# Against the oracle


@given(audited, views, scopes)
def test_anonymity_is_what_a_patient_person_counts(samples: Samples, by: str, scope: str) -> None:
    tables = slow_tables(samples, by, scope)
    found = scope_of(audit(samples), by, scope)
    sizes = [len(one) for table in tables for one in table]
    assert (found.tables, found.classes) == (len(tables), len(sizes))
    assert found.by_samples.k == (min(sizes) if sizes else None)
    close(found.by_samples.one, slow_share(samples, tables, lambda one: len(one) == 1, anything))
    if scope == "set":
        assert found.by_people is None
        return
    crowds = [len(people_in(samples, one)) for table in tables for one in table]
    assert found.by_people is not None
    assert found.by_people.k == (min(crowds) if crowds else None)
    close(found.by_people.one, slow_share(samples, tables, lambda one: len(people_in(samples, one)) == 1, anything))


@given(audited, views, scopes, st.sampled_from(["school", "ill"]))
def test_diversity_and_closeness_are_what_a_patient_person_counts(
    samples: Samples, by: str, scope: str, name: str
) -> None:
    place = LAYOUT.schema.index(name)
    axis = LAYOUT.axes[place]
    levels = samples.levels[:, place].tolist()
    tables = slow_tables(samples, by, scope)
    found = scope_of(audit(samples), by, scope).sensitive[name]
    counts = [len({levels[i] for i in one}) for table in tables for one in table]
    apart = [
        slow_distance(
            [levels[i] for i in one], [levels[i] for other in table for i in other], axis.known, axis.size,
            ordered=name == "school",
        )
        for table in tables
        for one in table
    ]  # fmt: skip
    assert found.l == (min(counts) if counts else None)
    assert found.t == pytest.approx(max(apart) if apart else None)
    close(found.one, slow_share(samples, tables, lambda one: len({levels[i] for i in one}) == 1, anything))


@given(audited, populations, views, scopes)
def test_matches_in_a_population_are_what_a_patient_person_counts(
    samples: Samples, population: Population, by: str, scope: str
) -> None:
    others = LAYOUT.levels(population.cells) if by == "levels" else population.cells
    own = samples.levels if by == "levels" else samples.cells
    assert own is not None
    assert samples.label is not None
    labelled = population.label is not None

    def key(row: np.ndarray, label: int) -> tuple[object, ...]:
        return (same_value(row[0]), same_value(row[1]), label if labelled else None)

    theirs = [key(row, population.label[i] if labelled else 0) for i, row in enumerate(others)]
    matches = [theirs.count(key(row, samples.label[i])) for i, row in enumerate(own)]

    def matched(one: Class) -> bool:
        return matches[one[0]] > 0

    def single(one: Class) -> bool:
        return matches[one[0]] == 1

    tables = slow_tables(samples, by, scope)
    found = scope_of(audit(samples, population=population), by, scope).population
    assert found is not None
    close(found.matched, slow_share(samples, tables, matched, anything))
    if not any(matches):
        assert found.one == found.one_of_matched == Share(None, None, None)
        assert (found.k, found.journalist, found.marketer, found.marketer_people) == (None,) * 4
        return
    assert found.k == min(count for count in matches if count)
    assert found.journalist == 1 / found.k
    close(found.one, slow_share(samples, tables, single, anything))
    close(found.one_of_matched, slow_share(samples, tables, single, matched))


@given(audited, st.integers(0, 2**32 - 1))
def test_copies_are_the_rows_that_a_list_of_training_rows_holds(samples: Samples, seed: int) -> None:
    training = random_cells(np.random.default_rng(seed), 60)
    assert samples.cells is not None
    by_level = [tuple(row) for row in LAYOUT.levels(training)]
    by_value = [tuple(map(same_value, row)) for row in training]
    found = audit(samples, training=training).copies
    assert found is not None
    assert found.count == sum(tuple(row) in by_level for row in samples.levels)
    assert found.same_values == sum(tuple(map(same_value, row)) in by_value for row in samples.cells)


@given(audited, populations)
def test_the_listed_classes_are_the_smallest_in_words(samples: Samples, population: Population) -> None:
    figures = audit(samples, population=population, at_risk=4)
    ((*classes,),) = slow_tables(samples, "levels", "release") or [[]]
    crowds = sorted((len(people_in(samples, one)), len(one)) for one in classes)
    assert [(one.people, one.samples) for one in figures.at_risk] == crowds[:4]
    assert samples.label is not None
    for one in figures.at_risk:
        assert any(
            {"age": LAYOUT.text(0, int(samples.levels[i][0])), "job": LAYOUT.text(1, int(samples.levels[i][1]))}
            == one.values
            and samples.words[samples.label[i]] == one.prediction
            for i in range(len(samples.levels))
        )


# By hand


def test_by_level_two_ages_are_one_class_and_by_value_two() -> None:
    figures = audit(SMALL)
    assert figures.values is not None
    assert figures.levels.release.classes == 3
    assert figures.values.release.classes == 4
    assert (figures.samples, figures.people) == (5, 2)
    assert figures.quasi == {"age": "Age (years)", "job": "job"}
    assert figures.sensitive == {"school": "school", "ill": "ill"}


def test_samples_and_people_differ() -> None:
    release = audit(SMALL).levels.release
    assert release.by_people is not None
    assert release.by_samples.one == Share(pytest.approx(2 / 3), pytest.approx(2 / 5), 1.0)
    three_of_one = replace(SMALL, row=np.array([0, 0, 1, 0, 1]))
    alone = audit(three_of_one).levels.release.by_people
    assert alone is not None
    assert alone.one.classes == 1.0
    assert audit(three_of_one).levels.release.by_samples.one.samples == pytest.approx(2 / 5)


def test_the_predicted_class_is_a_quasi_identifier_when_it_is_known() -> None:
    known = replace(SMALL, label=np.array([1, 0, 1, 1, 1]))
    assert audit(known).levels.release.classes == 4
    unknown = audit(replace(SMALL, label=None))
    assert (unknown.labelled, unknown.levels.release.classes) == (False, 3)
    assert [one.prediction for one in unknown.at_risk] == [None, None, None]


def test_a_population_without_predictions_is_linked_by_the_rest() -> None:
    others = CELLS[[0, 0, 2]]
    figures = audit(SMALL, population=Population(others, np.array([0, 1, 0]), skipped=7))
    assert (figures.population, figures.population_labelled, figures.population_skipped) == (3, True, 7)
    linked, loose = (
        figures.levels.release.population,
        audit(SMALL, population=Population(others)).levels.release.population,
    )
    assert linked is not None
    assert loose is not None
    assert (linked.k, linked.matched.samples) == (1, 3 / 5)
    assert (loose.k, loose.matched.samples, loose.one.samples) == (1, 4 / 5, 1 / 5)


def test_missing_equals_missing_and_nothing_else() -> None:
    cells = CELLS.copy()
    cells[[0, 3], 0] = np.nan
    samples = replace(SMALL, cells=cells, levels=LAYOUT.levels(cells))
    figures = audit(samples, population=Population(cells[[0]]))
    assert figures.values is not None
    assert figures.values.release.classes == figures.levels.release.classes == 4
    assert figures.levels.release.population is not None
    assert figures.levels.release.population.matched.samples == 2 / 5
    assert [one.values["age"] for one in figures.at_risk].count("missing") == 1


# At the edges


def test_without_quasi_identifiers_there_is_nothing_to_audit() -> None:
    layout = layout_of(SCHOOL, ILL)
    with pytest.raises(InputError, match=r"no feature has the role 'quasi', so there is nothing to link people by: "):
        Samples(layout, np.zeros((1, 2), dtype=np.int16), np.zeros((1, 2)))


def test_without_sensitive_features_the_rest_is_audited() -> None:
    layout = layout_of(AGE, JOB)
    cells = CELLS[:, :2]
    figures = audit(Samples(layout, layout.levels(cells), cells, row=SMALL.row))
    assert (figures.sensitive, figures.levels.release.sensitive) == ({}, {})
    assert figures.levels.release.by_samples.k == 1


def test_without_rows_there_are_no_sets_and_no_people() -> None:
    figures = audit(replace(SMALL, row=None))
    assert (figures.people, figures.levels.sets, figures.levels.release.by_people) == (None, None, None)
    assert figures.levels.release.by_samples.one.people is None
    assert figures.at_risk[0].people is None


def test_an_interval_release_has_no_values() -> None:
    figures = audit(replace(SMALL, cells=None), population=Population(CELLS), training=CELLS)
    assert figures.values is None
    assert figures.copies is not None
    assert (figures.copies.count, figures.copies.same_values) == (5, None)


def test_an_empty_release_has_no_figures() -> None:
    figures = audit(
        random_samples(0, rows=0, people=1), population=random_population(0, 5, labelled=True), training=CELLS
    )
    assert (figures.samples, figures.people, figures.at_risk) == (0, 0, ())
    for scope in (figures.levels.release, figures.levels.sets):
        assert scope is not None
        assert (scope.tables, scope.classes, scope.by_samples.k, scope.sensitive["ill"].l) == (0, 0, None, None)


def test_one_row_is_alone() -> None:
    figures = audit(picked([0], row=[8]))
    assert figures.levels.release.by_samples.one == Share(1.0, 1.0, 1.0)
    assert figures.levels.release.sensitive["ill"].t == 0.0


def test_a_column_of_one_level_tells_nothing() -> None:
    one = Feature(name="town", kind="categorical", levels=("here",), role="quasi")
    layout = layout_of(one, ILL)
    cells = np.array([[0.0, 0], [0, 1]])
    assert audit(Samples(layout, layout.levels(cells), cells)).levels.release.by_samples.k == 2


@given(audited, populations)
def test_any_audit_survives_strict_json(samples: Samples, population: Population) -> None:
    data = audit(samples, population=population, training=CELLS).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


@given(audited)
def test_the_order_of_the_samples_makes_no_difference(samples: Samples) -> None:
    order = np.random.default_rng(0).permutation(len(samples.levels))
    assert samples.cells is not None
    assert samples.label is not None
    assert samples.row is not None
    turned = Samples(
        LAYOUT, samples.levels[order], samples.cells[order], samples.label[order], samples.words, samples.row[order]
    )
    first, second = audit(samples).to_dict(), audit(turned).to_dict()
    assert json.dumps(second) == json.dumps(first) or second == _approximately(first)


def _approximately(data: object) -> object:
    if isinstance(data, dict):
        return {key: _approximately(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_approximately(value) for value in data]
    return pytest.approx(data) if isinstance(data, float) else data
