"""What loops do where they are compiled, what numpy does where they are not, and the loops as plain Python: all one."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import l2c
from adapters.models.test_twins import CELLS, INPUTS, LAYOUT, NETWORKS
from compiling import uncompiled
from engine.test_networks import random_network
from l2c.adapters.frames import making
from l2c.adapters.models.twins import twin_of
from l2c.core import costs, room, twin
from l2c.core import layout as layouts_module
from l2c.core.compiled import compiles
from l2c.engine import constrain, foresight, likeness, networks, sample
from l2c.engine.constrain import even_distribution, local_distribution, log_weights
from l2c.engine.foresight import Summed
from l2c.engine.networks import forward
from l2c.engine.reference import ReferenceLaw, fit_reference
from l2c.engine.sample import mixed_law
from l2c.release import ranking
from l2c.release.ranking import ranks
from tables import HOWS, SEEDS, layouts, random_cells, random_question

pytestmark = pytest.mark.skipif(not compiles(), reason="numba is not installed")


def every_way(module: ModuleType, call: Callable[[], Any]) -> list[Any]:
    """Return what a call of a module's comes to: compiled, as numpy does it, and as plain Python."""
    found = [call()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compiles", lambda: False)
        found.append(call())
    with uncompiled(module):
        return [*found, call()]


def assert_one(found: list[Any]) -> None:
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
        assert np.asarray(found[0]).dtype == np.asarray(other).dtype


@given(layouts(), SEEDS)
def test_levels(layout, seed):
    cells = random_cells(layout, 6, np.random.default_rng(seed))
    assert_one(every_way(layouts_module, lambda: layout.levels(cells)))
    at_cuts = cells.copy()
    for i, axis in enumerate(layout.axes):
        if axis.cuts:
            at_cuts[:, i] = np.resize(axis.cuts, len(cells))
    assert_one(every_way(layouts_module, lambda: layout.levels(at_cuts)))


@given(SEEDS, st.lists(st.integers(1, 12), min_size=2, max_size=4), st.integers(0, 9))
def test_networks(seed, widths, rows):
    rng = np.random.default_rng(seed)
    network, inputs = random_network(widths, rng), rng.normal(size=(rows, widths[0])).astype(np.float32)
    inputs[rng.random(inputs.shape) < 0.5] = 0.0
    assert_one(every_way(networks, lambda: forward(network, inputs)))


@given(layouts(), SEEDS)
def test_places_of_levels(layout, seed):
    rng = np.random.default_rng(seed)
    cells, features = random_cells(layout, 6, rng), np.flatnonzero(rng.random(len(layout.axes)) < 0.7)
    assert_one(every_way(making, lambda: making.level_places(layout.schema, cells, features)))


@given(layouts(hows=HOWS), SEEDS)
def test_rooms(layout, seed):
    cells = random_cells(layout, 6, np.random.default_rng(seed))
    levels = layout.levels(cells)
    found = every_way(room, lambda: room.room_for(layout, cells, levels, "median"))
    for name in ("open", "backwards", "values", "others", "changes"):
        assert_one([getattr(one, name) for one in found])


@given(layouts(hows=HOWS), SEEDS, st.sampled_from([0.0, 0.3]))
def test_even_laws(layout, seed, epsilon):
    question = random_question(layout, 5, np.random.default_rng(seed))
    even = every_way(constrain, lambda: even_distribution(layout, question.room, question.levels, epsilon=epsilon))
    assert_one(even)
    weights = log_weights(question.room, epsilon=epsilon)
    softmax = local_distribution(layout, np.zeros(weights.shape), weights, question.levels)
    np.testing.assert_allclose(even[0], softmax, rtol=1e-12)


def test_an_even_law_of_a_feature_without_a_level_left_keeps_the_rows_own():
    question = random_question(LAYOUT, 3, np.random.default_rng(0))
    question.room.open[1, LAYOUT.offsets[1] : LAYOUT.offsets[1] + LAYOUT.sizes[1]] = False
    question.room.backwards[1] = False
    laws = every_way(constrain, lambda: even_distribution(LAYOUT, question.room, question.levels, epsilon=0.0))
    assert_one(laws)
    places = slice(LAYOUT.offsets[1], LAYOUT.offsets[1] + LAYOUT.sizes[1])
    assert laws[0][1, places].tolist() == (np.arange(LAYOUT.sizes[1]) == question.levels[1, 1]).tolist()


@given(layouts(), SEEDS)
def test_mixed_laws(layout, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng)
    local, selection = rng.random((5, layout.width)), rng.random(question.levels.shape)
    assert_one(every_way(sample, lambda: mixed_law(layout, local, selection, question.levels)))


@given(layouts(), SEEDS, st.sampled_from([0, 30, likeness.TABLED]))
def test_likeness(layout, seed, room):
    rng = np.random.default_rng(seed)
    levels, some = layout.levels(random_cells(layout, 20, rng)), rng.integers(0, 20, size=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "TABLED", room)
        law = fit_reference(layout, levels)
    found = every_way(likeness, lambda: law.log_likeness(levels))
    assert_one(found)
    assert_one([found[0][some], *every_way(likeness, lambda: law.trunk.log_likeness(levels, some))])
    assert_one(every_way(likeness, lambda: law.log_likeness(levels[:0])))


@given(SEEDS, st.sampled_from([1, 2, 5]))
def test_likeness_that_would_vanish(seed, size):
    rng, features, rows = np.random.default_rng(seed), 9, likeness.TOGETHER + 5
    parent = np.array([-1, *(rng.integers(0, i) for i in range(1, features))])
    tables = tuple(rng.random((size if i else 1, size)) for i in range(features))
    alike = tuple(10.0 ** -rng.integers(0, 90, size=(size, size)) for _ in range(features))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "TABLED", 0)
        law = ReferenceLaw(np.arange(features), parent, tables, alike, 0.0, 1.0)
    levels = rng.integers(0, size, size=(rows, features)).astype(np.int16)
    found = every_way(likeness, lambda: law.log_likeness(levels))
    assert_one(found)
    assert np.isfinite(found[0]).all()


@given(layouts(), SEEDS)
def test_gains_of_sums(layout, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng)
    numeric = layout.numeric[layout.owner] & layout.stands_for_a_value
    weights, mean, scale = rng.normal(size=layout.width), rng.normal(size=layout.width), 1 + rng.random(layout.width)
    known = Summed(weights, numeric, mean, scale, 0.3)
    assert_one(every_way(foresight, lambda: known.gains(question)[0]))


@given(SEEDS, st.integers(1, 40), st.integers(0, 20))
def test_changes(seed, features, count):
    rng = np.random.default_rng(seed)
    own, levels = (rng.integers(0, 3, (rows, features)).astype(np.int16) for rows in (4, count))
    row = rng.integers(0, 4, count)
    found = every_way(costs, lambda: costs.changes_of(own, row, levels))
    assert_one(found)
    differing = [sum(a != b for a, b in zip(one, own[at], strict=True)) for one, at in zip(levels, row, strict=True)]
    assert found[0].tolist() == differing


@given(st.lists(st.integers(0, 4), max_size=30))
def test_ranks(rows):
    row = np.sort(np.array(rows, dtype=np.int64))
    found = every_way(ranking, lambda: ranks(row))
    assert_one(found)
    assert found[0].tolist() == [row[: n + 1].tolist().count(one) for n, one in enumerate(row.tolist())]


@pytest.mark.parametrize("name", NETWORKS)
def test_what_a_twin_says_of_whole_rows(name):
    network, classes, outputs = NETWORKS[name]
    known = twin_of(l2c.TorchModel(network, INPUTS, classes=classes, outputs=outputs), LAYOUT)
    assert known is not None
    compiled, at_once, plain = every_way(twin, lambda: known.of_cells(CELLS))
    # Sums of single precision may be rounded another way: what a twin says is no last word.
    np.testing.assert_allclose(at_once, compiled, atol=1e-6)
    np.testing.assert_allclose(plain, compiled, atol=1e-6)
