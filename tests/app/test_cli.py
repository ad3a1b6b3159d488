"""The command line: what each command prints and writes, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pandas as pd
import pytest
import typer
from rich.console import Console

import l2c
from l2c.app import cli, demo, service

MODULE = """
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
import pandas as pd

rows = pd.read_csv("german_train.csv")
numbers, words = ["age", "duration", "credit_amount"], ["checking_account", "existing_credits", "housing"]
prepared = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words))
model = make_pipeline(prepared, LogisticRegression()).fit(rows.drop(columns="risk"), rows["risk"])
other = make_pipeline(prepared, LogisticRegression(C=1e-3)).fit(rows.drop(columns="risk"), rows["risk"])
"""
MODEL = "cli_credit:model"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the German files, a model beside them, and a bundle made from both."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "cli_credit.py").write_text(MODULE)
    service.export_dataset("german", folder)
    pd.read_csv(folder / "german_train.csv")[:60].to_csv(folder / "few.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        paths = Path("few.csv"), Path("german_schema.toml"), MODEL, Path("bundle")
        service.fit_bundle(*paths, preset="default", seed=0, progress=None)
        yield folder
    sys.modules.pop("cli_credit", None)


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Return a function that runs a command line in the folder, as the shell would."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["l2c", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return Ended(ended.value.code or 0, printed.out, printed.err)

    return run


def commands(command, path=()):
    """Yield every command with the words that call it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


EVERY = [path for path, _ in commands(typer.main.get_command(cli.cli))]


# Help


def test_the_commands_are_these():
    assert [" ".join(path) for path in EVERY] == [
        "", "demo", "fit", "explain", "audit", "recheck", "schema", "schema infer", "schema check", "datasets",
        "datasets list", "datasets export",
    ]  # fmt: skip


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_explains_itself(run, path):
    ended = run(*path, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "Usage: " + " ".join(["l2c", *path]) in ended.out


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_option_and_argument_of_a_command_has_words(path):
    command = dict(commands(typer.main.get_command(cli.cli)))[path]
    assert command.help
    assert [parameter.name for parameter in command.params if not getattr(parameter, "help", None)] == []


def test_the_shell_can_complete_commands(run, monkeypatch):
    assert "--install-completion" in run("--help").out
    monkeypatch.setenv("_L2C_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "l2c datasets ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run().out.split() == ["list", "export"]


# Usage errors


@pytest.mark.parametrize(
    "words",
    [
        ["fly"],
        ["fit"],
        ["explain", "--bundle", "bundle"],
        ["datasets", "export"],
        ["demo", "-n", "0"],
        ["demo", "--seed", "-1"],
        ["demo", "-n", "many"],
        ["fit", "--data", "a", "--schema", "b", "--model", "c:d", "--out", "e", "--preset", "ours"],
    ],
    ids=" ".join,
)
def test_a_command_that_is_not_one_ends_with_code_2_and_writes_nothing(run, words, folder):
    before = sorted(folder.iterdir())
    ended = run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "Usage: l2c" in ended.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("words", [[], ["schema"], ["datasets"]], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(run, words):
    ended = run(*words)
    assert "Usage: l2c" in ended.out + ended.err
    assert ended.code in (0, 2)


# Schemas and data sets


def test_schema_infer_writes_the_schema_and_shows_it(run, tmp_path):
    words = ["schema", "infer", "--data", "german_train.csv", "--target", "risk", "--bins", 3]
    roles = [
        "--immutable",
        "purpose",
        "--immutable",
        "job",
        "--rises",
        "age",
        "--quasi",
        "age",
        "--sensitive",
        "housing",
    ]
    ended = run(*words, *roles, "--out", tmp_path / "schema.toml")
    assert (ended.code, ended.err) == (0, "")
    lines = {
        line.split("│")[1].strip(): [cell.strip() for cell in line.split("│")[2:-1]]
        for line in ended.out.splitlines()
        if "│" in line
    }
    assert lines["age"] == ["numeric", "bins", "rises", "quasi"]
    assert lines["purpose"] == ["categorical", "10", "never", "plain"]
    assert lines["housing"] == ["categorical", "3", "both", "sensitive"]
    schema = l2c.read_schema(tmp_path / "schema.toml")
    assert (schema.target, schema["job"].moves, schema["age"].binning.at_most) == ("risk", "never", 3)
    as_json = run(*words, *roles, "--json", "--out", tmp_path / "again.toml")
    assert l2c.Schema.from_dict(as_json.json) == schema == l2c.read_schema(tmp_path / "again.toml")


def test_datasets_list_names_every_set_with_licence_and_citation(run):
    ended = run("datasets", "list")
    assert (ended.code, ended.err) == (0, "")
    described = run("datasets", "list", "--json").json
    assert [one["name"] for one in described] == list(l2c.datasets.names())
    for one in described:
        assert one["name"] in ended.out
        assert one["licence"]
        assert one["citation"]
    german = described[0]
    assert (german["train"], german["test"], german["features"]) == (800, 200, 20)
    assert "36,177 / 9,045" in ended.out


def test_datasets_export_prints_the_files_it_wrote_one_a_line(run, tmp_path):
    deep = tmp_path / ("a long name of a folder " * 4) / "[b]"
    ended = run("datasets", "export", "admission", "--out", deep)
    assert (ended.code, ended.err) == (0, "")
    files = [Path(line) for line in ended.out.splitlines()]
    assert [path.name for path in files] == ["admission_train.csv", "admission_test.csv", "admission_schema.toml"]
    assert all(path.parent == deep and path.is_file() for path in files)


# Fit and explain


def test_fit_writes_a_bundle_and_says_how_training_went(run, tmp_path):
    words = ["fit", "--data", "few.csv", "--schema", "german_schema.toml", "--model", MODEL]
    ended = run(*words, "--out", tmp_path / "bundle")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{tmp_path / 'bundle'}: ")
    assert "; proposals are tilted until 85% of them should be valid" in ended.out
    as_json = run(*words, "--seed", 5, "--model-rows", 70, "--json", "--out", tmp_path / "other").json
    assert (as_json["bundle"], as_json["seed"]) == (str(tmp_path / "other"), 5)
    assert json.loads((tmp_path / "other" / "manifest.json").read_text())["recipe"]["model_rows"] == 70


def test_explain_writes_everything_as_parquet_and_the_long_table_as_csv(run, tmp_path):
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", "german_test.csv", "-n", 4]
    ended = run(*words, "--out", tmp_path / "found.parquet")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [f"{tmp_path / 'found.parquet'}: 800 counterfactuals", "  200 rows found"]
    run(*words, "--out", tmp_path / "found.csv")
    found, table = l2c.read(tmp_path / "found.parquet"), pd.read_csv(tmp_path / "found.csv")
    pd.testing.assert_frame_equal(table, found.to_frame())
    rows = pd.read_csv("german_test.csv")
    assert set(table["prediction"]) == {"good", "bad"}
    judge = sys.modules["cli_credit"].model
    assert (judge.predict(table[rows.columns.drop("risk")]) == table["prediction"]).all()


def test_explain_streams_a_file_to_a_folder_and_goes_on_with_it(run, tmp_path):
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", "german_test.csv", "-n", 2]
    streamed = [*words, "--stream", "--chunk", 120, "--out", tmp_path / "parts.parquet"]
    folder = tmp_path / "parts.parquet"
    assert run(*streamed).out.splitlines() == [
        f"{folder}: 400 counterfactuals for 200 rows in 2 parts", "  200 rows found",
    ]  # fmt: skip
    again = run(*streamed, "--json").json
    assert (again["folder"], again["rows"], again["parts"], again["parts_before"]) == (str(folder), 200, 2, 2)
    assert "in 2 parts, 2 of them from before" in run(*streamed).out
    run(*words, "--out", tmp_path / "whole.parquet")
    pd.testing.assert_frame_equal(l2c.read(folder).to_frame(), l2c.read(tmp_path / "whole.parquet").to_frame())
    table = run(*words, "--stream", "--out", tmp_path / "found.csv")
    assert table.code == 1
    assert "a stream writes a folder of Parquet files" in table.err
    ended = run(*streamed, "--seconds", 3)
    assert ended.code == 1
    assert "--seconds is not for a stream" in ended.err
    in_vain = run(*words, "--chunk", 120, "--out", tmp_path / "whole.parquet")
    assert in_vain.code == 1
    assert "--chunk is how many rows of a stream to explain at once: it says nothing without --stream" in in_vain.err


def test_a_stream_that_is_ended_tells_what_it_leaves_and_one_with_bad_rows_where_they_are_told(run, tmp_path):
    rows = pd.read_csv("german_test.csv")[:30]
    rows.loc[25, "housing"] = "castle"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.assign(age=["old" if row == 25 else age for row, age in enumerate(rows["age"])]).to_csv(
        tmp_path / "worse.csv", index=False
    )
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "-n", 2, "--stream", "--chunk", 10]
    ended = run(*words, "--data", tmp_path / "worse.csv", "--out", tmp_path / "found")
    assert ended.code == 1
    kept, problem = (" ".join(part.split()) for part in ended.err.split("l2c: "))
    assert kept.endswith(f"what was done is kept: 2 parts in {tmp_path / 'found'}; the same call goes on with them")
    assert "column 'age', row 25: 'old' is not a number" in problem
    done = run(*words, "--data", tmp_path / "rows.csv", "--out", tmp_path / "found").out.splitlines()
    assert done == [
        f"{tmp_path / 'found'}: 58 counterfactuals for 30 rows in 3 parts, 2 of them from before",
        "  29 rows found",
        "  1 rows bad_input",
        "  why, stands in the column sentence of each row's first line (rank 0)",
    ]


def test_explain_from_a_file_of_one_row_reads_levels_as_the_schema_has_them(run, folder, tmp_path):
    rows = (folder / "german_test.csv").read_text().splitlines()
    one = next(line for line in rows[1:] if next(csv.reader([line]))[15] == "1")
    (tmp_path / "one.csv").write_text(f"{rows[0]}\n{one}\n")
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", tmp_path / "one.csv", "-n", 4]
    ended = run(*words, "--out", tmp_path / "found.csv")
    assert ended.out.splitlines()[1:] == ["  1 rows found"]


def test_explain_as_json_gives_outcomes_scores_and_notes(run, tmp_path):
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", "german_test.csv", "-n", 3, "--seed", 7]
    ended = run(*words, "--json", "--out", tmp_path / "found.parquet")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["found"] == str(tmp_path / "found.parquet")
    assert (ended.json["counterfactuals"], ended.json["outcomes"]) == (600, {"found": 200})
    assert (ended.json["scores"]["validity"], ended.json["notes"]["seed"]) == (1.0, 7)


def test_explain_towards_a_named_class_within_tries_and_seconds(run, tmp_path):
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", "german_test.csv", "-n", 3]
    wanted = run(*words, "--desired", "good", "--tries", 500, "--seconds", 60, "--out", tmp_path / "found.csv")
    judge = sys.modules["cli_credit"].model
    good = int((judge.predict(pd.read_csv("german_test.csv").drop(columns="risk")) == "good").sum())
    assert f"  {good} rows already" in wanted.out.splitlines()
    assert set(pd.read_csv(tmp_path / "found.csv")["prediction"]) == {"good"}
    short = run(*words, "--tries", 1, "--json", "--out", tmp_path / "found.csv")
    assert short.json["outcomes"].keys() <= {"partial", "none_valid"}


def test_a_gate_is_typed_and_kept_and_what_it_leaves_holds(run, tmp_path):
    pd.read_csv("german_test.csv")[:8].to_csv(tmp_path / "rows.csv", index=False)
    words = [
        "explain",
        "--bundle",
        "bundle",
        "--model",
        MODEL,
        "--data",
        tmp_path / "rows.csv",
        "-n",
        6,
        "--select",
        "first",
    ]
    gate = ["--k", 3, "--l", 2, "--t", 0.9, "--population", "german_test.csv", "--k-map", 2]
    ended = run(*words, *gate, "--json", "--out", tmp_path / "found.parquet")
    told = {
        "k": 3,
        "l": 2,
        "t": 0.9,
        "k_map": 2,
        "scope": "set",
        "count": "samples",
        "generalise": False,
        "population": 200,
    }
    assert ended.json["notes"]["gate"] == told
    policy = ["--population", "german_test.csv", "--require", "k=3,l=2,t=0.9,k_map=2"]
    assert run("audit", tmp_path / "found.parquet", *policy).code == 0
    release = ["--k", 9, "--scope", "release", "--count", "people", "--generalise"]
    few = run(*words, *release[:-1], "--out", tmp_path / "few.csv")
    assert "  8 rows withheld" in few.out.splitlines()
    assert "only" in few.out
    people = run(*words, "--k", 8, *release[2:], "--out", tmp_path / "coarse.csv")
    assert people.code == 0
    assert set(pd.read_csv(tmp_path / "coarse.csv")["property"]) == {"any"}


def test_what_cf_k_leaves_is_audited_and_what_it_costs_is_told(run, tmp_path):
    pd.read_csv("german_test.csv")[:5].to_csv(tmp_path / "rows.csv", index=False)
    out = tmp_path / "found.parquet"
    run("explain", "--bundle", "bundle", "--model", MODEL, "--data", tmp_path / "rows.csv", "-n", 40, "--out", out)
    raw, left = run("audit", out, "--require", "k=2"), run("audit", out, "--require", "k=2", "--cf-k", 2)
    assert (raw.code, left.code) == (2, 0)
    first = left.out.splitlines()[0]
    count = l2c.read(out).anonymise(2)
    assert first.startswith(
        f"2-anonymised by removal: {len(count)} of 200 counterfactuals are left; validity 100.00 % to"
    )
    told = run("audit", out, "--cf-k", 2, "--json").json["cf_k"]
    assert (told["before"], told["left"], told["validity"]) == (200, len(count), count.scores().validity)
    l2c.read(out).to_frame().to_csv(tmp_path / "table.csv", index=False)
    words = [
        "audit",
        tmp_path / "table.csv",
        "--schema",
        "german_schema.toml",
        "--train",
        "german_train.csv",
        "--cf-k",
        2,
    ]
    as_table = run(*words, "--json").json["cf_k"]
    assert as_table["before"] == 200
    assert 0 < as_table["left"] < 200
    # Of a table that nobody judged it is not known what is valid.
    assert (as_table["validity_before"], as_table["validity"]) == (None, None)
    assert as_table["share"] == as_table["left"] / 200  # five sets of forty each
    assert run(*words).out.splitlines()[0].endswith(f"are left, {100 * as_table['share']:.2f} % of a set")


def test_bad_rows_are_listed_and_the_others_explained(run, tmp_path):
    rows = pd.read_csv("german_test.csv")[:4]
    rows.loc[2, "housing"] = "[bold]castle"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", tmp_path / "rows.csv", "-n", 2]
    ended = run(*words, "--out", tmp_path / "found.csv")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"{tmp_path / 'found.csv'}: 6 counterfactuals",
        "  3 rows found",
        "  1 rows bad_input",
        "  column 'housing', row 2: '[bold]castle' is not a known level; known are 'rent', 'own', 'for free'",
    ]
    assert set(pd.read_csv(tmp_path / "found.csv")["row"]) == {0, 1, 3}


# Refusals


EXPLAIN = {"--bundle": "bundle", "--model": MODEL, "--data": "german_test.csv", "-n": "3", "--out": "new.csv"}
FIT = {"--data": "few.csv", "--schema": "german_schema.toml", "--model": MODEL, "--out": "new"}
INFER = {"--data": "german_train.csv", "--out": "new.toml"}


@pytest.mark.parametrize(
    ("command", "changes", "sentence"),
    [
        (
            "explain",
            {"--model": "model.pkl"},
            "--model 'model.pkl': a pickle is never loaded, for it can run any code; "
            "name a Python object instead, as package.module:object",
        ),
        (
            "fit",
            {"--model": "cli_credit"},
            "--model 'cli_credit': expected package.module:object, a URL, or a file that ends in "
            ".onnx, .json, .ubj, .txt or .cbm",
        ),
        ("fit", {"--model": "nowhere:model"}, "--model 'nowhere:model': No module named 'nowhere'"),
        (
            "explain",
            {"--model": "cli_credit:modle"},
            "--model 'cli_credit:modle': there is no 'modle' in it; did you mean 'model'?",
        ),
        (
            "explain",
            {"--model": "cli_credit:other"},
            "bundle was made with another model: this one answers its probe rows differently",
        ),
        ("explain", {"--desired": "god"}, "--desired 'god' is no class of the model: bad, good; did you mean 'good'?"),
        ("explain", {"-n": "0"}, "n must be at least 1, not 0"),
        (
            "explain",
            {"-n": "0", "--tries": "0"},
            "2 problems:\n  - n must be at least 1, not 0\n  - tries must be at least 1, not 0",
        ),
        ("explain", {"--out": "new.xlsx"}, "--out 'new.xlsx': expected a .parquet or .csv file"),
        ("explain", {"--out": "no/new.csv"}, "--out 'no/new.csv': there is no folder 'no'"),
        (
            "explain",
            {"--data": "german_tests.csv"},
            "there is no file 'german_tests.csv'; did you mean 'german_test.csv'?",
        ),
        ("explain", {"--data": "cli_credit.py"}, "file 'cli_credit.py': the name must end in .csv or .parquet"),
        (
            "explain",
            {"--bundle": "nothing"},
            "nothing/manifest.json cannot be read (No such file or directory); is its folder a whole bundle?",
        ),
        (
            "fit",
            {"--schema": "no.toml"},
            "no.toml: the file cannot be read: [Errno 2] No such file or directory: 'no.toml'",
        ),
        ("fit", {"--out": "cli_credit.py"}, "cli_credit.py exists and is no bundle; choose another folder"),
        ("schema infer", {"--target": "risc"}, "the target 'risc' is not a column; did you mean 'risk'?"),
        ("schema infer", {"--out": "no/new.toml"}, "there is no folder 'no' to write 'new.toml' to"),
        ("datasets export", {"germany": "--out=new"}, "there is no data set 'germany'; did you mean 'german'?"),
        ("datasets export", {"german": "--out=cli_credit.py"}, "cli_credit.py: File exists"),
        ("demo", {"--person": "200", "--out": "new"}, "--person 200: there are applicants 0 to 199"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence_and_nothing_is_written(run, folder, command, changes, sentence):
    settings = {"explain": EXPLAIN, "fit": FIT, "schema infer": INFER}.get(command, {}) | changes
    before = {path: path.stat().st_mtime_ns for path in sorted(folder.iterdir())}
    ended = run(*command.split(), *(word for pair in settings.items() for word in pair))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"l2c: {sentence}\n"
    assert {path: path.stat().st_mtime_ns for path in sorted(folder.iterdir())} == before


# The demonstration


@pytest.fixture
def _quick_demo(monkeypatch):
    """Let the demonstration learn for a moment only."""
    monkeypatch.setattr(demo, "L2C", lambda: l2c.L2C(epochs=3, hidden=8, select="first"))


@pytest.mark.usefixtures("_quick_demo")
def test_demo_prints_its_tables_and_writes_its_files(run, tmp_path):
    ended = run("demo", "-n", 5, "--out", tmp_path / "demo")
    assert (ended.code, ended.err) == (0, "")
    assert "now: bad" in ended.out
    assert "46.39 %" in ended.out
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["found.csv", "found.parquet"]


@pytest.mark.usefixtures("_quick_demo")
def test_demo_as_json_gives_the_figures(run, tmp_path):
    ended = run("demo", "-n", 5, "--json", "--out", tmp_path / "demo")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["scores"]["validity"] == 1.0
    assert ended.json["paper"]["harmonic_mean"] == 46.39
    assert ended.json["files"] == [str(tmp_path / "demo" / name) for name in ("found.parquet", "found.csv")]


# Progress


@pytest.mark.usefixtures("_quick_demo")
def test_on_a_terminal_there_is_a_bar_for_each_part_of_the_work(run, monkeypatch, tmp_path):
    screen = io.StringIO()
    monkeypatch.setattr(cli, "err_console", Console(file=screen, force_terminal=True, width=100))
    ended = run("demo", "-n", 2, "--out", tmp_path / "demo")
    assert ended.code == 0
    drawn = click.unstyle(screen.getvalue())
    assert "learning" in drawn
    assert "1/1" in drawn  # the model is a sum over the features: what each level adds is known at once
    assert "explaining" in drawn
    assert "200/200" in drawn
    assert "\x1b" in screen.getvalue()
    assert "\x1b" not in ended.out


def test_json_is_not_disturbed_by_bars_even_on_a_terminal(run, monkeypatch, tmp_path):
    screen = io.StringIO()
    monkeypatch.setattr(cli, "err_console", Console(file=screen, force_terminal=True, width=100))
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", "german_test.csv", "-n", 2, "--json"]
    assert run(*words, "--out", tmp_path / "found.csv").json["counterfactuals"] == 400
    assert screen.getvalue() == ""


def test_in_a_pipe_the_installed_command_is_silent_but_for_its_answer(folder, tmp_path):
    script = Path(sys.executable).with_name("l2c")
    rows = pd.read_csv(folder / "german_test.csv")[:5]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ["explain", "--bundle", "bundle", "--model", MODEL, "--data", tmp_path / "rows.csv", "-n", "2"]
    ended = subprocess.run(
        [script, *words, "--out", tmp_path / "found.csv"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{tmp_path / 'found.csv'}: 10 counterfactuals\n  5 rows found\n"
    wrong = subprocess.run(
        [script, *words, "--out", "no/found.csv"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == "l2c: --out 'no/found.csv': there is no folder 'no'\n"


def test_intervals_and_copies_on_the_command_line(run, folder, tmp_path):
    l2c.write_schema(l2c.datasets.load("german").domain_schema, tmp_path / "public.toml")
    bundle, out = tmp_path / "bundle", tmp_path / "found.csv"
    fitted = run("fit", "--data", "few.csv", "--schema", tmp_path / "public.toml", "--model", MODEL, "--out", bundle,
                 "--preset", "paper", "--release", "intervals")  # fmt: skip
    assert fitted.code == 0
    asked = ("explain", "--bundle", bundle, "--model", MODEL, "--data", "one.csv", "-n", 2, "--out", out)
    pd.read_csv(folder / "few.csv")[:1].to_csv(folder / "one.csv", index=False)
    ended = run(*asked, "--release", "intervals", "--json")
    assert ended.json["notes"]["release"] == "intervals"
    assert ended.json["notes"]["no_copies"] is True
    assert set(pd.read_csv(out)["duration"]) <= {"up to 12", "(12, 24]", "over 24"}
    assert run(*asked, "--release", "intervals", "--copies", "--json").json["notes"].get("no_copies") is None
    assert run(*asked, "--no-copies", "--json").json["notes"]["no_copies"] is True
    refused = run(*asked, "--release", "intervals", "--seed", 0)
    assert refused.code == 1
    assert "leave it out" in refused.err
