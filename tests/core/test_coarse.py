"""Coarser levels: what is merged, and how it is told."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given

from l2c.core.coarse import ladder, texts
from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from tables import layouts, numeric_axis

FEATURES = (
    Feature(name="age", kind="numeric", missing=True),
    Feature(name="school", kind="ordinal", levels=("none", "low", "middle", "high", "higher")),
    Feature(name="job", kind="categorical", levels=("clerk", "cook", "nurse")),
    Feature(name="owner", kind="binary", levels=(False, True)),
)
LAYOUT = Layout(
    Schema(FEATURES),
    (
        numeric_axis((20.0, 30.0, 40.0), low=16.0, high=None, missing=True),
        *(categorical_axis(feature) for feature in FEATURES[1:]),
    ),
)


def told(step: int) -> list[list[str]]:
    merged = ladder(LAYOUT)[step]
    return [texts(LAYOUT, feature, merged) for feature in range(4)]


def test_the_first_step_tells_the_levels_themselves():
    assert told(0) == [[LAYOUT.text(i, level) for level in range(axis.size)] for i, axis in enumerate(LAYOUT.axes)]


def test_neighbours_are_told_as_one_and_levels_without_an_order_as_any():
    assert told(1) == [
        ["16 – 30", "16 – 30", "over 30", "over 30", "missing"],
        ["none to low", "none to low", "middle to high", "middle to high", "higher"],
        ["clerk", "cook", "nurse"],
        ["any", "any"],
    ]
    assert told(2) == [["any"] * 5, ["none to high"] * 4 + ["higher"], ["any"] * 3, ["any"] * 2]


def test_at_the_last_step_nothing_is_told_apart():
    assert told(-1) == [["any"] * axis.size for axis in LAYOUT.axes]
    assert not ladder(LAYOUT)[-1].any()


@given(layouts())
def test_each_step_merges_what_the_one_before_did(layout):
    steps = ladder(layout)
    assert len({step.tobytes() for step in steps}) >= 1
    for i, (start, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
        for finer, coarser in pairwise(steps):
            fine, coarse = (step[start : start + size] for step in (finer, coarser))
            same = fine[:, None] == fine[None, :]
            assert ((coarse[:, None] == coarse[None, :]) | ~same).all()
        words = [texts(layout, i, step) for step in steps]
        assert words[-1] in (["any"] * size, [layout.text(i, 0)])
        for step, said in zip(steps, words, strict=True):
            codes = step[start : start + size]
            assert len(set(said)) <= len(np.unique(codes))
