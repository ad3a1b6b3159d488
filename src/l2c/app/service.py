"""What the doors offer: the work of each command on files, with nothing of the terminal in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from l2c.adapters import datasets, frames, settings
from l2c.adapters.models.imported import import_model
from l2c.app.explainer import Explainer, load
from l2c.app.explanations import Explanations
from l2c.app.fitting import Progress
from l2c.app.l2c import L2C
from l2c.core.schema import Schema
from l2c.core.types import Label
from l2c.engine.recipe import Strategy
from l2c.errors import InputError, nearest

Preset = Literal["default", "paper"]


def infer_schema(
    data: Path,
    out: Path,
    *,
    target: str | None,
    immutable: Iterable[str] = (),
    rises: Iterable[str] = (),
    falls: Iterable[str] = (),
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    bins: int = 4,
) -> Schema:
    """Write the schema that a file of rows suggests, and return it."""
    schema = Schema.infer(
        frames.read_file(data), target=target, immutable=immutable, rises=rises, falls=falls, quasi=quasi,
        sensitive=sensitive, bins=bins,
    )  # fmt: skip
    settings.write_schema(schema, out)
    return schema


def fit_bundle(
    data: Path, schema: Path, model: str, out: Path, *, preset: Preset, seed: int, progress: Progress | None
) -> Explainer:
    """Fit an explainer to a file of training rows, save it as a bundle, and return it."""
    method = L2C.paper() if preset == "paper" else L2C()
    described = settings.read_schema(schema)
    rows = frames.read_file(data, described)
    explainer = method.fit(rows, import_model(model), described, seed=seed, progress=progress)
    explainer.save(out)
    return explainer


def explain_file(
    bundle: Path,
    model: str,
    data: Path,
    out: Path,
    *,
    n: int,
    seed: int,
    desired: str | None,
    plausibility: float | None,
    select: Strategy | None,
    pool: int | None,
    tries: int | None,
    seconds: float | None,
    progress: Progress | None,
) -> Explanations:
    """Explain a file of rows from a bundle, write what was found, and return it.

    A .parquet file holds everything; a .csv file holds the long table alone.
    """
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(f"--out {str(out)!r}: expected a .parquet or .csv file")
    if not out.parent.is_dir():
        raise InputError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}")
    explainer = load(bundle, model=import_model(model))
    goal = None if desired is None else _class_named(desired, explainer.classes)
    rows = frames.read_file(data, explainer.schema)
    found = explainer.explain(
        rows, n, seed=seed, desired=goal, plausibility=plausibility, select=select, pool=pool, tries=tries,
        seconds=seconds, progress=progress,
    )  # fmt: skip
    write_found(found, out)
    return found


def write_found(found: Explanations, out: Path) -> None:
    """Write explanations by the file's ending."""
    if out.suffix == ".csv":
        frames.write_file(found.to_frame(), out)
    else:
        found.write(out)


def status_counts(found: Explanations) -> dict[str, int]:
    """Return how many rows ended in each way."""
    return dict(Counter(outcome.status for outcome in found.outcomes))


@dataclass(frozen=True, slots=True)
class Exported:
    """The files that an embedded data set was written to."""

    train: Path
    test: Path
    schema: Path


def export_dataset(name: str, folder: Path) -> Exported:
    """Write an embedded data set as CSV files with its schema beside them."""
    data = datasets.load(name)
    folder.mkdir(parents=True, exist_ok=True)
    files = Exported(folder / f"{name}_train.csv", folder / f"{name}_test.csv", folder / f"{name}_schema.toml")
    frames.write_file(data.train, files.train)
    frames.write_file(data.test, files.test)
    settings.write_schema(data.schema, files.schema)
    return files


def _class_named(text: str, classes: tuple[Label, ...]) -> Label:
    """Return the class whose label reads like the text."""
    named = {str(label): label for label in classes}
    if text not in named:
        raise InputError(f"--desired {text!r} is no class of the model: {', '.join(named)}{nearest(text, named)}")
    return named[text]
