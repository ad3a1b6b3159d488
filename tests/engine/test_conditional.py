"""Draws given the kept features, against the law written out over every combination."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from l2c.core.streams import Streams
from l2c.engine.conditional import draw_given_kept, full_conditional
from l2c.engine.reference import ReferenceLaw, fit_reference
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


# One feature given all the others


@pytest.mark.parametrize("dial", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("feature", range(4))
def test_the_full_conditional_is_that_of_the_law_over_every_combination(law, dial, feature):
    rng = np.random.default_rng(feature)
    weights = rng.uniform(0.1, 1.0, LAYOUT.width)
    levels = np.stack([rng.integers(0, size, 12) for size in SIZES], axis=1).astype(np.int16)
    start, size = LAYOUT.offsets[feature], SIZES[feature]
    own = np.repeat(weights[start : start + size, None], 12, axis=1)
    found = full_conditional(law, dial, feature, own, levels)
    everything = slow_law(law, dial, weights, (0,) * 4, (True,) * 4)
    # The others' weights are the same for all its levels: they cancel out.
    for line, others in enumerate(levels.tolist()):
        expected = [everything[(*others[:feature], level, *others[feature + 1 :])] for level in range(size)]
        np.testing.assert_allclose(found[:, line] / found[:, line].sum(), np.array(expected) / sum(expected))


def test_the_full_conditional_leaves_its_weights_alone_and_a_level_without_weight_out(law):
    weights = np.array([[0.5, 0.0], [0.0, 0.2], [0.5, 0.8]])
    before = weights.copy()
    found = full_conditional(law, 1.0, 0, weights, np.zeros((2, 4), dtype=np.int16))
    assert (weights == before).all()
    assert ((found == 0) == (weights == 0)).all()


def test_the_full_conditional_of_a_feature_with_many_neighbours_does_not_vanish():
    table = np.array([[1 - 1e-6, 1e-6], [1 - 2e-6, 2e-6]])
    tables = (np.array([[0.5, 0.5]]), *[table] * 300)
    star = ReferenceLaw(np.arange(301), np.array([-1] + [0] * 300), tables, (np.eye(2),) * 301, 0.0, 1.0)
    levels = np.ones((1, 301), dtype=np.int16)
    levels[0, 2:] = [1, 0] * 149 + [1]
    found = full_conditional(star, 1.0, 0, np.ones((2, 1)), levels)[:, 0]
    assert found[1] == found.max() > 0
    assert found[0] / found[1] == pytest.approx(0.5**151, rel=1e-3)


def test_the_full_conditional_of_a_line_does_not_depend_on_the_lines_beside_it(law):
    rng = np.random.default_rng(4)
    levels = np.stack([rng.integers(0, size, 50) for size in SIZES], axis=1).astype(np.int16)
    weights = rng.random((4, 50))
    together = full_conditional(law, 0.7, 2, weights, levels)
    for part in (slice(0, 1), slice(13, 30)):
        assert (full_conditional(law, 0.7, 2, weights[:, part], levels[part]) == together[:, part]).all()
