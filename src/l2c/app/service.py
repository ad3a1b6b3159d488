"""What the doors offer: the work of each command on files, with nothing of the terminal in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from l2c.adapters import datasets, frames, parts, settings
from l2c.adapters.models.files import open_model
from l2c.app.explainer import Explainer, load
from l2c.app.explanations import Explanations
from l2c.app.gate import Gate
from l2c.app.l2c import L2C
from l2c.app.limit_texts import parse_forbids, parse_permits
from l2c.app.progress import Progress
from l2c.app.recheck import Recheck, recheck
from l2c.app.streams import Streamed
from l2c.core.explanation import Release
from l2c.core.schema import Schema
from l2c.core.types import Label
from l2c.engine.recipe import Strategy
from l2c.errors import InputError, nearest
from l2c.release.policy import Count, Scope

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
    data: Path,
    schema: Path,
    model: str,
    out: Path,
    *,
    preset: Preset,
    seed: int,
    threshold: float | None = None,
    desired: tuple[float, float] | None = None,
    model_rows: int | None = None,
    release: Release = "values",
    progress: Progress | None,
) -> Explainer:
    """Fit an explainer to a file of training rows, save it as a bundle, and return it."""
    method = L2C.paper() if preset == "paper" else L2C()
    if model_rows is not None:
        method = replace(method, model_rows=model_rows)
    described = settings.read_schema(schema)
    rows = frames.read_file(data, described)
    explainer = method.fit(
        rows, open_model(model), described, threshold=threshold, desired=desired, seed=seed, release=release,
        progress=progress,
    )  # fmt: skip
    explainer.save(out)
    return explainer


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedWish:
    """What a change should lead to and keep to, as it is typed.

    Parameters
    ----------
    desired
        Classes that will do, by their labels.
    desired_range
        Of a predicted number, the range that will do.
    desired_proba, max_changes, min_sparsity, max_cost, lock, where
        As `Explainer.explain` takes them.
    permit, forbid
        Texts such as `hours=20:45` and `job:clerk>manager`.
    """

    desired: Sequence[str] = ()
    desired_range: tuple[float, float] | None = None
    desired_proba: tuple[float, float] | None = None
    lock: Sequence[str] = ()
    permit: Sequence[str] = ()
    forbid: Sequence[str] = ()
    where: Sequence[str] = ()
    max_changes: int | None = None
    min_sparsity: float | None = None
    max_cost: float | None = None


def _wished(wish: TypedWish, explainer: Explainer) -> dict[str, Any]:
    """Return the arguments of `explain` that a typed wish stands for."""
    given = {name: getattr(wish, name) for name in ("desired_proba", "max_changes", "min_sparsity", "max_cost")}
    if wish.desired and wish.desired_range is not None:
        raise InputError("--desired names classes and --desired-range is of a number: give one of them")
    return given | {
        "desired": wish.desired_range or [_class_named(label, explainer.classes) for label in wish.desired] or None,
        "lock": wish.lock,
        "where": wish.where,
        "permit": parse_permits(wish.permit, explainer.schema),
        "forbid": parse_forbids(wish.forbid, explainer.schema),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedGate:
    """A privacy policy as it is typed: none of it, or what `l2c.Gate` takes, the population as a file."""

    k: int | None = None
    l: int | None = None  # noqa: E741  # its name in the literature
    t: float | None = None
    population: Path | None = None
    population_prediction: str | None = None
    k_map: int | None = None
    scope: Scope = "set"
    count: Count = "samples"
    generalise: bool = False

    def read(self, schema: Schema) -> Gate | None:
        """Return the gate, with its population, or None if nothing was typed."""
        if self == TypedGate():
            return None
        rows = None if self.population is None else frames.read_file(self.population, schema)
        given = {} if self.k is None else {"k": self.k}
        return Gate(
            **given, l=self.l, t=self.t, population=rows, k_map=self.k_map, scope=self.scope, count=self.count,
            generalise=self.generalise, population_prediction=self.population_prediction,
        )  # fmt: skip


def check_schema(path: Path, data: Path | None) -> tuple[Schema, list[str]]:
    """Return the schema in a file, and what in a file of rows does not fit it."""
    schema = settings.read_schema(path)
    if data is None:
        return schema, []
    reading = frames.read(frames.read_file(data, schema), schema)
    return schema, [problem.sentence for problem in reading.problems]


@dataclass(frozen=True, slots=True)
class TypedRequest:
    """What a command line asks of `explain`, in a file or in a stream."""

    n: int
    seed: int | None = None
    wish: TypedWish = TypedWish()
    plausibility: float | None = None
    select: Strategy | None = None
    pool: int | None = None
    tries: int | None = None
    robust_margin: float | None = None
    release: Release = "values"
    no_copies: bool | None = None
    gate: TypedGate = TypedGate()

    def arguments(self, explainer: Explainer) -> dict[str, Any]:
        """Return the arguments of `explain`, read as this explainer's schema and classes say."""
        plain = ("n", "seed", "plausibility", "select", "pool", "tries", "release", "no_copies")
        return {
            **{name: getattr(self, name) for name in plain},
            "robust": self.robust_margin,
            "gate": self.gate.read(explainer.schema),
            **_wished(self.wish, explainer),
        }


def explain_file(
    bundle: Path,
    model: str,
    data: Path,
    out: Path,
    request: TypedRequest,
    *,
    seconds: float | None,
    progress: Progress | None,
) -> Explanations:
    """Explain a file of rows from a bundle, write what was found, and return it.

    A .parquet file holds everything; a .csv file holds the long table alone.
    """
    _check_out(out)
    explainer = load(bundle, model=open_model(model))
    asked = request.arguments(explainer)
    rows = frames.read_file(data, explainer.schema)
    found = explainer.explain(rows, seconds=seconds, progress=progress, **asked)
    write_found(found, out)
    return found


def explain_stream(
    bundle: Path, model: str, data: Path, out: Path, request: TypedRequest, *, chunk: int, progress: Progress | None
) -> Streamed:
    """Explain a file of any length from a bundle, a part at a time, and return how it went."""
    if out.suffix == ".csv":
        raise InputError(f"--out {str(out)!r}: a stream writes a folder of Parquet files; give the name of one")
    explainer = load(bundle, model=open_model(model))
    return explainer.explain_stream(data, out, chunk=chunk, progress=progress, **request.arguments(explainer))


def parts_in(folder: Path) -> int:
    """Return how many parts of a stream a folder holds."""
    return sum(parts.number_of(path) is not None for path in folder.iterdir()) if folder.is_dir() else 0


def recheck_file(found: Path, model: str, out: Path | None, *, threshold: float | None = None) -> Recheck:
    """Check a found file against another version of the model, write what no longer holds, and return it."""
    if out is not None:
        _check_out(out)
    checked = recheck(found, model=open_model(model), threshold=threshold)
    if out is not None:
        checked.write(out)
    return checked


FOLDER = "; a folder is what `l2c explain --stream` writes"


def _check_out(out: Path) -> None:
    """Raise if a table cannot be written there, before any work is done for it."""
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(f"--out {str(out)!r}: expected a .parquet or .csv file{'' if out.suffix else FOLDER}")
    if not out.parent.is_dir():
        raise InputError(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}")


def shortfalls(found: Explanations, most: int) -> list[str]:
    """Return a sentence for each of the first rows that got none or too few, and how many there are beyond."""
    short = [
        outcome.sentence if outcome.status == "bad_input" and outcome.sentence else f"row {row}: {outcome.sentence}"
        for row, outcome in enumerate(found.outcomes)
        if outcome.status not in ("found", "already")
    ]
    more = len(short) - most
    return short[:most] + ([f"… and {more} more rows; the file has a sentence for each"] if more > 0 else [])


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
