"""Time ÷ floor: from encoded rows to released levels, over the model alone on the rows judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import taken
from models import Case, case
from rich.table import Table

from l2c.adapters import frames
from l2c.app.people import People
from l2c.app.requests import Request, checked_request

CASES = (
    ("german", "paper"), ("student", "paper"), ("admission", "paper"), ("german", "linear pipeline"),
    ("german", "xgboost"), ("german", "boosted pipeline"), ("adult", "paper"),
)  # fmt: skip
MOST_ROWS = 500
"""Rows of Adult that are timed here; all of them are in the part `adult`."""

N = 100


def run(repeats: int) -> list[dict[str, Any]]:
    """Return the figures of every case, strategy and place of the dial."""
    results = []
    for name, kind in CASES:
        known = case(name, kind)
        for select in ("first", "balanced"):
            for dial in (0.0, 0.5):
                results.append(figures(known, select, dial, repeats))
                print(line(results[-1]), flush=True)
    return results


def request_for(known: Case, rows: int, **asked: Any) -> Request:
    explainer = known.explainer
    given = {"n": N, "seed": 0, "tries": None, "seconds": None, "plausibility": None, "select": None, "pool": None}
    return checked_request(
        explainer.bundle.counterer.recipe, explainer.classes, explainer.schema, rows=rows, wish={}, by_row=None,
        reasons=False, **{**given, **asked},
    )  # fmt: skip


def figures(known: Case, select: str, dial: float, repeats: int) -> dict[str, Any]:
    """Return times of one case, and the floor's."""
    explainer, rows = known.explainer, known.rows[:MOST_ROWS]
    people = People.read(rows, explainer.schema)
    request = request_for(known, len(rows), select=select, plausibility=dial)
    released = explainer._whole(people, request, None, explainer.blackbox, None)

    def ours() -> None:
        found = explainer._whole(people, request, None, explainer.blackbox, None)
        if known.seen:  # any other model has judged them already, on frames like those that are released
            explainer.blackbox.proba(found.cells)

    judged, again = released.tries + len(rows), len(released.row)
    # Any rows take the model as long: the released ones, over and over.
    many = np.resize(released.cells, (judged + again * known.seen, released.cells.shape[1]))
    time, floor = taken(ours, repeats), taken(known.alone(many), repeats)
    found = explainer.explain(rows, N, select=select, plausibility=dial, reasons=False)
    into, out = taken(lambda: frames.read(rows, explainer.schema), repeats), taken(found.to_frame, repeats)
    return {
        "part": "floor", "data": known.name, "model": known.kind, "select": select, "dial": dial, "rows": len(rows),
        "n": N, "judged": judged, "released": again, "seen_into": known.seen, "tries": released.tries / again,
        "cpu_s": time.cpu, "wall_s": time.wall, "floor_cpu_s": floor.cpu, "floor_wall_s": floor.wall,
        "ratio": time.cpu / floor.cpu, "cpu_ms_an_input": 1e3 * time.cpu / len(rows),
        "floor_ns_a_row": 1e9 * floor.cpu / len(many), "frames_in_ms": 1e3 * into.cpu, "frames_out_ms": 1e3 * out.cpu,
    }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    return f"{row['data']}, {row['model']}, {row['select']}, dial {row['dial']:g}: {row['ratio']:.2f} × the floor"


def table(results: list[dict[str, Any]]) -> Table:
    """Return the figures as a table."""
    heads = ("ratio", "CPU ms", "floor ms", "ms an input", "floor ns a row", "tries", "frames in, out ms")
    table = Table("data", "model", "select", "dial", "inputs × n", *heads, title="time ÷ floor", title_justify="left")
    for row in results:
        table.add_row(
            row["data"], row["model"], row["select"], f"{row['dial']:g}", f"{row['rows']} × {row['n']}",
            f"{row['ratio']:.2f}", f"{1e3 * row['cpu_s']:.1f}", f"{1e3 * row['floor_cpu_s']:.1f}",
            f"{row['cpu_ms_an_input']:.3f}", f"{row['floor_ns_a_row']:.0f}", f"{row['tries']:.2f}",
            f"{row['frames_in_ms']:.1f}, {row['frames_out_ms']:.1f}",
        )  # fmt: skip
    return table
