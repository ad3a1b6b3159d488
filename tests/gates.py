"""Random privacy policies for random tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import l2c
from counter import Counter
from worlds import World, random_world

Rng = np.random.Generator


def with_roles(rng: Rng, world: World) -> World:
    """Return a world in which one to three features identify people, and up to two others are sensitive."""
    order = rng.permutation(len(world.schema.features))
    quasi = int(rng.integers(1, min(4, len(order))))
    roles = ["quasi"] * quasi + ["sensitive"] * int(rng.integers(0, 3)) + ["plain"] * len(order)
    features = list(world.schema.features)
    for place, role in zip(order, roles, strict=False):
        features[place] = replace(features[place], role=role)
    return replace(world, schema=replace(world.schema, features=tuple(features)))


@dataclass(frozen=True)
class Asked:
    """A gate, with its population as it was given."""

    gate: l2c.Gate
    population: pd.DataFrame | None

    @property
    def plain(self) -> dict[str, Any]:
        """The policy as the counter reads it."""
        return self.gate.to_dict()


def random_gate(rng: Rng, world: World, explainer: l2c.Explainer) -> Asked:
    """Return a policy that can be asked for, be it easy or hard to keep."""
    sensitive = [i for i, one in enumerate(world.schema.features) if one.role == "sensitive"]
    levels = min((explainer.layout.axes[i].size for i in sensitive), default=1)
    scope, count = (("set", "samples"), ("release", "samples"), ("release", "people"))[rng.choice(3, p=[0.5, 0.2, 0.3])]
    asked: dict[str, Any] = {"k": int(rng.integers(1, 7)), "scope": scope, "count": count}
    if sensitive and rng.random() < 0.7:
        asked["l"] = int(rng.integers(1, levels + 1))
    if sensitive and rng.random() < 0.3:
        asked["t"] = float(rng.uniform(0.05, 0.6))
    population = None
    if rng.random() < 0.3:
        population = world.rows.iloc[rng.integers(0, len(world.rows), 40)].reset_index(drop=True)
        asked |= {"k_map": int(rng.integers(2, 4)), "population": population}
    elif rng.random() < 0.3:
        asked["generalise"] = True
    return Asked(l2c.Gate(**asked), population)


def gated_world(rng: Rng) -> tuple[World, l2c.Explainer, Asked]:
    """Return a random world with an explainer of it, and a policy to ask of it."""
    world = with_roles(rng, random_world(rng))
    explainer = l2c.L2C(epochs=0, hidden=4, select="first").fit(world.rows, world.model, world.schema)
    return world, explainer, random_gate(rng, world, explainer)


def counter_of(explainer: l2c.Explainer) -> Counter:
    """Return a counter for what an explainer releases, as plain data."""
    axes = zip(explainer.schema.names, explainer.layout.axes, strict=True)
    return Counter(explainer.schema.to_dict(), {name: list(axis.cuts) for name, axis in axes})


def as_found(found: l2c.Explanations) -> pd.DataFrame:
    """Return the long frame with the rows that were judged, whatever it tells."""
    return replace(found, released=replace(found.released, coarse=None)).to_frame()
