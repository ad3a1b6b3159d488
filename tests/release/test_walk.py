"""A row's walk in one pass, against the same search stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import l2c
from compiling import uncompiled
from l2c.app.answered import other_than
from l2c.app.people import People
from l2c.app.pooling import pools_from
from l2c.core import tree_twin
from l2c.core.compiled import compiles
from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.tree_twin import TreeTwin
from l2c.core.twin import LayerTwin
from l2c.engine import drawing, likely
from l2c.release import bench, by_level, kept, search, sift, stride, walk
from l2c.release.budget import Budget
from l2c.release.kept import Kept, joined
from loans import SCHEMA, applicants, boosted, score, wide_rows

pytestmark = pytest.mark.skipif(not compiles(), reason="numba is not installed")

FREE = l2c.Schema(
    tuple(replace(feature, cost=1.0, cost_up=0.0, cost_down=0.0, level_costs=()) for feature in SCHEMA.features)
)


def torch_model(rows: pd.DataFrame, schema: l2c.Schema, labels: np.ndarray, *widths: int) -> l2c.TorchModel:
    """Return a network with hidden layers of these widths, trained a little; with none it is linear."""
    inputs = l2c.OneHotInput.fit(rows, schema)
    x, y = torch.from_numpy(inputs.transform(rows)), torch.from_numpy(labels.astype(np.float32))
    layers: list[nn.Module] = []
    generator = torch.Generator().manual_seed(4)
    for before, after in zip((inputs.width, *widths), (*widths, 1), strict=True):
        layers += [nn.Linear(before, after), nn.ReLU()]
        layers[-2].weight.data = torch.randn(after, before, generator=generator) / before**0.5
        layers[-2].bias.data.zero_()
    module = nn.Sequential(*layers[:-1])
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(module(x)[:, 0], y).backward()
        optimiser.step()
    return l2c.TorchModel(module, inputs, classes=["refused", "granted"])


TREES = ("trees",)


@cache
def explainer(*widths: int | str) -> l2c.Explainer:
    """Return an explainer of a network with hidden layers of these widths, or of trees."""
    rows = applicants(300)
    trees = widths == TREES
    model = boosted(rows) if trees else torch_model(rows, FREE, score(rows) > 0, *widths)
    fitted = l2c.L2C(epochs=1, hidden=8, beta=0.5, model_rows=2000).fit(rows, model, FREE)
    assert isinstance(fitted._twin, TreeTwin if trees else LayerTwin)
    return fitted


@cache
def hard_to_reach() -> l2c.Explainer:
    """Return an explainer of a model that grants hardly anything, over more combinations than can be tried."""
    rows = wide_rows(300, 0)
    schema = l2c.Schema(tuple(l2c.Feature(name=name, kind="numeric") for name in rows.columns))
    model = torch_model(rows, schema, rows.sum(axis=1).to_numpy() > 9.0)
    return l2c.L2C(epochs=1, hidden=8, beta=2.0).fit(rows, model, schema)


def searched(explainer: l2c.Explainer, rows: pd.DataFrame, dial: float, limits: Limits | None = None, **asked):
    """Return what searches for some rows found, drew and asked."""
    counterer, blackbox = explainer.bundle.counterer, explainer.blackbox
    cells = People.read(rows, explainer.schema).cells
    proba = blackbox.proba(cells)
    everyone = () if limits is None else ((limits, np.ones(len(cells), dtype=bool)),)
    question = Question.of(explainer.layout, cells, proba, other_than(proba), limits=everyone)
    asked = {"pool": 30, "enough": 10, "seed": 3, "budget": Budget(2000, None), **asked}
    pools = pools_from(counterer, blackbox, question, dial=dial, twin=explainer._twin, **asked)
    for looked in pools.searches:
        valid = joined(looked.kept, len(looked.layout.axes))
        names = ("drawn", "judged", "valid", "different", "obeying")
        yield {
            "row": valid.row, "levels": valid.levels, "second": valid.second, "label": valid.label,
            "hard": looked.hard_rows.hard, **{name: getattr(looked, name) for name in names},
        }, valid.chance, looked.best  # fmt: skip


def check_same(one, other):
    for (counts, chance, best), (counts_too, chance_too, best_too) in zip(one, other, strict=True):
        for name, array in counts.items():
            np.testing.assert_array_equal(array, counts_too[name], err_msg=name)
        np.testing.assert_allclose(chance, chance_too, rtol=0, atol=1e-5)
        np.testing.assert_allclose(best, best_too, rtol=0, atol=1e-5)


def in_stages(*given, **asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "compiles", lambda: False)
        return list(searched(*given, **asked))


@contextmanager
def as_python() -> Iterator[None]:
    """Let the loops of a walk run as the Python that they are."""
    with (
        uncompiled(walk, bench, stride, by_level, sift, drawing, likely, tree_twin),
        np.errstate(over="ignore"),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(search, "walked", walk.walked)
        yield


BUDGETS = {"plenty": Budget(2000), "patient": Budget(2000, 45, acceptance=0.4), "scarce": Budget(20, acceptance=0.7)}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("dial", [0.0, 0.6])
@pytest.mark.parametrize("widths", [(), (6,), (7, 5), TREES])
def test_a_walk_finds_and_counts_what_the_stages_do(widths, dial, budget):
    given = (explainer(*widths), applicants(60, seed=5), dial)
    walking = list(searched(*given, budget=BUDGETS[budget]))
    check_same(walking, in_stages(*given, budget=BUDGETS[budget]))
    found = walking[0][0]
    assert found["second"].any()
    assert not found["second"].all()


@pytest.mark.parametrize("dial", [0.0, 0.6])
def test_closed_levels_and_rows_with_little_room(dial):
    limits = Limits(lock=("age", "savings"), permit={"job": ("clerk", "nurse")}, forbid={"school": (("low", "high"),)})
    for widths in ((), (6,), TREES):
        given = (explainer(*widths), applicants(60, seed=6), dial, limits)
        walking = list(searched(*given))
        check_same(walking, in_stages(*given))


@pytest.mark.parametrize("widths", [(), (6,), TREES])
def test_small_rooms_are_tried_whole_where_all_draws_are_made_at_once(widths):
    limits = Limits(lock=("age", "savings", "hours"))
    given = (explainer(*widths), applicants(60, seed=6), 0.0, limits)
    asked = {"pool": 300, "enough": 200, "budget": Budget(90, acceptance=0.9)}
    walking = list(searched(*given, **asked))
    check_same(walking, in_stages(*given, **asked))
    counts = walking[0][0]
    assert (counts["drawn"].max(), counts["different"].max()) == (90, 12)  # all of 4 × 3 combinations
    for row in range(60):
        mine = counts["levels"][counts["row"] == row].tolist()
        assert len(set(map(tuple, mine))) == len(mine)


def test_hard_rows_go_on_by_other_means():
    rows = wide_rows(12, 8)
    given = (hard_to_reach(), rows, 0.0)
    walking = list(searched(*given, pool=200, budget=Budget(3000)))
    assert walking[0][0]["hard"].any()
    check_same(walking, in_stages(*given, pool=200, budget=Budget(3000)))


@pytest.mark.parametrize("widths", [(), (7, 5)])
def test_what_comes_close_is_left_to_the_model(widths):
    asked = []

    class Watched(l2c.TorchModel):
        def __init__(self):
            pass

        def __getattr__(self, name):
            return getattr(explainer(*widths).blackbox, name)

        def proba(self, cells):
            asked.append(len(cells))
            return explainer(*widths).blackbox.proba(cells)

    twin = explainer(*widths)._twin
    watching = replace(explainer(*widths), blackbox=Watched(), _twin=replace(twin, close=0.2))
    given = (watching, applicants(40, seed=7), 0.0)
    walking = list(searched(*given))
    # The rows themselves; then some, and what failed once more with its other values.
    assert len(asked) > 2
    assert sum(asked[1:]) > 100
    exact = list(searched(explainer(*widths), applicants(40, seed=7), 0.0))
    check_same(walking, exact)


@pytest.mark.parametrize("threshold", [0.3, None])
@pytest.mark.parametrize("widths", [(), (6,), TREES])
def test_thresholds_and_margins_count(widths, threshold):
    rows = applicants(50, seed=9)
    fitted = explainer(*widths)
    if threshold is not None:
        fitted = l2c.L2C(epochs=1, hidden=8, beta=0.5).fit(applicants(300), fitted._model, FREE, threshold=threshold)
    assert fitted._twin is not None
    fast = fitted.explain(rows, 8, reasons=False, robust=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "compiles", lambda: False)
        slow = fitted.explain(rows, 8, reasons=False, robust=0.1)
    assert fast.to_frame().equals(slow.to_frame())
    assert fast.outcomes == slow.outcomes
    towards = fast.to_frame()
    bar = 0.5 if threshold is None else threshold
    granted = towards["prediction"] == "granted"
    assert (towards["probability"] >= np.where(granted, bar, 1 - bar) + 0.1 - 1e-9).all()


@pytest.mark.parametrize("dial", [0.0, 0.6])
@pytest.mark.parametrize("widths", [(), (7, 5), TREES])
def test_the_loops_are_the_python_that_they_are(widths, dial):
    given = (explainer(*widths), applicants(3, seed=5), dial)
    walking = list(searched(*given, budget=Budget(200)))
    with as_python():
        plain = list(searched(*given, budget=Budget(200)))
    check_same(walking, plain)


def test_pools_and_tables_grow_as_needed():
    rows = wide_rows(1, 3)
    given = (hard_to_reach(), rows, 0.0)
    with as_python():
        plain = list(searched(*given, pool=20, budget=Budget(1500)))
    check_same(plain, in_stages(*given, pool=20, budget=Budget(1500)))


def test_parts_are_joined_row_by_row_and_in_their_order():
    rng = np.random.default_rng(0)
    parts = []
    for size in (50, 0, 7, 20):
        row = np.sort(rng.integers(0, 9, size))
        levels = rng.integers(0, 4, (size, 3)).astype(np.int16)
        parts.append(Kept(row, levels, None, rng.random(size), rng.integers(0, 2, size), rng.random(size) < 0.5))
    whole = joined(parts, 3)
    order = np.argsort(np.concatenate([part.row for part in parts]), kind="stable")
    for name in ("row", "levels", "chance", "label", "second"):
        expected = np.concatenate([getattr(part, name) for part in parts])[order]
        np.testing.assert_array_equal(getattr(whole, name), expected)
    with uncompiled(kept):
        np.testing.assert_array_equal(joined(parts, 3).levels, whole.levels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "compiles", lambda: False)
        np.testing.assert_array_equal(joined(parts, 3).levels, whole.levels)
    assert len(joined([parts[1], parts[1]], 3).row) == 0


def test_some_are_kept_in_place():
    rng = np.random.default_rng(1)
    which = rng.random(40) < 0.6
    of = Kept(
        np.arange(40), rng.integers(0, 4, (40, 3)).astype(np.int16), None, rng.random(40), np.zeros(40, np.int64), which
    )
    expected = of.take(np.flatnonzero(which))
    again = replace(of, **{name: getattr(of, name).copy() for name in ("row", "levels", "chance", "label", "second")})
    with uncompiled(kept):
        plain = again.of(np.flatnonzero(which))
    for some in (of.of(np.flatnonzero(which)), plain):
        for name in ("row", "levels", "chance", "label", "second"):
            np.testing.assert_array_equal(getattr(some, name), getattr(expected, name))
