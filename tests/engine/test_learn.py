"""Training through a model whose log-odds are a sum over the features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from l2c.core.layout import Layout
from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.rules import Implies
from l2c.core.streams import Streams
from l2c.core.types import Cells
from l2c.engine.constrain import feature_reluctance, level_reluctance, local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.learn import Learned, learn
from l2c.engine.networks import Network, forward
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.reference import ReferenceLaw, fit_reference
from l2c.engine.relax import gumbel
from laws import slow_bound
from tables import question_for, random_cells, small_layout

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


@dataclass(frozen=True)
class World:
    """Rows to learn from, rows to be measured on, and the model."""

    layout: Layout
    model: Sum
    fit: Cells
    dev: Cells

    @classmethod
    def of(cls, layout: Layout) -> World:
        rows = [random_cells(layout, count, np.random.default_rng(seed)) for count, seed in ((96, 1), (32, 2))]
        return cls(layout, Sum.of(layout), *rows)

    def question(self, cells: Cells, recipe: Recipe) -> Question:
        current = (self.model.odds(cells) > 0).astype(np.int64)
        return question_for(self.layout, cells, current=current, desired=1 - current, decode=recipe.decode)

    def train(self, recipe: Recipe, seed: int = 0) -> Learned:
        fit, dev = (self.question(cells, recipe) for cells in (self.fit, self.dev))
        return learn(fit, dev, Encoder.fit(self.layout, recipe.inputs, self.fit), recipe, self.model, seed)

    def counterer(self, recipe: Recipe, learned: Learned) -> Counterer:
        encoder = Encoder.fit(self.layout, recipe.inputs, self.fit)
        return Counterer(self.layout, recipe, encoder, learned.generator, learned.selector, self.laws(), 1.75, Dial())

    def laws(self) -> tuple[ReferenceLaw, ...]:
        levels, current = self.layout.levels(self.fit), self.model.odds(self.fit) > 0
        return tuple(fit_reference(self.layout, levels[current == index]) for index in range(2))

    def acceptance(self, recipe: Recipe, learned: Learned) -> float:
        """Return how many of 50 draws for each dev row the model accepts."""
        dev, rows = self.question(self.dev, recipe), np.arange(len(self.dev))
        proposer = self.counterer(recipe, learned).proposer(dev, Streams.for_rows(dev.cells, 0))
        drawn = proposer.propose(rows, np.zeros_like(rows), 50).reshape(-1, len(self.layout.axes))
        values = decode_levels(self.layout, drawn, dev.room.values, np.repeat(rows, 50))
        return float(np.mean((self.model.odds(values) > 0) == np.repeat(dev.desired == 1, 50)))


LAYOUT = small_layout()
PLAIN = World.of(LAYOUT)
DEV = PLAIN.question(PLAIN.dev, QUICK)

PRICED = LAYOUT.schema.edit("job", cost=3.0).edit("age", cost_up=0.1).edit("school", level_costs=(0.0, 1.0, 4.0))
COSTS = World.of(Layout(PRICED, LAYOUT.axes))
CHAIN = (Implies("school", "age"), Implies("age", "sex", "must_not_fall"), Implies("age", "debt", "must_not_fall"))
RULES = World.of(Layout(replace(LAYOUT.schema, rules=CHAIN), LAYOUT.axes))
BOTH = World.of(Layout(replace(PRICED, rules=(Implies("age", "school", "only_if"),)), LAYOUT.axes))
WORLDS = {"plain": PLAIN, "costs": COSTS, "rules": RULES, "rules and costs": BOTH}


def train(recipe: Recipe = QUICK, seed: int = 0) -> Learned:
    return PLAIN.train(recipe, seed)


def counterer(recipe: Recipe, learned: Learned) -> Counterer:
    return PLAIN.counterer(recipe, learned)


def same_network(left: Network, right: Network) -> bool:
    return len(left) == len(right) and all(
        (a.weight == b.weight).all() and (a.bias == b.bias).all() for a, b in zip(left, right, strict=True)
    )


def same(left: Learned, right: Learned) -> bool:
    return same_network(left.generator, right.generator) and same_network(left.selector, right.selector)


def slow_dev_loss(world: World, recipe: Recipe, learned: Learned, seed: int) -> float:
    """Return equation 3, with breadth, on the dev rows: one row, one feature, one level at a time."""
    layout, model, dev = world.layout, world.model, world.question(world.dev, recipe)
    inputs = Encoder.fit(layout, recipe.inputs, world.fit)(dev.cells)
    weights, willing = log_weights(dev.room, epsilon=recipe.epsilon), np.ones(dev.levels.shape)
    even = np.ones(weights.shape)
    if dev.room.prices is not None:
        even, willing = 1 - level_reluctance(layout, dev), 1 - feature_reluctance(layout, dev)
        weights = weights + np.log(even)
    local = local_distribution(layout, forward(learned.generator, inputs), weights, dev.levels)
    with np.errstate(divide="ignore"):
        log_p = np.log(local)
    source = torch.Generator().manual_seed(seed)
    G, coin = gumbel((len(inputs), layout.width), source), gumbel((2, *dev.levels.shape), source)
    share = {"absent": 1.0, "constant": recipe.selection}.get(recipe.selector)
    logits = forward(learned.selector, inputs) if share is None else None
    tau, total = recipe.temperature, 0.0
    for row in range(len(inputs)):
        soft: list[float] = []
        for i, (start, size) in enumerate(zip(layout.offsets.tolist(), layout.sizes.tolist(), strict=True)):
            places = range(start, start + size)
            pi = (1 / (1 + math.exp(-logits[row, i])) if share is None else share) * willing[row, i]
            mass = [local[row, j] ** (1 / tau) * math.exp(G[row, j].item() / tau) for j in places]
            s = pi
            if recipe.selector != "absent" and pi < 1:
                chosen = pi ** (1 / tau) * math.exp(coin[1, row, i].item() / tau)
                s = chosen / (chosen + (1 - pi) ** (1 / tau) * math.exp(coin[0, row, i].item() / tau))
            allowed = dev.room.open[row, start : start + size].tolist()
            for j, drawn, free in zip(places, mass, allowed, strict=True):
                z = 1.0 if dev.levels[row, i] == j - start else 0.0
                soft.append((1 - s) * z + s * drawn / sum(mass))
                if free and recipe.beta:
                    P = (1 - pi) * z + pi * local[row, j]
                    t = recipe.reference_selection * willing[row, i]
                    U = (1 - t) * z + t * even[row, j] / sum(even[row, k] for k in places if dev.room.open[row, k])
                    total += recipe.beta * (P * math.log(P / U) if P > 0 else 0.0)
            if share is None and layout.schema.features[i].moves != "never":
                total += recipe.alpha * pi
        soft = slow_bound(
            layout,
            dev.levels[row].tolist(),
            dev.room.open[row].tolist(),
            soft,
            log_p[row].tolist(),
            G[row].tolist(),
            tau,
        )
        values = np.nan_to_num(dev.room.values[row])
        odds = model.intercept + sum(
            z * (model.slopes[i] * value + entry)
            for z, i, value, entry in zip(soft, layout.owner.tolist(), values, model.entries, strict=True)
        )
        sign = 1 if dev.desired[row] == 1 else -1
        total += math.log1p(math.exp(-sign * odds))
    return total / len(inputs)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
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
def test_the_dev_loss_is_equation_3_before_and_after_training(changes, world):
    recipe = replace(QUICK, epochs=3, **changes)
    untrained, trained = world.train(replace(recipe, epochs=0), seed=5), world.train(recipe, seed=5)
    assert untrained.dev_losses == pytest.approx([slow_dev_loss(world, recipe, untrained, 5)], rel=1e-3)
    assert min(trained.dev_losses) == pytest.approx(slow_dev_loss(world, recipe, trained, 5), rel=1e-3)


def test_rules_and_costs_make_a_difference_to_the_loss():
    losses = {name: world.train(replace(QUICK, epochs=0)).dev_losses[0] for name, world in WORLDS.items()}
    assert len({round(loss, 3) for loss in losses.values()}) == len(WORLDS)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_training_lowers_the_dev_loss_and_changes_both_networks(world):
    untrained, trained = world.train(replace(QUICK, epochs=0)), world.train(QUICK)
    assert min(trained.dev_losses) < trained.dev_losses[0] - 0.1
    assert np.isfinite(trained.dev_losses).all()
    for before, after in ((untrained.generator, trained.generator), (untrained.selector, trained.selector)):
        assert all((a.weight != b.weight).any() for a, b in zip(before, after, strict=True))
        assert all(np.isfinite(layer.weight).all() for layer in after)


@pytest.mark.parametrize(("name", "share"), [("plain", 0.55), ("costs", 0.5), ("rules", 0.5), ("rules and costs", 0.5)])
def test_trained_networks_propose_what_the_model_accepts_far_more_often(name, share):
    world = WORLDS[name]
    untrained, trained = (replace(QUICK, epochs=epochs) for epochs in (0, 25))
    assert world.acceptance(untrained, world.train(untrained)) < 0.3
    assert world.acceptance(trained, world.train(trained)) > share


def test_the_checkpoint_is_that_of_the_least_dev_loss():
    # Such steps overshoot, so that the last epoch is not the best.
    restless = replace(QUICK, learning_rate=0.15, epochs=15)
    learned = train(restless)
    best = int(np.argmin(learned.dev_losses))
    assert 0 < best < 15
    assert same(learned, train(replace(restless, epochs=best)))
    assert not same(learned, train(replace(restless, epochs=best - 1)))
    assert slow_dev_loss(PLAIN, restless, learned, 0) == pytest.approx(min(learned.dev_losses), rel=1e-3)


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
    encoder, fit = Encoder.fit(LAYOUT, "levels", PLAIN.fit), PLAIN.question(PLAIN.fit, QUICK)
    learn(fit, DEV, encoder, replace(QUICK, epochs=3), PLAIN.model, 0, lambda done, most: told.append((done, most)))
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
        constant = replace(recipe, selector="constant", selection=recipe.reference_selection)
        uniform = counterer(constant, Learned((), (), ())).law(DEV)
        return float(np.abs(counterer(recipe, train(recipe)).law(DEV) - uniform).sum(axis=1).mean())

    assert distance(5.0) < distance(0.0) / 2


def test_the_trained_law_still_forbids_what_the_schema_forbids():
    law = counterer(QUICK, train()).law(DEV)
    assert (law[~DEV.room.open] == 0).all()
    assert np.isfinite(law).all()


def test_a_batch_larger_than_the_table_is_one_step():
    learned = train(replace(QUICK, batch_size=10_000, epochs=2))
    assert all(np.isfinite(layer.weight).all() for layer in (*learned.generator, *learned.selector))


# Standing limits, rules and costs


def test_training_keeps_its_numbers_finite_whatever_the_rows_may_not_do():
    limits = Limits(lock=("school",), permit={"job": ["clerk"]}, max_cost=3.5, max_changes=2)
    schema = replace(PRICED, rules=(Implies("age", "debt", "must_not_fall"),), limits=limits)
    world = World.of(Layout(schema, LAYOUT.axes))
    dev = world.question(world.dev, QUICK)
    assert (dev.room.choices(world.layout) == 1).all(axis=1).any()  # some may change nothing at all
    learned = world.train(QUICK)
    assert np.isfinite(learned.dev_losses).all()
    assert all(np.isfinite(layer.weight).all() for layer in (*learned.generator, *learned.selector))
    assert np.isfinite(world.counterer(QUICK, learned).law(dev)).all()


def test_costs_that_are_all_the_same_change_nothing_in_training():
    schema = LAYOUT.schema
    for name in schema.names:
        schema = schema.edit(name, cost=3.0)
    recipe = replace(QUICK, epochs=3)
    dear = World.of(Layout(schema, LAYOUT.axes)).train(recipe)
    assert dear.dev_losses == pytest.approx(train(recipe).dev_losses, rel=1e-5)


def test_a_rule_that_never_binds_changes_nothing_in_training():
    schema = replace(LAYOUT.schema, rules=(Implies("sex", "age"),))  # nobody's sex rises
    idle = World.of(Layout(schema, LAYOUT.axes))
    assert same(idle.train(replace(QUICK, epochs=3)), train(replace(QUICK, epochs=3)))


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_after_training_too_the_dear_feature_is_selected_less_and_the_dear_level_taken_less(beta):
    recipe = replace(QUICK, beta=beta, epochs=30)
    dear = World.of(Layout(LAYOUT.schema.edit("job", cost=8.0), LAYOUT.axes))
    dev = dear.question(dear.dev, recipe)
    plain, job = counterer(recipe, train(recipe)), 2
    after = dear.counterer(recipe, dear.train(recipe))
    assert (after.selection(dev)[:, job] < 0.75 * plain.selection(DEV)[:, job]).mean() > 0.9
    steep = World.of(Layout(LAYOUT.schema.edit("school", level_costs=(0.0, 0.0, 8.0)), LAYOUT.axes))
    dev, top = steep.question(steep.dev, recipe), LAYOUT.offsets[3] + 2
    after = steep.counterer(recipe, steep.train(recipe))
    below = dev.levels[:, 3] < 2
    assert after.local(dev)[below, top].mean() < 0.75 * plain.local(DEV)[below, top].mean()


def test_a_selector_learns_of_a_rule_that_its_cause_brings_its_effect_with_it():
    """Where a rise of the effect is bad for the model's answer, the cause rises less than without the rule."""
    slopes = np.array([-0.3, 0.0, 0.0, 0.0, 0.0])

    def rises(rules: tuple[Implies, ...]) -> float:
        layout = Layout(replace(LAYOUT.schema, rules=rules), LAYOUT.axes)
        entries = np.zeros(layout.width)
        entries[layout.offsets[3] + 1 : layout.offsets[3] + 3] = 1.0
        cells = np.tile([[40.0, 50.0, 0.0, 0.0, 0.0]], (64, 1))
        model = Sum(layout, slopes, entries, 11.0)  # 40 years: −1, with any schooling 0
        world = World(layout, model, cells, cells[:8])
        recipe = replace(QUICK, beta=0.0, epochs=25)
        law = world.counterer(recipe, world.train(recipe)).law(world.question(world.dev, recipe))
        return float(law[0, layout.offsets[3] + 1 : layout.offsets[3] + 3].sum())

    assert rises(()) > 0.6
    assert rises((Implies("school", "age"),)) < rises(()) - 0.2
