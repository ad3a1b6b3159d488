"""The paper's table of attacks with the gate beside it: what is at risk in a release, and what keeping a policy costs.

    python benchmarks/gate.py [--data german adult] [--seeds 5] [--n 100] [--modes ...] [--dials 0 0.5] [--out FILE]

German's attacker holds the Penn State file of the same records; Adult's holds the dev rows, and of its test rows the
first 300 are explained. Every mode chooses `balanced` sets of 100 from the same pools. Everything released is judged
again by plain pandas, from the released frame alone: the class by the bare network, directions by value, classes of
people by grouping; "below" counts the classes that break the policy by that. Results are added to a JSON file as they
come; what it holds already is not run again.

One mode is CF-K as the paper examines it: the ungated sets, 2-anonymised by removal; what is missing then counts as
invalid. `cf_k.py` draws it beside the others.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from blackboxes import answers_from_scratch, train
from results import spread, store, stored
from rich.console import Console
from rich.table import Table
from rules import judged, level_codes

import l2c

RESULTS = Path(__file__).parent / "results" / "gate.json"
TEST_ROWS = {"adult": 300}
SHORT = ("withheld", "partial")

Make = Callable[[pd.DataFrame], l2c.Gate | None]
CF_K = "ungated, CF-K with k=2"
MODES: dict[str, Make] = {
    "ungated": lambda population: None,  # noqa: ARG005
    CF_K: lambda population: None,  # noqa: ARG005
    "k=2": lambda population: l2c.Gate(k=2),  # noqa: ARG005
    "k=2, l=2": lambda population: l2c.Gate(k=2, l=2),  # noqa: ARG005
    "k=5, l=2": lambda population: l2c.Gate(k=5, l=2),  # noqa: ARG005
    "k=2, k_map=2": lambda population: l2c.Gate(k=2, population=population, k_map=2),
    "release, 2 people": lambda population: l2c.Gate(k=2, scope="release", count="people"),  # noqa: ARG005
    "release, 5 people": lambda population: l2c.Gate(k=5, scope="release", count="people"),  # noqa: ARG005
}

PAPER = {
    "german": {"L2C": (62.15, 67.09, 71.60, 0.21), "DiCE-Random": (55.15, 82.75, 89.96, 23.67),
               "MCCE": (62.83, 65.40, 76.95, 26.64), "DiCE-Genetic": (15.36, 90.19, 95.80, None),
               "COPA": (87.61, 89.41, 89.24, None)},
    "adult": {"L2C": (5.07, 14.90, 39.58, 0.00), "DiCE-Random": (72.21, 91.28, 93.07, 3.31),
              "MCCE": (15.19, 66.42, 72.36, 1.77), "DiCE-Genetic": (15.11, 65.32, 87.54, None)},
}  # fmt: skip
"""1-anonymity, 1-diversity of the two sensitive attributes and 1-map, in percent, as printed."""


def classes_below(
    frame: pd.DataFrame, schema: l2c.Schema, cuts: dict[str, Any], gate: l2c.Gate | None, population: pd.DataFrame
) -> int:
    """Return how many classes of a released frame break a policy, by grouping in pandas."""
    if gate is None:
        return 0
    roles = {role: [one.name for one in schema.features if one.role == role] for role in ("quasi", "sensitive")}
    coded = pd.DataFrame(
        {name: level_codes(schema, frame, name, cuts) for name in [*roles["quasi"], *roles["sensitive"]]}
    )
    coded["prediction"], coded["row"] = frame["prediction"].to_numpy(), frame["row"].to_numpy()
    by = [*roles["quasi"], "prediction", *(["row"] if gate.scope == "set" else [])]
    grouped = coded.groupby(by)
    members = grouped["row"].nunique() if gate.count == "people" else grouped.size()
    broken = members < gate.k
    if gate.l is not None:
        broken |= (grouped[roles["sensitive"]].nunique() < gate.l).any(axis=1)
    if gate.k_map is not None:
        theirs = pd.DataFrame({name: level_codes(schema, population, name, cuts) for name in roles["quasi"]})
        matches = theirs.groupby(roles["quasi"]).size()
        own = members.index.to_frame(index=False)[roles["quasi"]]
        found = own.merge(matches.rename("matches").reset_index(), how="left")["matches"].fillna(0).to_numpy()
        broken |= (found > 0) & (found < gate.k_map)
    return int(broken.sum())


def run(name: str, seed: int, n: int, modes: list[tuple[str, float]], rows: list[dict[str, Any]], out: Path) -> None:
    """Add the figures of one data set with one seed, mode by mode."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    known = {(row["data"], row["seed"], row["n"], row["mode"], row["dial"]) for row in rows}
    modes = [(mode, dial) for mode, dial in modes if (name, seed, n, mode, dial) not in known]
    if not modes:
        return
    model = train(data, fit, dev, seed)
    schema = replace(data.schema, rules=())
    explainer = l2c.L2C(decode="median").fit(fit, model, schema, dev=dev, seed=seed)
    people = data.test[: TEST_ROWS.get(name)].drop(columns=data.target).reset_index(drop=True)
    population = l2c.datasets.load("german_psu").frame if name == "german" else dev
    cuts = {one: axis.cuts for one, axis in zip(schema.names, explainer.layout.axes, strict=True)}
    for mode, dial in modes:
        gate = MODES[mode](population)
        began = time.process_time()
        found = explainer.explain(people, n, seed=seed, plausibility=dial, select="balanced", gate=gate, reasons=False)
        took = time.process_time() - began
        if mode == CF_K:
            found = found.anonymise(2)
        frame = found.to_frame()
        outcomes = Counter(outcome.status for outcome in found.outcomes)
        counted = [place for place, one in enumerate(found.outcomes) if one.status != "withheld"]
        answers: Any = lambda asked: answers_from_scratch(model, fit, data.schema, asked)  # noqa: E731
        scores, audit = found.scores().to_dict(), found.audit(population).to_dict()["levels"]
        check = judged(frame, people, schema, cuts, answers, n)
        # Those whom the policy excludes leave the denominators.
        for share in ("validity", "coverage"):
            check[share] *= len(people) / len(counted)
        rows.append(
            {"data": name, "seed": seed, "n": n, "mode": mode, "dial": dial, **check,
             **{key: scores[key] for key in ("sparsity", "diversity", "harmonic_mean")},
             "tries": found.released.tries / len(found), "cpu_s": took, "outcomes": dict(outcomes),
             "why": dict(Counter(_why(one.sentence) for one in found.outcomes if one.status in SHORT)),
             "below": classes_below(frame, schema, cuts, gate, population), "sets": _risks(audit["sets"]),
             "release": _risks(audit["release"])}
        )  # fmt: skip
        store(rows, out)
        print(
            f"{name}, seed {seed}, dial {dial:g}, {mode}: H {100 * scores['harmonic_mean']:.2f}, {took:.0f} s",
            flush=True,
        )


def _why(sentence: str) -> str:
    """Return a sentence without its numbers of valid ones."""
    return sentence.split("found, ", 1)[-1]


def _risks(scope: dict[str, Any]) -> dict[str, Any]:
    """Return the shares at risk in the sets or in the release: of classes, and of counterfactuals for 1-map."""
    people = scope["by_people"]
    return {
        "k": scope["by_samples"]["k"],
        "one_anonymity": scope["by_samples"]["one"]["classes"],
        "k_people": people and people["k"],
        "one_anonymity_people": people and people["one"]["classes"],
        "one_diversity": [one["one"]["classes"] for one in scope["sensitive"].values()],
        "l": [one["l"] for one in scope["sensitive"].values()],
        "k_map": scope["population"]["k"],
        "one_map": scope["population"]["one"]["samples"] or 0.0,
        "matched": scope["population"]["matched"]["samples"],
    }


def show(rows: list[dict[str, Any]], console: Console) -> None:
    for name in dict.fromkeys(row["data"] for row in rows):
        for dial in sorted({row["dial"] for row in rows if row["data"] == name}):
            _quality(console, name, dial, rows)
        _attacks(console, name, rows)


def _groups(rows: list[dict[str, Any]], name: str, dial: float) -> dict[str, list[dict[str, Any]]]:
    here = [row for row in rows if row["data"] == name and row["dial"] == dial]
    return {mode: some for mode in MODES if (some := [row for row in here if row["mode"] == mode])}


def _quality(console: Console, name: str, dial: float, rows: list[dict[str, Any]]) -> None:
    heads = (
        "gate",
        "validity",
        "coverage",
        "unary",
        "S",
        "D",
        "H(N)",
        "tries",
        "withheld",
        "partial",
        "below",
        "CPU s",
    )
    table = Table(*heads, title=f"{name}, dial {dial:g}")
    for mode, some in _groups(rows, name, dial).items():
        shares = ("validity", "coverage", "unary", "sparsity", "diversity", "harmonic_mean")
        table.add_row(
            f"{mode} (×{len(some)})",
            *(spread([100 * row[key] for row in some]) for key in shares),
            spread([row["tries"] for row in some], 1),
            *(spread([float(row["outcomes"].get(status, 0)) for row in some], 1) for status in ("withheld", "partial")),
            str(sum(row["below"] for row in some)),
            spread([row["cpu_s"] for row in some], 0),
        )
    console.print(table)
    for mode, some in _groups(rows, name, dial).items():
        told = Counter[str]()
        for row in some:
            told.update(row["why"])
        for why, count in told.most_common(5):
            console.print(f"  {mode}: {count} × {why}", soft_wrap=True)


def _attacks(console: Console, name: str, rows: list[dict[str, Any]]) -> None:
    heads = (
        "gate", "1-anonymity", "1-diversity", "", "1-map", "release: 1-anon.", "by people", "1-diversity", "", "1-map",
        "k", "k people", "k-map",
    )  # fmt: skip
    table = Table(*heads, title=f"{name}, attacks, %")
    for method, figures in PAPER[name].items():
        table.add_row(f"the paper: {method}", *("–" if one is None else f"{one:.2f}" for one in figures))
    for dial in sorted({row["dial"] for row in rows if row["data"] == name}):
        for mode, some in _groups(rows, name, dial).items():
            table.add_row(
                f"{mode}, dial {dial:g}",
                *_shares(some, "sets", "one_anonymity", "one_diversity", "one_map"),
                *_shares(some, "release", "one_anonymity", "one_anonymity_people", "one_diversity", "one_map"),
                *(_least(some, key) for key in ("k", "k_people", "k_map")),
            )
    console.print(table)


def _shares(some: list[dict[str, Any]], scope: str, *keys: str) -> list[str]:
    cells = []
    for key in keys:
        values = [row[scope][key] for row in some]
        columns = zip(*values, strict=True) if isinstance(values[0], list) else [values]
        cells += [spread([100 * value for value in column]) for column in columns]
    return cells


def _least(some: list[dict[str, Any]], key: str) -> str:
    scope = "sets" if key == "k" else "release"
    values = [row[scope][key] for row in some if row[scope][key] is not None]
    return str(min(values)) if values else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["german", "adult"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--dials", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = stored(given.out)
    modes = [(mode, dial) for dial in given.dials for mode in given.modes]
    for name in given.data:
        for seed in range(given.seeds):
            run(name, seed, given.n, modes, rows, given.out)
    show(rows, Console(width=230))


if __name__ == "__main__":
    main()
