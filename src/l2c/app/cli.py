"""The command line: `l2c demo`, `schema`, `fit`, `explain`, `recheck`, `audit`, `datasets`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from l2c.adapters import datasets
from l2c.app import demo as demonstration
from l2c.app import service
from l2c.app.audit import audit_file
from l2c.app.explanations import Explanations
from l2c.app.progress import Progress as Report
from l2c.app.streams import CHUNK, Streamed
from l2c.core.explanation import Release
from l2c.engine.recipe import Strategy
from l2c.errors import InputError, L2CError
from l2c.evaluate.requirement import parse_requirement
from l2c.release.policy import Count, Scope

cli = typer.Typer(
    help="Counterfactual explanations: what could be different, so that the answer changes?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
schema_cli = typer.Typer(help="Describe the features of a table.", no_args_is_help=True)
datasets_cli = typer.Typer(help="The embedded data sets.", no_args_is_help=True)
cli.add_typer(schema_cli, name="schema")
cli.add_typer(datasets_cli, name="datasets")

TOLD_ROWS = 10
"""How many rows that got too few are told one by one."""

PIPE_WIDTH = 140
"""Columns of a table when no terminal says how many there are."""

err_console = Console(stderr=True)
out_console = Console(width=None if Console().is_terminal else PIPE_WIDTH, markup=False, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Data = Annotated[Path, typer.Option("--data", help="Rows, as .csv or .parquet.")]
Model = Annotated[
    str, typer.Option("--model", help="package.module:object, a file (.onnx .json .ubj .txt .cbm), or a URL.")
]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="Decide for the second of two classes above this probability.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides every random choice.")]
Names = Annotated[list[str] | None, typer.Option(help="A feature's name; may be given several times.")]


def main() -> None:
    """Run the command line; a problem is told in a sentence, and the exit code is 1."""
    try:
        cli(prog_name="l2c")
    except L2CError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _refuse(sentence: str) -> NoReturn:
    err_console.print("[bold red]l2c:[/]", end=" ")
    err_console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    raise SystemExit(1)


@cli.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder for the found set.")] = Path("demo"),
    person: Annotated[int | None, typer.Option(help="The test applicant to show; by default a refused one.")] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Counterfactuals for each applicant.")] = 100,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Explain the German Credit applicants, end to end."""
    with _progress("learning", "explaining", quiet=as_json) as (learning, explaining):
        shown = demonstration.run(out, n=n, seed=seed, person=person, learning=learning, explaining=explaining)
    if as_json:
        _print_json(shown.to_dict())
    else:
        for part in demonstration.tables(shown):
            out_console.print(part)


@schema_cli.command("infer")
def schema_infer(
    data: Data,
    out: Annotated[Path, typer.Option(help="Where to write the schema, as TOML.")],
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    immutable: Names = None,
    rises: Names = None,
    falls: Names = None,
    quasi: Names = None,
    sensitive: Names = None,
    bins: Annotated[int, typer.Option(help="The most bins of a number.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Write a first schema for a table; look at it, and edit what it could not know."""
    schema = service.infer_schema(
        data, out, target=target, immutable=immutable or (), rises=rises or (), falls=falls or (),
        quasi=quasi or (), sensitive=sensitive or (), bins=bins,
    )  # fmt: skip
    if as_json:
        _print_json(schema.to_dict())
        return
    table = Table("feature", "kind", "levels", "moves", "role", title=f"{out}", title_justify="left")
    for feature in schema.features:
        levels = "bins" if feature.numeric else str(len(feature.levels))
        table.add_row(feature.title, feature.kind, levels, feature.moves, feature.role)
    out_console.print(table)


@schema_cli.command("check")
def schema_check(
    schema: Annotated[Path, typer.Argument(help="The schema, as TOML.")],
    data: Annotated[Path | None, typer.Option(help="Rows to hold against it, as .csv or .parquet.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read a schema back in plain sentences; the exit code is 1 if it, or a row, does not hold together."""
    described, problems = service.check_schema(schema, data)
    if as_json:
        _print_json({"schema": str(schema), "sentences": described.sentences(), "problems": problems})
    else:
        _say(
            f"{schema}: {len(described.features)} features" + (f", target {described.target}" * bool(described.target))
        )
        for sentence in described.sentences():
            _say(f"  {sentence}")
        for problem in problems:
            _say(f"  {problem}")
    if problems:
        raise SystemExit(1)


@cli.command()
def fit(
    data: Data,
    schema: Annotated[Path, typer.Option(help="The schema, as TOML.")],
    model: Model,
    out: Annotated[Path, typer.Option(help="The folder for the bundle.")],
    threshold: Threshold = None,
    desired_range: Annotated[
        tuple[float, float] | None, typer.Option(help="Of a predicted number: the range to reach; inf is an open end.")
    ] = None,
    preset: Annotated[
        service.Preset, typer.Option(help="The settings: ours, or those of the paper's text.")
    ] = "default",
    model_rows: Annotated[
        int | None,
        typer.Option(min=0, help="The most rows that a model without gradient is asked about to be learned from."),
    ] = None,
    release: Annotated[
        Release, typer.Option(help="Learn for interval releases, from nothing but public intervals.")
    ] = "values",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Learn an explainer for a model, and save it as a bundle."""
    with _progress("learning", quiet=as_json) as (report,):
        explainer = service.fit_bundle(
            data, schema, model, out, preset=preset, seed=seed, threshold=threshold, desired=desired_range,
            model_rows=model_rows, release=release, progress=report,
        )  # fmt: skip
    if as_json:
        _print_json({"bundle": str(out), **explainer.bundle.notes})
    else:
        _say(f"{out}: {explainer.training}")


@cli.command()
def explain(
    bundle: Annotated[Path, typer.Option(help="The bundle that `l2c fit` wrote.")],
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="found.parquet (everything) or found.csv (the long table).")],
    n: Annotated[int, typer.Option("-n", help="Counterfactuals for each row.")] = 100,
    desired: Annotated[
        list[str] | None, typer.Option(help="A class that will do; by default any other than a row has.")
    ] = None,
    desired_range: Annotated[
        tuple[float, float] | None, typer.Option(help="Of a predicted number: another range than the bundle's.")
    ] = None,
    desired_proba: Annotated[
        tuple[float, float] | None, typer.Option(help="The range of its probability, instead of the decision.")
    ] = None,
    lock: Annotated[list[str] | None, typer.Option(help="A feature that must stay as it is.")] = None,
    permit: Annotated[
        list[str] | None, typer.Option(help="What a feature may become: hours=20:45, or job=clerk,nurse.")
    ] = None,
    forbid: Annotated[list[str] | None, typer.Option(help="A transition: job:clerk>manager; * is any level.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="A condition, such as 'savings >= was.savings and hours <= 45'.")
    ] = None,
    max_changes: Annotated[int | None, typer.Option(help="The most features that change.")] = None,
    min_sparsity: Annotated[float | None, typer.Option(help="The least share of features that stay.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="The most that a change may cost.")] = None,
    plausibility: Annotated[float | None, typer.Option(help="From 0 (diverse) to 1 (plausible).")] = None,
    select: Annotated[Strategy | None, typer.Option(help="How a set is chosen.")] = None,
    pool: Annotated[int | None, typer.Option(help="Valid ones to choose a set from.")] = None,
    tries: Annotated[int | None, typer.Option(help="The most proposals for one row.")] = None,
    seconds: Annotated[float | None, typer.Option(help="The most time in all.")] = None,
    robust_margin: Annotated[
        float | None, typer.Option(help="How far beyond the decision the probability must be, such as 0.1.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="A file of any length: --out is a folder of parts, gone on with if ended.")
    ] = False,
    chunk: Annotated[
        int | None, typer.Option(min=1, help=f"With --stream, how many rows to explain at once: {CHUNK}.")
    ] = None,
    release: Annotated[
        Release, typer.Option(help="Tell numbers as values, or as intervals over public edges.")
    ] = "values",
    no_copies: Annotated[
        bool | None,
        typer.Option(
            "--no-copies/--copies", help="Hold back what equals a training row by level; intervals do so by default."
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(help="The least size of a class that is released: a gate.")] = None,
    l: Annotated[  # noqa: E741
        int | None, typer.Option("--l", help="The gate's least number of values of every sensitive feature in a class.")
    ] = None,
    t: Annotated[float | None, typer.Option(help="The most that a class may differ from its set or release.")] = None,
    population: Annotated[Path | None, typer.Option(help="Rows that an attacker may hold, for --k-map.")] = None,
    population_prediction: Annotated[
        str | None, typer.Option(help="Their column with the model's answers, if they have one.")
    ] = None,
    k_map: Annotated[int | None, typer.Option(help="The least of them that a class matches, if any.")] = None,
    scope: Annotated[Scope, typer.Option(help="Where the gate holds: in every set, or in the release.")] = "set",
    count: Annotated[Count, typer.Option(help="What the gate's k counts.")] = "samples",
    generalise: Annotated[
        bool, typer.Option("--generalise", help="Tell in coarser levels what would be withheld.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Decides the draws, by default 0; not for intervals.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find counterfactuals for every row of a file."""
    gate = service.TypedGate(
        k=k, l=l, t=t, population=population, population_prediction=population_prediction, k_map=k_map, scope=scope,
        count=count, generalise=generalise,
    )  # fmt: skip
    wish = service.TypedWish(
        desired=desired or (), desired_range=desired_range, desired_proba=desired_proba, lock=lock or (),
        permit=permit or (), forbid=forbid or (), where=where or (), max_changes=max_changes,
        min_sparsity=min_sparsity, max_cost=max_cost,
    )  # fmt: skip
    request = service.TypedRequest(
        n=n, seed=seed, wish=wish, plausibility=plausibility, select=select, pool=pool, tries=tries,
        robust_margin=robust_margin, release=release, no_copies=no_copies, gate=gate,
    )  # fmt: skip
    if stream:
        if seconds is not None:
            raise InputError(
                "--seconds is not for a stream, which may be ended at any time and goes on where it stopped"
            )
        with _told_what_is_kept(out), _progress("explaining", quiet=as_json) as (report,):
            streamed = service.explain_stream(bundle, model, data, out, request, chunk=chunk or CHUNK, progress=report)
        _tell_streamed(streamed, as_json=as_json)
        return
    if chunk is not None:
        raise InputError("--chunk is how many rows of a stream to explain at once: it says nothing without --stream")
    with _progress("explaining", quiet=as_json) as (report,):
        found = service.explain_file(bundle, model, data, out, request, seconds=seconds, progress=report)
    if as_json:
        _print_json({"found": str(out), **_summary(found)})
        return
    _say(f"{out}: {len(found)} counterfactuals")
    for status, rows in service.status_counts(found).items():
        _say(f"  {rows} rows {status}")
    for sentence in service.shortfalls(found, TOLD_ROWS):
        _say(f"  {sentence}")


def _tell_streamed(streamed: Streamed, *, as_json: bool) -> None:
    if as_json:
        _print_json({**asdict(streamed), "folder": str(streamed.folder)})
        return
    parts = f"{streamed.parts} part{'s' * (streamed.parts != 1)}" + (
        f", {streamed.parts_before} of them from before" * bool(streamed.parts_before)
    )
    _say(f"{streamed.folder}: {streamed.counterfactuals} counterfactuals for {streamed.rows} rows in {parts}")
    for status, count in streamed.outcomes.items():
        _say(f"  {count} rows {status}")
    if set(streamed.outcomes) - {"found", "already"}:
        _say("  why, stands in the column sentence of each row's first line (rank 0)")


@contextmanager
def _told_what_is_kept(folder: Path) -> Iterator[None]:
    """Tell what a stream that does not come to its end leaves, and how to go on."""
    before = service.parts_in(folder)
    try:
        yield
    except BaseException:
        parts = service.parts_in(folder)
        if parts > before:
            kept = (
                f"what was done is kept: {parts} part{'s' * (parts != 1)} in {folder}; the same call goes on with them"
            )
            err_console.print(kept, markup=False, highlight=False, soft_wrap=True)
        raise


@cli.command()
def audit(
    found: Annotated[
        Path, typer.Argument(help="A found file, a stream's folder, or with --schema any table of counterfactuals.")
    ],
    population: Annotated[Path | None, typer.Option(help="Rows that an attacker may hold.")] = None,
    population_prediction: Annotated[
        str | None, typer.Option(help="Their column with the model's answers, if they have one.")
    ] = None,
    train: Annotated[Path | None, typer.Option(help="Training rows, to count copies of them.")] = None,
    schema: Annotated[Path | None, typer.Option(help="The schema of another tool's table, as TOML.")] = None,
    row: Annotated[str | None, typer.Option(help="Its column that says whose counterfactual it is.")] = None,
    prediction: Annotated[str | None, typer.Option(help="Its column with the model's answers.")] = None,
    at_risk: Annotated[int, typer.Option(min=0, help="How many of the smallest classes to list.")] = 10,
    cf_k: Annotated[
        int | None, typer.Option(min=1, help="Audit what is left once classes of fewer than this are removed (CF-K).")
    ] = None,
    require: Annotated[
        str | None, typer.Option(help="A policy, such as k=5,l=2; the exit code is 2 if it does not hold.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report: a .html page or .json.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a release tells of people, and check it against a policy."""
    policy = None if require is None else parse_requirement(require)
    report = audit_file(
        found, schema=schema, row=row, prediction=prediction, population=population,
        population_prediction=population_prediction, training=train, at_risk=at_risk, cf_k=cf_k,
    )  # fmt: skip
    broken = [] if policy is None else report.violations(policy)
    if out is not None:
        report.write(out, require)
    if as_json:
        _print_json({**report.to_dict(), "violations": broken})
    else:
        if report.removed is not None:
            _say(report.removed.sentence)
        for table in report.tables():
            out_console.print(table)
        for sentence in broken:
            _say(f"not met: {sentence}")
    if broken:
        raise SystemExit(2)


@cli.command()
def recheck(
    found: Annotated[Path, typer.Argument(help="A found file, or a stream's folder, as `l2c explain` wrote it.")],
    model: Model,
    threshold: Threshold = None,
    out: Annotated[Path | None, typer.Option(help="Write those that no longer hold: lost.csv or .parquet.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which counterfactuals no longer hold under a new version of the model; the exit code is then 2."""
    checked = service.recheck_file(found, model, out, threshold=threshold)
    if as_json:
        _print_json(checked.to_dict())
    else:
        _say(f"{found}: {checked.sentence}")
        affected = checked.affected
        for person in affected[:TOLD_ROWS]:
            _say(f"  {person.sentence}")
        if len(affected) > TOLD_ROWS:
            _say(f"  … and {len(affected) - TOLD_ROWS} more; --json lists them all")
    if not checked.all_hold:
        raise SystemExit(2)


@datasets_cli.command("list")
def datasets_list(as_json: AsJson = False) -> None:
    """List the embedded data sets, with citation and licence."""
    loaded = [datasets.load(name) for name in datasets.names()]
    if as_json:
        _print_json([_described(data) for data in loaded])
        return
    table = Table("name", "what", "train / test rows", "features", "licence", "cite")
    for data in loaded:
        sizes = f"{len(data.train):,} / {len(data.test):,}"
        table.add_row(data.name, data.title, sizes, str(len(data.schema.features)), data.licence, data.citation)
    out_console.print(table)


@datasets_cli.command("export")
def datasets_export(
    name: Annotated[str, typer.Argument(help="One of `l2c datasets list`.")],
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path(),
) -> None:
    """Write a data set as CSV files, with its schema."""
    files = service.export_dataset(name, out)
    for path in (files.train, files.test, files.schema):
        _say(str(path))


@contextmanager
def _progress(*verbs: str, quiet: bool) -> Iterator[list[Report | None]]:
    """Give for each verb a report that draws a bar with the time left, on a terminal; in a pipe there is none."""
    if quiet or not err_console.is_terminal:
        yield [None for _ in verbs]
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err_console, transient=True) as bars:
        yield [_bar(bars, verb) for verb in verbs]


def _bar(bars: Progress, verb: str) -> Report:
    task = bars.add_task(verb, total=None, visible=False)

    def report(done: int, total: int) -> None:
        bars.update(task, completed=done, total=total, visible=True)

    return report


def _summary(found: Explanations) -> dict[str, Any]:
    return {
        "counterfactuals": len(found),
        "outcomes": service.status_counts(found),
        "scores": found.scores().to_dict(),
        "notes": dict(found.notes),
    }


def _described(data: datasets.Dataset) -> dict[str, Any]:
    return {
        "name": data.name,
        "title": data.title,
        "train": len(data.train),
        "test": len(data.test),
        "features": len(data.schema.features),
        "licence": data.licence,
        "citation": data.citation,
    }


def _say(sentence: str) -> None:
    out_console.print(sentence, soft_wrap=True)  # a path that is broken in two is no path


def _print_json(data: object) -> None:
    typer.echo(json.dumps(data, indent=1, ensure_ascii=False))
