"""What learning pays: the share of valid ones among those judged, and H(N) beside an even law under the same pool.

Acceptance is what fills the pools over the proposals judged for them: the last round of a row may judge more than it
needs. Beside it stands the same over rows judged, of which a proposal that is tried with both of its values has two.
The even law fills its pools however long it takes. For every seed there is a model and an explainer with its
defaults, and the same explainer with what it learned left out (`frontier.py`): even weights and a constant selection.
Sets are `balanced`, at dial 0, from the default pool.
"""

from __future__ import annotations

from statistics import mean
from typing import Any

from floor import request_for
from measuring import Asked
from models import Case, case

import l2c
from l2c.app.people import People
from l2c.app.pooling import acceptance_at, selection_of
from l2c.core.explanation import Released
from l2c.evaluate.scorecard import scorecard
from l2c.release.budget import Budget
from l2c.release.search import Search

CASES = {"german": None, "student": None, "admission": None, "adult": 300}
"""The data sets, and how many of their test rows are explained if not all."""

WITHIN = {"german": 0.5, "student": 0.5, "admission": 0.5, "adult": 1.0}
"""How far H(N) may stay behind the even law's, in points."""

N, POOL = 100, 1000
"""What is asked, and the pool that it is chosen from by default."""


def run(asked: Asked) -> list[dict[str, Any]]:
    """Return the figures of every data set and seed."""
    return [figures(name, seed, asked.rows or CASES[name]) for name in CASES for seed in range(asked.seeds)]


def figures(name: str, seed: int, rows: int | None) -> dict[str, Any]:
    """Return the figures of one data set with one seed."""
    from frontier import without_learning  # it is found once `models` has told where

    known = case(name, "paper", seed)
    told: dict[str, Any] = {"part": "acceptance", "data": name, "seed": seed, "n": N, "pool": POOL, "dial": 0.0}
    for which, asked, pool in (
        ("learned", known.explainer, None), ("even", without_learning(known.explainer), POOL),
    ):  # fmt: skip
        searches, released = looked(asked, known, rows, seed, pool)
        told |= {
            f"{which}_acceptance": released.pooled / sum(int(search.obeying.sum()) for search in searches),
            f"{which}_by_rows": released.pooled / released.tries,
            f"{which}_h": 100 * (scorecard(released).harmonic_mean or 0.0),
            f"{which}_short": sum(outcome.found < N for outcome in released.outcomes if outcome.status != "already"),
        }
    print(f"{name}, seed {seed}: {told['learned_acceptance']:.2f} accepted, H(N) {told['learned_h']:.2f}", flush=True)
    return {**told, "rows": len(released.outcomes), "fit_cpu_s": known.fit_cpu_s}


def looked(
    explainer: l2c.Explainer, known: Case, rows: int | None, seed: int, pool: int | None
) -> tuple[tuple[Search, ...], Released]:
    """Return what was looked at for some rows, and the sets chosen from it: what `explain` does before it confirms."""
    people = People.read(known.rows[:rows], explainer.schema, explainer.bundle.mark.shape)
    cells, counterer = people.cells, explainer.bundle.counterer
    request = request_for(known, len(cells), seed=seed, select="balanced", plausibility=0.0, pool=pool)
    share = acceptance_at(request.plausibility, explainer.bundle.notes["acceptance"])
    budget = Budget(request.tries, request.patience, acceptance=share)
    proba = explainer.blackbox.proba(cells)
    goal = request.goal(proba, people.readable, None)
    answerer = explainer._answerer(explainer.blackbox, request, [])
    question = answerer.question(cells, proba, goal, explainer.schema, request.limits(people.readable))
    pools = answerer.pools(question, request, budget)
    return pools.searches, pools.release(N, selection_of(counterer, request.select, request.plausibility))


def summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of each data set, over its seeds."""
    names = list(dict.fromkeys(row["data"] for row in results))
    return [_over_seeds([row for row in results if row["data"] == name]) for name in names]


def _over_seeds(rows: list[dict[str, Any]]) -> dict[str, Any]:
    shares = ("learned_acceptance", "even_acceptance", "learned_by_rows", "even_by_rows")
    numbers = (*shares, "learned_h", "even_h", "fit_cpu_s")
    behind = [row["even_h"] - row["learned_h"] for row in rows]
    lowest = min(row["learned_acceptance"] for row in rows)
    return {
        **rows[0], **{name: mean(row[name] for row in rows) for name in numbers}, "seeds": len(rows),
        "behind": mean(behind), "most_behind": max(behind), "lowest": lowest,
        "short": sum(row["learned_short"] for row in rows),
    }  # fmt: skip


TITLE = f"acceptance, and H(N) beside an even law: n = {N}, pool {POOL:,}, dial 0"
COLUMNS = {
    "data": lambda row: row["data"],
    "inputs × seeds": lambda row: f"{row['rows']} × {row['seeds']}",
    "accepted (lowest)": lambda row: f"{row['learned_acceptance']:.2f} ({row['lowest']:.2f})",
    "by the even law": lambda row: f"{row['even_acceptance']:.2f}",
    "by rows (even law)": lambda row: f"{row['learned_by_rows']:.2f} ({row['even_by_rows']:.2f})",
    "H(N) (even law)": lambda row: f"{row['learned_h']:.2f} ({row['even_h']:.2f})",
    "behind (most)": lambda row: f"{row['behind']:.2f} ({row['most_behind']:.2f})",
    "may be": lambda row: f"{WITHIN[row['data']]:g}",
    "inputs short of n": lambda row: str(row["short"]),
    "fit, CPU s": lambda row: f"{row['fit_cpu_s']:.1f}",
}
