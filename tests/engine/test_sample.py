"""Hard draws: the mixture of staying and changing, and its integer distribution function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.layout import Layout
from l2c.core.streams import Streams
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.sample import BITS, draw_levels, drawn_from, integer_cdf, mixed_law
from tables import SEEDS, layouts, random_cells, random_question, small_layout

EXTREMES = (0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)


def random_law(layout: Layout, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return levels, p, π and P of random rows; mutable features are selected with probabilities from 0 to 1."""
    question = random_question(layout, rows, rng)
    weights, levels = log_weights(question.room, epsilon=0.0), question.levels
    local = local_distribution(layout, rng.normal(0, 2, weights.shape), weights, levels)
    selection = rng.choice([0.0, 0.3, 0.7, 1.0], (rows, len(layout.axes)))
    return levels, local, selection, mixed_law(layout, local, selection, levels)


def segments(layout: Layout) -> list[slice]:
    return [slice(start, start + size) for start, size in zip(layout.offsets, layout.sizes, strict=True)]


@given(layouts(), SEEDS)
def test_the_law_of_a_proposal_is_the_mixture_of_staying_and_drawing(layout, seed):
    levels, local, selection, law = random_law(layout, 3, np.random.default_rng(seed))
    for row in range(3):
        for i, axis in enumerate(layout.axes):
            for j in range(axis.size):
                z = 1.0 if levels[row, i] == j else 0.0
                place = layout.offsets[i] + j
                expected = (1 - selection[row, i]) * z + selection[row, i] * local[row, place]
                assert law[row, place] == pytest.approx(expected, rel=1e-12, abs=0)
    np.testing.assert_allclose(np.add.reduceat(law, layout.offsets, axis=1), 1, rtol=1e-12)


@given(layouts(), SEEDS)
def test_the_distribution_function_rises_to_its_end_and_is_right_to_half_a_unit(layout, seed):
    law = random_law(layout, 3, np.random.default_rng(seed))[3]
    cdf = integer_cdf(layout, law)
    for part in segments(layout):
        assert (cdf[:, part][:, -1] == 2**BITS).all()
        for row in range(3):
            running, before = 0.0, 0
            for mass, edge in zip(law[row, part].tolist(), cdf[row, part].tolist(), strict=True):
                running += mass
                assert edge == pytest.approx(running * 2**BITS, abs=0.5 + 1e-5)
                assert edge >= before
                before = edge


@given(layouts(), SEEDS)
def test_law_and_distribution_function_in_one_pass_are_what_they_are_one_after_the_other(layout, seed):
    rng = np.random.default_rng(seed)
    levels, local, selection, law = random_law(layout, 4, rng)
    rows = rng.integers(0, 4, rng.integers(0, 6))
    assert np.array_equal(drawn_from(layout, local, selection, levels, rows), integer_cdf(layout, law[rows]))


@given(layouts(), SEEDS)
def test_what_has_no_mass_is_never_drawn_even_by_the_extreme_uniforms(layout, seed):
    law = random_law(layout, 3, np.random.default_rng(seed))[3]
    cdf = integer_cdf(layout, law)
    # Every edge, and the integers beside it, at both of the 32-bit words that stand for it.
    edges = np.unique(np.concatenate([cdf.ravel() + np.int64(shift) for shift in (-1, 0, 1)]))
    words = [2 * int(edge) + bit for edge in edges if 0 <= edge < 2**BITS for bit in (0, 1)]
    uniforms = np.array([*EXTREMES, *words], dtype=np.uint32)
    every_feature = np.broadcast_to(uniforms[None, :, None], (3, len(uniforms), len(layout.axes)))
    drawn = draw_levels(layout, cdf, every_feature)
    mass = np.take_along_axis(law[:, None, :], drawn + layout.offsets, axis=2)
    assert (mass > 0).all()
    assert (drawn >= 0).all()
    assert (drawn < layout.sizes).all()


@given(layouts(), SEEDS)
def test_a_uniform_integer_falls_on_the_first_level_whose_distribution_function_is_above_it(layout, seed):
    rng = np.random.default_rng(seed)
    cdf = integer_cdf(layout, random_law(layout, 2, rng)[3])
    uniforms = rng.integers(0, 2**32, (2, 9, len(layout.axes)), dtype=np.uint32)
    drawn = draw_levels(layout, cdf, uniforms)
    assert drawn.dtype == np.int16
    for row in range(2):
        for draw in range(9):
            for i, part in enumerate(segments(layout)):
                u = int(uniforms[row, draw, i]) >> 1
                expected = next(j for j, edge in enumerate(cdf[row, part].tolist()) if u < edge)
                assert drawn[row, draw, i] == expected


def test_a_level_with_one_unit_of_mass_is_drawn_by_the_last_uniform():
    layout = small_layout()
    law = np.zeros((1, layout.width))
    law[0, layout.offsets] = 1.0
    law[0, :3] = [1 - 2.0**-31, 2.0**-31, 0.0]
    top = np.full((1, 1, 5), 2**32 - 1, dtype=np.uint32)
    assert draw_levels(layout, integer_cdf(layout, law), top)[0, 0, 0] == 1


@pytest.fixture(scope="module")
def many_draws():
    """Rows with their laws and 20,000 draws of each."""
    layout = small_layout()
    rng = np.random.default_rng(42)
    levels, _, _, law = random_law(layout, 4, rng)
    cells = random_cells(layout, 4, rng)
    uniforms = Streams.for_rows(cells, 9).draws(np.zeros(4, dtype=np.int64), 20_000, len(layout.axes))
    return layout, levels, law, draw_levels(layout, integer_cdf(layout, law), uniforms)


def test_frequencies_are_those_of_the_law(many_draws):
    layout, _, law, drawn = many_draws
    for row in range(len(law)):
        for i, part in enumerate(segments(layout)):
            counts = np.bincount(drawn[row, :, i], minlength=layout.sizes[i])
            assert (counts[law[row, part] == 0] == 0).all()
            possible = law[row, part] > 0
            expected = law[row, part][possible] * drawn.shape[1]
            chi_square = ((counts[possible] - expected) ** 2 / expected).sum()
            assert chi_square < 20  # at most 3 degrees of freedom: p below 2e-4


def test_features_are_drawn_independently_of_each_other(many_draws):
    layout, _, law, drawn = many_draws
    row = 0
    for i, first in enumerate(segments(layout)):
        for k, second in enumerate(segments(layout)):
            if i < k:
                joint = np.zeros((layout.sizes[i], layout.sizes[k]))
                np.add.at(joint, (drawn[row, :, i], drawn[row, :, k]), 1 / drawn.shape[1])
                product = np.outer(law[row, first], law[row, second])
                assert np.abs(joint - product).sum() / 2 < 0.02


def expected_sparsity(layout: Layout, law: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """E[S] = 1 − mean_i (1 − P_i,own)."""
    return 1 - (1 - np.take_along_axis(law, levels + layout.offsets, axis=1)).mean(axis=1)


def expected_diversity(layout: Layout, law: np.ndarray) -> np.ndarray:
    """E[D] = mean_i (1 − Σ_j P_ij²)."""
    return (1 - np.add.reduceat(law**2, layout.offsets, axis=1)).mean(axis=1)


def test_sparsity_and_diversity_of_draws_have_their_closed_forms(many_draws):
    layout, levels, law, drawn = many_draws
    unchanged = (drawn == levels[:, None, :]).mean(axis=(1, 2))
    np.testing.assert_allclose(unchanged, expected_sparsity(layout, law, levels), atol=0.01)
    pairs = (drawn[:, ::2] != drawn[:, 1::2]).mean(axis=(1, 2))
    np.testing.assert_allclose(pairs, expected_diversity(layout, law), atol=0.02)


@given(layouts(ranges=False, gaps=False, moves=("both", "never"), rules=False), SEEDS, st.floats(0.05, 1.0))
def test_a_uniform_generator_with_a_constant_selector_has_s_and_d_of_the_design_note(layout, seed, t):
    """S = 1 − tR and D = R·t(2 − t), with R = mean(1 − 1/a_i) over the numbers a_i of allowed levels."""
    question = random_question(layout, 2, np.random.default_rng(seed))
    weights, levels = log_weights(question.room, epsilon=0.0), question.levels
    local = local_distribution(layout, np.zeros(weights.shape), weights, levels)
    law = mixed_law(layout, local, np.full((2, len(layout.axes)), t), levels)
    allowed = [
        axis.known if feature.moves == "both" else 1
        for feature, axis in zip(layout.schema.features, layout.axes, strict=True)
    ]
    R = sum(1 - 1 / a for a in allowed) / len(allowed)
    np.testing.assert_allclose(expected_sparsity(layout, law, levels), 1 - t * R, rtol=1e-9)
    np.testing.assert_allclose(expected_diversity(layout, law), R * t * (2 - t), rtol=1e-9, atol=1e-12)
