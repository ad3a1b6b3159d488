"""Each measure against a slow oracle that reads like its definition, and against numbers done by hand."""

from __future__ import annotations

from itertools import combinations
from statistics import mean

import numpy as np
import pytest
from hypothesis import given

from evaluate.releases import layout_of, nan, release_of, releases
from l2c.core.explanation import ANSWERED, Released
from l2c.core.feature import Feature
from l2c.core.rules import Implies
from l2c.evaluate import quality

AGE = Feature(name="age", kind="numeric", moves="rises", missing=True)
SCHOOL = Feature(name="school", kind="ordinal", levels=(1, 2, 3), moves="falls", missing=True)
JOB = Feature(name="job", kind="categorical", levels=("a", "b", "c"))
SEX = Feature(name="sex", kind="binary", levels=("f", "m"), moves="never")

LAYOUT = layout_of(AGE, JOB, SEX)
SMALL = release_of(
    LAYOUT,
    factual=[[20.0, 0, 0], [50.0, 1, 1]],
    sets=[[[20.0, 1, 0], [40.0, 1, 0], [20.0, 2, 0]], [[55.0, 1, 0]]],
    asked=4,
    invalid=[1],
    statuses=["partial", "partial"],
    tries=[10, 2],
)
NOTHING_RELEASED = release_of(LAYOUT, [[20.0, 0, 0]], [[]], asked=3, statuses=["none_valid"], tries=[7])
NOTHING_ANSWERED = release_of(LAYOUT, [[20.0, 0, 0]], [[]], asked=3, statuses=["withheld"])


def mean_or_none(numbers: list[float]) -> float | None:
    return mean(numbers) if numbers else None


def answered(released: Released) -> list[int]:
    return [i for i, outcome in enumerate(released.outcomes) if outcome.status in ANSWERED]


def set_of(released: Released, i: int) -> list[int]:
    return [c for c, row in enumerate(released.row) if row == i]


def sets_of(released: Released) -> list[tuple[int, list[int]]]:
    return [(i, set_of(released, i)) for i in answered(released) if set_of(released, i)]


def same(a: float, b: float) -> bool:
    return bool(a == b or (np.isnan(a) and np.isnan(b)))


def kept(released: Released, c: int) -> list[bool]:
    return [same(a, b) for a, b in zip(released.factual[released.row[c]], released.cells[c], strict=True)]


@given(releases)
def test_validity_is_the_share_of_those_asked_for(released: Released) -> None:
    shares = [sum(released.valid[c] for c in set_of(released, i)) / released.asked for i in answered(released)]
    assert quality.validity(released) == pytest.approx(mean_or_none(shares))


@given(releases)
def test_coverage_is_the_share_of_inputs_with_a_valid_one(released: Released) -> None:
    covered = [float(any(released.valid[c] for c in set_of(released, i))) for i in answered(released)]
    assert quality.coverage(released) == pytest.approx(mean_or_none(covered))


@given(releases)
def test_sparsity_is_the_share_of_cells_kept_in_a_set(released: Released) -> None:
    shares = [mean(mean(kept(released, c)) for c in found) for _, found in sets_of(released)]
    assert quality.sparsity(released) == pytest.approx(mean_or_none(shares))


@given(releases)
def test_mean_changes_counts_the_cells_not_kept(released: Released) -> None:
    counts = [mean(kept(released, c).count(False) for c in found) for _, found in sets_of(released)]
    assert quality.mean_changes(released) == pytest.approx(mean_or_none(counts))


@given(releases)
def test_diversity_is_the_mean_over_all_pairs(released: Released) -> None:
    def of_input(i: int) -> float:
        valid = [c for c in set_of(released, i) if released.valid[c]]
        distances = [
            mean(float(a != b) for a, b in zip(released.levels[c], released.levels[d], strict=True))
            for c, d in combinations(valid, 2)
        ]
        return mean(distances) if distances else 0.0

    expected = mean_or_none([of_input(i) for i in answered(released)])
    assert quality.diversity(released) == pytest.approx(expected)


@given(releases)
def test_unary_is_the_share_that_keeps_each_direction(released: Released) -> None:
    def keeps(c: int, i: int, moves: str) -> bool:
        before, after = released.factual[released.row[c], i], released.cells[c, i]
        return kept(released, c)[i] or bool(after > before if moves == "rises" else after < before)

    found = [c for _, members in sets_of(released) for c in members]
    directed = [(i, f.moves) for i, f in enumerate(released.layout.schema.features) if f.moves in ("rises", "falls")]
    shares = [mean(float(keeps(c, i, moves)) for c in found) for i, moves in directed if found]
    assert quality.unary(released) == pytest.approx(mean_or_none(shares))


@given(releases)
def test_binary_is_the_share_that_meets_each_rule(released: Released) -> None:
    before, names = released.layout.levels(released.factual), released.layout.schema.names

    def rises(c: int, name: str) -> bool:
        i = names.index(name)
        return bool(released.levels[c, i] > before[released.row[c], i])

    found = [c for _, members in sets_of(released) for c in members]
    shares = [
        mean(float(not rises(c, rule.cause) or rises(c, rule.effect)) for c in found)
        for rule in released.layout.schema.rules
        if found
    ]
    assert quality.binary(released) == pytest.approx(mean_or_none(shares))


@given(releases)
def test_immutable_violations_are_counted_over_all_that_was_released(released: Released) -> None:
    fixed = [i for i, feature in enumerate(released.layout.schema.features) if feature.moves == "never"]
    expected = sum(not kept(released, c)[i] for c in range(len(released.row)) for i in fixed)
    assert quality.immutable_violations(released) == expected


@given(releases)
def test_distinct_is_the_share_of_different_rows_in_a_set(released: Released) -> None:
    shares = [len({str(released.cells[c].tolist()) for c in found}) / len(found) for _, found in sets_of(released)]
    assert quality.distinct(released) == pytest.approx(mean_or_none(shares))


@given(releases)
def test_tries_count_the_proposals_of_every_input(released: Released) -> None:
    judged = sum(outcome.tries for outcome in released.outcomes)
    expected = judged / len(released.row) if len(released.row) else None
    assert quality.tries(released) == pytest.approx(expected)


def test_a_release_measured_by_hand() -> None:
    assert quality.validity(SMALL) == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert quality.coverage(SMALL) == 1.0
    assert quality.sparsity(SMALL) == pytest.approx(((2 / 3 + 1 / 3 + 2 / 3) / 3 + 1 / 3) / 2)
    assert quality.mean_changes(SMALL) == pytest.approx(((1 + 2 + 1) / 3 + 2) / 2)
    assert quality.diversity(SMALL) == pytest.approx((1 / 3 + 0) / 2)
    assert quality.unary(SMALL) == 1.0
    assert quality.binary(SMALL) is None
    assert quality.immutable_violations(SMALL) == 1
    assert quality.distinct(SMALL) == 1.0
    assert quality.tries(SMALL) == 3.0


def test_a_changed_number_in_the_same_bin_costs_sparsity_and_adds_no_diversity() -> None:
    moved = release_of(layout_of(AGE, JOB), [[31.0, 0]], [[[32.0, 0], [33.0, 0]]], asked=2)
    assert quality.sparsity(moved) == 0.5
    assert quality.diversity(moved) == 0.0


def test_a_set_of_two_rows_that_differ_everywhere_has_diversity_one() -> None:
    apart = release_of(layout_of(AGE, JOB), [[20.0, 0]], [[[31.0, 1], [50.0, 2]]], asked=2)
    assert quality.diversity(apart) == 1.0


def test_invalid_counterfactuals_count_in_sparsity_but_not_in_diversity() -> None:
    found = [[20.0, 1], [50.0, 2], [20.0, 1]]
    released = release_of(layout_of(AGE, JOB), [[20.0, 0]], [found], asked=3, invalid=[1])
    assert quality.sparsity(released) == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)
    assert quality.diversity(released) == 0.0


def test_a_number_that_rises_within_its_bin_keeps_its_direction_and_one_that_falls_does_not() -> None:
    released = release_of(layout_of(AGE), [[40.0]], [[[40.5], [40.0], [39.5], [38.0]]], asked=4)
    assert quality.unary(released) == 0.5


def test_unary_averages_over_features_and_not_over_cells_that_moved() -> None:
    released = release_of(layout_of(AGE, SCHOOL), [[40.0, 1]], [[[41.0, 2], [39.0, 2]]], asked=2)
    assert quality.unary(released) == pytest.approx((1 / 2 + 0) / 2)


def test_a_change_from_or_to_missing_keeps_no_direction() -> None:
    changed = [[41.0, nan], [nan, 1]]
    released = release_of(layout_of(AGE, SCHOOL), [[nan, 1], [40.0, nan]], [changed[:1], changed[1:]], asked=1)
    assert quality.unary(released) == 0.0


def test_missing_that_stays_missing_is_kept() -> None:
    released = release_of(layout_of(AGE, SCHOOL), [[nan, nan]], [[[nan, nan], [nan, nan]]], asked=2)
    assert quality.sparsity(released) == 1.0
    assert quality.unary(released) == 1.0
    assert quality.distinct(released) == 0.5


def test_a_rule_is_met_by_levels_and_averaged_over_the_rules() -> None:
    school = Feature(name="school", kind="ordinal", levels=(1, 2, 3))
    owner = Feature(name="owner", kind="binary", levels=("no", "yes"))
    layout = layout_of(AGE, school, owner, rules=[Implies("school", "age"), Implies("owner", "age")])
    within_bin, across_bins = [41.0, 1, 0], [46.0, 1, 1]
    released = release_of(layout, [[40.0, 0, 0]], [[within_bin, across_bins]], asked=2)
    assert quality.binary(released) == pytest.approx((1 / 2 + 1) / 2)


def test_a_padded_set_is_not_distinct() -> None:
    released = release_of(LAYOUT, [[20.0, 0, 0]], [[[20.0, 1, 0]] * 4], asked=4)
    assert quality.distinct(released) == 0.25


def test_two_numbers_in_one_bin_are_different_rows() -> None:
    released = release_of(LAYOUT, [[20.0, 0, 0]], [[[21.0, 1, 0], [22.0, 1, 0]]], asked=2)
    assert quality.distinct(released) == 1.0


def test_equal_rows_of_two_inputs_are_both_distinct() -> None:
    released = release_of(LAYOUT, [[20.0, 0, 0]] * 2, [[[20.0, 1, 0]]] * 2, asked=1)
    assert quality.distinct(released) == 1.0


def test_excluded_inputs_leave_every_denominator() -> None:
    layout = layout_of(AGE, JOB)
    one = release_of(layout, [[20.0, 0]], [[[31.0, 0], [20.0, 1]]], asked=2)
    beside = release_of(
        layout,
        [[20.0, 0]] + [[nan, nan]] * 4,
        [[[31.0, 0], [20.0, 1]], [], [], [], []],
        asked=2,
        statuses=["found", "already", "infeasible", "withheld", "bad_input"],
    )
    for measure in (quality.validity, quality.coverage, quality.sparsity, quality.diversity, quality.distinct):
        assert measure(beside) == measure(one)


def test_an_input_without_any_counts_in_diversity_but_has_no_sparsity() -> None:
    layout = layout_of(AGE, JOB)
    released = release_of(
        layout,
        [[20.0, 0], [20.0, 0]],
        [[[31.0, 1], [50.0, 2]], []],
        asked=2,
        statuses=["found", "none_valid"],
    )
    assert quality.diversity(released) == 0.5
    assert quality.sparsity(released) == 0.0
    assert quality.coverage(released) == 0.5


def test_one_counterfactual_each_has_no_diversity() -> None:
    released = release_of(LAYOUT, [[20.0, 0, 0]] * 2, [[[20.0, 1, 0]], [[20.0, 2, 0]]], asked=1)
    assert quality.validity(released) == 1.0
    assert quality.diversity(released) == 0.0


def test_where_nothing_is_released_the_inputs_still_count() -> None:
    assert quality.validity(NOTHING_RELEASED) == 0.0
    assert quality.coverage(NOTHING_RELEASED) == 0.0
    assert quality.diversity(NOTHING_RELEASED) == 0.0
    for measure in (quality.sparsity, quality.unary, quality.distinct, quality.tries, quality.mean_changes):
        assert measure(NOTHING_RELEASED) is None


def test_where_nothing_is_answered_there_is_nothing_to_measure() -> None:
    for measure in (quality.validity, quality.coverage, quality.diversity, quality.sparsity):
        assert measure(NOTHING_ANSWERED) is None


@pytest.mark.parametrize(
    ("sparsity", "diversity", "expected"),
    [(0.6134, 0.3730, 0.4639), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (None, 0.3, None), (0.3, None, None)],
)
def test_the_harmonic_mean_of_two_averages(
    sparsity: float | None, diversity: float | None, expected: float | None
) -> None:
    assert quality.harmonic_mean(sparsity, diversity) == pytest.approx(expected, abs=5e-5)


def test_the_target_is_one_more_column_on_which_all_agree() -> None:
    layout, target = layout_of(AGE, JOB), Feature(name="y", kind="binary", levels=(0, 1))
    rows = [[20.0, 0], [31.0, 1], [50.0, 1]]
    without = release_of(layout, [[20.0, 0]], [rows], asked=3)
    counted = release_of(layout_of(AGE, JOB, target), [[20.0, 0, 0]], [[[*row, 1] for row in rows]], asked=3)
    expected = quality.diversity(counted)
    assert quality.with_target_counted(quality.diversity(without), features=2) == pytest.approx(expected)


def test_no_diversity_stays_none_with_the_target_counted() -> None:
    assert quality.with_target_counted(None, features=2) is None


def test_minimum_sparsity_of_student_is_four_features_of_fourteen() -> None:
    fixed = [Feature(name=f"f{i}", kind="binary", levels=(0, 1), moves="never") for i in range(4)]
    free = [Feature(name=f"g{i}", kind="binary", levels=(0, 1)) for i in range(10)]
    assert quality.minimum_sparsity(layout_of(*fixed, *free).schema) == pytest.approx(0.2857, abs=5e-5)
