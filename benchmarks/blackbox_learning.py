"""Learning from models that offer no gradient: trees, boosting, pipelines and ONNX, beside a differentiable one.

    python benchmarks/blackbox_learning.py [--data german adult] [--models network xgboost ...] [--ways twin score]
                                           [--seeds 2] [--n 100] [--out FILE]

For each data set, model and seed L2C is fitted with its defaults, by a twin of the model or by the score function, and
asked for `n` counterfactuals of every test row (of Adult's 9,045 the first 300): balanced sets at dial 0 from the
default pool, and the first that are valid, which tells the tries. The same is asked of the law that learned nothing:
uniform rejection on the same model with the same selection. Every released row is then judged again by the model's own
library, from the released frame. Results are added to a JSON file as they come; what it holds already is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import torch
from blackboxes import answers_from_scratch, train
from catboost import CatBoostClassifier
from frontier import without_learning
from lightgbm import LGBMClassifier
from onnxruntime import InferenceSession
from results import grouped, spread, store, stored
from rich.console import Console
from rich.table import Table
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import l2c
from l2c.evaluate.scorecard import scorecard

RESULTS = Path(__file__).parent / "results" / "blackbox_learning.json"
TEST_ROWS = {"adult": 300}
DEPTH = {"german": 4, "adult": 6}
ROUNDS, RATE = 100, 0.1
WAYS = {
    "twin": l2c.L2C(),
    "score": l2c.L2C(without_gradient="score"),
    "score, 5 times the rows": l2c.L2C(without_gradient="score", model_rows=200_000),
}

Classes = Callable[[pd.DataFrame], np.ndarray]
"""From a frame to the class of each row, by the library that made the model."""


@dataclass(frozen=True)
class Trained:
    """A model as it is given to L2C, and its own library's word on a frame."""

    model: object
    classes: Classes


def network(data: l2c.datasets.Dataset, fit: pd.DataFrame, dev: pd.DataFrame, seed: int) -> Trained:
    """Return the paper's model, through which gradients flow."""
    model = train(data, fit, dev, seed)
    return Trained(model, lambda frame: answers_from_scratch(model, fit, data.schema, frame))


def xgboost(data: l2c.datasets.Dataset, fit: pd.DataFrame, _: pd.DataFrame, seed: int) -> Trained:
    model = XGBClassifier(
        n_estimators=ROUNDS, max_depth=DEPTH[data.name], learning_rate=RATE, enable_categorical=True, n_jobs=1,
        random_state=seed,
    )  # fmt: skip
    model.fit(declared(fit, data), target(fit, data))
    return Trained(model, lambda frame: model.predict(declared(frame, data)))


def lightgbm(data: l2c.datasets.Dataset, fit: pd.DataFrame, _: pd.DataFrame, seed: int) -> Trained:
    leaves = 2 ** (DEPTH[data.name] - 1)
    model = LGBMClassifier(
        n_estimators=ROUNDS, num_leaves=leaves, learning_rate=RATE, n_jobs=1, random_state=seed, verbose=-1
    )
    model.fit(declared(fit, data), target(fit, data))
    return Trained(model, lambda frame: model.predict(declared(frame, data)))


def catboost(data: l2c.datasets.Dataset, fit: pd.DataFrame, _: pd.DataFrame, seed: int) -> Trained:
    columns, (_, texts) = [*data.schema.names], kinds(data)
    model = CatBoostClassifier(
        iterations=ROUNDS, depth=DEPTH[data.name], learning_rate=RATE, cat_features=texts, thread_count=1,
        random_seed=seed, verbose=False, allow_writing_files=False,
    )  # fmt: skip
    model.fit(fit[columns], target(fit, data))
    return Trained(model, lambda frame: model.predict(frame[columns]))


def forest(data: l2c.datasets.Dataset, fit: pd.DataFrame, _: pd.DataFrame, seed: int) -> Trained:
    model = pipeline_of(data, RandomForestClassifier(ROUNDS, min_samples_leaf=5, n_jobs=1, random_state=seed))
    model.fit(fit[[*data.schema.names]], target(fit, data))
    return Trained(model, lambda frame: model.predict(frame[[*data.schema.names]]))


def pipeline(data: l2c.datasets.Dataset, fit: pd.DataFrame, _: pd.DataFrame, seed: int) -> Trained:
    """Return scaling, one-hot encoding and histogram boosting, as one scikit-learn pipeline."""
    model = pipeline_of(data, HistGradientBoostingClassifier(max_iter=ROUNDS, learning_rate=RATE, random_state=seed))
    model.fit(fit[[*data.schema.names]], target(fit, data))
    return Trained(model, lambda frame: model.predict(frame[[*data.schema.names]]))


def onnx(data: l2c.datasets.Dataset, fit: pd.DataFrame, dev: pd.DataFrame, seed: int) -> Trained:
    """Return that pipeline as an ONNX file, whose numbers have half the digits: its oracle is onnxruntime itself."""
    trained = pipeline(data, fit, dev, seed)
    numbers, _ = kinds(data)
    inputs = [
        (name, Int64TensorType([None, 1]) if name in numbers else StringTensorType([None, 1]))
        for name in data.schema.names
    ]
    exported = convert_sklearn(trained.model, initial_types=inputs, options={id(trained.model): {"zipmap": False}})
    content = exported.SerializeToString()
    session = InferenceSession(content)

    def classes(frame: pd.DataFrame) -> np.ndarray:
        columns = {name: frame[name].to_numpy(np.int64 if name in numbers else object) for name in data.schema.names}
        return session.run(None, {name: column[:, None] for name, column in columns.items()})[0]

    return Trained(l2c.OnnxModel(content), classes)


def labels(data: l2c.datasets.Dataset, fit: pd.DataFrame, dev: pd.DataFrame, seed: int) -> Trained:
    """Return the XGBoost model, of which only the labels are told."""
    trained = xgboost(data, fit, dev, seed)
    return Trained(trained.classes, trained.classes)


MODELS = {
    "network": network,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "forest": forest,
    "pipeline": pipeline,
    "onnx": onnx,
    "labels": labels,
}


def kinds(data: l2c.datasets.Dataset) -> tuple[list[str], list[str]]:
    """Return the names of the numbers, and of all other features."""
    numbers = [feature.name for feature in data.schema.features if feature.numeric]
    return numbers, [name for name in data.schema.names if name not in numbers]


def declared(frame: pd.DataFrame, data: l2c.datasets.Dataset) -> pd.DataFrame:
    """Return the features with their levels declared as categories."""
    levels = {feature.name: list(feature.levels) for feature in data.schema.features if not feature.numeric}
    return frame[[*data.schema.names]].assign(**{name: pd.Categorical(frame[name], levels[name]) for name in levels})


def pipeline_of(data: l2c.datasets.Dataset, last: Any) -> Pipeline:
    numbers, texts = kinds(data)
    levels = [list(data.schema[name].levels) for name in texts]
    encoder = OneHotEncoder(categories=levels, sparse_output=False)
    return make_pipeline(make_column_transformer((StandardScaler(), numbers), (encoder, texts)), last)


def target(frame: pd.DataFrame, data: l2c.datasets.Dataset) -> np.ndarray:
    return (frame[data.target] == data.desirable).to_numpy().astype(int)


def run(name: str, kind: str, way: str, seed: int, n: int) -> list[dict[str, Any]]:
    """Return the figures of one model with one seed, learned and not."""
    data = l2c.datasets.load(name)
    fit, dev = data.dev_split(seed)
    trained = MODELS[kind](data, fit, dev, seed)
    schema = replace(data.schema, rules=())
    start = time.process_time()
    explainer = WAYS[way].fit(fit, trained.model, schema, dev=dev, seed=seed)
    fit_s = time.process_time() - start
    rows = data.test[: TEST_ROWS.get(name)]
    predicted = trained.classes(data.test)
    truth = data.test[data.target].to_numpy() if kind == "network" else target(data.test, data)
    print(f"{name}, {kind}, seed {seed}: {explainer.training}", flush=True)
    shared = {
        "data": name, "seed": seed, "n": n, "accuracy": float((predicted == truth).mean()), "fit_cpu_s": fit_s,
        "model_rows": explainer.bundle.notes["model_rows"], "training": explainer.training,
    }  # fmt: skip
    asked = {f"{kind}, {way}": explainer}
    if way == "twin":
        asked[f"{kind}, off"] = without_learning(explainer)
    return [{**shared, "preset": preset, **figures(asked[preset], trained, rows, n, seed)} for preset in asked]


def figures(explainer: l2c.Explainer, trained: Trained, rows: pd.DataFrame, n: int, seed: int) -> dict[str, Any]:
    """Return what balanced sets are like, and how many tries the first valid ones take."""
    start = time.process_time()
    found = explainer.explain(rows, n, seed=seed, plausibility=0.0, select="balanced", reasons=False)
    seconds = time.process_time() - start
    first = explainer.explain(rows, n, seed=seed, plausibility=0.0, select="first", reasons=False)
    each = [outcome.tries / outcome.found for outcome in first.released.outcomes if outcome.found]
    frames = [found.to_frame(), first.to_frame()]
    broken = sum(int((trained.classes(frame) != frame["prediction"].to_numpy()).sum()) for frame in frames)
    return {
        **scorecard(found.released).to_dict(),
        "acceptance": found.released.pooled / found.released.tries,
        "first_validity": scorecard(first.released).validity,
        "first_tries": mean(each),
        "first_median": float(np.median(each)),
        "first_worst": max(each),
        "invalid_from_scratch": broken,
        "explain_cpu_s": seconds,
    }


def figures_table(results: list[dict[str, Any]]) -> Table:
    """Return mean ± spread over the seeds, a line for each data set, model and way."""
    shares = ("validity", "coverage", "unary", "sparsity", "diversity", "harmonic_mean", "acceptance")
    heads = ("validity", "coverage", "unary", "S", "D", "H(N)", "accepted", "tries", "median", "worst")
    table = Table("data", "model", *heads, "broken", "model rows", "fit s")
    for (name, preset), rows in grouped(results).items():
        cells = [spread([100 * row[metric] for row in rows]) for metric in shares]
        cells += [spread([row[metric] for row in rows]) for metric in ("first_tries", "first_median", "first_worst")]
        broken = sum(row["immutable_violations"] + row["invalid_from_scratch"] for row in rows)
        cost = [spread([row["model_rows"] for row in rows], 0), spread([row["fit_cpu_s"] for row in rows], 1)]
        table.add_row(name, f"{preset} ×{len(rows)}", *cells, str(broken), *cost)
    return table


def goals_table(results: list[dict[str, Any]]) -> Table:
    """Return what learning costs in H against uniform rejection, and its tries against the differentiable model's."""
    table = Table("data", "model", "H lost, points", "tries ÷ the network's", "median ÷ the network's", "tries ÷ off")
    groups = grouped(results)
    for (name, preset), rows in groups.items():
        kind, _, way = preset.partition(", ")
        seeds = {row["seed"] for row in rows}
        off, bar = (
            [row for row in groups.get((name, preset), []) if row["seed"] in seeds]
            for preset in (f"{kind}, off", "network, twin")
        )
        if way == "off" or not off or not bar:
            continue

        def ratio(metric: str, over: list[dict[str, Any]], rows: list[dict[str, Any]] = rows) -> str:
            return f"{mean(row[metric] for row in rows) / mean(row[metric] for row in over):.2f}"

        lost = 100 * (mean(row["harmonic_mean"] for row in off) - mean(row["harmonic_mean"] for row in rows))
        ratios = [ratio("first_tries", bar), ratio("first_median", bar), ratio("first_tries", off)]
        table.add_row(name, f"{preset} ×{len(rows)}", f"{lost:.2f}", *ratios)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["german", "adult"])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["twin"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    results = stored(asked.out)
    done = {(row["data"], row["preset"], row["seed"], row["n"]) for row in results}
    for seed in range(asked.seeds):
        for name in asked.data:
            for kind in asked.models:
                for way in asked.ways:
                    needless = kind == "network" and way != "twin"
                    if (name, f"{kind}, {way}", seed, asked.n) not in done and not needless:
                        results += run(name, kind, way, seed, asked.n)
                        store(results, asked.out)
    shown = [row for row in results if row["data"] in asked.data and row["n"] == asked.n]
    shown.sort(key=lambda row: (asked.data.index(row["data"]), [*MODELS].index(row["preset"].partition(",")[0])))
    console = Console(width=240)
    console.print(figures_table(shown))
    console.print(goals_table(shown))


if __name__ == "__main__":
    main()
