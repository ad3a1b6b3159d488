"""From rows and a model to a fitted method: what is settled on the dev rows, with toy models and small numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from l2c.app import fitting, lessons, trials
from l2c.app.answered import Answered, Counted, other_class
from l2c.app.fitting import fit_method, split_rows
from l2c.app.pooling import pools_from, selection_of
from l2c.core.blackbox import decide
from l2c.core.feature import Feature
from l2c.core.limits import Limits
from l2c.core.schema import Schema
from l2c.core.streams import Streams
from l2c.engine.ask import decoded
from l2c.engine.dial import FULL_CANDIDATES, HALF_CANDIDATES, RATE_AT_1, RATE_AT_HALF, Dial
from l2c.engine.foresight import Summed
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.reference import fit_reference
from l2c.errors import DataError
from l2c.evaluate.quality import diversity, harmonic_mean, sparsity
from l2c.release import search
from l2c.release.budget import Budget
from tables import question_for

SCHEMA = Schema(
    (
        Feature(name="age", kind="numeric", moves="rises"),
        Feature(name="income", kind="numeric"),
        Feature(name="grade", kind="ordinal", levels=("low", "middle", "high")),
        Feature(name="flag", kind="binary", levels=("no", "yes")),
        Feature(name="home", kind="categorical", levels=("rent", "own", "other")),
    )
)


def people(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    income = rng.normal(3, 1, count)
    grade = np.clip(np.rint(income - 2 + rng.normal(0, 0.5, count)), 0, 2)
    rest = (rng.integers(0, 2, count), rng.integers(0, 3, count))
    return np.stack([rng.uniform(20, 70, count), income, grade, *rest], axis=1).astype(np.float64)


@dataclass
class Additive:
    """A model of two classes whose log-odds are a sum over the features: it offers a gradient."""

    classes: tuple[str, ...] = ("refused", "granted")
    asked: list[np.ndarray] = field(default_factory=list)

    def proba(self, cells: np.ndarray) -> np.ndarray:
        self.asked.append(cells.copy())
        age, income, grade, flag, home = cells.T
        odds = 0.03 * (age - 45) + 1.2 * (income - 3) + np.array([-1.0, 0.2, 1.0])[grade.astype(int)] + flag - 0.5
        granted = 1 / (1 + np.exp(-(odds + 0.3 * (home == 1))))
        return np.stack([1 - granted, granted], axis=1)


class Product(Additive):
    """A model in which two features only work together: it offers no gradient."""

    def proba(self, cells: np.ndarray) -> np.ndarray:
        granted = 1 / (1 + np.exp(-((cells[:, 1] - 3) * (cells[:, 0] - 45) / 5 + 0.2)))
        return np.stack([1 - granted, granted], axis=1)


class Three(Additive):
    """A model of three classes, by the income."""

    def proba(self, cells: np.ndarray) -> np.ndarray:
        odds = np.stack([3 - cells[:, 1], np.zeros(len(cells)), cells[:, 1] - 3.5], axis=1)
        mass = np.exp(odds)
        return mass / mass.sum(axis=1, keepdims=True)


FIT, DEV = people(150, 0), people(50, 1)
QUICK = Recipe(epochs=2, hidden=8, beta=0.2)


@pytest.fixture(autouse=True)
def small_trials(monkeypatch):
    for name, value in (("TRIAL_ROWS", 8), ("TRIAL_SET", 5), ("TRIAL_POOL", 20)):
        monkeypatch.setattr(trials, name, value)


def fit(recipe: Recipe = QUICK, model: Additive | None = None, seed: int = 0) -> tuple[Counterer, str]:
    return fit_method(recipe, SCHEMA, model or Additive(), FIT, DEV, seed, None)


def script_sets(monkeypatch, by_share):
    """Let sets have the sparsity and diversity that a table says for the method's share, None before learning."""
    monkeypatch.setattr(trials.Trial, "sets", lambda _, counterer: by_share[counterer.recipe.share])


# The share of valid proposals


BEFORE = (0.7, 0.5)
AS_GOOD_AS_THAT = (0.72, 0.49)  # their harmonic means: 0.5833 and 0.5831
WORSE = (0.7, 0.48)  # 0.5695


@pytest.mark.parametrize(
    ("first", "second", "third", "chosen"),
    [
        (AS_GOOD_AS_THAT, WORSE, WORSE, 0.8),
        (WORSE, AS_GOOD_AS_THAT, AS_GOOD_AS_THAT, 0.6),
        (WORSE, WORSE, AS_GOOD_AS_THAT, 0.4),
        (WORSE, WORSE, WORSE, 0.4),
    ],
)
@pytest.mark.parametrize("model", [Additive(), Product()])
def test_the_dev_rows_choose_the_largest_share_whose_sets_are_as_good_as_without_learning(
    monkeypatch, model, first, second, third, chosen
):
    monkeypatch.setattr(trials, "SHARES", (0.8, 0.6, 0.4))
    by_share = {None: BEFORE, 0.8: first, 0.6: second, 0.4: third}
    script_sets(monkeypatch, by_share)
    counterer, sentence = fit(Recipe(epochs=1, hidden=8, model_rows=300), model)
    assert counterer.recipe.share == chosen
    assert f"; proposals are tilted until {chosen:.0%} of them should be valid" in sentence
    kept, apart = by_share[chosen]
    assert counterer.balance == pytest.approx((kept / apart) ** 2)


def test_as_good_is_measured_on_sets_of_the_dev_rows(monkeypatch):
    """Tilted to certainty a law is narrow, and that costs."""
    monkeypatch.setattr(trials, "SHARES", (0.99, 0.3))
    monkeypatch.setattr(trials, "TRIAL_ROWS", 30)
    monkeypatch.setattr(search, "ENUMERABLE", 1)  # what is tried one and all follows no law
    monkeypatch.setattr(trials, "AS_GOOD", 0.01)
    assert fit(Recipe())[0].recipe.share == 0.3
    monkeypatch.setattr(trials, "AS_GOOD", 0.9)
    assert fit(Recipe())[0].recipe.share == 0.99


def test_a_share_that_is_given_is_taken_whatever_it_costs(monkeypatch):
    monkeypatch.setattr(trials, "AS_GOOD", -1.0)
    counterer, _ = fit(Recipe(share=0.97))
    assert counterer.recipe.share == 0.97
    assert fit(Recipe(share=0.97, select="first"))[0].recipe.share == 0.97


@pytest.mark.parametrize("recipe", [Recipe(share=0.0), Recipe(epochs=0), Recipe(share=0.0, select="first")])
def test_with_no_share_or_no_epoch_nothing_is_learned(recipe):
    counterer, sentence = fit(recipe)
    assert sentence == "nothing was to be learned, so proposals follow the reference law alone; every one is judged"
    assert counterer.foresight is None
    question = other_class(counterer.layout, Answered.by(Additive(), DEV), "auto")
    assert (counterer.law(question) == counterer.even_law(question)).all()


@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_with_a_beta_networks_are_trained_and_nothing_is_tilted(beta):
    counterer, sentence = fit(Recipe(epochs=1, hidden=8, beta=beta))
    assert (counterer.recipe.beta, counterer.foresight) == (beta, None)
    assert counterer.generator
    assert f"β = {beta:g};" in sentence
    assert "tilted" not in sentence


def share_valid(counterer: Counterer, model: Additive) -> float:
    """Return the share of proposals for the dev rows that are valid, as they are drawn."""
    question = other_class(counterer.layout, Answered.by(model, DEV), "auto")
    rows = np.arange(len(DEV))
    levels = counterer.proposer(question, Streams.for_rows(DEV, 3)).propose(rows, np.zeros_like(rows), 200)
    cells, row = decoded(counterer.layout, question, levels).reshape(-1, DEV.shape[1]), np.repeat(rows, 200)
    return float(question.goal.take(row).reached(model.proba(cells)).mean())


@pytest.mark.parametrize(
    ("model", "off"), [(Additive(), 0.05), (Product(), 0.12), (Three(classes=("a", "b", "c")), 0.12)]
)
def test_proposals_are_valid_in_about_the_share_that_was_asked_for(model, off):
    method = Recipe(share=0.6, select="first", learning_rate=0.01, batch_size=64)
    even, tilted = fit(replace(method, share=0.0), model)[0], fit(method, model)[0]
    assert share_valid(even, model) < 0.5
    assert share_valid(tilted, model) == pytest.approx(0.6, abs=off)


def test_a_model_that_is_a_sum_is_not_learned_but_known(monkeypatch):
    monkeypatch.setattr("l2c.engine.learn_foresight.learn_foresight", None)
    counterer, sentence = fit(Recipe())
    assert sentence.startswith("the model's log-odds are a sum over the features, so what each level adds is known; ")
    assert isinstance(counterer.foresight, Summed)
    assert fit(Recipe())[0].foresight.weights.tolist() == counterer.foresight.weights.tolist()


def test_who_wants_more_to_choose_from_than_is_usual_gets_proposals_that_are_tilted_less(monkeypatch):
    eases = []
    proposer = Counterer.proposer
    monkeypatch.setattr(Counterer, "proposer", lambda *given: eases.append(given[4]) or proposer(*given))
    counterer, _ = fit(Recipe(share=0.7, select="first"))
    question = other_class(counterer.layout, Answered.by(Additive(), DEV[:2]), "auto")
    for pool, enough in ((10, 5), (200, 5), (800, 5), (4000, 100), (800, np.array([5, 5]))):
        pools_from(counterer, Additive(), question, pool=pool, enough=enough, dial=0.0, seed=0, budget=Budget(5))
    assert eases == [1.0, 1.0, 0.25, 0.25, 1.0]


# The balance of a set


def test_balance_is_the_square_of_sparsity_over_diversity_of_the_methods_own_sets(monkeypatch):
    script_sets(monkeypatch, {None: (0.6, 0.5), 0.2: (0.6, 0.4)})
    assert fit(Recipe(share=0.2))[0].balance == pytest.approx(1.5**2)


def test_balance_is_measured_on_dev_rows_drawn_by_the_seed_with_the_balance_of_the_even_law():
    counterer, _ = fit()
    model = Additive()
    drawn = np.sort(np.random.default_rng(0).permutation(len(DEV))[:8])
    question = other_class(counterer.layout, Answered.by(model, DEV[drawn]), "auto")

    def measured(method: Counterer) -> float:
        pools = pools_from(method, model, question, pool=20, enough=5, dial=0.0, seed=0, budget=Budget(400))
        found = pools.release(5, selection_of(method, "balanced", 0.0))
        return (sparsity(found) / diversity(found)) ** 2

    classes = decide(model.proba(FIT))
    laws = tuple(fit_reference(counterer.layout, counterer.layout.levels(FIT)[classes == index]) for index in (0, 1))
    untrained = Recipe(epochs=2, hidden=8, beta=0.2, selector="constant", selection=QUICK.reference_selection)
    even = Counterer(counterer.layout, untrained, counterer.encoder, (), (), laws, fitting.FIRST_BALANCE, Dial())
    before = measured(even)
    method = Counterer(
        counterer.layout, counterer.recipe, counterer.encoder, counterer.generator, counterer.selector, laws, before,
        Dial(),
    )  # fmt: skip
    assert counterer.balance == pytest.approx(measured(method))


def test_without_any_set_the_balance_stays_as_it_was(monkeypatch):
    script_sets(monkeypatch, {None: (0.0, 0.0), 0.2: (0.6, 0.0)})
    assert fit(Recipe(share=0.2))[0].balance == fitting.FIRST_BALANCE


# The dial


def script_prices(monkeypatch, prices: dict[float, dict[float, tuple[float, float]]]):
    """Let the sets of each weight have these harmonic means and plausibilities; return what was tried, and where."""
    tried: list[tuple[float, float]] = []

    def priced(_, __, places):
        tried.extend(places)
        return [prices[place][weight] for place, weight in places]

    script_sets(monkeypatch, {None: (0.6, 0.5)})
    monkeypatch.setattr(trials.Trial, "_priced", priced)
    return tried


def steps_worth(candidates: tuple[float, ...], rate: float, up_to: float) -> dict[float, tuple[float, float]]:
    """Let every step cost a point of harmonic mean, and up to a weight bring more plausible ones than it must."""
    prices, share = {}, 0.2
    for step, weight in enumerate(candidates):
        if step:
            share *= np.exp(0.01 * rate * (1.02 if weight <= up_to else 0.98))
        prices[weight] = 0.5 - 0.01 * step, share
    return prices


def worth_up_to(half: float, full: float) -> dict[float, dict[float, tuple[float, float]]]:
    """Return prices for which the dial should be settled at these weights."""
    return {
        0.5: steps_worth(HALF_CANDIDATES, RATE_AT_HALF, half),
        1.0: steps_worth(FULL_CANDIDATES, RATE_AT_1, full),
    }


@pytest.mark.parametrize("half", HALF_CANDIDATES)
@pytest.mark.parametrize("full", FULL_CANDIDATES)
def test_the_dial_rises_as_long_as_a_point_of_harmonic_mean_brings_enough_more_plausible_ones(monkeypatch, half, full):
    prices = worth_up_to(half, full)
    tried = script_prices(monkeypatch, prices)
    assert fit(Recipe(beta=0.2, epochs=0, hidden=2))[0].dial == Dial(half, full)
    assert tried == [(place, weight) for place in (0.5, 1.0) for weight in prices[place]]


def test_a_step_that_costs_nothing_is_taken(monkeypatch):
    monkeypatch.setattr(trials.Trial, "_priced", lambda _, __, tried: [(0.5, 0.9)] * len(tried))
    assert fit(Recipe(beta=0.2, epochs=0, hidden=2))[0].dial == Dial(HALF_CANDIDATES[-1], FULL_CANDIDATES[-1])


def test_a_price_is_the_harmonic_mean_and_the_plausibility_of_sets_at_that_place_with_that_weight(monkeypatch):
    seen = []

    def release(place, asked, selection):
        seen.append((place, asked, selection.unlikeliness))
        return len(seen)

    def pools(_, __, place):
        return SimpleNamespace(release=lambda asked, selection: release(place, asked, selection))

    monkeypatch.setattr(trials.Trial, "pools", pools)
    monkeypatch.setattr(trials, "sparsity", lambda released: 0.6 / released)
    monkeypatch.setattr(trials, "diversity", lambda released: 0.3 / released)
    shares = lambda releases, _: [SimpleNamespace(share=0.7 / one) for one in releases]  # noqa: E731
    monkeypatch.setattr(trials, "plausibilities", shares)
    counterer, _ = fit(Recipe(share=0.0, select="first"))
    prices = trials.Trial(Additive(), None, None, 0)._priced(counterer, [(0.5, 0.05), (1.0, 0.2)])
    assert prices == [(pytest.approx(0.4), 0.7), (pytest.approx(0.2), 0.35)]
    assert seen == [(0.5, trials.TRIAL_SET, 0.05), (1.0, trials.TRIAL_SET, 0.2)]


def test_how_unlikely_a_pool_is_is_worked_out_once():
    asked = []

    def unlikely(levels, desired):
        asked.append(levels)
        return levels[:, 0] + desired

    remembered = trials._remembered(unlikely)
    one, other = np.array([[1, 2]], np.int16), np.array([[3, 2]], np.int16)
    desired = np.array([1])
    for levels in (one, other, one.copy(), other):
        assert remembered(levels, desired).tolist() == [levels[0, 0] + 1]
    assert remembered(one, np.array([0])).tolist() == [1]
    assert len(asked) == 3


# What is learned from what


def test_each_class_has_the_law_of_the_fit_rows_that_the_model_puts_in_it():
    counterer, _ = fit()
    classes, levels = decide(Additive().proba(FIT)), counterer.layout.levels(FIT)
    for index, law in enumerate(counterer.laws):
        expected = fit_reference(counterer.layout, levels[classes == index])
        assert all((a == b).all() for a, b in zip(law.tables, expected.tables, strict=True))
        assert (law.typical, law.spread) == (expected.typical, expected.spread)


def test_the_same_seed_gives_the_same_method_and_another_seed_another():
    (first, said), (same, said_again), (other, _) = fit(), fit(), fit(seed=1)
    assert said == said_again
    assert (first.balance, first.dial) == (same.balance, same.dial)
    assert all((a.weight == b.weight).all() for a, b in zip(first.generator, same.generator, strict=True))
    assert any((a.weight != b.weight).any() for a, b in zip(first.generator, other.generator, strict=True))


def test_the_sentence_tells_how_training_went():
    _, sentence = fit()
    assert sentence.startswith("2 epochs on 150 rows with β = 0.2; dev loss ")
    assert " at its best, after epoch " in sentence


@pytest.mark.parametrize("nothing", ["model_rows", "epochs"])
def test_where_nothing_may_be_learned_without_gradient_there_is_the_reference_law_alone_and_a_settled_dial(
    monkeypatch, nothing
):
    tried = script_prices(monkeypatch, worth_up_to(HALF_CANDIDATES[1], FULL_CANDIDATES[2]))
    counterer, sentence = fit(replace(QUICK, **{nothing: 0}), Product())
    assert sentence == (
        "the model offers no gradient, so proposals follow the reference law alone; every one is judged"
    )
    assert (counterer.generator, counterer.selector, counterer.recipe.selector) == ((), (), "constant")
    assert counterer.recipe.selection == QUICK.reference_selection
    assert counterer.dial == Dial(HALF_CANDIDATES[1], FULL_CANDIDATES[2])
    assert counterer.balance == pytest.approx(1.2**2)
    assert tried


def expected_income(counterer: Counterer, desired: int) -> np.ndarray:
    """Return the level of income, from lowest to highest, that proposals for the dev rows have on average."""
    law = counterer.law(question_for(counterer.layout, DEV, current=2 - desired, desired=desired))
    start, size = counterer.layout.offsets[1], counterer.layout.sizes[1]
    return law[:, start : start + size] @ np.arange(size)


def test_of_three_classes_the_one_that_is_desired_leads_the_networks(monkeypatch):
    tried = script_prices(monkeypatch, worth_up_to(HALF_CANDIDATES[1], FULL_CANDIDATES[1]))
    recipe = replace(QUICK, epochs=40, hidden=16, learning_rate=0.02)
    counterer, sentence = fit(recipe, Three(classes=("a", "b", "c")))
    assert sentence.startswith("40 epochs on 150 rows with β = 0.2; ")
    assert len(counterer.laws) == 3
    for network in (counterer.generator, counterer.selector):
        assert network[0].weight.shape[1] == counterer.encoder.width + 3
    assert tried
    assert (expected_income(counterer, 2) > expected_income(counterer, 0) + 0.5).all()


def test_of_three_classes_every_other_one_is_learned_for():
    layout = fit(Recipe(select="first", epochs=0, hidden=2))[0].layout
    told = Answered.by(Three(classes=("a", "b", "c")), FIT)
    question = lessons._some_other_class(layout, told, "auto", 0)
    assert {*zip(question.current.tolist(), question.desired.tolist(), strict=True)} == {
        (have, want) for have in range(3) for want in range(3) if have != want
    }
    assert (question.goal.accepted.argmax(axis=1) == question.desired).all()
    assert (question.goal.accepted.sum(axis=1) == 1).all()


# A model that offers no gradient


def rows_asked(recipe: Recipe) -> int:
    """Return how many rows a model without gradient is asked about in fitting."""
    counted = Counted(Product())
    fit_method(recipe, SCHEMA, counted, FIT, DEV, 0, None)
    return counted.rows


ASKING = Recipe(epochs=3, hidden=8, model_rows=600)


def test_a_twin_judges_the_trials_so_that_the_model_is_asked_about_no_more_rows_than_allowed():
    without = rows_asked(Recipe(select="first", model_rows=0))
    assert without >= len(FIT) + len(DEV)
    taught = rows_asked(replace(ASKING, select="first"))
    assert without < taught <= without + 600
    assert rows_asked(ASKING) == rows_asked(replace(ASKING, beta=0.5)) == taught


def test_by_the_score_the_model_itself_judges_the_trials():
    first = rows_asked(replace(ASKING, select="first", without_gradient="score"))
    assert rows_asked(replace(ASKING, beta=0.2, without_gradient="score")) > first


def test_each_training_row_is_asked_about_once(monkeypatch):
    monkeypatch.setattr(lessons, "differentiable", lambda *_: None)  # it asks about some of them itself
    asked, answer = [], Counted.proba
    monkeypatch.setattr(Counted, "proba", lambda self, cells: asked.append(cells) or answer(self, cells))
    fit(replace(ASKING, beta=0.2), Product())
    assert sum(np.array_equal(cells, FIT) for cells in asked) == 1
    assert sum(np.array_equal(cells, DEV) for cells in asked) == 1


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        (
            "twin",
            r"the model offers no gradient, so a twin taught, which learned its answers to \d+ proposals and decides "
            r"as it does on \d+% of others: 3 epochs on 150 rows with β = 0.2; dev loss .*; (\d+) model rows in all",
        ),
        (
            "score",
            r"the model offers no gradient, so its answers to proposals taught: "
            r"\d epochs on 150 rows with β = 0.2; dev loss .*; (\d+) model rows in all",
        ),
    ],
)
def test_the_sentence_tells_what_taught_and_how_often_the_model_was_asked(way, sentence):
    counted = Counted(Product())
    recipe = replace(ASKING, beta=0.2, without_gradient=way)
    told = re.fullmatch(sentence, fit_method(recipe, SCHEMA, counted, FIT, DEV, 0, None)[1])
    assert told
    assert int(told[1]) == counted.rows


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        (
            "twin",
            r"the model offers no gradient, so a twin taught, which learned its answers to \d+ proposals and decides "
            r"as it does on \d+% of others: 3 epochs on proposals for 150 rows; dev loss .* at its best; proposals are "
            r"tilted until \d+% of them should be valid; (\d+) model rows in all",
        ),
        (
            "score",
            r"the model offers no gradient, so its answers to proposals taught: 3 epochs on proposals for 10 rows; .*; "
            r"(\d+) model rows in all",
        ),
    ],
)
def test_the_sentence_tells_how_the_model_was_learned_to_be_foreseen(way, sentence):
    counted = Counted(Product())
    told = re.fullmatch(
        sentence, fit_method(replace(ASKING, without_gradient=way), SCHEMA, counted, FIT, DEV, 0, None)[1]
    )
    assert told
    assert int(told[1]) == counted.rows


def test_answers_that_teach_foresight_are_no_more_than_allowed():
    without = rows_asked(Recipe(select="first", model_rows=0))
    taught = rows_asked(replace(ASKING, select="first", without_gradient="score"))
    assert without + 300 < taught <= without + 600


def test_with_the_first_ones_nothing_is_tried_and_the_largest_share_is_taken(monkeypatch):
    tried = script_prices(monkeypatch, {})
    counterer, _ = fit(Recipe(epochs=1, hidden=8, select="first"))
    assert (tried, counterer.recipe.share) == ([], fitting.SHARES[0])
    assert (counterer.balance, counterer.dial) == (fitting.FIRST_BALANCE, Dial())
    assert fit(Recipe(select="first", epochs=1), Product())[1].startswith("the model offers no gradient")


def test_sets_are_chosen_by_the_strategy_asked_for():
    counterer, _ = fit()
    model = Additive()
    question = other_class(counterer.layout, Answered.by(model, DEV[:12]), "auto")
    found = {}
    for select in ("first", "balanced", "diverse", "sparse", "cheap"):
        size = 5 if select == "first" else 60
        pools = pools_from(counterer, model, question, pool=size, enough=5, dial=0.0, seed=0, budget=Budget(2000))
        found[select] = pools.release(5, selection_of(counterer, select, 0.0))
    cheap = found.pop("cheap")
    assert cheap.cost.mean() == min(one.cost.mean() for one in (cheap, *found.values()))
    assert all((np.diff(cheap.cost[cheap.row == row]) >= 0).all() for row in range(12))
    kept = {select: sparsity(one) for select, one in found.items()}
    apart = {select: diversity(one) for select, one in found.items()}
    mean = {select: harmonic_mean(kept[select], apart[select]) for select in found}
    assert max(kept, key=kept.get) == "sparse"
    assert max(apart, key=apart.get) == "diverse"
    assert max(mean, key=mean.get) == "balanced"


def unlikeliness(counterer: Counterer, select: str, place: float) -> float:
    """Return how unlikely sets for some dev rows are."""
    model = Additive()
    question = other_class(counterer.layout, Answered.by(model, DEV[:12]), "auto")
    pools = pools_from(counterer, model, question, pool=60, enough=5, dial=place, seed=0, budget=Budget(2000))
    found = pools.release(5, selection_of(counterer, select, place))
    return float(counterer.unlikely(found.levels, found.desired[found.row]).mean())


@pytest.mark.parametrize("select", ["balanced", "diverse"])
def test_a_turned_dial_makes_sets_likelier_by_what_is_proposed_and_by_what_is_chosen(monkeypatch, select):
    monkeypatch.setattr(search, "ENUMERABLE", 1)  # what is tried one and all follows no law
    counterer, _ = fit()
    proposed, both = replace(counterer, dial=Dial(0.0, 0.0)), replace(counterer, dial=Dial(0.2, 0.2))
    before = unlikeliness(counterer, select, 0.0)
    assert unlikeliness(proposed, select, 1.0) < 0.9 * before
    assert unlikeliness(both, select, 1.0) < 0.9 * unlikeliness(proposed, select, 1.0)


def test_rows_are_parted_in_the_order_given_and_too_few_are_refused():
    cells = np.arange(40.0).reshape(20, 2)
    learned, held_out = split_rows(cells, seed=0)
    assert (len(learned), len(held_out)) == (16, 4)
    assert sorted([*learned[:, 0], *held_out[:, 0]]) == cells[:, 0].tolist()
    assert all((np.diff(part[:, 0]) > 0).all() for part in (learned, held_out))
    with pytest.raises(DataError, match="9 training rows are too few to learn from: at least 10 are needed"):
        split_rows(cells[:9], seed=0)


def test_the_other_class_is_the_one_of_two_that_a_row_has_not_or_any_of_more():
    model, three = Additive(), Three(classes=("a", "b", "c"))
    layout = fit(Recipe(select="first", epochs=0, hidden=2))[0].layout
    other = other_class(layout, Answered.by(model, DEV), "auto")
    assert (other.desired == 1 - decide(model.proba(DEV))).all()
    assert not other.already.any()
    assert other_class(layout, Answered.by(model, DEV[:0]), "auto").levels.shape == (0, 5)
    any_other = other_class(layout, Answered.by(three, DEV), "auto")
    proba = three.proba(DEV)
    assert (any_other.goal.accepted.sum(axis=1) == 2).all()
    assert (any_other.desired == np.argsort(proba, axis=1)[:, 1]).all()


def test_rows_that_a_standing_limit_forces_to_change_are_not_learned_from(monkeypatch):
    schema = replace(SCHEMA, limits=Limits(where=["grade != 'low'"]))
    learned = []
    movable = lessons.Lesson._movable
    monkeypatch.setattr(
        lessons.Lesson, "_movable", lambda self, question: learned.append(movable(self, question)) or learned[-1]
    )
    counterer, sentence = fit_method(replace(QUICK, select="first", epochs=1), schema, Additive(), FIT, DEV, 0, None)
    stayed = [(FIT[:, 2] > 0).sum(), (DEV[:, 2] > 0).sum()]
    assert [len(question) for question in learned] == stayed
    assert counterer.generator
    assert sentence.startswith(f"1 epochs on {stayed[0]} rows with ")


@pytest.mark.parametrize("recipe", [replace(QUICK, select="first"), QUICK])
def test_where_a_standing_limit_forces_every_row_to_change_nothing_is_learned(recipe):
    schema = replace(SCHEMA, limits=Limits(where=["income > was.income"]))
    counterer, sentence = fit_method(recipe, schema, Additive(), FIT, DEV, 0, None)
    assert sentence == (
        "the schema's limits let too few rows stay as they are, so proposals follow the reference law alone; "
        "every one is judged"
    )
    assert counterer.generator == ()
