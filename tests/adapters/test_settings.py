"""Schemas as TOML: what is written is read back equal, and mistakes are told where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from core.schemas import schemas
from l2c.adapters.settings import dump_schema, parse_schema, read_schema, write_schema
from l2c.core.binning import Edges
from l2c.core.feature import Feature
from l2c.core.limits import Limits
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


EXPERT = Schema(
    (
        Feature(name="hours", kind="numeric", cost_up=0.5, cost_down=2, binning=Edges((20.0, 40.0))),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse"), level_costs=(0, 1.5)),
        Feature(name="education", kind="ordinal", levels=(1, 2, 3)),
    ),
    rules=(Implies("education", "hours", "must_not_fall"),),
    limits=Limits(
        lock=["job"],
        permit={"education": [1, 3], "hours": (20, None)},
        forbid={"education": [(3, "*"), ({"from": 2}, [1])], "hours": [((0, 10), (40, 50))]},
        where=["hours <= was.hours + 10", "education >= 2 or hours > 30"],
        max_changes=2,
        min_sparsity=0.25,
        max_cost=7.5,
    ),
)

EXPERT_TOML = """\
rules = [{ cause = "education", effect = "hours", how = "must_not_fall" }]

[limits]
lock = ["job"]
where = ["hours <= was.hours + 10", "education >= 2 or hours > 30"]
max_changes = 2
min_sparsity = 0.25
max_cost = 7.5

[limits.permit]
education = [1, 3]

[limits.permit.hours]
from = 20

[limits.forbid]
education = [[3, "*"], [{ from = 2 }, [1]]]
hours = [[[0, 10], [40, 50]]]

[[features]]
name = "hours"
kind = "numeric"
cost_up = 0.5
cost_down = 2

[features.binning]
method = "edges"
cuts = [20.0, 40.0]
source = ""

[[features]]
name = "job"
kind = "categorical"
levels = ["clerk", "nurse"]
level_costs = [0, 1.5]

[[features]]
name = "education"
kind = "ordinal"
levels = [1, 2, 3]
"""


def in_order(limits: Limits) -> str:
    """Return limits with the types of all that they hold; in a file, ranges by name come last."""
    return repr(replace(limits, permit=dict(sorted(limits.permit.items()))))


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    return caught.value.problems


def test_a_schema_is_written_as_a_person_would() -> None:
    assert dump_schema(LOANS) == LOANS_TOML
    assert parse_schema(LOANS_TOML) == LOANS


def test_rules_limits_and_costs_are_written_as_an_expert_would() -> None:
    assert dump_schema(EXPERT) == EXPERT_TOML
    assert parse_schema(EXPERT_TOML) == EXPERT
    assert parse_schema(EXPERT_TOML).sentences() == EXPERT.sentences()


def test_a_range_may_be_written_in_a_line() -> None:
    text = EXPERT_TOML.replace("[limits.permit]\neducation", "[limits.permit]\nhours = { from = 20 }\neducation")
    assert parse_schema(text.replace("[limits.permit.hours]\nfrom = 20\n", "")) == EXPERT


def test_long_lists_of_short_ones_have_a_line_for_each_short_one() -> None:
    jobs = tuple(f"job number {number}" for number in range(8))
    limits = Limits(forbid={"job": [(was, "*") for was in jobs]})
    schema = Schema((Feature(name="job", kind="categorical", levels=jobs),), limits=limits)
    text = dump_schema(schema)
    assert text.splitlines()[1:4] == ["job = [", '    ["job number 0", "*"],', '    ["job number 1", "*"],']
    assert parse_schema(text) == schema


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
    assert in_order(read.limits) == in_order(schema.limits)
    for before, after in zip(schema.features, read.features, strict=True):
        assert list(map(type, after.levels)) == list(map(type, before.levels))


def test_writing_what_was_read_changes_nothing() -> None:
    for schema in (LOANS, EXPERT):
        assert dump_schema(parse_schema(dump_schema(schema))) == dump_schema(schema)


def test_odd_names_and_texts_survive() -> None:
    levels = ('a "quoted", one', "[\n    tricky,\n]", "back\\slash", "", "é\u2028\x7f\x00", "x = [")
    odd = Feature(name="x.y [z]", kind="categorical", levels=levels, labels=levels)
    limits = Limits(permit={odd.name: levels[:3]}, forbid={odd.name: [(levels[1], levels), ("*", levels[5])]})
    schema = Schema((odd,), target="ta\trget", limits=limits)
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


def test_contradictions_in_a_file_are_told_at_once_with_the_names() -> None:
    text = """
    rules = [{ cause = "education", effect = "age" }, { cause = "job", effect = "age", how = "only_if" }]
    [limits]
    lock = ["age"]
    permit = { education = { from = 3, to = 1 } }
    forbid = { job = [["clerk", "nurs"]] }
    where = ["age <= was.agee"]
    [[features]]
    name = "age"
    kind = "numeric"
    [[features]]
    name = "job"
    kind = "categorical"
    levels = ["clerk", "nurse"]
    [[features]]
    name = "education"
    kind = "ordinal"
    levels = [1, 2, 3]
    """
    assert problems_of(text) == (
        "rule 'if education rises, age rises': 'age' may not rise, so 'education' never can; "
        "let 'age' rise, or declare 'education' immutable",
        "rule 'age rises only if job rises': 'job' is categorical and cannot rise; declare it ordinal",
        "permit 'education': the range 3 to 1 is empty",
        "forbid 'job': 'nurs' is none of its levels, 'clerk', 'nurse'; did you mean 'nurse'?",
        "where: there is no feature 'agee'; did you mean 'age'?\n  age <= was.agee\n             ^^^^",
    )


def test_limits_of_the_wrong_shape_are_told_beside_other_mistakes() -> None:
    text = """
    target = 3
    limits = { max_changes = 0, max_cost = "cheap", lock = 3 }
    rules = [{ cause = "a", effect = "b", how = "sometimes" }]
    [[features]]
    name = "age"
    kind = "numeric"
    level_costs = 3
    """
    assert problems_of(text) == (
        "feature 'age': level_costs cannot be 3",
        "rule 0: how is one of must_rise, must_not_fall, only_if, not 'sometimes'",
        "target must be a column's name, not 3",
        "lock takes names, each a text, not 3",
        "max_changes must be a whole number of at least 1, not 0",
        "max_cost is a number of at least 0, not 'cheap'",
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
