"""Time ÷ floor: from encoded rows to released levels, over the model alone on the rows judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from measuring import Asked, Elsewhere, taken, taken_in_turn
from models import Case, case
from printing import Columns

from l2c.app.asked import Asked as Said
from l2c.app.people import People
from l2c.app.requests import Request, checked_request
from l2c.core.explanation import Released

CASES = (
    ("german", "paper"), ("student", "paper"), ("admission", "paper"), ("german", "linear pipeline"),
    ("german", "xgboost"), ("german", "xgboost, unseen"), ("german", "boosted pipeline"),
    ("german", "boosted pipeline, unseen"), ("adult", "paper"),
)  # fmt: skip
ALSO_EVEN = (("german", "paper"), ("student", "paper"))
"""Models that are explained without what was learned, too: many more rows are then judged, and all else weighs less."""

MOST_ROWS = 500
"""Rows of Adult that are timed here; all of them are in the part `adult`."""

N = 100

SECONDS, MOST_REPEATS, MOST_COLD = 4.0, 100, 40
"""How long ours and the model alone are timed in turn, and how often at the most, also with caches that hold nothing of
either; what is quick is noisy."""


def run(asked: Asked) -> list[dict[str, Any]]:
    """Return the figures of every case, strategy and place of the dial."""
    results = []
    for name, kind in CASES:
        known = case(name, kind)
        for one in (known, by_an_even_law(known)) if (name, kind) in ALSO_EVEN else (known,):
            for select in ("first", "balanced"):
                for dial in (0.0, 0.5):
                    results.append(figures(one, select, dial, asked))
                    print(line(results[-1]), flush=True)
    return results


def by_an_even_law(known: Case) -> Case:
    """Return a case with what was learned left out."""
    from frontier import without_learning  # it is found once `models` has told where

    return replace(known, kind=f"{known.kind}, even law", explainer=without_learning(known.explainer))


def request_for(known: Case, rows: int, **asked: Any) -> Request:
    explainer = known.explainer
    given = Said(**{"n": N, "seed": 0, "reasons": False, **asked})
    return checked_request(given, explainer.bundle.counterer.recipe, explainer.classes, explainer.schema, rows=rows)


def figures(known: Case, select: str, dial: float, asked: Asked) -> dict[str, Any]:
    """Return times of one case, and the floor's."""
    explainer, rows = known.explainer, known.rows[: asked.rows or MOST_ROWS]
    people = People.read(rows, explainer.schema, explainer.bundle.mark.shape)
    request = request_for(known, len(rows), select=select, plausibility=dial)

    def ours() -> Released:
        return found_by(known, people, request)

    released = ours()
    judged, again = released.tries + len(rows), len(released.row)
    # Any rows take the model as long: the released ones, over and over.
    many = np.resize(released.cells, (judged + again * known.seen, released.cells.shape[1]))
    alone = known.alone(many)
    once = sum(one.wall for one in taken_in_turn((ours, alone), 1))
    repeats = min(max(int(SECONDS / once), asked.repeats), MOST_REPEATS)
    time, floor = taken_in_turn((ours, alone), repeats)
    cold, cold_floor = taken_in_turn((ours, alone), min(repeats, MOST_COLD), Elsewhere())
    found = explainer.explain(rows, N, select=select, plausibility=dial, reasons=False)
    into = taken(lambda: People.read(rows, explainer.schema, explainer.bundle.mark.shape), asked.repeats)
    out = taken(lambda: replace(found, _built=None).to_frame(), asked.repeats)
    return {
        "part": "floor", "data": known.name, "model": known.kind, "select": select, "dial": dial, "rows": len(rows),
        "n": N, "judged": judged, "released": again, "floor_rows": len(many), "seen_into": known.seen,
        "tries": released.tries / again,
        "cpu_s": time.cpu, "wall_s": time.wall, "floor_cpu_s": floor.cpu, "floor_wall_s": floor.wall,
        "ratio": time.cpu / floor.cpu, "cold_ratio": cold.cpu / cold_floor.cpu, "cold_cpu_s": cold.cpu,
        "cold_floor_cpu_s": cold_floor.cpu, "cpu_ms_an_input": 1e3 * time.cpu / len(rows),
        "floor_ns_a_row": 1e9 * floor.cpu / len(many), "frames_in_ms": 1e3 * into.cpu, "frames_out_ms": 1e3 * out.cpu,
    }  # fmt: skip


def found_by(known: Case, people: People, request: Request) -> Released:
    """Return what is found for rows, after the model's last word: what `explain` does between frames."""
    explainer = known.explainer
    return explainer._answerer(explainer.blackbox, request, []).answer(people, request).released


def line(row: dict[str, Any]) -> str:
    return f"{row['data']}, {row['model']}, {row['select']}, dial {row['dial']:g}: {row['ratio']:.2f} × the floor"


TITLE = "time ÷ floor (and CPU ms an input), from encoded rows to released levels; frames apart"
COLUMNS = {
    "data": lambda row: row["data"],
    "model": lambda row: row["model"],
    "select": lambda row: row["select"],
    "dial": lambda row: f"{row['dial']:g}",
    "inputs × n": lambda row: f"{row['rows']} × {row['n']}",
    "ratio": lambda row: f"{row['ratio']:.2f}",
    "caches empty": lambda row: f"{row['cold_ratio']:.2f}",
    "CPU ms": lambda row: f"{1e3 * row['cpu_s']:.1f}",
    "floor ms": lambda row: f"{1e3 * row['floor_cpu_s']:.1f}",
    "CPU ms an input": lambda row: f"{row['cpu_ms_an_input']:.3f}",
    "floor ns a row": lambda row: f"{row['floor_ns_a_row']:.0f}",
    "caches empty, ns a row": lambda row: f"{1e9 * row['cold_floor_cpu_s'] / row['floor_rows']:.0f}",
    "tries each": lambda row: f"{row['tries']:.2f}",
    "frames in, out ms": lambda row: f"{row['frames_in_ms']:.1f}, {row['frames_out_ms']:.1f}",
}


def brief(results: list[dict[str, Any]]) -> tuple[Columns, list[dict[str, Any]]]:
    """Return a table with a line for each model: ratios, and CPU ms an input."""
    models = list(dict.fromkeys((row["data"], row["model"]) for row in results))
    lines = [[row for row in results if (row["data"], row["model"]) == model] for model in models]
    columns = {name: COLUMNS[name] for name in ("data", "model", "inputs × n")}
    for select, dial in dict.fromkeys((row["select"], row["dial"]) for row in results):
        columns[f"`{select}`, dial {dial:g}"] = lambda row, which=(select, dial): _ratio(row["all"][which])
    first = ("first", 0.0)
    columns["`first`, dial 0, caches empty"] = lambda row: COLUMNS["caches empty"](row["all"][first])
    columns |= {name: COLUMNS[name] for name in ("floor ns a row", "caches empty, ns a row", "frames in, out ms")}
    return columns, [{**line[0], "all": {(row["select"], row["dial"]): row for row in line}} for line in lines]


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.1f} ({row['cpu_ms_an_input']:.3f} ms)"
