"""Learning to foresee a model from its decisions: how well, from how many answers, and the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.test_score import LAYOUT, PRICED, QUICK, RULED, World
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.engine import learn_foresight as learning
from l2c.engine.decode import decode_levels
from l2c.engine.foresight import Foreseen
from l2c.engine.learn_foresight import STAGES, Taught, learn_foresight
from l2c.engine.recipe import Recipe

RECIPE = Recipe(hidden=16, batch_size=32, learning_rate=0.01)


def judge_of(world: World):
    """Return the world's model as a judge of proposals."""

    def judge(question: Question, row: np.ndarray, levels: np.ndarray) -> np.ndarray:
        cells = decode_levels(world.even.layout, levels, question.room.values, row)
        return question.goal.take(row).reached(world.model.proba(cells))

    return judge


def taught(world: World, recipe: Recipe = RECIPE, seed: int = 0, **given) -> Taught:
    world.model.asked.clear()
    return learn_foresight(world.fit, world.dev, world.even, recipe, judge_of(world), seed, **given)


def shares_valid(world: World, foresight: Foreseen | None, share: float = 0.0) -> np.ndarray:
    """Return the share of proposals that are valid for each dev row."""
    method = replace(world.even, recipe=replace(world.even.recipe, share=share), foresight=foresight)
    rows = np.arange(len(world.dev))
    drawn = method.proposer(world.dev, Streams.for_rows(world.dev.cells, 9)).propose(rows, np.zeros_like(rows), 200)
    valid = judge_of(world)(world.dev, np.repeat(rows, 200), drawn.reshape(-1, drawn.shape[2]))
    return valid.reshape(len(rows), 200).mean(axis=1)


@pytest.mark.parametrize(
    "world",
    [World.of(LAYOUT), World.of(LAYOUT, labels_only=True), World.of(LAYOUT, 3), World.of(RULED), World.of(PRICED)],
    ids=["probabilities", "labels", "three classes", "rules", "prices"],
)
def test_a_law_tilted_by_it_is_valid_in_about_the_share_that_is_wanted_for_rows_it_never_saw(world):
    foresight = taught(world).foresight
    even, some, most = (shares_valid(world, foresight, share) for share in (0.0, 0.7, 0.9))
    reachable = even > 0  # of three classes one is out of reach for everybody
    assert reachable.sum() > 15
    assert even[reachable].mean() < 0.45
    assert some[reachable].mean() == pytest.approx(0.7, abs=0.12)
    assert most[reachable].mean() > some[reachable].mean() + 0.05


def test_it_foresees_the_decision_for_most_proposals():
    world = World.of(LAYOUT)
    foresight = taught(world).foresight
    rows = np.repeat(np.arange(len(world.dev)), 30)
    levels = world.even.proposer(world.dev, Streams.for_rows(world.dev.cells, 5)).propose(
        np.arange(len(world.dev)), np.zeros(len(world.dev), np.int64), 30
    )
    levels = levels.reshape(-1, levels.shape[2])
    gains, start = foresight.gains(world.dev)
    odds = gains[rows[:, None], levels + LAYOUT.offsets].sum(axis=1) + start[rows]
    assert np.mean((odds > 0) == judge_of(world)(world.dev, rows, levels)) > 0.85


def test_the_same_seed_teaches_the_same_and_another_another_and_global_random_state_is_left_alone():
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    threads, world, brief = torch.get_num_threads(), World.of(LAYOUT), replace(RECIPE, epochs=3)

    def weights(seed: int) -> list[bytes]:
        return [layer.weight.tobytes() for layer in taught(world, brief, seed).foresight.network]

    first = weights(0)
    assert weights(0) == first
    assert weights(1) != first
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == before
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("most", [300, 1500, 4000])
def test_the_model_is_asked_about_no_more_proposals_than_allowed(most):
    world = World.of(LAYOUT)
    found = taught(world, replace(RECIPE, epochs=3), most=most)
    assert 0.5 * most < world.rows_asked <= most
    assert 1 <= found.rows < 96


def test_many_rows_are_taken_in_part_and_few_get_more_proposals_each(monkeypatch):
    assert learning._sizes(30_000, 12, None) == (4000, 8)
    assert learning._sizes(640, 20, None) == (640, 12)
    assert learning._sizes(100, 20, None) == (100, 16)
    assert learning._sizes(30_000, 1068, None) == ((1 << 22) // (8 * 1068), 8)
    assert learning._sizes(100, 5, 1) == (1, 16)
    world = World.of(LAYOUT)
    monkeypatch.setattr(learning, "MOST_ROWS", 40)
    found = taught(world, replace(RECIPE, epochs=3))
    assert found.rows == 40
    assert world.rows_asked == len(STAGES) * 16 * (40 + 10)


def test_after_the_first_stage_proposals_follow_what_has_been_learned(monkeypatch):
    world, laws = World.of(LAYOUT), []
    propose = learning._Lessons.propose
    monkeypatch.setattr(
        learning._Lessons, "propose", lambda self, method, *given: laws.append(method) or propose(self, method, *given)
    )
    taught(world, replace(RECIPE, epochs=3))
    assert [method.recipe.share for method in laws] == [share for share in STAGES for _ in range(2)]
    assert laws[0].foresight is None
    assert all(method.foresight is not None for method in laws[2:])


def test_the_network_is_the_one_of_least_dev_loss_and_patience_ends_a_stage():
    world, told = World.of(LAYOUT), []
    found = taught(world, replace(RECIPE, epochs=300, steps=None, patience=2), progress=lambda *done: told.append(done))
    assert found.epochs < 300
    best = int(np.argmin(found.dev_losses))
    assert len(found.dev_losses) - 1 - best == 2
    assert all(most == 300 for _, most in told)
    assert len(told) == found.epochs
    assert found.dev_losses[best] < found.dev_losses[0]


@pytest.mark.parametrize(
    ("recipe", "rows", "epochs"),
    [
        (Recipe(epochs=100), 640, 34),
        (Recipe(epochs=2), 640, 1),
        (Recipe(epochs=100, steps=30, batch_size=64), 640, 1),
        (Recipe(epochs=100, steps=300, batch_size=64), 640, 10),
        (Recipe(epochs=90, steps=None), 30_000, 30),
        (Recipe(epochs=300, steps=240, batch_size=256), 30_000, 10),
    ],
)
def test_each_stage_has_its_part_of_the_epochs_and_of_the_steps(recipe, rows, epochs):
    assert learning._Training(recipe, torch.zeros(1), torch.Generator(), None).epochs(rows) == epochs


def test_loss_is_the_cross_entropy_of_the_sums_with_what_the_model_said():
    world = World.of(LAYOUT)
    lessons = learning._Lessons.of(world.dev, world.even, 0)
    lessons.propose(world.even, 3, judge_of(world))
    lessons.propose(world.even, 2, judge_of(world))
    source = torch.Generator().manual_seed(0)
    parameters = learning.layers([lessons.inputs.shape[1], QUICK.hidden, LAYOUT.width + 1], source)
    seen = learning._frozen(world.even, parameters)
    gains, start = seen.gains(world.dev)
    rows, losses = [0, 7, 3], []
    for row in rows:
        for draw in range(5):
            places = lessons.levels[row, draw] + LAYOUT.offsets
            chance = 1 / (1 + np.exp(-(gains[row, places].sum() + start[row])))
            losses.append(-np.log(chance if lessons.valid[row, draw] else 1 - chance))
    offsets = torch.from_numpy(LAYOUT.offsets)
    assert float(lessons.loss(parameters, torch.tensor(rows), offsets)) == pytest.approx(np.mean(losses), rel=1e-4)
    latest = np.reshape(losses, (3, 5))[:, -2:].mean()
    assert float(lessons.loss(parameters, torch.tensor(rows), offsets, 2)) == pytest.approx(latest, rel=1e-4)
