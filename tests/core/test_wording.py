"""What a release tells in words: which features, in which words, and as what an attacker sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from l2c.core.explanation import Outcome, Released
from l2c.core.feature import Feature
from l2c.core.goal import Goal
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.wording import Wording, by_words
from tables import numeric_axis

FEATURES = (
    Feature(name="age", kind="numeric", role="quasi"),
    Feature(name="debt", kind="numeric"),
    Feature(name="job", kind="categorical", levels=("clerk", "cook", "nurse"), role="quasi"),
)
LAYOUT = Layout(
    Schema(FEATURES),
    (
        numeric_axis((30.0, 45.0), low=18.0, high=80.0),
        numeric_axis((100.0,), low=None, high=None),
        categorical_axis(FEATURES[2]),
    ),
)
FINE, AGES, DEBTS = ["18 – 30", "30 – 45", "45 – 80"], ["[18, 30]", "(30, 45]", "(45, 80]"], ["up to 100", "over 100"]


def release(**told: object) -> Released:
    """Return a release for two rows: two counterfactuals for the first, one for the second."""
    factual = np.array([[20.0, 50.0, 0.0], [50.0, 500.0, 2.0]])
    cells = np.array([[40.0, 50.0, 0.0], [60.0, 500.0, 1.0], [20.0, 500.0, 2.0]])
    plain = Released(
        layout=LAYOUT,
        classes=("no", "yes"),
        asked=2,
        factual=factual,
        current=np.zeros(2, dtype=np.int64),
        desired=np.ones(2, dtype=np.int64),
        goal=Goal.of_classes(np.ones(2, dtype=np.int64), 2),
        outcomes=(Outcome("found", "", 2, 2), Outcome("partial", "", 1, 2)),
        row=np.array([0, 0, 1]),
        rank=np.array([1, 2, 1]),
        levels=LAYOUT.levels(cells),
        cells=cells,
        chance=np.ones(3),
        predicted=np.ones(3, dtype=np.int64),
        valid=np.ones(3, dtype=bool),
    )
    return replace(plain, **told)


def words(released: Released, **how: bool) -> dict[str, list[str]]:
    wording = Wording.of(released, **how)
    place = LAYOUT.schema.index
    return {name: wording.of_levels(name, released.row, released.levels[:, place(name)]) for name in wording.words}


def test_a_plain_release_tells_values_unless_intervals_are_asked_for():
    assert words(release()) == {}
    assert words(release(), intervals=True) == {
        "age": [FINE[1], FINE[2], FINE[0]],
        "debt": [DEBTS[0], DEBTS[1], DEBTS[1]],
    }


@pytest.mark.parametrize("intervals", [False, True])
def test_an_interval_release_tells_every_number_by_its_exact_interval(intervals):
    told = words(release(share_valid=np.ones(3)), intervals=intervals)
    assert told == {"age": [AGES[1], AGES[2], AGES[0]], "debt": [DEBTS[0], DEBTS[1], DEBTS[1]]}


def test_quasi_identifiers_are_told_as_coarsely_as_their_row_is():
    told = words(release(coarse=np.array([0, 2])))
    assert told == {"age": [FINE[1], FINE[2], "any"], "job": ["clerk", "cook", "any"]}
    both = words(release(coarse=np.array([0, 2]), share_valid=np.ones(3)))
    assert both == told | {"debt": [DEBTS[0], DEBTS[1], DEBTS[1]]}


def test_an_attacker_sees_a_level_for_each_text():
    layout, levels = by_words(release(coarse=np.array([0, 2])))
    seen = [[layout.text(i, level) for i, level in enumerate(row)] for row in levels.tolist()]
    assert seen == [["30 – 45", "up to 100", "clerk"], ["45 – 80", "over 100", "cook"], ["any", "over 100", "any"]]
    assert [feature.role for feature in layout.schema.features] == ["quasi", "plain", "quasi"]
