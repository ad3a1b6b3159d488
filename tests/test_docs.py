"""The guides are true: their code runs, block after block."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import tomli_w
import typer

import l2c
from l2c import Implies
from l2c.adapters.settings import parse_schema
from l2c.app.cli import cli

DOCS = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
def test_the_python_of_a_guide_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    assert blocks
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, path.name, "exec"), known)
    assert capsys.readouterr().out.strip()


def test_the_rule_file_of_the_guide_is_one_for_the_data_of_the_guide():
    text = (DOCS[0].parent / "rules.md").read_text()
    (rules,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    german = l2c.datasets.load("german").schema
    described = {name: part for name, part in german.to_dict().items() if name == "features"}
    schema = parse_schema(rules + tomli_w.dumps(described))
    assert [rule.sentence() for rule in schema.rules] == [Implies("residence_since", "age").sentence()]
    assert schema.limits.max_changes == 6
    assert set(schema.limits.permit) == {"credit_amount", "job"}


COMMANDS = [
    line
    for path in [*DOCS, DOCS[0].parent.parent / "README.md"]
    for line in re.findall(r"^l2c .+$", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_of_a_guide_have_the_options_that_they_name(line):
    command, words = typer.main.get_command(cli), shlex.split(line)[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_guides_show_commands():
    assert len(COMMANDS) > 8


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
def test_what_a_guide_points_to_is_there(path):
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", path.read_text()):
        file = (path.parent / target) if target else path
        assert file.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}, anchor
