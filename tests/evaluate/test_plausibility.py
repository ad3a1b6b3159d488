"""Plausibility against a slow oracle that compares every pair of rows, and against numbers done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.releases import layout_of, nan, random_cells, random_release, release_of, releases
from l2c.core.explanation import Released
from l2c.core.feature import Feature
from l2c.core.types import Cells
from l2c.evaluate import plausibility as module
from l2c.evaluate.plausibility import Gower, Plausibility, Reference, plausibilities, plausibility
from l2c.release.ranking import only

SIZE = Feature(name="size", kind="numeric", missing=True)
JOB = Feature(name="job", kind="categorical", levels=("a", "b", "c"), missing=True)
LAYOUT = layout_of(SIZE, JOB)


def reference_of(
    fit: list[list[float]], held_out: list[list[float]], fit_class: int = 1, held_out_class: int = 1
) -> Reference:
    return Reference(
        np.array(fit, dtype=float),
        np.full(len(fit), fit_class),
        np.array(held_out, dtype=float),
        np.full(len(held_out), held_out_class),
    )


def random_reference(rng: np.random.Generator, released: Released, classes: int = 3) -> Reference:
    fit, held_out = (random_cells(rng, released.layout, int(rng.integers(40))) for _ in range(2))
    return Reference(fit, rng.integers(classes, size=len(fit)), held_out, rng.integers(classes, size=len(held_out)))


def slow_distance(one: Cells, other: Cells, numeric: list[bool], ranges: list[float]) -> float:
    total = 0.0
    for a, b, number, width in zip(one, other, numeric, ranges, strict=True):
        if np.isnan(a) or np.isnan(b):
            total += float(np.isnan(a) != np.isnan(b))
        elif number and width > 0:
            total += abs(a - b) / width
        else:
            total += float(a != b)
    return total / len(one)


def slow_ranges(fit: Cells) -> list[float]:
    known = [[value for value in column if not np.isnan(value)] for column in fit.T]
    return [max(column) - min(column) if column else 0.0 for column in known]


def slow_plausibility(released: Released, reference: Reference) -> Plausibility:
    numeric = [feature.numeric for feature in released.layout.schema.features]
    ranges = slow_ranges(reference.fit)

    def nearest(one: Cells, label: int) -> float:
        fit = reference.fit[reference.fit_class == label]
        return min(slow_distance(one, other, numeric, ranges) for other in fit)

    thresholds: list[float | None] = [None, None, None]
    within: list[bool] = []
    ratios: list[float] = []
    left_out = 0
    for c, row in enumerate(released.row):
        label, people = released.desired[row], reference.held_out_class == released.desired[row]
        if not released.answered[row]:
            continue
        if not people.any() or not (reference.fit_class == label).any():
            left_out += 1
            continue
        real = [nearest(one, label) for one in reference.held_out[people]]
        threshold = thresholds[label] = float(np.quantile(real, 0.95))
        distance = nearest(released.cells[c], label)
        within.append(distance <= threshold + 1e-9)
        ratios.append(distance / float(np.mean(real)) if np.mean(real) else nan)
    undefined = not ratios or np.isnan(ratios).any()
    return Plausibility(
        float(np.mean(within)) if within else None,
        None if undefined else float(np.mean(ratios)),
        tuple(thresholds),
        left_out,
    )


def assert_agree(measured: Plausibility, expected: Plausibility) -> None:
    assert measured.share == pytest.approx(expected.share)
    assert measured.distance_ratio == pytest.approx(expected.distance_ratio, abs=1e-6)
    assert measured.thresholds == pytest.approx(expected.thresholds, abs=1e-6)
    assert measured.left_out == expected.left_out


@given(releases, st.integers(0, 2**32 - 1))
def test_every_part_is_that_of_comparing_all_pairs(released: Released, seed: int) -> None:
    reference = random_reference(np.random.default_rng(seed), released)
    assert_agree(plausibility(released, reference), slow_plausibility(released, reference))


@pytest.mark.parametrize("seed", range(5))
def test_several_releases_measured_at_once_are_each_as_if_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = random_release(seed, inputs=8, asked=6)
    parts = [only(whole, np.isin(whole.row, rows)) for rows in ([0, 1, 2, 3], [2, 3, 4, 5, 6], [])]
    reference = random_reference(rng, whole)
    for measured, one in zip(plausibilities([whole, *parts], reference), [whole, *parts], strict=True):
        assert_agree(measured, slow_plausibility(one, reference))


@pytest.mark.parametrize("few", [0, 2, 100])
def test_neither_blocks_nor_the_way_of_comparing_change_the_result(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", few)
    monkeypatch.setattr(module, "_QUERY_BLOCK", 7)
    monkeypatch.setattr(module, "_FIT_BLOCK", 5)
    for seed in range(5):
        released = random_release(seed, inputs=8, asked=6)
        reference = random_reference(np.random.default_rng(seed), released)
        assert_agree(plausibility(released, reference), slow_plausibility(released, reference))


@pytest.mark.parametrize("few", [0, 10_000])
def test_distances_are_exact_for_numbers_far_from_zero(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", few)
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(4)]
    layout = layout_of(*(Feature(name=name, kind="numeric", missing=True) for name in names))
    rows = 1e9 + 10 * rng.normal(size=(90, 4))
    rows[rng.random(rows.shape) < 0.05] = nan
    released = release_of(layout, rows[:10], list(rows[:30].reshape(10, 3, 4)), asked=3)
    reference = Reference(rows[30:70], np.ones(40, dtype=int), rows[70:], np.ones(20, dtype=int))
    assert_agree(plausibility(released, reference), slow_plausibility(released, reference))


def test_a_release_measured_by_hand() -> None:
    reference = reference_of(fit=[[0.0, 0], [10.0, 1]], held_out=[[1.0, 0], [10.0, 0]])
    sets = [[[2.0, 0], [10.0, 1]], [[5.0, 2]]]
    measured = plausibility(release_of(LAYOUT, [[0.0, 2]] * 2, sets, asked=2), reference)
    people, counterfactuals = [0.05, 0.5], [0.1, 0.0, 0.75]
    threshold = 0.05 + 0.95 * 0.45
    assert measured.thresholds == pytest.approx((None, threshold, None))
    assert measured.share == pytest.approx(2 / 3)
    assert measured.distance_ratio == pytest.approx(np.mean(counterfactuals) / np.mean(people))
    assert measured.left_out == 0


def test_real_people_are_as_plausible_as_real_people() -> None:
    rng = np.random.default_rng(1)
    released = random_release(0, inputs=1, asked=1)
    fit, people = (random_cells(rng, released.layout, 300) for _ in range(2))
    as_released = release_of(released.layout, people[:1], [people], asked=300)
    reference = Reference(fit, np.ones(300, dtype=int), people, np.ones(300, dtype=int))
    measured = plausibility(as_released, reference)
    assert measured.distance_ratio == pytest.approx(1.0)
    assert measured.share is not None
    assert 0.95 <= measured.share < 1.0


def test_only_fit_rows_of_the_desired_class_are_near_and_all_of_them_set_the_range() -> None:
    reference = Reference(
        np.array([[0.0, 0], [5.0, 0], [10.0, 0]]), np.array([1, 0, 0]), np.array([[1.0, 0]]), np.array([1])
    )
    measured = plausibility(release_of(LAYOUT, [[9.0, 0]], [[[5.0, 0]]], asked=1), reference)
    assert measured.thresholds[1] == pytest.approx(0.1 / 2)
    assert measured.distance_ratio == pytest.approx(5.0)


def test_a_number_beyond_the_range_of_the_fit_rows_is_further_than_a_mismatch() -> None:
    gower = Gower.over(np.array([[0.0], [10.0]]), numeric=np.array([True]))
    far, edge = gower.scale(np.array([[25.0]])), gower.scale(np.array([[10.0]]))
    assert gower.between(far, edge) == pytest.approx([1.5])


def test_a_number_with_a_single_fit_value_is_compared_by_equality() -> None:
    gower = Gower.over(np.array([[7.0], [7.0], [nan]]), numeric=np.array([True]))
    assert gower.between(np.array([[7.0], [7.001]]), np.array([[7.0], [7.0]])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("numeric", [True, False])
def test_missing_is_equal_to_missing_and_to_nothing_else(numeric: bool) -> None:
    gower = Gower.over(np.array([[0.0], [2.0]]), numeric=np.array([numeric]))
    a, b = np.array([[nan], [nan], [0.0]]), np.array([[nan], [0.0], [nan]])
    assert gower.between(a, b).tolist() == [0.0, 1.0, 1.0]


def test_a_distance_that_equals_the_threshold_up_to_rounding_is_within_it() -> None:
    reference = reference_of(fit=[[0.0, 0], [0.9, 0], [1.0, 0]], held_out=[[0.3, 0]])
    assert abs(0.6 - 0.9) > 0.3
    measured = plausibility(release_of(LAYOUT, [[0.0, 1]], [[[0.6, 0]]], asked=1), reference)
    assert measured.share == 1.0


def test_classes_are_combined_by_their_number_of_counterfactuals() -> None:
    reference = Reference(
        np.array([[0.0, 0], [10.0, 0]]),
        np.array([0, 1]),
        np.array([[1.0, 0], [8.0, 0]]),
        np.array([0, 1]),
    )
    sets = [[[2.0, 0]], [[9.0, 0], [8.0, 0], [6.0, 0]]]
    measured = plausibility(release_of(LAYOUT, [[5.0, 0]] * 2, sets, asked=3, desired=[0, 1]), reference)
    assert measured.thresholds == pytest.approx((0.05, 0.1, None))
    assert measured.share == pytest.approx(2 / 4)
    assert measured.distance_ratio == pytest.approx((2 + 0.5 + 1 + 2) / 4)


@pytest.mark.parametrize(("fit_class", "held_out_class"), [(0, 1), (1, 0), (0, 0)])
def test_a_class_without_real_rows_leaves_its_counterfactuals_out(fit_class: int, held_out_class: int) -> None:
    reference = reference_of([[0.0, 0], [1.0, 1]], [[0.0, 1]], fit_class, held_out_class)
    released = release_of(LAYOUT, [[0.0, 0]], [[[1.0, 0], [2.0, 0]]], asked=2)
    assert plausibility(released, reference) == Plausibility(None, None, (None, None, None), left_out=2)


def test_where_nothing_is_released_nothing_is_measured() -> None:
    released = release_of(LAYOUT, [[0.0, 0]], [[]], asked=1, statuses=["none_valid"])
    reference = reference_of([[0.0, 0]], [[0.0, 1]])
    assert plausibility(released, reference) == Plausibility(None, None, (None, None, None), left_out=0)


def test_a_ratio_to_people_at_no_distance_is_not_given() -> None:
    reference = reference_of(fit=[[0.0, 0], [1.0, 1]], held_out=[[0.0, 0]])
    measured = plausibility(release_of(LAYOUT, [[0.0, 1]], [[[1.0, 0]]], asked=1), reference)
    assert measured.share == 0.0
    assert measured.distance_ratio is None
