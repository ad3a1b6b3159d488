"""From a fitted method to pools of valid counterfactuals, and to sets of them, at a place of the dial."""

from __future__ import annotations

from typing import Any

import numpy as np

from l2c.app.answered import Answered, other_class
from l2c.app.progress import Progress
from l2c.core.blackbox import BlackBox
from l2c.core.method import Proposer, Question
from l2c.core.streams import Streams
from l2c.core.twin import Twin
from l2c.core.types import Cells
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Strategy, usual_pool
from l2c.release.budget import Budget, Manner
from l2c.release.explain import Pools, Sets, look
from l2c.release.leads import in_blocks
from l2c.release.policy import Policy
from l2c.release.search import Banned
from l2c.release.select import AS_FOUND, Selection
from l2c.release.settle import Sight


def ease_of(enough: int | np.ndarray, pool: int) -> float:
    """Return how easy proposals should make it, for a pool of some size to choose so many from.

    Who wants more to choose from than is usual wants better sets, and asks more for them.
    """
    return min(1.0, usual_pool(enough) / pool) if isinstance(enough, int) else 1.0


def pools_from(
    counterer: Counterer,
    blackbox: BlackBox,
    question: Question,
    *,
    pool: int,
    enough: int | np.ndarray,
    dial: float,
    seed: int,
    budget: Budget,
    also: tuple[BlackBox, ...] = (),
    twin: Twin | None = None,
    banned: Banned | None = None,
    policy: Policy | None = None,
    sight: Sight | None = None,
    progress: Progress | None = None,
    proposer: Proposer | None = None,
    at_once: Sets | None = None,
    threads: int = 1,
    doubt: bool = False,
) -> Pools:
    """Return pools of valid counterfactuals for a batch of rows, proposed at this place of the dial.

    With `doubt`, the model is asked about rows that get nothing by the judgement of its twin.
    """
    recipe = counterer.recipe
    if proposer is None:
        streams = Streams.for_rows(question.cells, seed)
        proposer = counterer.proposer(question, streams, dial, ease_of(enough, pool))
    return look(
        question,
        layout=counterer.layout,
        blackbox=blackbox,
        proposer=proposer if policy is None else in_blocks(proposer, question, policy, pool),
        manner=Manner(recipe.decode_again, recipe.refine, doubt),
        pool=pool,
        enough=enough,
        budget=budget,
        also=also,
        twin=twin,
        banned=banned,
        policy=policy,
        sight=sight,
        progress=progress,
        at_once=at_once,
        threads=threads,
    )


PROBED_ROWS, PROBED_DRAWS = 20, 20
LEAST_ACCEPTANCE = 0.1
"""No first round is sized for less: rows differ, and those that have enough ask no more."""


def acceptance_seen(counterer: Counterer, blackbox: BlackBox, dev: Cells, twin: Twin | None, seed: int) -> list[float]:
    """Return the share of proposals that turn out valid on some dev rows, at either end of the dial, in two digits."""
    told = Answered.by(blackbox, dev[:PROBED_ROWS])
    question = other_class(counterer.layout, told, counterer.recipe.decode)
    once = Budget(PROBED_DRAWS)

    def share(dial: float) -> float:
        pools = pools_from(
            counterer, blackbox, question, pool=PROBED_DRAWS, enough=PROBED_DRAWS, dial=dial, seed=seed, budget=once,
            twin=twin,
        )  # fmt: skip
        valid = sum(int(looked.valid.sum()) for looked in pools.searches)
        drawn = sum(int(looked.drawn.sum()) for looked in pools.searches)
        return round(max(valid / drawn, LEAST_ACCEPTANCE), 2) if drawn else 1.0

    return [share(0.0), share(1.0)]


def acceptance_at(dial: float, seen: Any) -> float:
    """Return the share of proposals that should turn out valid at a place of the dial, from what `acceptance_seen` saw.

    >>> acceptance_at(0.5, [0.6, 0.8])
    0.7
    """
    first, last = seen
    return float(first + dial * (last - first))


def selection_of(counterer: Counterer, select: Strategy, dial: float) -> Selection:
    """Return the weights of a strategy at this place of the dial."""
    weight, unlikely = counterer.dial.unlikeliness_weight(dial), counterer.unlikely
    match select:
        case "first":
            return AS_FOUND
        case "balanced":
            return Selection(1.0, counterer.balance, weight, unlikely=unlikely)
        case "diverse":
            return Selection(0.0, 1.0, weight, unlikely=unlikely)
        case "sparse":
            return Selection(1.0, 0.0, TIE_BREAK, unlikely=unlikely)
        case "cheap":
            return Selection(0.0, 0.0, TIE_BREAK, 1.0, unlikely)


TIE_BREAK = 1e-3
"""The weight of unlikeliness among sets that are as sparse as can be: it decides between equals."""
