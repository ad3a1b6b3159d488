"""What a person may ask on top: time ÷ floor under limits, conditions and ranges of probability, frames in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from floor import MOST_ROWS
from measuring import Asked, taken_in_turn
from models import Case, case
from single import Counting

CASES = (
    ("german", "paper"), ("german", "linear pipeline"), ("german", "xgboost"), ("german", "boosted pipeline"),
    ("adult", "paper"),
)  # fmt: skip
EITHER = {
    "german": "duration <= was.duration or credit_amount <= was.credit_amount",
    "adult": "hours_per_week <= was.hours_per_week or age > was.age",
}
"""A condition on two features together, which no closed level can keep."""

N = 10
REQUESTS: dict[str, Any] = {
    "none": {}, "max_changes=3": {"max_changes": 3}, "max_cost=2": {"max_cost": 2.0}, "where": {"where": EITHER},
    "desired_proba=(0.6, 0.9)": {"desired_proba": (0.6, 0.9)},
}  # fmt: skip


def run(asked: Asked) -> list[dict[str, Any]]:
    """Return the figures of every case and request."""
    return [figures(case(name, kind), limit, asked) for name, kind in CASES for limit in REQUESTS]


def figures(known: Case, limit: str, asked: Asked) -> dict[str, Any]:
    """Return times of one case under a limit, with and without reasons, and the floor's."""
    rows = known.rows[: asked.rows or MOST_ROWS].drop(columns=known.data.target)
    wish = {name: known_by(known.name, given) for name, given in REQUESTS[limit].items()}

    def ours(explainer: Any = known.explainer, *, reasons: bool = False) -> Any:
        return explainer.explain(rows, N, reasons=reasons, **wish)

    counting = Counting(known.explainer.blackbox)
    released = ours(replace(known.explainer, blackbox=counting)).released
    judged, again = released.tries + len(rows), len(released.row)
    # Any rows take the model as long: the released ones, over and over.
    alone = known.alone(np.resize(released.cells, (judged + again * known.seen, released.cells.shape[1])))
    time, with_reasons, floor = taken_in_turn((ours, lambda: ours(reasons=True), alone), asked.repeats)
    return {
        "part": "limits", "data": known.name, "model": known.kind, "limit": limit, "rows": len(rows), "n": N,
        "released": again, "tries": released.tries / again, "asked_of_the_model": sum(map(len, counting.asked)),
        "calls": len(counting.asked), "found": sum(one.status == "found" for one in released.outcomes),
        "cpu_s": time.cpu, "floor_cpu_s": floor.cpu, "ratio": time.cpu / floor.cpu,
        "cpu_ms_an_input": 1e3 * time.cpu / len(rows), "with_reasons_ms": 1e3 * with_reasons.cpu / len(rows),
    }  # fmt: skip


def known_by(data: str, given: Any) -> Any:
    """Return what is asked for, of which some is written for each data set."""
    return given[data] if given is EITHER else given


TITLE = f"under limits, n = {N}, frames in: time ÷ floor, CPU ms an input, and what the model itself is asked"
COLUMNS = {
    "data": lambda row: row["data"],
    "model": lambda row: row["model"],
    "asked on top": lambda row: row["limit"],
    "inputs with ten": lambda row: f"{row['found']} of {row['rows']}",
    "ratio": lambda row: f"{row['ratio']:.2f}",
    "ms an input": lambda row: f"{row['cpu_ms_an_input']:.3f}",
    "with reasons": lambda row: f"{row['with_reasons_ms']:.3f}",
    "tries each": lambda row: f"{row['tries']:.1f}",
    "rows asked of the model, each": lambda row: f"{row['asked_of_the_model'] / row['released']:.2f}",
    "calls": lambda row: str(row["calls"]),
}
