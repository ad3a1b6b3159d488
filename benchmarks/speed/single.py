"""One warm row: a frame in and a frame out, beside the model's own work on the very rows that it was asked about."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from measuring import Asked, taken_in_turn
from models import case

from l2c.adapters.models import FrameModel
from l2c.core.types import Cells, Probabilities

CASES = (
    ("german", "paper"), ("german", "linear pipeline"), ("german", "xgboost"), ("german", "xgboost, unseen"),
    ("german", "boosted pipeline"), ("german", "boosted pipeline, unseen"),
)  # fmt: skip
N = 10

SECONDS, MOST_REPEATS = 8.0, 1000
"""How long a row and the model alone are timed in turn, and how often at the most: a machine is slower for seconds."""


class Counting:
    """A black box that keeps what it is asked, call by call."""

    def __init__(self, blackbox: Any) -> None:
        self.blackbox = blackbox
        self.asked: list[Cells] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blackbox, name)

    def proba(self, cells: Cells) -> Probabilities:
        self.asked.append(cells.copy())
        return self.blackbox.proba(cells)


@dataclass
class Timed:
    """From a frame to a model's answer, with the CPU seconds that each call takes."""

    answer: Callable[[Any], object]
    seconds: list[float] = field(default_factory=list)

    def __call__(self, frame: Any) -> object:
        start = time.process_time()
        answer = self.answer(frame)
        self.seconds.append(time.process_time() - start)
        return answer


def outside_the_call(explainer: Any, ask: Callable[[Any], object], repeats: int) -> float | None:
    """Return the CPU seconds of a request without those of the model's call in it; None of a model without frames."""
    if not isinstance(explainer.blackbox, FrameModel):
        return None
    timed = Timed(explainer.blackbox.answer)
    watched, ours = replace(explainer, blackbox=replace(explainer.blackbox, answer=timed)), []
    for _ in range(repeats):
        timed.seconds.clear()
        start = time.process_time()
        ask(watched)
        ours.append(time.process_time() - start - sum(timed.seconds))
    return median(ours)


def run(asked: Asked) -> list[dict[str, Any]]:
    results = []
    for name, kind in CASES:
        known = case(name, kind)
        row = known.rows[3:4].drop(columns=known.data.target)
        for select in ("first", "balanced"):
            counting = Counting(known.explainer.blackbox)
            replace(known.explainer, blackbox=counting).explain(row, N, select=select)
            calls = [known.alone(cells) for cells in counting.asked]

            def ask(explainer: Any = known.explainer, select: str = select, row: Any = row) -> Any:
                return explainer.explain(row, N, select=select).to_frame()

            def model_alone(calls: list[Callable[[], object]] = calls) -> None:
                for call in calls:
                    call()

            for _ in range(50):  # warm is what a service is after its first minute
                ask()
            once = sum(one.wall for one in taken_in_turn((ask, model_alone), 3))
            repeats = min(max(int(SECONDS / once), 20 * asked.repeats), MOST_REPEATS)
            whole, model = taken_in_turn((ask, model_alone), repeats)
            outside = outside_the_call(known.explainer, ask, repeats)
            results.append({
                "part": "single", "data": name, "model": kind, "select": select, "n": N, "calls": len(calls),
                "judged_by_the_model": sum(map(len, counting.asked)), "cpu_ms": 1e3 * whole.cpu,
                "wall_ms": 1e3 * whole.wall, "one_call_cpu_ms": 1e3 * model.cpu / len(calls),
                "ours_cpu_ms": 1e3 * (whole.cpu - model.cpu), "least_cpu_ms": 1e3 * whole.least,
                "ours_least_cpu_ms": 1e3 * (whole.least - model.least),
                "outside_cpu_ms": None if outside is None else 1e3 * outside,
            })  # fmt: skip
    return results


TITLE = f"one warm row, n = {N}, frame to frame"
COLUMNS = {
    "data": lambda row: row["data"],
    "model": lambda row: row["model"],
    "select": lambda row: row["select"],
    "CPU ms (least)": lambda row: f"{row['cpu_ms']:.2f} ({row['least_cpu_ms']:.2f})",
    "wall ms": lambda row: f"{row['wall_ms']:.2f}",
    "calls of the model": lambda row: str(row["calls"]),
    "rows judged by it": lambda row: str(row["judged_by_the_model"]),
    "one call, CPU ms": lambda row: f"{row['one_call_cpu_ms']:.2f}",
    "ours, CPU ms (least)": lambda row: f"{row['ours_cpu_ms']:.2f} ({row['ours_least_cpu_ms']:.2f})",
    "outside the call": lambda row: "" if row["outside_cpu_ms"] is None else f"{row['outside_cpu_ms']:.2f}",
}
