"""Policies: how they are written, and a sentence for everything that does not hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluate.audited import (
    AGE,
    CELLS,
    JOB,
    SMALL,
    audited,
    layout_of,
    picked,
    random_population,
    random_samples,
    slow_tables,
)
from l2c.errors import InputError
from l2c.evaluate.audit import Population, Samples, audit
from l2c.evaluate.requirement import Requirement, parse_requirement, violations


def broken(samples: Samples, text: str, **more: object) -> list[str]:
    return violations(audit(samples, **more), parse_requirement(text))  # type: ignore[arg-type]


# How it is written


def test_a_policy_is_read_from_a_text() -> None:
    assert parse_requirement("k=5,l=2") == Requirement(k=5, l=2)
    assert parse_requirement(" k = 5 , t=0.3 , k_map=2,copies=0,scope=release,count=people,by=values ") == Requirement(
        k=5, t=0.3, k_map=2, copies=0.0, scope="release", count="people", by="values"
    )


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["'': expected name=value, such as k=5"]),
        ("k", ["'k': expected name=value, such as k=5"]),
        ("k=5,k=6", ["'k=6': k is required twice"]),
        ("k=two", ["'k=two': 'two' is not a whole number"]),
        ("k=2.5", ["'k=2.5': '2.5' is not a whole number"]),
        ("t=far", ["'t=far': 'far' is not a number"]),
        ("kmap=2", ["'kmap=2': there is no requirement 'kmap'; did you mean 'k_map'?"]),
        (
            "zzz=2",
            ["'zzz=2': there is no requirement 'zzz'; known are k, l, k_map, t, copies, scope, count, by"],
        ),
        ("k=0,l=0,k_map=-1", ["k must be at least 1, not 0", "l must be at least 1, not 0",
                              "k_map must be at least 1, not -1"]),
        ("t=2,copies=-0.5", ["t must be between 0 and 1, not 2", "copies must be between 0 and 1, not -0.5"]),
        ("t=nan", ["t must be between 0 and 1, not nan"]),
        ("k=2,scope=all", ["scope must be set or release, not 'all'"]),
        ("k=2,count=rows", ["count must be samples or people, not 'rows'"]),
        ("k=2,by=eye", ["by must be levels or values, not 'eye'"]),
        ("scope=release", ["nothing is required: give at least one of k, l, k_map, t, copies"]),
        ("k=2,count=people", ["a set belongs to one person: count=people needs scope=release"]),
        ("k=x,l=0,q=3", ["'k=x': 'x' is not a whole number",
                         "'q=3': there is no requirement 'q'; known are k, l, k_map, t, copies, scope, count, by",
                         "l must be at least 1, not 0"]),
        ("k=x,l=2", ["'k=x': 'x' is not a whole number"]),
    ],
)  # fmt: skip
def test_everything_wrong_with_a_policy_is_told_at_once(text: str, problems: list[str]) -> None:
    with pytest.raises(InputError) as told:
        parse_requirement(text)
    assert list(told.value.problems) == problems


# What holds


def test_a_release_that_keeps_it_breaks_nothing() -> None:
    assert broken(SMALL, "k=1,l=1,t=1,k_map=1,copies=1", population=Population(CELLS), training=CELLS) == []


def test_each_broken_requirement_has_its_sentence() -> None:
    assert broken(SMALL, "k=5,l=2,t=0.3,k_map=5,copies=0", population=Population(CELLS), training=CELLS[:2]) == [
        "k=5: the smallest class of a set has 1 sample",
        "l=2: a class of a set has 1 value of 'school'",
        "t=0.3: a class of a set is 0.5 away in 'school'",
        "l=2: a class of a set has 1 value of 'ill'",
        "t=0.3: a class of a set is 0.667 away in 'ill'",
        "k_map=5: a class of a set maps to 1 row of the population",
        "copies=0: 2 counterfactuals equal a training row by level",
    ]


def test_the_release_is_counted_by_samples_or_by_people() -> None:
    four = picked([0, 0, 0, 0], row=[0, 0, 0, 1])
    assert broken(four, "k=4,scope=release") == []
    assert broken(four, "k=5,scope=release") == ["k=5: the smallest class of the release has 4 samples"]
    assert broken(four, "k=4,scope=release,count=people") == ["k=4: the smallest class of the release has 2 people"]
    assert broken(four, "k=2") == ["k=2: the smallest class of a set has 1 sample"]


def test_by_value_a_policy_is_harder_to_keep() -> None:
    two = picked([0, 1], row=[0, 0])
    assert broken(two, "k=2") == []
    assert broken(two, "k=2,by=values") == ["k=2: the smallest class of a set has 1 sample"]


def test_a_class_without_a_match_passes() -> None:
    nobody = CELLS[[0]] + 100
    nobody[0, 1] = 1
    assert broken(SMALL, "k_map=2", population=Population(nobody)) == []
    three = Population(CELLS[[2, 2, 2]])
    assert broken(SMALL, "k_map=3", population=three) == []
    assert broken(SMALL, "k_map=4", population=three) == ["k_map=4: a class of a set maps to 3 rows of the population"]


def test_a_distance_that_is_equal_but_for_rounding_holds() -> None:
    t = audit(SMALL).levels.release.sensitive["ill"].t
    assert t is not None
    assert violations(audit(SMALL), Requirement(t=t - 1e-12, scope="release", k=1))[1:] == []


# What cannot be checked does not hold


def test_what_cannot_be_checked_does_not_hold() -> None:
    nobody = replace(SMALL, row=None)
    assert broken(nobody, "k=1") == [
        "scope=set: nothing says whose set a counterfactual is in; name that column, or scope=release"
    ]
    assert broken(nobody, "k=1,scope=release,count=people") == [
        "k=1: nothing says whose a counterfactual is; name that column, or count=samples"
    ]
    assert broken(SMALL, "k_map=2,copies=0") == [
        "k_map=2: there is no population to link with; give one",
        "copies=0: there are no training rows to compare with; give them",
    ]
    assert broken(replace(SMALL, cells=None), "k=1,by=values") == [
        "by=values: the release holds intervals and no values; require by=levels"
    ]


def test_without_sensitive_features_diversity_cannot_be_required() -> None:
    layout = layout_of(AGE, JOB)
    samples = Samples(layout, layout.levels(CELLS[:, :2]), CELLS[:, :2], row=SMALL.row)
    assert broken(samples, "l=2,t=0.5") == [
        "l=2, t=0.5: no feature has the role 'sensitive', so there is nothing to check"
    ]


def test_an_empty_release_breaks_nothing() -> None:
    empty = random_samples(0, rows=0, people=1)
    population = random_population(0, 5, labelled=False)
    assert broken(empty, "k=5,l=3,t=0,k_map=9,copies=0", population=population, training=CELLS) == []


@given(audited, st.integers(1, 4), st.sampled_from(["set", "release"]))
def test_k_holds_exactly_when_no_class_is_smaller(samples: Samples, k: int, scope: str) -> None:
    smaller = any(len(one) < k for table in slow_tables(samples, "levels", scope) for one in table)
    assert bool(broken(samples, f"k={k},scope={scope}")) == smaller


@given(audited, st.integers(1, 3), st.integers(1, 3))
def test_what_holds_in_every_set_holds_in_the_release(samples: Samples, k: int, l: int) -> None:  # noqa: E741
    assume(not broken(samples, f"k={k},l={l}"))
    assert broken(samples, f"k={k},l={l},scope=release") == []
