"""Draws given the kept features, against the law written out over every combination."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from l2c.core.streams import Streams
from l2c.engine.conditional import draw_given_kept
from l2c.engine.reference import fit_reference
from laws import SIZES, dependent_rows, layout_of

LAYOUT = layout_of(SIZES)


@pytest.fixture(scope="module")
def law():
    return fit_reference(LAYOUT, dependent_rows())


def slow_law(law, dial, weights, own, selected):
    """Return the probability of every combination that keeps what is kept."""
    mass = {}
    for levels in product(*map(range, SIZES)):
        if any(not s and level != mine for s, level, mine in zip(selected, levels, own, strict=True)):
            continue
        p = 1.0
        for i, level in enumerate(levels):
            parent = int(law.parent[i])
            p *= law.tables[i][levels[parent] if parent >= 0 else 0, level] ** dial
            p *= weights[LAYOUT.offsets[i] + level] if selected[i] else 1.0
        mass[levels] = p
    total = sum(mass.values())
    return {levels: p / total for levels, p in mass.items()}


def drawn(law, dial, weights, own, selected, count, seed=0):
    uniforms = Streams.for_rows(np.zeros((1, 1)), seed).draws(np.zeros(1, np.int64), count, each=4)[0]
    return draw_given_kept(
        LAYOUT,
        law,
        dial,
        weights[None],
        np.array([own], dtype=np.int16),
        np.zeros(count, dtype=np.int64),
        np.repeat(np.array([selected]), count, axis=0),
        uniforms,
    )


@pytest.mark.parametrize("selected", [(1, 1, 1, 1), (0, 1, 1, 0), (1, 0, 1, 0), (1, 0, 0, 1)])
@pytest.mark.parametrize("dial", [0.0, 0.5, 1.0])
def test_draws_follow_the_law_given_the_kept_features(law, dial, selected):
    weights = np.random.default_rng(1).uniform(0.2, 1.0, LAYOUT.width)
    weights[[1, 4]] = 0.0
    own, selected = (2, 1, 3, 0), tuple(map(bool, selected))
    expected = slow_law(law, dial, weights, own, selected)
    levels = drawn(law, dial, weights, own, selected, 40_000)
    seen = dict.fromkeys(expected, 0)
    for key in map(tuple, levels.tolist()):
        seen[key] += 1
    distance = sum(abs(seen[key] / len(levels) - p) for key, p in expected.items()) / 2
    assert distance < 0.02


def test_a_level_without_weight_is_never_drawn(law):
    weights = np.ones(LAYOUT.width)
    weights[[0, 3, 5]] = 0.0
    levels = drawn(law, 1.0, weights, (2, 1, 3, 0), (True,) * 4, 20_000)
    assert not (levels[:, 0] == 0).any()
    assert not (levels[:, 1] == 0).any()
    assert not (levels[:, 2] == 0).any()


def test_a_kept_feature_is_never_drawn(law):
    levels = drawn(law, 1.0, np.ones(LAYOUT.width), (2, 1, 3, 0), (False, True, False, True), 2_000)
    assert (levels[:, [0, 2]] == [2, 3]).all()
    assert len(np.unique(levels[:, 1])) == 2


def test_at_dial_0_features_are_independent_of_the_kept_ones(law):
    share = [
        (drawn(law, 0.0, np.ones(LAYOUT.width), (f0, 0, 0, 0), (False, True, True, True), 20_000)[:, 1] == 1).mean()
        for f0 in (0, 2)
    ]
    assert share[0] == pytest.approx(share[1], abs=0.01)
    assert share[0] == pytest.approx(0.5, abs=0.02)


def test_a_draw_does_not_depend_on_the_lines_beside_it(law):
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.1, 1.0, (20, LAYOUT.width))
    own = np.stack([rng.integers(0, size, 20) for size in SIZES], axis=1).astype(np.int16)
    row = rng.integers(0, 20, 500)
    selected = rng.random((500, 4)) < 0.7
    uniforms = rng.integers(0, 2**32, (500, 4), dtype=np.uint32)
    together = draw_given_kept(LAYOUT, law, 0.7, weights, own, row, selected, uniforms)
    for part in (slice(0, 1), slice(17, 40), slice(400, 500)):
        alone = draw_given_kept(LAYOUT, law, 0.7, weights, own, row[part], selected[part], uniforms[part])
        assert (alone == together[part]).all()
