"""Points in boxes lie in them, are the same in equal boxes, and tell what share of a box holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.releases import release_of
from l2c import Edges, Feature, Schema, ZeroOrPositive
from l2c.core.conditions import parse_condition
from l2c.engine.discretise import public_layout
from l2c.release.boxes import BLOCK, POINTS, points_in_boxes, share_valid
from l2c.release.explain import only

LAYOUT = public_layout(
    Schema(
        (
            Feature(name="age", kind="numeric", integer=True, binning=Edges((30, 45, 60))),
            Feature(name="hours", kind="numeric", binning=Edges((20, 40)), low=0, high=80, missing=True),
            Feature(name="gain", kind="numeric", binning=ZeroOrPositive(), high=100),
            Feature(name="job", kind="categorical", levels=("clerk", "nurse")),
        )
    )
)


@st.composite
def some_levels(draw):
    rows = draw(st.lists(st.tuples(*(st.integers(0, axis.size - 1) for axis in LAYOUT.axes)), min_size=1, max_size=9))
    return np.array(rows, dtype=np.int16)


@given(some_levels())
def test_every_point_lies_in_its_box(levels):
    points = points_in_boxes(LAYOUT, levels)
    assert points.shape == (len(levels), POINTS, 4)
    found = LAYOUT.levels(points.reshape(-1, 4)).reshape(points.shape)
    assert (found == levels[:, None, :]).all()
    assert (np.isnan(points[..., 0]) | (points[..., 0] == np.rint(points[..., 0]))).all()


def test_equal_boxes_have_equal_points_and_points_reach_all_over():
    levels = np.array([[1, 1, 1, 0], [3, 0, 0, 1], [1, 1, 1, 0]], dtype=np.int16)
    points = points_in_boxes(LAYOUT, levels)
    assert np.array_equal(points[0], points[2])
    assert points[0, :, 0].min() <= 33
    assert points[0, :, 0].max() >= 43
    assert points[0, :, 1].min() < 23
    assert points[0, :, 1].max() > 37
    assert (points[1, :, 2] == 0).all()
    # What stands for "over 60" is 68, so that the bin is taken to end at 75.
    assert points[1, :, 0].min() >= 61
    assert 70 <= points[1, :, 0].max() <= 75


class Older:
    """A model that asks for an age above 37."""

    classes = ("no", "yes", "perhaps")

    def proba(self, cells):
        yes = np.where(cells[:, 0] > 37, 0.9, 0.1)
        return np.stack([1 - yes, yes, 0 * yes], axis=1)


class Never(Older):
    def proba(self, cells):
        return np.tile([1.0, 0.0, 0.0], (len(cells), 1))


def boxes(levels):
    cells = LAYOUT.values(np.array(levels, dtype=np.int16), "midpoint")
    return release_of(LAYOUT, np.zeros((1, 4)), [cells], asked=len(cells))


def test_the_share_is_that_of_the_points_that_hold():
    released = boxes([[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]])
    shares = share_valid(released, [Older()])
    points = points_in_boxes(LAYOUT, released.levels)
    assert shares.tolist() == [0.0, (points[1, :, 0] > 37).mean(), 1.0]
    assert 0.3 < shares[1] < 0.8
    assert share_valid(released, [Older(), Never()]).tolist() == [0.0, 0.0, 0.0]


def test_a_condition_counts_for_its_rows():
    released = boxes([[2, 1, 0, 0]])
    condition = parse_condition("hours <= 30", LAYOUT.schema.features)
    expected = (points_in_boxes(LAYOUT, released.levels)[0, :, 1] <= 30).mean()
    assert share_valid(released, [Older()], [(condition, np.array([True]))]).tolist() == [expected]
    assert share_valid(released, [Older()], [(condition, np.array([False]))]).tolist() == [1.0]


@pytest.mark.parametrize("count", [0, BLOCK + 3])
def test_any_number_of_boxes_will_do(count):
    released = boxes(np.tile([2, 0, 0, 0], (count, 1)).reshape(count, 4))
    assert share_valid(released, [Older()]).tolist() == [1.0] * count


def test_what_is_taken_back_takes_its_share_with_it():
    released = boxes([[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]])
    shares = share_valid(released, [Older()])
    kept = only(replace(released, share_valid=shares), np.array([False, True, True]))
    assert kept.share_valid.tolist() == shares[1:].tolist()
    assert only(released, np.array([False, True, True])).share_valid is None
