"""Rows released under random schemas, rules and limits, and how many of them break a promise.

    python benchmarks/constraints.py [--rows 100000] [--seed 0]

Each world has a random schema with random rules, costs, ranges and sometimes standing limits, a random table, and a
cheap black box (a straight line or a tree, of two classes or three). Most rows are asked with limits of their own, some
with a goal of their own, and every call has another way of choosing sets. What is released is judged one cell at a time
by `tests/checker.py`, which shares no code with the package and asks the black box itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import l2c

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from checker import Asked
from worlds import Request, World, random_limits, random_world

CALLS = 2
"""Calls of `explain` in each world, each with other limits."""

SETTINGS: tuple[dict[str, Any], ...] = (
    {}, {"decode": "midpoint"}, {"epsilon": 0.1}, {"selector": "absent"}, {"refine": False, "decode_again": False},
)  # fmt: skip
SELECTS = ("first", "first", "balanced", "diverse", "sparse", "cheap")


def explainer_of(world: World, rng: np.random.Generator) -> l2c.Explainer:
    """Return an explainer with untrained networks, in one of several settings."""
    settings = SETTINGS[rng.integers(len(SETTINGS))]
    return l2c.L2C(epochs=0, hidden=4, select="first", **settings).fit(world.rows, world.model, world.schema)


def random_goal(rng: np.random.Generator, classes: tuple[Any, ...]) -> dict[str, Any]:
    """Return nothing for most rows; else the classes that will do, or a range of their probability, or both."""
    goal: dict[str, Any] = {}
    if rng.random() < 0.2:
        goal["desired"] = tuple(rng.permutation(classes)[: rng.integers(1, len(classes))].tolist())
    if rng.random() < 0.1:
        low = float(rng.uniform(0.2, 0.7))
        goal["desired_proba"] = (low, low + 0.3)
    return goal


def judged_call(
    world: World, explainer: l2c.Explainer, rng: np.random.Generator, used: Counter[str]
) -> tuple[l2c.Explanations, list[str]]:
    """Return what one call releases, and what is wrong with it."""
    limits: list[dict[str, Any]] = []
    asked: list[Asked] = []
    for _ in range(len(world.rows)):
        request = random_limits(rng, world.schema.features) if rng.random() < 0.8 else Request({}, ())
        goal = random_goal(rng, explainer.classes)
        limits.append(request.given | goal)
        asked.append(request.asked(desired=goal.get("desired"), proba=goal.get("desired_proba")))
        used.update(limits[-1].keys())
    found = explainer.explain(
        world.rows, 12, limits=limits, seed=int(rng.integers(2**31)), tries=1500, reasons=False,
        select=SELECTS[rng.integers(len(SELECTS))], plausibility=float(rng.choice([0.0, 0.5, 1.0])),
    )  # fmt: skip
    return found, world.breaches(explainer, world.rows, found, asked)


def run(rows: int, seed: int) -> None:
    console, rng, began = Console(), np.random.default_rng(seed), time.monotonic()
    used: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    features: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    released = worlds = 0
    while released < rows:
        world = random_world(rng)
        explainer = explainer_of(world, rng)
        worlds += 1
        features.update(rule.how for rule in world.schema.rules)
        features.update(feature.moves for feature in world.schema.features)
        features["standing limits"] += bool(world.schema.limits)
        for _ in range(CALLS):
            found, breaches = judged_call(world, explainer, rng, used)
            released += len(found)
            statuses.update(outcome.status for outcome in found.outcomes)
            broken.update(breach.split(": ", 1)[1] for breach in breaches)
        if worlds % 10 == 0:
            console.print(f"{worlds} worlds, {released:,} rows, {broken.total()} violations", style="dim")
    table = Table(title=f"{released:,} released rows of {worlds} worlds, seed {seed}")
    for name in ("what", "count"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for counts in (used, features, statuses):
        for name, count in counts.most_common():
            table.add_row(name, f"{count:,}")
        table.add_section()
    table.add_row("violations", f"{broken.total():,}")
    for name, count in broken.most_common():
        table.add_row(f"  {name}", f"{count:,}")
    console.print(table)
    console.print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    run(given.rows, given.seed)
