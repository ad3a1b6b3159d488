"""What tailoring costs on German Credit, and whether impossible requests get the right reason.

    python benchmarks/tailoring.py [--seeds 5] [--out FILE]

Cost: `max_changes=3` and two locks against the plain call, n = 10, over the test rows for which ten exist, as the ratio
of proposals judged. Reasons: 100 requests that are known to be impossible, by brute force over everything that the room
holds; each answer must be `infeasible`, proven, within its budget, and each relaxation that it names must help when it
is applied. The oracle shares no code with the search: it enumerates levels with itertools and asks the model.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from blackboxes import train
from results import spread, store, stored
from rich.console import Console
from rich.table import Table

import l2c

RESULTS = Path(__file__).parent / "results" / "tailoring.json"
LOCKS = ["job", "housing"]
N = 10
IMPOSSIBLE = 100
SMALL = 20_000
"""The most combinations of an impossible request: brute force tries them all."""


def tailoring(explainer: l2c.Explainer, rows: pd.DataFrame, seed: int, **how: Any) -> dict[str, Any]:
    """Return what the limits cost against the plain call."""
    plain = explainer.explain(rows, N, seed=seed, **how)
    tight = explainer.explain(rows, N, seed=seed, max_changes=3, lock=LOCKS, **how)
    enough = [row for row, outcome in enumerate(tight.outcomes) if outcome.status == "found"]
    tries = [sum(found.outcomes[row].tries for row in enough) for found in (plain, tight)]
    short = [outcome for outcome in tight.outcomes if outcome.status not in ("found", "already")]
    helps = Counter(relaxation.limit for outcome in short for relaxation in outcome.reason.relaxations)
    return {
        "met": len(enough),
        "rows": len(rows),
        "plain_tries": tries[0] / (N * len(enough)),
        "tight_tries": tries[1] / (N * len(enough)),
        "ratio": tries[1] / tries[0],
        "statuses": dict(Counter(outcome.status for outcome in tight.outcomes)),
        "proven": sum(outcome.reason.proven for outcome in short),
        "would_help": dict(helps),
    }


def combinations(layout: Any, person: pd.Series, free: list[str], decode: str) -> list[dict[str, Any]]:
    """Return every row that differs from a person in the free features alone, in words and numbers.

    `decode` says which value stands for a bin: a proposal is tried with the median, then with the midpoint.
    """
    schema, choices = layout.schema, []
    for name in free:
        i = schema.index(name)
        feature, axis = schema.features[i], layout.axes[i]
        values = list(feature.levels) if not feature.numeric else list(getattr(axis, decode))
        own = values.index(person[name]) if not feature.numeric else int(np.searchsorted(axis.cuts, person[name]))
        if feature.moves == "rises":
            values, own = values[own:], 0
        values[own] = person[name]
        choices.append(values)
    return [dict(person) | dict(zip(free, picked, strict=True)) for picked in itertools.product(*choices)]


def impossible_requests(
    explainer: l2c.Explainer, model: l2c.TorchModel, rows: pd.DataFrame, seed: int
) -> list[tuple[int, list[str]]]:
    """Return people, each with features left free with which brute force finds nothing."""
    source, schema = np.random.default_rng(seed), explainer.schema
    movable = [feature.name for feature in schema.features if feature.moves != "never"]
    found = []
    for person in itertools.cycle(range(len(rows))):
        if len(found) == IMPOSSIBLE:
            return found
        free = sorted(source.choice(movable, size=int(source.integers(2, 6)), replace=False).tolist())
        every = [
            row
            for decode in ("median", "midpoint")
            for row in combinations(explainer.layout, rows.iloc[person], free, decode)
        ]
        if len(every) > SMALL:
            continue
        frame = pd.DataFrame(every).astype(rows.dtypes.to_dict())
        classes = np.array(model.classes)[model.proba(l2c.adapters.frames.read(frame, schema).cells).argmax(axis=1)]
        if (classes == classes[every.index(dict(rows.iloc[person]))]).all():
            found.append((person, free))
    return found


def reasons(explainer: l2c.Explainer, model: l2c.TorchModel, rows: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Return how impossible requests were answered."""
    requests = impossible_requests(explainer, model, rows, seed)
    movable = [feature.name for feature in explainer.schema.features]
    asked = rows.iloc[[person for person, _ in requests]].reset_index(drop=True)
    limits = [{"lock": [name for name in movable if name not in free]} for _, free in requests]
    start = time.process_time()
    found = explainer.explain(asked, N, seed=seed, limits=limits)
    seconds = time.process_time() - start
    named, helped = 0, 0
    for row, outcome in enumerate(found.outcomes):
        for relaxation in outcome.reason.relaxations if outcome.reason else ():
            if relaxation.limit != "lock":
                continue
            lock = [name for name in limits[row]["lock"] if name != relaxation.feature]
            named += 1
            helped += len(explainer.explain(asked[row : row + 1], N, seed=seed, lock=lock, reasons=False)) > 0
    return {
        "requests": len(requests),
        "infeasible": sum(outcome.status == "infeasible" for outcome in found.outcomes),
        "proven": sum(bool(outcome.reason and outcome.reason.proven) for outcome in found.outcomes),
        "most_tries": max(outcome.tries for outcome in found.outcomes),
        "cpu_s_each": seconds / len(requests),
        "relaxations_named": named,
        "relaxations_that_helped": helped,
    }


def run(seed: int) -> dict[str, Any]:
    """Return the figures of one black box."""
    data = l2c.datasets.load("german")
    fit, dev = data.dev_split(seed)
    model = train(data, fit, dev, seed)
    explainer = l2c.L2C().fit(fit, model, data.schema, dev=dev, seed=seed)
    rows = data.test.drop(columns=data.target)
    return {
        "data": "german",
        "seed": seed,
        "balanced": tailoring(explainer, rows, seed),
        "first": tailoring(explainer, rows, seed, select="first"),
        "reasons": reasons(explainer, model, rows, seed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    for seed in range(asked.seeds):
        if seed not in {row["seed"] for row in results}:
            results.append(run(seed))
            store(results, asked.out)
    console = Console(width=200)
    table = Table("select", "rows with ten", "plain tries", "tight tries", "ratio", "not met, proven")
    for select in ("balanced", "first"):
        rows = [row[select] for row in results]
        cells = [spread([row[key] for row in rows]) for key in ("met", "plain_tries", "tight_tries", "ratio")]
        table.add_row(
            select, *cells, f"{sum(row['rows'] - row['met'] for row in rows)}, {sum(row['proven'] for row in rows)}"
        )
    console.print(table)
    console.print([row["balanced"]["statuses"] | row["balanced"]["would_help"] for row in results])
    for row in results:
        console.print(row["seed"], row["reasons"])


if __name__ == "__main__":
    main()
