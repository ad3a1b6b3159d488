"""Where the time goes: the CPU time of each stage, from encoded rows to released levels.

Each stage is timed at its door, in the same run as the whole and with few calls, so that the clock hardly counts; what
one stage spends inside another is counted there alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from statistics import median
from typing import Any

from floor import N, found_by, request_for
from measuring import Asked, taken
from models import Case, case
from printing import Columns

from l2c.adapters.models import TorchModel
from l2c.app.answering import Answerer
from l2c.app.people import People
from l2c.core.method import Question
from l2c.core.tree_twin import TreeTwin
from l2c.core.twin import LayerTwin
from l2c.engine.propose import Counterer, Draws
from l2c.release.explain import Pools
from l2c.release.jury import Jury
from l2c.release.search import Search
from l2c.release.sift import Sieve

CASES = (("german", "paper"), ("student", "paper"))
REQUESTS = (("first", 0.0), ("first", 0.5), ("balanced", 0.0), ("balanced", 0.5))

LAST_WORD, REST = "the model itself", "the rest"
DOORS: dict[str, tuple[tuple[type, str], ...]] = {
    "laws and rooms": (
        (Answerer, "question"), (Counterer, "proposer"), (Question, "take"), (Search, "__post_init__"),
        (Draws, "sources"),
    ),
    "drawing, sifting and judging in one pass": ((Search, "_walk_along"),),
    "drawing apart": ((Draws, "propose"), (Draws, "propose_from")),
    "sifting apart": ((Sieve, "worth_asking"),),
    "judging apart": ((LayerTwin, "proba"), (TreeTwin, "proba"), (Search, "_judge")),
    "what the model is asked in between": ((Jury, "ask"),),
    "keeping what is valid": ((Search, "_keep"),),
    "the search otherwise": ((Search, "run"),),
    "choosing": ((Search, "chosen"),),
    "decoding": ((Search, "with_values"),),
    "outcomes": ((Pools, "release"),),
    LAST_WORD: ((TorchModel, "proba_of_parts"),),
}  # fmt: skip
"""Where each stage begins and ends; a door that is not there is passed over."""

STAGES = (*DOORS, REST)


class Stages:
    """CPU seconds by stage; what a stage calls that is another is taken off it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return the work, with its own time added to a stage."""

        @wraps(work)
        def inner(*given: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            start = time.process_time()
            try:
                return work(*given, **named)
            finally:
                whole = time.process_time() - start
                self.seconds[stage] += whole - self._inner.pop()
                self._inner[-1] += whole

        return inner


@contextmanager
def at_the_doors(stages: Stages) -> Iterator[None]:
    """Time every stage at its door for a while."""
    doors = [(stage, owner, name) for stage, of_stage in DOORS.items() for owner, name in of_stage]
    there = [(stage, owner, name, vars(owner)[name]) for stage, owner, name in doors if name in vars(owner)]
    for stage, owner, name, work in there:
        setattr(owner, name, stages.timed(stage, work))
    try:
        yield
    finally:
        for _, owner, name, work in there:
            setattr(owner, name, work)


def run(asked: Asked) -> list[dict[str, Any]]:
    """Return the shares of the stages for every case and request."""
    return [shares(case(name, kind), select, dial, asked) for name, kind in CASES for select, dial in REQUESTS]


def shares(known: Case, select: str, dial: float, asked: Asked) -> dict[str, Any]:
    """Return how the time of one request is spent, by the medians of several runs."""
    explainer, rows = known.explainer, known.rows[: asked.rows]
    people = People.read(rows, explainer.schema, explainer.bundle.mark.shape)
    request = request_for(known, len(rows), select=select, plausibility=dial)

    def once() -> dict[str, float]:
        stages = Stages()

        with at_the_doors(stages):
            stages.timed(REST, found_by)(known, people, request)
        return {stage: stages.seconds[stage] for stage in STAGES}

    once()
    runs = [once() for _ in range(asked.repeats)]
    plain = taken(lambda: found_by(known, people, request), asked.repeats)
    seconds = {stage: median(run[stage] for run in runs) for stage in STAGES}
    return {
        "part": "profile", "data": known.name, "model": known.kind, "select": select, "dial": dial, "rows": len(rows),
        "n": N, "cpu_s": seconds, "whole_cpu_s": sum(seconds.values()), "unwatched_cpu_s": plain.cpu,
        "unwatched_wall_s": plain.wall,
    }  # fmt: skip


def _share(stage: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: f"{100 * row['cpu_s'][stage] / row['whole_cpu_s']:.0f} %"


TITLE = "shares of the CPU time, from encoded rows to released levels"


def brief(results: list[dict[str, Any]]) -> tuple[Columns, list[dict[str, Any]]]:
    """Return a table with a line for each stage that takes any time."""
    columns: dict[str, Any] = {"CPU time": lambda row: row["stage"]}
    for place, row in enumerate(results):
        head = f"{row['data']}, `{row['select']}`, dial {row['dial']:g}"
        columns[head] = lambda line, place=place: line["shares"][place]
    whole = [f"{1e3 * row['whole_cpu_s'] / row['rows']:.3f} ms" for row in results]
    lines = [
        {"stage": stage, "shares": [_share(stage)(row) for row in results]}
        for stage in STAGES
        if any(row["cpu_s"][stage] >= 0.005 * row["whole_cpu_s"] for row in results)
    ]
    return columns, [*lines, {"stage": "in all, an input", "shares": whole}]
