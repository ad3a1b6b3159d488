"""Rules between features: the paper's table of binary constraints, and what the rules cost on every data set.

    python benchmarks/rules.py [--data german adult ...] [--blackboxes levels values] [--seeds 5] [--n 100] [--out FILE]

A black box is trained on levels, as in the paper's appendix on discretised models, or on values as everywhere else.
L2C is fitted with each set of rules and without any, and asked at both places of the dial, 0 and the default. German
runs both directions, for the paper's table and its text name opposite ones; of Adult's 9,045 test rows the first 300
are explained. Everything released is then judged by plain pandas, from the released frame alone: the class by the bare
network, directions by value, rules by level. For a black box of levels, numbers drawn at random from the released
intervals are judged too. Results are added to a JSON file as they come; what it holds already is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import torch
from blackboxes import answers_from_scratch, train
from results import spread, store, stored
from rich.console import Console
from rich.table import Table

import l2c

RESULTS = Path(__file__).parent / "results" / "rules.json"
DIALS = (0.0, 0.5)
TEST_ROWS = {"adult": 300}
INTERVAL_DRAWS = 3
"""Numbers drawn from each released interval."""

RULES: dict[tuple[str, str], tuple[tuple[l2c.Implies, ...], ...]] = {
    ("levels", "german"): (
        (),
        (l2c.Implies("age", "residence_since"),),
        (l2c.Implies("residence_since", "age"),),
    ),
    ("levels", "adult"): ((), (l2c.Implies("education", "age"),)),
    ("values", "german"): ((), (l2c.Implies("age", "residence_since"),)),
    ("values", "student"): ((),),
    ("values", "admission"): ((),),
    ("values", "adult"): ((), (l2c.Implies("education", "age"),)),
}
"""What is run on each sort of black box: no rules, and each set of them."""

PAPER = {"german": "48.56 / 100.00 / 98.38 / 91.54", "adult": "23.89 / 100.00 / 100.00 / 100.00"}
"""Harmonic mean, validity, unary and binary, as printed for black boxes of levels."""

Cuts = Mapping[str, tuple[float, ...]]
Answers = Callable[[pd.DataFrame], np.ndarray]


@dataclass(frozen=True)
class BlackBox:
    """A trained model, as L2C is given it and as plain pandas asks it."""

    model: l2c.TorchModel | l2c.DiscretisedModel
    answers: Answers


def on_values(data: l2c.datasets.Dataset, fit: pd.DataFrame, dev: pd.DataFrame, seed: int) -> BlackBox:
    """Return the ordinary black box: numbers by their values."""
    model = train(data, fit, dev, seed)
    return BlackBox(model, lambda rows: answers_from_scratch(model, fit, data.schema, rows))


def on_levels(data: l2c.datasets.Dataset, fit: pd.DataFrame, dev: pd.DataFrame, seed: int) -> BlackBox:
    """Return a black box trained on a table that was cut into levels beforehand, by plain pandas."""
    inputs = l2c.LevelInput.fit(fit, data.schema)
    cuts = {name: axis.cuts for name, axis in zip(data.schema.names, inputs.layout.axes, strict=True)}
    schema = _schema_of_levels(data.schema, cuts)

    def cut(rows: pd.DataFrame) -> pd.DataFrame:
        numeric = {feature.name for feature in data.schema.features if feature.numeric}
        return rows.assign(**{name: level_codes(data.schema, rows, name, cuts) for name in numeric})

    table = replace(data, schema=schema, frame=cut(data.frame))
    trained = train(table, cut(fit), cut(dev), seed)
    model = l2c.DiscretisedModel.of(trained.module, inputs, classes=trained.classes)
    return BlackBox(model, lambda rows: answers_from_scratch(trained, fit, schema, cut(rows)))


TRAINED = {"levels": on_levels, "values": on_values}


def _schema_of_levels(schema: l2c.Schema, cuts: Cuts) -> l2c.Schema:
    """Return a schema in which every number is the index of its bin."""
    features = tuple(
        l2c.Feature(name=feature.name, kind="ordinal", levels=tuple(range(len(cuts[feature.name]) + 1)))
        if feature.numeric
        else feature
        for feature in schema.features
    )
    return l2c.Schema(features, schema.target)


def level_codes(schema: l2c.Schema, rows: pd.DataFrame, name: str, cuts: Cuts) -> pd.Series:
    """Return the level of each row's value, by plain pandas."""
    if schema[name].numeric:
        return pd.cut(rows[name].astype(float), [-np.inf, *cuts[name], np.inf], labels=False).astype("int64")
    return rows[name].map({level: code for code, level in enumerate(schema[name].levels)}).astype("int64")


def judged(
    frame: pd.DataFrame, people: pd.DataFrame, schema: l2c.Schema, cuts: Cuts, answers: Answers, n: int
) -> dict[str, float]:
    """Return what is true of a release, from its frame alone."""
    own = people.iloc[frame["row"]].reset_index(drop=True)
    names = list(schema.names)
    wrong_way = np.zeros(len(frame), dtype=bool)
    frozen = 0
    for feature in schema.features:
        before, after = own[feature.name], frame[feature.name]
        if feature.moves == "never":
            frozen += int((before != after).sum())
        elif feature.moves in ("rises", "falls"):
            if not feature.numeric:
                before, after = (level_codes(schema, rows, feature.name, cuts) for rows in (own, frame))
            wrong_way |= ((after < before) if feature.moves == "rises" else (after > before)).to_numpy()
    broken = np.zeros(len(frame), dtype=bool)
    for rule in schema.rules:
        cause, effect = (
            level_codes(schema, frame, name, cuts) - level_codes(schema, own, name, cuts)
            for name in (rule.cause, rule.effect)
        )
        broken |= ((cause > 0) & (effect <= 0)).to_numpy()
    valid = (answers(frame) != answers(people)[frame["row"]]) & ~frame.duplicated(["row", *names]).to_numpy()
    return {
        "validity": valid.sum() / (n * len(people)),
        "coverage": frame.loc[valid, "row"].nunique() / len(people),
        "unary": 1 - wrong_way.mean(),
        "binary": 1 - broken.mean(),
        "immutable_violations": frozen,
        "invalid": int((~valid).sum()),
    }


def wrong_within_intervals(
    frame: pd.DataFrame, schema: l2c.Schema, layout: Any, answers: Answers, generator: np.random.Generator
) -> int:
    """Return how many rows get another class with numbers drawn at random from the released intervals."""
    expected, wrong = answers(frame), np.zeros(len(frame), dtype=bool)
    cuts = {name: axis.cuts for name, axis in zip(schema.names, layout.axes, strict=True)}
    for _ in range(INTERVAL_DRAWS):
        drawn = frame.copy()
        for feature, axis in zip(schema.features, layout.axes, strict=True):
            if feature.numeric:
                codes = level_codes(schema, frame, feature.name, cuts).to_numpy()
                bounds = np.array([_ends(axis.bounds(level)) for level in range(axis.known)])[codes]
                # From just above the left end up to the right one.
                share = 1 - generator.random(len(frame))
                drawn[feature.name] = bounds[:, 0] + share * (bounds[:, 1] - bounds[:, 0])
        wrong |= answers(drawn) != expected
    return int(wrong.sum())


def _ends(bounds: tuple[float | None, float | None]) -> tuple[float, float]:
    """Return the ends of an interval, an open one 1,000 away from the other."""
    left, right = bounds
    if left is None:
        return (right or 0.0) - 1000, right or 0.0
    return left, left + 1000 if right is None else right


def run(name: str, sort: str, seed: int, n: int, wanted: list[tuple[l2c.Implies, ...]]) -> list[dict[str, Any]]:
    """Return the figures of one data set and black box with one seed, for each set of rules."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    people = data.test[: TEST_ROWS.get(name)].reset_index(drop=True)
    blackbox = TRAINED[sort](data, fit, dev, seed)
    accuracy = float((blackbox.answers(data.test) == data.test[data.target].to_numpy()).mean())
    results = []
    for rules in wanted:
        schema = replace(data.schema, rules=rules)
        start = time.process_time()
        explainer = l2c.L2C().fit(fit, blackbox.model, schema, dev=dev, seed=seed)
        fit_s = time.process_time() - start
        cuts = {feature: axis.cuts for feature, axis in zip(schema.names, explainer.layout.axes, strict=True)}
        for dial in DIALS:
            start = time.process_time()
            found = explainer.explain(people, n, seed=seed, plausibility=dial)
            explain_s = time.process_time() - start
            frame, card = found.to_frame(), found.scores(reference=fit).to_dict()
            kept = ("sparsity", "diversity", "harmonic_mean", "harmonic_mean_with_target", "plausibility", "tries")
            generator = np.random.default_rng(seed)
            within = (
                wrong_within_intervals(frame, schema, explainer.layout, blackbox.answers, generator)
                if sort == "levels"
                else None
            )
            results.append(
                {
                    "data": name,
                    "blackbox": sort,
                    "rules": told(rules),
                    "dial": dial,
                    "seed": seed,
                    "n": n,
                    **{metric: card[metric] for metric in kept},
                    **judged(frame, people, schema, cuts, blackbox.answers, n),
                    "released": len(frame),
                    "wrong_within_intervals": within,
                    "accuracy": accuracy,
                    "fit_cpu_s": fit_s,
                    "explain_cpu_s": explain_s,
                }
            )
    return results


def told(rules: tuple[l2c.Implies, ...]) -> str:
    """Return rules as arrows."""
    return ", ".join(f"{rule.cause} → {rule.effect}" for rule in rules) or "none"


def groups(results: list[dict[str, Any]]) -> dict[tuple[str, str, str, float], list[dict[str, Any]]]:
    """Return the seeds of each data set, black box, set of rules and place of the dial."""
    found: dict[tuple[str, str, str, float], list[dict[str, Any]]] = {}
    for row in results:
        found.setdefault((row["data"], row["blackbox"], row["rules"], row["dial"]), []).append(row)
    return found


def figures_table(results: list[dict[str, Any]]) -> Table:
    """Return mean ± spread over the seeds, with the paper's figures beside those that they compare with."""
    shares = ("harmonic_mean", "harmonic_mean_with_target", "validity", "coverage", "unary", "binary", "plausibility")
    heads = ("H(N)", "H(N+1)", "validity", "coverage", "unary", "binary", "plausible")
    table = Table("data", "trained on", "rules", "dial", *heads, "immutable", "invalid", "in intervals", "tries")
    table.add_column("against no rules, H(N)")
    table.add_column("the paper: H / validity / unary / binary")
    found = groups(results)
    for (name, sort, rules, dial), rows in found.items():
        cells = [spread([100 * row[metric] for row in rows]) for metric in shares]
        if rules == "none":
            cells[5] = "–"
        counts = [str(sum(row[key] for row in rows)) for key in ("immutable_violations", "invalid")]
        within = "–" if sort == "values" else str(sum(row["wrong_within_intervals"] for row in rows))
        paper = PAPER[name] if sort == "levels" and rules != "none" and dial == 0 else ""
        table.add_row(
            name, sort, f"{rules} ×{len(rows)}", f"{dial:g}", *cells, *counts, within,
            spread([row["tries"] for row in rows], 1), _against(found.get((name, sort, "none", dial), []), rows), paper,
        )  # fmt: skip
    return table


def _against(without: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """Return how much of H the rules cost, over the seeds that ran both ways."""
    before = {row["seed"]: row["harmonic_mean"] for row in without}
    paired = [100 * (row["harmonic_mean"] - before[row["seed"]]) for row in rows if row["seed"] in before]
    return "" if without is rows or not paired else f"{mean(paired):+.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["german", "student", "admission", "adult"])
    parser.add_argument("--blackboxes", nargs="+", choices=list(TRAINED), default=list(TRAINED))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    for seed in range(asked.seeds):
        for (sort, name), sets in RULES.items():
            if name not in asked.data or sort not in asked.blackboxes:
                continue
            done = {(row["data"], row["blackbox"], row["rules"], row["seed"], row["n"]) for row in results}
            missing = [rules for rules in sets if (name, sort, told(rules), seed, asked.n) not in done]
            if missing:
                start = time.monotonic()
                results += run(name, sort, seed, asked.n, missing)
                store(results, asked.out)
                print(f"{name} on {sort}, seed {seed}: {time.monotonic() - start:.0f} s", flush=True)
    shown = [row for row in results if row["data"] in asked.data and row["n"] == asked.n]
    shown = [row for row in shown if row["blackbox"] in asked.blackboxes]
    order = {key: place for place, key in enumerate(RULES)}
    shown.sort(key=lambda row: (order[row["blackbox"], row["data"]], row["rules"] != "none", row["rules"], row["dial"]))
    Console(width=260).print(figures_table(shown))


if __name__ == "__main__":
    main()
