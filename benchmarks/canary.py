"""Interval releases tell no number of anyone: canaries in the questions and in the training rows, and moved extremes.

    python benchmarks/canary.py [--rows 10000] [--seed 0] [--out FILE]

German Credit with domain edges, numbers with fractions, one black box. Two explainers are fitted with the same key,
to training rows in which every number's least and greatest values were moved inside their bins, to other canaries
each. The questions are test rows with every number replaced by a canary, a number with nine odd digits inside the
same bin, other ones for each explainer. Each batch of 100 is released by both: the files must be equal byte for byte,
and no canary may be in anything that leaves: the file's cells and metadata, the frames, the page for a notebook, the
outcomes.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from blackboxes import answers_from_scratch, train
from results import store
from rich.console import Console

import l2c

RESULTS = Path(__file__).parent / "results" / "canary.json"
KEY = bytes(range(32))
BATCH, N = 100, 5
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?")
REACH = {"duration": (1.0, 90.0), "credit_amount": (100.0, 30_000.0), "age": (10.0, 100.0)}
"""How far out a canary of an open bin may lie."""


def odd(numbers: Any, rng: np.random.Generator) -> Any:
    """Return numbers with a fraction that nothing else has: whole numbers and middles of bins are never near them."""
    return np.floor(numbers) + 0.131 + 0.2 * rng.random(np.shape(numbers))


def with_canaries(rows: pd.DataFrame, cuts: dict[str, tuple[float, ...]], rng: np.random.Generator) -> pd.DataFrame:
    """Return rows with every number replaced by an odd one of the same bin."""
    planted = rows.copy()
    for name, edges in cuts.items():
        ends = np.array([REACH[name][0], *edges, REACH[name][1]])
        level = np.searchsorted(edges, rows[name])
        low, high = ends[level], ends[level + 1]
        planted[name] = odd(low + 1 + (high - low - 2) * rng.random(len(rows)), rng)
    return planted


def with_moved_extremes(
    rows: pd.DataFrame, cuts: dict[str, tuple[float, ...]], far: float
) -> tuple[pd.DataFrame, set[float]]:
    """Return rows with each number's least and greatest value moved out to a canary, and these canaries."""
    moved, canaries = rows.copy(), set()
    for name in cuts:
        for value, end in ((rows[name].min(), REACH[name][0]), (rows[name].max(), REACH[name][1])):
            canary = float(odd((1 - far) * value + far * end, np.random.default_rng(0)))
            moved.loc[rows[name] == value, name] = canary
            canaries.add(canary)
    return moved, canaries


def numbers_in(found: l2c.Explanations, path: Path) -> set[float]:
    """Return every number in all that leaves."""
    table = pq.read_table(path)
    numbers: set[float] = set()
    texts = [table.schema.metadata[b"l2c"].decode(), found._repr_html_(), repr(found), repr(found.outcomes)]
    for frame in (table.to_pandas(), found.to_frame(), found.representatives(), found.frame):
        texts.append(frame.to_csv(float_format="%.17g"))
        for name in frame.select_dtypes("number").columns:
            numbers |= set(frame[name].dropna().tolist())
    for text in texts:
        numbers |= {float(one.replace(",", "")) for one in NUMBER.findall(text)}
    return numbers


def echoed(canaries: set[float], numbers: set[float]) -> int:
    """Return how many canaries come back, as they are or cut to six digits or more."""
    known = np.sort(np.array([*numbers]))
    wanted = np.array([*canaries])
    place = np.searchsorted(known, wanted)
    near = np.stack([known[np.clip(place - 1, 0, len(known) - 1)], known[np.clip(place, 0, len(known) - 1)]])
    return int((np.abs(near - wanted) <= 1e-6 * np.abs(wanted)).any(axis=0).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    data = l2c.datasets.load("german")
    schema = data.domain_schema
    cuts = {feature.name: feature.binning.cuts for feature in schema.features if feature.kind == "numeric"}
    for name in cuts:
        schema = schema.edit(name, integer=False)
    rows, test = (frame.astype(dict.fromkeys(cuts, float)) for frame in (data.train, data.test))
    fit, dev = data.dev_split(asked.seed)
    described = l2c.datasets.Dataset(**{name: getattr(data, name) for name in data.__slots__} | {"schema": schema})
    model = train(described, fit.astype(dict.fromkeys(cuts, float)), dev.astype(dict.fromkeys(cuts, float)), asked.seed)
    fits = [with_moved_extremes(rows, cuts, far) for far in (0.37, 0.73)]
    planted = fits[0][1] | fits[1][1]
    explainers = [l2c.L2C().fit(some, model, schema, seed=asked.seed, release="intervals", key=KEY) for some, _ in fits]
    rng = np.random.default_rng(asked.seed)
    figures: dict[str, Any] = {"rows": 0, "counterfactuals": 0, "canaries": len(planted), "echoed": 0, "other_bytes": 0}
    figures["valid_of_representatives"] = 0
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("one.parquet", "two.parquet")]
        for _ in range(asked.rows // BATCH):
            people = test.sample(BATCH, replace=True, random_state=int(rng.integers(2**31))).reset_index(drop=True)
            contents = []
            for explainer, path in zip(explainers, paths, strict=True):
                asking = with_canaries(people, cuts, rng)
                found = explainer.explain(asking, N, release="intervals", pool=50)
                found.write(path)
                contents.append(path.read_bytes())
                own = {float(value) for name in cuts for value in asking[name]}
                figures["canaries"] += len(own)
                figures["echoed"] += echoed(own | planted, numbers_in(found, path))
            figures["other_bytes"] += contents[0] != contents[1]
            figures["rows"] += BATCH
            figures["counterfactuals"] += len(found)
            judged = answers_from_scratch(model, fit, schema, found.features())
            figures["valid_of_representatives"] += int((judged == found.to_frame()["prediction"].to_numpy()).sum())
    figures["share_valid"] = float(found.to_frame()["share_valid"].mean())
    store([figures], asked.out)
    Console(width=160).print(figures)


if __name__ == "__main__":
    main()
