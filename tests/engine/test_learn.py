"""Training through a model whose log-odds are a sum over the features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder, own_values
from l2c.engine.learn import Learned, learn
from l2c.engine.networks import Network, forward
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.reference import fit_reference
from l2c.engine.relax import gumbel
from tables import random_cells, small_layout

QUICK = Recipe(beta=0.2, hidden=8, epochs=12, batch_size=32, learning_rate=0.01, patience=None)


@dataclass(frozen=True)
class Sum:
    """A model of two classes: log-odds are an intercept, a slope per number, and an entry per other level."""

    layout: Layout
    slopes: np.ndarray
    entries: np.ndarray
    intercept: float

    @classmethod
    def of(cls, layout: Layout) -> Sum:
        rng = np.random.default_rng(0)
        numeric = np.array([feature.numeric for feature in layout.schema.features])
        slopes = np.where(numeric, [0.05, -0.02, 0.0, 0.0, 0.0], 0.0)
        entries = np.where(numeric[layout.owner], 0.0, rng.normal(0, 1.0, layout.width))
        return cls(layout, slopes, entries, -0.5)

    def odds(self, cells: np.ndarray) -> np.ndarray:
        hot = self.layout.one_hot(self.layout.levels(cells)).astype(np.float64)
        return self.intercept + np.nan_to_num(cells) @ self.slopes + hot @ self.entries

    def logits(self, values: Tensor, one_hot: Tensor) -> Tensor:
        odds = self.intercept + values @ values.new_tensor(self.slopes) + one_hot @ values.new_tensor(self.entries)
        return torch.stack([torch.zeros_like(odds), odds], dim=1)


def question(model: Sum, rows: int, seed: int) -> Question:
    cells = random_cells(model.layout, rows, np.random.default_rng(seed))
    current = (model.odds(cells) > 0).astype(np.int64)
    return Question(cells, model.layout.levels(cells), current, 1 - current)


LAYOUT = small_layout()
MODEL = Sum.of(LAYOUT)
FIT, DEV = question(MODEL, 96, 1), question(MODEL, 32, 2)
LAWS = tuple(fit_reference(LAYOUT, FIT.levels[FIT.current == index]) for index in range(2))


def train(recipe: Recipe = QUICK, seed: int = 0) -> Learned:
    encoder = Encoder.fit(LAYOUT, recipe.inputs, FIT.cells)
    return learn(FIT, DEV, encoder, recipe, MODEL, seed)


def counterer(recipe: Recipe, learned: Learned) -> Counterer:
    encoder = Encoder.fit(LAYOUT, recipe.inputs, FIT.cells)
    return Counterer(LAYOUT, recipe, encoder, learned.generator, learned.selector, LAWS, 1.75, Dial())


def same_network(left: Network, right: Network) -> bool:
    return len(left) == len(right) and all(
        (a.weight == b.weight).all() and (a.bias == b.bias).all() for a, b in zip(left, right, strict=True)
    )


def same(left: Learned, right: Learned) -> bool:
    return same_network(left.generator, right.generator) and same_network(left.selector, right.selector)


def slow_dev_loss(recipe: Recipe, learned: Learned, seed: int) -> float:
    """Return equation 3, with breadth, on the dev rows: one row, one feature, one level at a time."""
    encoder = Encoder.fit(LAYOUT, recipe.inputs, FIT.cells)
    inputs = encoder(DEV.cells)
    weights = log_weights(LAYOUT, DEV.levels, decode=recipe.decode, epsilon=recipe.epsilon)
    local = local_distribution(LAYOUT, forward(learned.generator, inputs), weights)
    values = own_values(LAYOUT, DEV.cells, DEV.levels, LAYOUT.representatives(recipe.decode))
    source = torch.Generator().manual_seed(seed)
    G, coin = gumbel((len(inputs), LAYOUT.width), source), gumbel((2, *DEV.levels.shape), source)
    share = {"absent": 1.0, "constant": recipe.selection}.get(recipe.selector)
    logits = forward(learned.selector, inputs) if share is None else None
    tau, total = recipe.temperature, 0.0
    for row in range(len(inputs)):
        odds = MODEL.intercept
        for i, (start, size) in enumerate(zip(LAYOUT.offsets.tolist(), LAYOUT.sizes.tolist(), strict=True)):
            places = range(start, start + size)
            pi = 1 / (1 + math.exp(-logits[row, i])) if share is None else share
            mass = [local[row, j] ** (1 / tau) * math.exp(G[row, j].item() / tau) for j in places]
            s = 1.0
            if pi < 1:
                chosen = pi ** (1 / tau) * math.exp(coin[1, row, i].item() / tau)
                s = chosen / (chosen + (1 - pi) ** (1 / tau) * math.exp(coin[0, row, i].item() / tau))
            allowed = [weights[row, j] == 0 for j in places]
            for j, drawn, free in zip(places, mass, allowed, strict=True):
                z = 1.0 if DEV.levels[row, i] == j - start else 0.0
                soft = (1 - s) * z + s * drawn / sum(mass)
                odds += soft * (MODEL.slopes[i] * values[row, j] + MODEL.entries[j])
                if free and recipe.beta:
                    P = (1 - pi) * z + pi * local[row, j]
                    U = (1 - recipe.reference_selection) * z + recipe.reference_selection / sum(allowed)
                    total += recipe.beta * (P * math.log(P / U) if P > 0 else 0.0)
            if share is None and LAYOUT.schema.features[i].moves != "never":
                total += recipe.alpha * pi
        sign = 1 if DEV.desired[row] == 1 else -1
        total += math.log1p(math.exp(-sign * odds))
    return total / len(inputs)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"beta": 0.0, "alpha": 0.5},
        {"beta": None},
        {"epsilon": math.exp(-10), "decode": "midpoint", "temperature": 0.7},
        {"selector": "constant", "selection": 0.4},
        {"selector": "absent"},
        {"inputs": "values"},
    ],
)
def test_the_dev_loss_is_equation_3_before_and_after_training(changes):
    recipe = replace(QUICK, epochs=3, **changes)
    untrained, trained = train(replace(recipe, epochs=0), seed=5), train(recipe, seed=5)
    assert untrained.dev_losses == pytest.approx([slow_dev_loss(recipe, untrained, 5)], rel=1e-3)
    assert min(trained.dev_losses) == pytest.approx(slow_dev_loss(recipe, trained, 5), rel=1e-3)


def test_training_lowers_the_dev_loss_and_changes_both_networks():
    untrained, trained = train(replace(QUICK, epochs=0)), train()
    assert min(trained.dev_losses) < trained.dev_losses[0] - 0.1
    for before, after in ((untrained.generator, trained.generator), (untrained.selector, trained.selector)):
        assert all((a.weight != b.weight).any() for a, b in zip(before, after, strict=True))


def test_trained_networks_propose_what_the_model_accepts_far_more_often():
    def acceptance(recipe: Recipe) -> float:
        rows = np.arange(len(DEV.cells))
        proposer = counterer(recipe, train(recipe)).proposer(DEV, Streams.for_rows(DEV.cells, 0))
        drawn = proposer.propose(rows, np.zeros_like(rows), 50)
        values = decode_levels(LAYOUT, drawn, DEV.cells[:, None], DEV.levels[:, None], recipe.decode)
        odds = MODEL.odds(values.reshape(-1, len(LAYOUT.axes))).reshape(len(rows), 50)
        return float(np.mean((odds > 0) == (DEV.desired == 1)[:, None]))

    assert acceptance(replace(QUICK, epochs=0)) < 0.3
    assert acceptance(replace(QUICK, epochs=25)) > 0.55


def test_the_checkpoint_is_that_of_the_least_dev_loss():
    # Such steps overshoot, so that the last epoch is not the best.
    restless = replace(QUICK, learning_rate=0.15, epochs=15)
    learned = train(restless)
    best = int(np.argmin(learned.dev_losses))
    assert 0 < best < 15
    assert same(learned, train(replace(restless, epochs=best)))
    assert not same(learned, train(replace(restless, epochs=best - 1)))
    assert slow_dev_loss(restless, learned, 0) == pytest.approx(min(learned.dev_losses), rel=1e-3)


def test_the_same_seed_gives_the_same_networks_and_another_seed_others():
    first = train(seed=3)
    assert same(first, train(seed=3))
    assert first.dev_losses == train(seed=3).dev_losses
    assert not same(first, train(seed=4))


def test_training_leaves_the_global_random_state_alone():
    # Away from any seed's beginning, so that setting a seed shows.
    torch.rand(3), np.random.random(3)  # noqa: NPY002
    torch_before = torch.get_rng_state()
    numpy_before = np.random.get_state()  # noqa: NPY002
    train(replace(QUICK, epochs=2))
    assert (torch.get_rng_state() == torch_before).all()
    assert (np.random.get_state()[1] == numpy_before[1]).all()  # noqa: NPY002
    assert np.random.get_state()[2] == numpy_before[2]  # noqa: NPY002


def test_the_global_random_state_does_not_change_training():
    first = train(replace(QUICK, epochs=2))
    torch.rand(7)
    assert same(first, train(replace(QUICK, epochs=2)))


def test_without_epochs_the_networks_stay_as_they_were_initialised():
    learned = train(replace(QUICK, epochs=0))
    assert len(learned.dev_losses) == 1
    assert same(learned, train(replace(QUICK, epochs=0, learning_rate=0.5, batch_size=1, patience=3)))
    for layer in (*learned.generator, *learned.selector):
        bound = 1 / math.sqrt(layer.weight.shape[1])
        assert (np.abs(layer.weight) <= bound).all()
        assert np.abs(layer.weight).max() > bound / 2


def test_the_networks_have_the_layers_of_appendix_a_2():
    learned = train(replace(QUICK, epochs=0))
    width, features, hidden = LAYOUT.width, len(LAYOUT.axes), QUICK.hidden
    assert [layer.weight.shape for layer in learned.generator] == [
        (hidden, width), (hidden, hidden), (hidden, hidden), (width, hidden),
    ]  # fmt: skip
    assert [layer.weight.shape for layer in learned.selector] == [(hidden, width), (features, hidden)]


@pytest.mark.parametrize("selector", ["constant", "absent"])
def test_without_a_learned_selector_there_is_no_selector_network_and_the_generator_still_learns(selector):
    recipe = replace(QUICK, selector=selector, selection=0.6)
    learned = train(recipe)
    assert learned.selector == ()
    assert min(learned.dev_losses) < learned.dev_losses[0] - 0.05
    assert np.isfinite(counterer(recipe, learned).law(DEV)).all()


def test_a_constant_selector_of_one_is_an_absent_one():
    always = train(replace(QUICK, selector="constant", selection=1.0, epochs=2))
    assert always.dev_losses == pytest.approx(train(replace(QUICK, selector="absent", epochs=2)).dev_losses)


def test_with_values_the_networks_see_standardised_numbers_and_still_answer_by_level():
    recipe = replace(QUICK, inputs="values")
    learned = train(recipe)
    # age: 1 value; debt: 1 value and a flag; job 4, school 3, sex 2 places
    assert learned.generator[0].weight.shape[1] == learned.selector[0].weight.shape[1] == 12
    assert len(learned.generator[-1].bias) == LAYOUT.width
    assert min(learned.dev_losses) < learned.dev_losses[0] - 0.1


def test_patience_stops_training_after_so_many_epochs_without_a_better_dev_loss():
    still = replace(QUICK, learning_rate=1e-30, epochs=50)
    assert len(train(replace(still, patience=3)).dev_losses) == 1 + 3
    restless = replace(QUICK, learning_rate=0.15, epochs=40, patience=2)
    losses = train(restless).dev_losses
    assert int(np.argmin(losses)) == len(losses) - 1 - 2
    assert len(losses) < 41


def test_without_patience_every_epoch_is_run():
    assert len(train(replace(QUICK, learning_rate=1e-30, epochs=5)).dev_losses) == 1 + 5


@pytest.mark.parametrize(("steps", "epochs"), [(None, 6), (0, 0), (1, 1), (3, 1), (4, 2), (12, 4), (100, 6)])
def test_training_ends_with_the_pass_in_which_the_steps_end(steps, epochs):
    three_a_pass = replace(QUICK, epochs=6, steps=steps)
    learned = train(three_a_pass)
    assert len(learned.dev_losses) == 1 + epochs
    assert same(learned, train(replace(three_a_pass, epochs=epochs, steps=None)))


def test_progress_is_told_after_every_epoch():
    told: list[tuple[int, int]] = []
    encoder = Encoder.fit(LAYOUT, "levels", FIT.cells)
    learn(FIT, DEV, encoder, replace(QUICK, epochs=3), MODEL, 0, lambda done, most: told.append((done, most)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_heavier_alpha_selects_fewer_features():
    def selected(alpha: float) -> float:
        recipe = replace(QUICK, alpha=alpha, beta=0.0, epochs=20)
        learned = train(recipe)
        law = counterer(recipe, learned).law(DEV)
        return float(1 - np.take_along_axis(law, DEV.levels + LAYOUT.offsets, axis=1).mean())

    assert selected(1.0) < selected(0.0) - 0.1


def test_a_heavier_beta_keeps_the_law_nearer_to_the_uniform_one():
    def distance(beta: float) -> float:
        recipe = replace(QUICK, beta=beta, epochs=20)
        encoder = Encoder.fit(LAYOUT, "levels", FIT.cells)
        constant = replace(recipe, selector="constant", selection=recipe.reference_selection)
        uniform = Counterer(LAYOUT, constant, encoder, (), (), LAWS, 1.75, Dial()).law(DEV)
        return float(np.abs(counterer(recipe, train(recipe)).law(DEV) - uniform).sum(axis=1).mean())

    assert distance(5.0) < distance(0.0) / 2


def test_the_trained_law_still_forbids_what_the_schema_forbids():
    law = counterer(QUICK, train()).law(DEV)
    weights = log_weights(LAYOUT, DEV.levels, decode="median", epsilon=0.0)
    assert (law[weights == -np.inf] == 0).all()
    assert np.isfinite(law).all()


def test_a_batch_larger_than_the_table_is_one_step():
    learned = train(replace(QUICK, batch_size=10_000, epochs=2))
    assert all(np.isfinite(layer.weight).all() for layer in (*learned.generator, *learned.selector))
