"""The networks' forward pass in numpy: torch's numbers, and the same bits in any batch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from l2c.engine.networks import BLOCK, Dense, Network, forward, from_arrays, to_arrays
from tables import SEEDS


def random_network(widths: list[int], rng: np.random.Generator) -> Network:
    return tuple(
        Dense(
            rng.normal(0, 1 / np.sqrt(before), (after, before)).astype(np.float32),
            rng.normal(0, 0.5, after).astype(np.float32),
        )
        for before, after in pairwise(widths)
    )


def torch_forward(network: Network, inputs: np.ndarray) -> np.ndarray:
    layers: list[torch.nn.Module] = []
    for layer in network:
        linear = torch.nn.utils.skip_init(torch.nn.Linear, layer.weight.shape[1], layer.weight.shape[0])
        linear.load_state_dict({"weight": torch.from_numpy(layer.weight), "bias": torch.from_numpy(layer.bias)})
        layers += [linear, torch.nn.ReLU()]
    with torch.no_grad():
        return np.asarray(torch.nn.Sequential(*layers[:-1])(torch.from_numpy(inputs)))


def test_a_tiny_network_is_what_a_person_works_out():
    network = (
        Dense(np.array([[1, -1], [2, 0]], dtype=np.float32), np.array([0, -1], dtype=np.float32)),
        Dense(np.array([[1, 3]], dtype=np.float32), np.array([0.5], dtype=np.float32)),
    )
    # relu([1 − 2, 2 − 1]) = [0, 1] → 3.5; relu([3 − 1, 6 − 1]) = [2, 5] → 17.5; no ReLU at the end
    assert forward(network, np.array([[1, 2], [3, 1]], dtype=np.float32)).tolist() == [[3.5], [17.5]]
    assert forward(network[1:], np.array([[-1, 0]], dtype=np.float32)).tolist() == [[-0.5]]


@given(SEEDS, st.lists(st.integers(1, 20), min_size=2, max_size=5), st.integers(1, 40))
def test_logits_are_those_of_torch(seed, widths, rows):
    rng = np.random.default_rng(seed)
    network, inputs = random_network(widths, rng), rng.normal(size=(rows, widths[0])).astype(np.float32)
    np.testing.assert_allclose(forward(network, inputs), torch_forward(network, inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("widths", [[7, 5], [33, 64, 64, 64, 33], [109, 100, 17], [600, 31, 600]])
@pytest.mark.parametrize("rows", [1, 2, 255, 256, 257, 700])
def test_a_rows_logits_are_the_same_bits_alone_and_in_any_batch_and_order(widths, rows):
    rng = np.random.default_rng(rows)
    network, inputs = random_network(widths, rng), rng.normal(size=(rows, widths[0])).astype(np.float32)
    together = forward(network, inputs)
    order = rng.permutation(rows)
    assert (forward(network, inputs[order]) == together[order]).all()
    for size in (1, 3, 100, BLOCK + 1):
        few = rng.choice(rows, min(rows, size), replace=False)
        assert (forward(network, inputs[few]) == together[few]).all()
    for row in rng.choice(rows, min(rows, 5), replace=False):
        assert (forward(network, inputs[row : row + 1]) == together[row]).all()


def test_no_rows_have_no_logits():
    network = random_network([4, 3], np.random.default_rng(0))
    assert forward(network, np.empty((0, 4), dtype=np.float32)).shape == (0, 3)


def test_networks_are_equal_after_a_trip_through_named_arrays():
    rng = np.random.default_rng(5)
    generator, selector = random_network([6, 5, 4, 3], rng), random_network([6, 2], rng)
    arrays = to_arrays("generator", generator) | to_arrays("selector", selector)
    assert list(arrays)[:2] == ["generator.0.weight", "generator.0.bias"]
    for name, network in (("generator", generator), ("selector", selector)):
        back = from_arrays(name, arrays)
        assert len(back) == len(network)
        for before, after in zip(network, back, strict=True):
            assert (before.weight == after.weight).all()
            assert (before.bias == after.bias).all()


def test_a_network_that_was_not_stored_is_empty():
    assert from_arrays("selector", to_arrays("generator", random_network([2, 2], np.random.default_rng(0)))) == ()
