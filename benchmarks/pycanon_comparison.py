"""The audit's counters beside those of pycanon, on random tables.

    python -m venv elsewhere && elsewhere/bin/pip install pycanon
    python benchmarks/pycanon_comparison.py --python elsewhere/bin/python [--tables 200] [--seed 0]

pycanon pins its dependencies, so it runs in an environment of its own: this script writes the tables to a folder,
starts itself there with the other interpreter, and compares the answers. What is compared, of the whole table: k, the l
and the t of every sensitive column, and k by people (pycanon is given each person once in a class). Of the sets, each
the rows of one person: the least k and the least l.

Two of its conventions shape the tables. It leaves out rows with a missing quasi-identifier where the audit counts
"missing" as a level, so that no cell is missing. And its ordered distance is in units of the levels that occur, so that
each column declares just those; the t of a set, in which fewer occur, is therefore not compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Answers = dict[str, Any]
EXACT = ("k", "k_people", "l", "k_sets", "l_sets")


def random_table(rng: np.random.Generator) -> pd.DataFrame:
    """Return a table of texts and whole numbers; `q…` are quasi-identifiers, `s…` sensitive."""
    rows = int(rng.integers(2, 400))
    names = [f"q{i}" for i in range(rng.integers(1, 5))] + [f"s{i}" for i in range(rng.integers(1, 4))]
    table: dict[str, Any] = {"row": rng.integers(rng.integers(1, 20), size=rows)}
    for name in names:
        count = int(rng.integers(2, 8))
        # Some values are common and some rare, and numbers have gaps between them.
        codes = rng.choice(count, size=rows, p=rng.dirichlet(np.ones(count)))
        codes[:2] = 0, 1
        table[name] = [f"v{code}" for code in codes] if rng.random() < 0.5 else codes**2
    return pd.DataFrame(table)


def by_the_audit(frame: pd.DataFrame) -> Answers:
    """Return the answers of the audit."""
    from l2c import Feature, Schema
    from l2c.app.audit import audit_frame

    features = [
        Feature(
            name=name,
            kind="ordinal" if pd.api.types.is_numeric_dtype(frame[name]) else "categorical",
            levels=tuple(sorted(frame[name].unique().tolist())),
            role="quasi" if name.startswith("q") else "sensitive",
        )
        for name in frame.columns.drop("row")
    ]
    view = audit_frame(frame, Schema(tuple(features))).figures.levels
    assert view.sets is not None
    assert view.release.by_people is not None
    sensitive = view.release.sensitive
    return {
        "k": view.release.by_samples.k,
        "k_people": view.release.by_people.k,
        "l": {name: figures.l for name, figures in sensitive.items()},
        "t": {name: figures.t for name, figures in sensitive.items()},
        "k_sets": view.sets.by_samples.k,
        "l_sets": {name: figures.l for name, figures in view.sets.sensitive.items()},
    }


def by_pycanon(frame: pd.DataFrame) -> Answers:
    """Return the answers of pycanon."""
    from pycanon import anonymity

    quasi = [name for name in frame if name.startswith("q")]
    sensitive = [name for name in frame if name.startswith("s")]
    sets = [part.reset_index(drop=True) for _, part in frame.groupby("row")]
    once = frame.drop_duplicates([*quasi, "row"]).reset_index(drop=True)
    return {
        "k": int(anonymity.k_anonymity(frame, quasi)),
        "k_people": int(anonymity.k_anonymity(once, quasi)),
        "l": {name: int(anonymity.l_diversity(frame, quasi, [name])) for name in sensitive},
        "t": {name: float(anonymity.t_closeness(frame, quasi, [name])) for name in sensitive},
        "k_sets": min(int(anonymity.k_anonymity(part, quasi)) for part in sets),
        "l_sets": {name: min(int(anonymity.l_diversity(part, quasi, [name])) for part in sets) for name in sensitive},
    }


def answer_from_here(folder: Path) -> None:
    """Write pycanon's answers beside the tables of a folder; this runs in its environment."""
    answers = {path.name: by_pycanon(pd.read_csv(path)) for path in sorted(folder.glob("*.csv"))}
    (folder / "pycanon.json").write_text(json.dumps(answers))


def compare(tables: int, seed: int, other: Path) -> bool:
    """Print how the answers compare, and return whether they are the same."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(tables):
            random_table(rng).to_csv(folder / f"{number:04}.csv", index=False)
        subprocess.run([str(other), __file__, "--answer", str(folder)], check=True)
        theirs: dict[str, Answers] = json.loads((folder / "pycanon.json").read_text())
        ours = {path.name: by_the_audit(pd.read_csv(path)) for path in sorted(folder.glob("*.csv"))}
    for figure in EXACT:
        pairs = [pair for name in ours for pair in _pairs(ours[name][figure], theirs[name][figure])]
        print(f"{figure:9} equal in {sum(a == b for a, b in pairs)} of {len(pairs)}, values up to {max(pairs)[0]}")
    distances = [pair for name in ours for pair in _pairs(ours[name]["t"], theirs[name]["t"])]
    apart = max(abs(a - b) for a, b in distances)
    print(f"t         largest difference {apart:.1e} of {len(distances)}, values up to {max(distances)[0]:.3f}")
    return apart < 1e-12 and all(ours[name][figure] == theirs[name][figure] for name in ours for figure in EXACT)


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]]:
    return [(a[name], b[name]) for name in a] if isinstance(a, dict) else [(a, b)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, help="the interpreter of an environment that has pycanon")
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.answer is not None:
        answer_from_here(asked.answer)
    elif asked.python is None:
        parser.error("say where pycanon is: --python elsewhere/bin/python")
    else:
        sys.exit(0 if compare(asked.tables, asked.seed, asked.python) else 1)


if __name__ == "__main__":
    main()
