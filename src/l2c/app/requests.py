"""What a caller asks of `fit` and `explain`, checked: every problem at once, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from l2c.core.types import Label
from l2c.engine.recipe import Recipe, Strategy
from l2c.errors import InputError, nearest

LEAST_POOL = 200
POOL_SHARE = 10
"""Valid ones to choose from for each one asked."""

LEAST_DRAWS = 20_000
DRAWS_SHARE = 40
"""Proposals drawn at the most for each valid one sought."""


@dataclass(frozen=True, slots=True)
class Request:
    """What `explain` was asked for, with every default filled in.

    Parameters
    ----------
    n, seed, tries, seconds, plausibility, select, pool
        As `Explainer.explain` takes them.
    desired
        The index of the class to reach; None for the other one of two.
    """

    n: int
    seed: int
    desired: int | None
    tries: int
    seconds: float | None
    plausibility: float
    select: Strategy
    pool: int

    def to_dict(self) -> dict[str, Any]:
        """Return what decides the answer, for a file's notes."""
        return {name: getattr(self, name) for name in ("seed", "tries", "seconds", "plausibility", "select", "pool")}


def checked_request(
    recipe: Recipe,
    classes: tuple[Label, ...],
    *,
    n: int,
    seed: int,
    desired: Label | None,
    tries: int | None,
    seconds: float | None,
    plausibility: float | None,
    select: Strategy | None,
    pool: int | None,
) -> Request:
    """Return the request, or raise with every problem in it."""
    counts: list[tuple[str, object, int]] = [("n", n, 1), ("seed", seed, 0)]
    counts += [(name, given, 1) for name, given in (("tries", tries), ("pool", pool)) if given is not None]
    problems = [*whole_number_problems(*counts), *_class_problems(desired, classes)]
    if seconds is not None and not (isinstance(seconds, int | float | np.number) and seconds > 0):
        problems.append(f"seconds must be above 0, not {seconds!r}")
    dial = recipe.plausibility if plausibility is None else plausibility
    if not (isinstance(dial, int | float | np.number) and 0 <= dial <= 1):
        problems.append(f"plausibility is a dial from 0 to 1, not {dial!r}")
    strategy = recipe.select if select is None else select
    if strategy not in get_args(Strategy):
        problems.append(f"select must be one of {', '.join(get_args(Strategy))}, not {strategy!r}")
    if problems:
        raise InputError(problems)
    size = _pool_size(int(n), strategy, recipe.pool if pool is None else pool)
    return Request(
        n=int(n),
        seed=int(seed),
        desired=None if desired is None else classes.index(desired),
        tries=max(LEAST_DRAWS, DRAWS_SHARE * size) if tries is None else int(tries),
        seconds=seconds,
        plausibility=float(dial),
        select=strategy,
        pool=size,
    )


def whole_number_problems(*given: tuple[str, object, int]) -> Iterator[str]:
    """Yield what is wrong with numbers that the caller gave, each with its name and the least it may be."""
    for name, value, least in given:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            yield f"{name} must be a whole number, not {value!r}"
        elif value < least:
            yield f"{name} must be at least {least}, not {value}"


def _class_problems(desired: Label | None, classes: tuple[Label, ...]) -> Iterator[str]:
    if desired is None and len(classes) != 2:
        yield f"the model has {len(classes)} classes: say which is desired, of {classes}"
    if desired is not None and desired not in classes:
        yield (
            f"desired {desired!r} is no class of the model; its classes are "
            f"{', '.join(map(repr, classes))}{nearest(desired, classes)}"
        )


def _pool_size(n: int, select: Strategy, pool: int | None) -> int:
    if select == "first":
        return n
    return max(n, max(LEAST_POOL, POOL_SHARE * n) if pool is None else int(pool))
