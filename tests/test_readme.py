"""The README is true: its code runs, and the commands it names exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from l2c.app.cli import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_python_of_the_readme_runs_and_leaves_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "10 different counterfactuals" in printed
    assert (tmp_path / "bundle" / "manifest.json").is_file()
    assert (tmp_path / "found.parquet").is_file()


@pytest.mark.parametrize("line", re.findall(r"^l2c .+$", README, re.MULTILINE))
def test_a_command_of_the_readme_has_the_options_it_shows(line):
    words = shlex.split(line)[1:]
    command = get_command(cli)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", README)) <= targets
