"""Schemas as TOML: what is written is read back equal, and mistakes are told where they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from core.schemas import schemas
from l2c.adapters.settings import dump_schema, parse_schema, read_schema, write_schema
from l2c.core.binning import Edges
from l2c.core.feature import Feature
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.errors import DataError, SchemaError

LOANS = Schema(
    (
        Feature(name="age", kind="numeric", integer=True, moves="rises", low=18, unit="years"),
        Feature(name="savings", kind="numeric", binning=Edges((0.0, 0.1), source="the law"), missing=True),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse")),
        Feature(name="education", kind="ordinal", levels=(1, 2, 3), labels=("school", "college", "more")),
    ),
    target="risk",
    rules=(Implies("education", "age"),),
)

LOANS_TOML = """\
target = "risk"
rules = [{ cause = "education", effect = "age" }]

[[features]]
name = "age"
kind = "numeric"
moves = "rises"
unit = "years"
integer = true
low = 18

[features.binning]
method = "equal_frequency"
at_most = 4

[[features]]
name = "savings"
kind = "numeric"
missing = true

[features.binning]
method = "edges"
cuts = [0.0, 0.1]
source = "the law"

[[features]]
name = "job"
kind = "categorical"
levels = ["clerk", "nurse"]

[[features]]
name = "education"
kind = "ordinal"
levels = [1, 2, 3]
labels = ["school", "college", "more"]
"""


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    return caught.value.problems


def test_a_schema_is_written_as_a_person_would() -> None:
    assert dump_schema(LOANS) == LOANS_TOML
    assert parse_schema(LOANS_TOML) == LOANS


def test_a_long_list_has_a_line_for_each_item() -> None:
    levels = tuple(f"a rather long level, number {number}" for number in range(5))
    text = dump_schema(Schema((Feature(name="x", kind="categorical", levels=levels),)))
    assert text.splitlines()[3:6] == ["levels = [", f'    "{levels[0]}",', f'    "{levels[1]}",']
    assert parse_schema(text)["x"].levels == levels


@settings(max_examples=200, deadline=None)
@given(schemas())
def test_any_schema_is_read_back_equal(schema: Schema) -> None:
    read = parse_schema(dump_schema(schema))
    assert read == schema
    for before, after in zip(schema.features, read.features, strict=True):
        assert list(map(type, after.levels)) == list(map(type, before.levels))


def test_writing_what_was_read_changes_nothing() -> None:
    assert dump_schema(parse_schema(dump_schema(LOANS))) == dump_schema(LOANS)


def test_odd_names_and_texts_survive() -> None:
    levels = ('a "quoted", one', "[\n    tricky,\n]", "back\\slash", "", "é\u2028\x7f\x00", "x = [")
    schema = Schema((Feature(name="x.y [z]", kind="categorical", levels=levels, labels=levels),), target="ta\trget")
    assert parse_schema(dump_schema(schema)) == schema


def test_a_syntax_error_names_the_line() -> None:
    assert problems_of('target = "risk"\nrules = oops') == (
        "the schema is not valid TOML: Invalid value (at line 2, column 9)",
    )


def test_every_mistake_in_a_file_is_told_at_once() -> None:
    text = """
    targt = "risk"
    [[features]]
    name = "age"
    knd = "numeric"
    [[features]]
    name = "job"
    kind = "categorical"
    levels = ["clerk", 1979-05-27]
    [[features]]
    name = "pay"
    kind = "numeric"
    integer = "yes"
    binning = { method = "equal_frequency", at_most = "4" }
    """
    assert problems_of(text) == (
        "unknown key 'targt'; did you mean 'target'?",
        "feature 'age': unknown key 'knd'; did you mean 'kind'?",
        "feature 'age': 'kind' is missing",
        "feature 'job': levels must be texts, numbers or booleans",
        "feature 'pay': integer cannot be 'yes'",
        "feature 'pay': binning 'equal_frequency': at_most cannot be '4'",
    )


def test_a_file_is_written_whole_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text("old")
    write_schema(LOANS, path)
    assert read_schema(str(path)) == LOANS
    assert [other.name for other in tmp_path.iterdir()] == ["schema.toml"]


def test_problems_in_a_file_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('target = 3\n[[features]]\nname = "age"\nkind = "numerc"\n')
    with pytest.raises(SchemaError) as caught:
        read_schema(path)
    assert caught.value.problems == (f"{path}: target must be a column's name, not 3",)
    path.write_bytes(b"\xff")
    with pytest.raises(SchemaError, match=r"schema\.toml: the file cannot be read: "):
        read_schema(path)
    with pytest.raises(SchemaError, match=r"none\.toml: the file cannot be read: .*No such file"):
        read_schema(tmp_path / "none.toml")


def test_a_schema_needs_a_folder_to_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^there is no folder '.*/no' to write 'schema\.toml' to$"):
        write_schema(LOANS, tmp_path / "no" / "schema.toml")
