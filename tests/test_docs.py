"""The guides are true: their code runs, block after block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from l2c.adapters.settings import parse_schema
from l2c.errors import SchemaError

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


def test_the_rule_file_of_the_guide_has_only_what_a_schema_has():
    text = (DOCS[0].parent / "rules.md").read_text()
    (rules,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    with pytest.raises(SchemaError) as refused:
        parse_schema(rules)
    assert all("no feature" in problem for problem in refused.value.problems[1:])
