"""The README is true: its code and its commands run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import l2c

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


def test_the_commands_of_the_readme_run_one_after_the_other(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    lines = re.findall(r"^l2c .+$", README, re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        command = [sys.executable, "-c", "from l2c.app.cli import main; main()", *shlex.split(line)[1:]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert len(l2c.read(tmp_path / "found.parquet")) == 2000


def test_the_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", README)) <= targets
