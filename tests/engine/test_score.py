"""Training with a model's answers alone, against sums over everything that can be drawn."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.rules import Implies, bonds
from l2c.core.streams import Streams
from l2c.core.types import Cells
from l2c.engine import score
from l2c.engine.ask import Memory, Scale, unlimited
from l2c.engine.decode import decode_levels
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.learn import Batch, Learned, Networks, Pull
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.score import DRAWS, _Part, _Scored, ahead_of_others, learn_by_score, log_probability
from tables import question_for, random_cells, small_layout

LAYOUT = small_layout()
CHAIN = (Implies("school", "age"), Implies("age", "debt", "must_not_fall"))
RULED = Layout(replace(LAYOUT.schema, rules=CHAIN), LAYOUT.axes)
ONLY_IF = Layout(replace(LAYOUT.schema, rules=(Implies("age", "school", "only_if"),)), LAYOUT.axes)
PRICED = Layout(LAYOUT.schema.edit("job", cost=3.0).edit("school", level_costs=(0.0, 1.0, 4.0)), LAYOUT.axes)

QUICK = Recipe(beta=0.1, hidden=8, batch_size=32, learning_rate=0.02, patience=None, model_rows=20_000)


@dataclass
class Trees:
    """A model of steps: of two or three classes, by probability or by name alone; it counts what it is asked."""

    layout: Layout
    count: int = 2
    labels_only: bool = False
    asked: list[Cells] = field(default_factory=list)

    @property
    def classes(self) -> tuple[int, ...]:
        return tuple(range(self.count))

    def proba(self, cells: Cells) -> np.ndarray:
        self.asked.append(cells.copy())
        age, debt, job, school, _ = np.nan_to_num(cells).T
        odds = 1.0 * (age > 45) + 1.0 * (school == 2) * (debt <= 100) - 1.5 * (job == 1) + 0.5 * (job == 2) - 0.6
        scores = np.stack([np.zeros(len(cells)), 2 * odds, np.full(len(cells), 0.4) + (job == 0)][: self.count], axis=1)
        mass = np.exp(scores)
        proba = mass / mass.sum(axis=1, keepdims=True)
        return np.eye(self.count)[proba.argmax(axis=1)] if self.labels_only else proba


@dataclass(frozen=True)
class World:
    """Rows to learn from, rows to be measured on, and the model."""

    model: Trees
    fit: Question
    dev: Question
    even: Counterer

    @classmethod
    def of(cls, layout: Layout, count: int = 2, *, labels_only: bool = False) -> World:
        model = Trees(layout, count, labels_only)
        rng = np.random.default_rng(0)
        fit, dev = (random_cells(layout, rows, rng) for rows in (96, 40))
        recipe = replace(QUICK, selector="constant", selection=QUICK.reference_selection)
        even = Counterer(layout, recipe, Encoder.fit(layout, "levels", fit), (), (), (), 1.75, Dial())
        return cls(model, *(_asked(layout, model, cells) for cells in (fit, dev)), even)

    def train(self, recipe: Recipe = QUICK, seed: int = 0) -> Learned:
        self.model.asked.clear()
        return learn_by_score(self.fit, self.dev, self.even, recipe, self.model, seed)

    @property
    def rows_asked(self) -> int:
        return sum(len(cells) for cells in self.model.asked)

    def acceptance(self, learned: Learned | None) -> float:
        """Return how many of 50 draws for each dev row the model accepts."""
        method = self.even
        if learned:
            method = replace(method, recipe=QUICK, generator=learned.generator, selector=learned.selector)
        rows = np.arange(len(self.dev))
        drawn = method.proposer(self.dev, Streams.for_rows(self.dev.cells, 9)).propose(rows, np.zeros_like(rows), 50)
        cells = decode_levels(method.layout, drawn.reshape(-1, 5), self.dev.room.values, np.repeat(rows, 50))
        return float(np.mean(self.model.proba(cells).argmax(axis=1) == np.repeat(self.dev.desired, 50)))


def _asked(layout: Layout, model: Trees, cells: Cells) -> Question:
    current = model.proba(cells).argmax(axis=1)
    step = np.random.default_rng(1).integers(1, model.count, len(cells))
    return question_for(layout, cells, current=current, desired=(current + step) % model.count)


# The estimator


def test_a_draw_is_compared_with_the_mean_of_its_rows_other_draws():
    reward = torch.rand(4, 6, generator=torch.Generator().manual_seed(0))
    for row, draws in enumerate(reward.tolist()):
        for place, own in enumerate(draws):
            others = draws[:place] + draws[place + 1 :]
            assert ahead_of_others(reward)[row, place].item() == pytest.approx(own - sum(others) / 5, abs=1e-6)


def everything(layout: Layout) -> np.ndarray:
    """Return every combination of levels."""
    return np.array(list(itertools.product(*(range(size) for size in layout.sizes))), dtype=np.int16)


def slow_probability(layout: Layout, law: list[float], own: list[int], drawn: list[int]) -> float:
    """Return the probability of one draw: all features by themselves, then effects again that their causes forbid."""
    names = layout.schema.names
    parts = [law[start : start + size] for start, size in zip(layout.offsets, layout.sizes, strict=True)]

    def kept(effect: int, level: int) -> bool:
        for rule in layout.schema.rules:
            if names.index(rule.effect) != effect:
                continue
            cause = names.index(rule.cause)
            rises = drawn[cause] > own[cause]
            if rule.how == "must_rise" and rises and level <= own[effect]:
                return False
            if rule.how == "must_not_fall" and rises and level < own[effect]:
                return False
            if rule.how == "only_if" and not rises and level > own[effect]:
                return False
        return True

    total = 1.0
    for i, (part, level) in enumerate(zip(parts, drawn, strict=True)):
        allowed = [mass if kept(i, j) else 0.0 for j, mass in enumerate(part)]
        again = sum(mass for j, mass in enumerate(part) if not kept(i, j))
        total *= allowed[level] + again * allowed[level] / sum(allowed)
    return total


@pytest.mark.parametrize("layout", [LAYOUT, RULED, ONLY_IF], ids=["plain", "a chain of rules", "only if"])
def test_the_probability_of_a_draw_is_that_of_drawing_it_one_feature_after_the_other(layout):
    rng = np.random.default_rng(3)
    own = np.array([[1, 0, 3, 1, 0], [0, 1, 1, 0, 1], [2, 2, 0, 2, 0]], dtype=np.int16)
    mass = rng.random((3, layout.width)) + 0.05
    law = mass / np.repeat(np.add.reduceat(mass, layout.offsets, axis=1), layout.sizes, axis=1)
    drawn = np.repeat(everything(layout)[None], 3, axis=0)
    tied = bonds(layout.schema.rules, layout.schema.names)
    found = log_probability(layout, tied, torch.from_numpy(law), own, drawn).exp().numpy()
    kept = np.zeros(found.shape, dtype=bool)
    for row, place in itertools.product(range(3), range(0, drawn.shape[1], 7)):
        expected = slow_probability(layout, law[row].tolist(), own[row].tolist(), drawn[row, place].tolist())
        kept[row, place] = expected > 0
        if expected > 0:  # what cannot be drawn is never asked for
            assert found[row, place] == pytest.approx(expected)
    assert kept[:, ::7].any(axis=1).all()


def test_an_effect_that_its_causes_leave_no_mass_does_not_count():
    law = torch.ones(1, LAYOUT.width, requires_grad=True)
    flat = torch.zeros(LAYOUT.width)
    offsets = LAYOUT.offsets.tolist()
    flat[offsets] = 1.0  # every feature surely at its lowest level
    own = np.zeros((1, 5), dtype=np.int16)
    drawn = np.zeros((1, 1, 5), dtype=np.int16)
    drawn[0, 0, 3], drawn[0, 0, 0] = 1, 2  # school rises, so age was drawn evenly among what is higher
    flat[offsets[3] + 1] = 0.5
    tied = bonds((Implies("school", "age"),), LAYOUT.schema.names)
    score = log_probability(LAYOUT, tied, law * flat, own, drawn)
    assert score.item() == pytest.approx(math.log(0.5))
    score.sum().backward()
    assert torch.isfinite(law.grad).all()
    assert (law.grad[0, offsets[0] : offsets[0] + 3] == 0).all()


def scored(world: World, question: Question, recipe: Recipe, drawn: np.ndarray) -> tuple[_Scored, Networks]:
    layout, even = world.even.layout, replace(world.even, recipe=recipe)
    part = replace_drawn(_Part.of(question, even, recipe, 0), drawn)
    tied = bonds(layout.schema.rules, layout.schema.names)
    losses = _Scored(Pull(recipe, layout), even, tied, Memory(world.model), Scale(None, 1.5), part, part)
    networks = Networks.fresh(part.batch.inputs.shape[1], layout, recipe, torch.Generator().manual_seed(2))
    for parameter in (*networks.generator, *networks.selector):
        parameter.requires_grad_()
    return losses, networks


def replace_drawn(part: _Part, drawn: np.ndarray) -> _Part:
    return _Part(part.question, part.batch, part.streams, drawn)


def exact_loss(losses: _Scored, networks: Networks, question: Question) -> torch.Tensor:
    """Return the expected loss of one row, as a sum over everything that can be drawn."""
    layout, batch = losses.even.layout, losses.fit.batch.take(torch.tensor([0]))
    laws = losses.pull.laws(networks, batch)
    local, own = laws.log_p.exp()[0], question.levels[0]
    every = [
        drawn
        for drawn in everything(layout)
        if all(question.room.open[0, layout.offsets[i] + level] for i, level in enumerate(drawn))
    ]
    cells = decode_levels(layout, np.array(every), question.room.values, np.zeros(len(every), dtype=np.int64))
    shares = losses.scale.log_shares(losses.memory.blackbox.proba(cells))[:, question.desired[0]]
    total = torch.zeros(())
    for drawn, share in zip(every, shares.tolist(), strict=True):
        chance = torch.ones(())
        for i, level in enumerate(drawn.tolist()):
            stays = (1 - laws.selection[0, i]) if level == own[i] else 0.0
            chance = chance * (stays + laws.selection[0, i] * local[int(layout.offsets[i]) + level])
        total = total - chance * share
    return total + losses.pull.loss(laws, batch)[0]


@pytest.mark.parametrize("layout", [LAYOUT, PRICED], ids=["plain", "costs"])
def test_the_gradient_is_on_average_that_of_the_expected_loss(layout):
    world = World.of(layout)
    many = 3000
    question = unlimited(world.fit.take(np.zeros(many, dtype=np.int64)))
    losses, networks = scored(world, question, replace(QUICK, beta=0.3, alpha=0.1), np.arange(many) * DRAWS)
    parameters = [*networks.generator, *networks.selector]
    value = losses.on_dev(networks)
    estimate = torch.autograd.grad(value, parameters)
    expected = exact_loss(losses, networks, question)
    exact = torch.autograd.grad(expected, parameters)
    assert value.item() == pytest.approx(expected.item(), rel=0.02)
    found, wanted = (torch.cat([part.flatten() for part in parts]) for parts in (estimate, exact))
    assert torch.nn.functional.cosine_similarity(found, wanted, dim=0) > 0.99
    assert (found - wanted).norm() < 0.1 * wanted.norm()


def test_with_rules_the_gradient_is_on_average_that_of_what_is_drawn():
    """The slope of the loss along one direction, by the estimator and by drawing from networks a little apart."""
    world = World.of(RULED)
    many = 4000
    question = unlimited(world.fit.take(np.full(many, 5)))
    recipe = replace(QUICK, beta=0.0, alpha=0.0)
    losses, networks = scored(world, question, recipe, np.arange(many) * DRAWS)
    bias = networks.generator[-1]
    (slope,) = torch.autograd.grad(losses.on_dev(networks), [bias])
    direction = slope / slope.norm()
    ends = []
    with torch.no_grad():
        for side in (0.5, -0.5):
            bias += side * direction
            ends.append(losses.on_dev(networks).item())
            bias -= side * direction
    assert ends[0] - ends[1] == pytest.approx(slope.norm().item(), rel=0.25)


def test_the_value_of_the_loss_is_the_mean_over_the_draws_and_the_pulls():
    world = World.of(RULED)
    question = unlimited(world.dev)
    recipe = replace(QUICK, beta=0.7, alpha=0.2)
    losses, networks = scored(world, question, recipe, np.zeros(len(question), dtype=np.int64))
    method = replace(losses.even, **dict(zip(("generator", "selector"), networks.export(), strict=True)))
    rows = np.arange(len(question))
    drawn = method.proposer(question, Streams.for_rows(question.cells, 0)).propose(rows, np.zeros_like(rows), DRAWS)
    total = 0.0
    for row, draw in itertools.product(rows, range(DRAWS)):
        cells = decode_levels(RULED, drawn[row, draw][None], question.room.values, np.array([row]))
        answer = world.model.proba(cells)[0].tolist()
        wanted = answer[question.desired[row]]
        total -= math.log(wanted**1.5 / sum(each**1.5 for each in answer)) / DRAWS
    pulls = losses.pull.loss(losses.pull.laws(networks, losses.fit.batch), losses.fit.batch).sum().item()
    assert losses.on_dev(networks).item() == pytest.approx((total + pulls) / len(rows), rel=1e-4)


# Training


@pytest.fixture(scope="module", params=["probabilities", "labels", "three classes", "rules"])
def taught(request) -> tuple[World, Learned]:
    made = {
        "probabilities": lambda: World.of(LAYOUT),
        "labels": lambda: World.of(LAYOUT, labels_only=True),
        "three classes": lambda: World.of(LAYOUT, 3),
        "rules": lambda: World.of(RULED),
    }
    world = made[request.param]()
    return world, world.train(replace(QUICK, model_rows=60_000))


def test_answers_alone_teach_to_propose_what_the_model_accepts(taught):
    world, learned = taught
    assert min(learned.dev_losses) < learned.dev_losses[0] - 0.2
    assert world.acceptance(learned) > 1.3 * world.acceptance(None)


@pytest.mark.parametrize(("rows", "rounds"), [(20, 0), (70, 1), (500, 1), (3000, 2), (9000, 7)])
def test_the_model_is_never_asked_about_more_rows_than_the_recipe_says(rows, rounds):
    world = World.of(LAYOUT)
    learned = world.train(replace(QUICK, model_rows=rows))
    assert world.rows_asked <= rows
    assert len(learned.dev_losses) - 1 == rounds


def test_a_round_takes_eight_draws_of_every_fit_and_dev_row_and_a_scale_and_the_dev_rows_come_before():
    world = World.of(LAYOUT)
    learned = world.train(replace(QUICK, model_rows=30_000))
    left = 30_000 - world_scale(world) - 40 * DRAWS
    assert len(learned.dev_losses) - 1 == left // ((96 + 40) * DRAWS)


def world_scale(world: World) -> int:
    """Return how many different rows the scale takes: the first question to the model."""
    return len(world.model.asked[0])


def test_the_epochs_of_the_recipe_are_the_most_rounds():
    assert len(World.of(LAYOUT).train(replace(QUICK, epochs=3)).dev_losses) == 1 + 3
    assert len(World.of(LAYOUT).train(replace(QUICK, epochs=0)).dev_losses) == 1


def test_no_row_is_asked_about_twice():
    world = World.of(LAYOUT)
    world.train(replace(QUICK, model_rows=8000))
    asked = np.concatenate(world.model.asked)
    assert len(np.unique(np.nan_to_num(asked, nan=-1.0), axis=0)) == len(asked)


def test_many_rows_are_learned_from_in_turns_and_only_some_dev_rows_are_asked_about(monkeypatch):
    monkeypatch.setattr(score, "DEV_ROWS", 4)  # and as many for the scale
    world = World.of(LAYOUT)
    learned = world.train(replace(QUICK, model_rows=5000))
    # Rounds of 20 fit and 4 dev rows.
    assert len(learned.dev_losses) - 1 == (5000 - world_scale(world) - 4 * DRAWS) // (24 * DRAWS)
    own = {tuple(row) for row in world.fit.levels[:, [4]].tolist()}
    assert own == {tuple(row) for row in LAYOUT.levels(np.concatenate(world.model.asked))[:, [4]].tolist()}


def test_progress_is_told_in_rows_asked():
    world, told = World.of(LAYOUT), []
    learn_by_score(
        world.fit, world.dev, world.even, replace(QUICK, model_rows=6000), world.model, 0,
        lambda done, most: told.append((done, most)),
    )  # fmt: skip
    assert len(told) > 1
    assert told == sorted(told)
    assert {most for _, most in told} == {6000}
    assert told[-1][0] <= 6000


def flat(learned: Learned) -> np.ndarray:
    layers = (*learned.generator, *learned.selector)
    return np.concatenate([part.ravel() for layer in layers for part in (layer.weight, layer.bias)])


def test_the_same_seed_gives_the_same_networks_and_another_seed_others():
    world, recipe = World.of(LAYOUT), replace(QUICK, model_rows=4000)
    first = world.train(recipe, seed=3)
    again = world.train(recipe, seed=3)
    assert (flat(first) == flat(again)).all()
    assert first.dev_losses == again.dev_losses
    assert (flat(first) != flat(world.train(recipe, seed=4))).any()


def test_training_leaves_the_global_random_state_and_the_threads_alone():
    torch.rand(3), np.random.random(3)  # noqa: NPY002
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    threads = torch.get_num_threads()
    World.of(LAYOUT).train(replace(QUICK, model_rows=3000))
    assert (torch.get_rng_state() == torch_before).all()
    assert (np.random.get_state()[1] == numpy_before[1]).all()  # noqa: NPY002
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("selector", ["constant", "absent"])
def test_without_a_learned_selector_the_generator_still_learns(selector):
    learned = World.of(LAYOUT).train(replace(QUICK, selector=selector, model_rows=40_000))
    assert learned.selector == ()
    assert min(learned.dev_losses) < learned.dev_losses[0] - 0.1


def test_of_three_classes_the_networks_see_which_one_is_desired():
    world = World.of(LAYOUT, 3)
    batch = Batch.of(world.fit, world.even.encoder, QUICK)
    assert batch.inputs.shape[1] == LAYOUT.width + 3
    assert batch.inputs[:, LAYOUT.width :].argmax(dim=1).tolist() == world.fit.desired.tolist()
    learned = world.train(replace(QUICK, model_rows=60_000))
    method = replace(world.even, recipe=QUICK, generator=learned.generator, selector=learned.selector)
    laws = [method.law(question_for(LAYOUT, world.dev.cells, desired=desired, current=2)) for desired in (0, 1)]
    assert np.abs(laws[0] - laws[1]).sum(axis=1).mean() > 0.5
