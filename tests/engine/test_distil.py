"""A twin of a model: what it is asked for, how well it agrees, and what is learned through it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.test_score import LAYOUT, QUICK, RULED, Trees, World
from l2c.engine import distil as distilling
from l2c.engine.adam import Adam
from l2c.engine.distil import Twin, distil
from l2c.engine.learn import learn


def twin_of(world: World, rows: int = 4000, seed: int = 0) -> Twin:
    world.model.asked.clear()
    return distil(world.fit, world.even, world.model, rows, seed)


def soft(cells: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return (
        torch.from_numpy(np.nan_to_num(cells).astype(np.float32)),
        torch.from_numpy(LAYOUT.one_hot(LAYOUT.levels(cells))),
    )


@pytest.mark.parametrize(
    "world",
    [World.of(LAYOUT), World.of(LAYOUT, labels_only=True), World.of(LAYOUT, 3)],
    ids=["probabilities", "labels", "three classes"],
)
def test_a_twin_decides_as_the_model_does_on_proposals_that_it_never_saw(world):
    twin = twin_of(world)
    assert twin.agreement > 0.95
    rows = world.dev.cells
    decided = twin.logits(*soft(rows)).argmax(dim=1).numpy()
    assert np.mean(decided == world.model.proba(rows).argmax(axis=1)) > 0.85


def test_agreement_is_the_share_of_the_answers_kept_back_on_which_both_decide_alike(monkeypatch):
    monkeypatch.setattr(distilling, "STEPS", 3)
    world = World.of(LAYOUT)
    twin = twin_of(world, 96 * 5)
    from l2c.engine.ask import untaught

    chosen = world.fit.take(np.random.default_rng(0).permutation(96))
    cells, _ = untaught(world.even, chosen, 5, 0)
    kept = cells[::10]
    alike = twin.logits(*soft(kept)).argmax(dim=1).numpy() == world.model.proba(kept).argmax(axis=1)
    assert twin.agreement == pytest.approx(alike.mean())


def test_the_twin_is_as_decided_as_the_scale_says_whatever_the_models_probabilities():
    class Mild(Trees):
        def proba(self, cells):
            return 0.5 + 0.2 * (super().proba(cells) - 0.5)

    world = World.of(LAYOUT)
    mild = replace(world, model=Mild(LAYOUT))
    both = [
        torch.softmax(twin_of(each).logits(*soft(world.dev.cells)), dim=1)[:, 1].detach().numpy()
        for each in (world, mild)
    ]
    assert np.abs(both[1] - 0.5).mean() > 0.25
    assert np.corrcoef(*both)[0, 1] > 0.9


@pytest.mark.parametrize(("rows", "asked"), [(20, 20), (96, 96), (250, 250), (1000, 1000)])
def test_the_model_is_asked_about_as_many_proposals_as_allowed(monkeypatch, rows, asked):
    monkeypatch.setattr(distilling, "STEPS", 1)
    world = World.of(LAYOUT)
    twin = twin_of(world, rows)
    assert twin.rows == sum(len(cells) for cells in world.model.asked) <= asked == rows
    assert twin.rows > 0.6 * asked  # what was drawn twice is asked about once


@pytest.mark.parametrize("world", [World.of(LAYOUT), World.of(LAYOUT, 3)], ids=["two classes", "three"])
def test_a_twin_is_a_black_box_whose_answers_are_near_the_models_own(monkeypatch, world):
    monkeypatch.setattr(distilling, "BLOCK", 7)
    twin, cells = twin_of(world), world.dev.cells
    proba = twin.proba(cells)
    assert twin.classes == world.model.classes
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert (proba.argmax(axis=1) == twin.logits(*soft(cells)).argmax(dim=1).numpy()).all()
    assert np.abs(proba - world.model.proba(cells)).mean() < 0.1
    assert twin.proba(cells[:0]).shape == (0, len(twin.classes))


def test_a_twin_decides_where_the_model_decides():
    class Careful(Trees):
        threshold = 0.8

    world = World.of(LAYOUT)
    twin = twin_of(replace(world, model=Careful(LAYOUT)))
    cells = world.dev.cells
    assert twin.threshold == 0.8
    decided = twin.logits(*soft(cells)).argmax(dim=1).numpy()
    assert ((twin.proba(cells)[:, 1] > 0.8) == decided).all()
    assert np.mean(decided == (world.model.proba(cells)[:, 1] > 0.8)) > 0.85


def test_progress_is_told_in_rows_asked(monkeypatch):
    monkeypatch.setattr(distilling, "STEPS", 1)
    monkeypatch.setattr(distilling, "BLOCK", 100)
    world, told = World.of(LAYOUT), []
    twin = distil(world.fit, world.even, world.model, 500, 0, lambda done, most: told.append((done, most)))
    assert [most for _, most in told] == [500] * 5
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == twin.rows


@pytest.mark.parametrize(
    "world",
    [World.of(LAYOUT), World.of(LAYOUT, labels_only=True), World.of(LAYOUT, 3), World.of(RULED)],
    ids=["probabilities", "labels", "three classes", "rules"],
)
def test_what_is_learned_through_a_twin_the_model_itself_accepts_far_more_often(world):
    recipe = replace(QUICK, epochs=60)
    learned = learn(world.fit, world.dev, world.even.encoder, recipe, twin_of(world), 0)
    assert world.acceptance(learned) > 1.3 * world.acceptance(None)


def test_gradients_flow_through_a_twin_and_not_into_it():
    twin = twin_of(World.of(LAYOUT), 500)
    values, hot = (part.requires_grad_() for part in soft(World.of(LAYOUT).dev.cells))
    twin.logits(values, hot)[:, 1].sum().backward()
    assert (values.grad != 0).any()
    assert (hot.grad != 0).any()
    assert not any(part.requires_grad for part in twin.parameters)


def test_the_same_seed_gives_the_same_twin_and_another_seed_another():
    world = World.of(LAYOUT)
    first, again, other = (twin_of(world, 500, seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first.parameters, again.parameters, strict=True))
    assert any((a != b).any() for a, b in zip(first.parameters, other.parameters, strict=True))


def test_distilling_leaves_the_global_random_state_and_the_threads_alone():
    torch.rand(3), np.random.random(3)  # noqa: NPY002
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    threads = torch.get_num_threads()
    twin_of(World.of(LAYOUT), 300)
    assert (torch.get_rng_state() == torch_before).all()
    assert (np.random.get_state()[1] == numpy_before[1]).all()  # noqa: NPY002
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("rows", "steps"), [(96, 17), (960, 169), (3000, 20)])
def test_few_answers_are_gone_over_so_many_times_and_many_take_so_many_steps(monkeypatch, rows, steps):
    """Nine tenths of the answers are learned from: 86 and 864, a hundred times, by 512 a step."""
    monkeypatch.setattr(distilling, "STEPS", 20 if rows > 1000 else 1500)
    taken, descend = [], Adam.descend
    monkeypatch.setattr(Adam, "descend", lambda self, loss, rate: taken.append(rate) or descend(self, loss, rate))
    twin_of(World.of(LAYOUT), rows)
    assert len(taken) == steps
    assert taken == pytest.approx([distilling.RATE * (1 - k / steps) for k in range(steps)])
