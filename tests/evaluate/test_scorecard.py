"""The card holds what the measures say, under the names that the documentation uses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from evaluate.releases import random_cells, random_release, releases
from l2c.core.explanation import Released
from l2c.evaluate import quality
from l2c.evaluate.plausibility import Reference, plausibility
from l2c.evaluate.scorecard import scorecard


def reference_for(released: Released) -> Reference:
    rng = np.random.default_rng(0)
    fit, held_out = (random_cells(rng, released.layout, 30) for _ in range(2))
    classes = rng.integers(2, size=(2, 30))
    return Reference(fit, classes[0], held_out, classes[1])


@pytest.fixture(name="released")
def released_() -> Released:
    return random_release(seed=18, inputs=12, asked=5)


def test_the_names_on_the_card_are_those_of_the_documentation(released: Released) -> None:
    assert set(scorecard(released).to_dict()) == {
        "validity", "coverage", "sparsity", "minimum_sparsity", "diversity", "harmonic_mean",
        "harmonic_mean_with_target", "unary", "binary", "immutable_violations", "distinct", "plausibility",
        "distance_ratio", "plausibility_left_out", "tries", "mean_changes", "inputs", "answered", "statuses",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["validity", "coverage", "sparsity", "diversity", "unary", "binary", "immutable_violations", "distinct",
     "tries", "mean_changes"],
)  # fmt: skip
def test_each_number_is_that_of_its_measure(name: str, released: Released) -> None:
    assert getattr(scorecard(released), name) == getattr(quality, name)(released)


def test_both_harmonic_means_are_of_the_averages(released: Released) -> None:
    card = scorecard(released)
    assert card.sparsity is not None
    assert card.diversity is not None
    S, D, N = card.sparsity, card.diversity, len(released.layout.axes)
    D_with_target = D * N / (N + 1)
    assert card.harmonic_mean == pytest.approx(2 * S * D / (S + D))
    assert card.harmonic_mean_with_target == pytest.approx(2 * S * D_with_target / (S + D_with_target))


def test_the_share_that_never_moves_is_beside_sparsity(released: Released) -> None:
    assert scorecard(released).minimum_sparsity == quality.minimum_sparsity(released.layout.schema)


def test_plausibility_needs_a_reference(released: Released) -> None:
    card = scorecard(released)
    assert (card.plausibility, card.distance_ratio, card.plausibility_left_out) == (None, None, None)


def test_with_a_reference_plausibility_is_on_the_card(released: Released) -> None:
    reference = reference_for(released)
    card, near = scorecard(released, reference), plausibility(released, reference)
    assert (card.plausibility, card.distance_ratio) == (near.share, near.distance_ratio)
    assert card.plausibility is not None
    assert card.plausibility_left_out == near.left_out > 0


def test_every_status_is_counted_even_if_none_has_it(released: Released) -> None:
    card = scorecard(released)
    seen = [outcome.status for outcome in released.outcomes]
    assert card.inputs == sum(card.statuses.values()) == 12
    assert card.statuses == {status: seen.count(status) for status in card.statuses}
    assert len(card.statuses) == 7
    assert card.answered == sum(card.statuses[status] for status in ("found", "partial", "none_valid"))


@given(releases)
def test_the_card_of_any_release_survives_strict_json(released: Released) -> None:
    card = scorecard(released, reference_for(released)).to_dict()
    assert json.loads(json.dumps(card, allow_nan=False)) == card


@given(releases)
def test_every_share_on_any_card_is_a_fraction(released: Released) -> None:
    card = scorecard(released, reference_for(released)).to_dict()
    counts = {"immutable_violations", "distance_ratio", "plausibility_left_out", "tries", "mean_changes"}
    shares = [value for name, value in card.items() if isinstance(value, float) and name not in counts]
    assert all(-1e-12 <= share <= 1 + 1e-12 for share in shares)
