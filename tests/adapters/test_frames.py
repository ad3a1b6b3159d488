"""The seam to data frames: what is read, what comes back, and what is said about frames that do not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import given, settings

from l2c.adapters import frames
from l2c.adapters.frames import FrameShape, read, rebuild, shape_of, strict
from l2c.adapters.frames.files import MISSING_WORDS
from l2c.adapters.frames.given import COPIES_ON_WRITE
from l2c.adapters.frames.kinds import KINDS
from l2c.adapters.frames.pandas_kind import FROM_BLOCKS, MOULDS
from l2c.adapters.frames.reading import are_sound, suspects
from l2c.adapters.frames.stored import Dtype
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.core.table import Column, summarise
from l2c.errors import DataError

AGE = Feature(name="age", kind="numeric", integer=True, missing=True)
PAY = Feature(name="pay", kind="numeric", missing=True)
JOB = Feature(name="job", kind="categorical", levels=("nurse", "clerk", "engineer"), missing=True)
SICK = Feature(name="sick", kind="binary", levels=(False, True), missing=True)
GRADE = Feature(name="grade", kind="ordinal", levels=(1, 2, 3), missing=True)
PEOPLE = Schema((AGE, PAY, JOB, SICK), target="paid")

MAKERS = {"pandas": pd.DataFrame, "polars": partial(pl.DataFrame, strict=False), "arrow": pa.table}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]


def problems_of(action: Any, *arguments: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        action(*arguments)
    return list(caught.value.problems)


def take(frame: Any, rows: list[int]) -> Any:
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[rows].reset_index(drop=True)
    return frame[rows] if isinstance(frame, pl.DataFrame) else frame.take(pa.array(rows, pa.int64()))


def assert_same(left: Any, right: Any) -> None:
    """Assert that two frames are of one kind and have the same columns, types, categories and values."""
    assert type(left) is type(right)
    if isinstance(left, pd.DataFrame):
        pd.testing.assert_frame_equal(left, right, check_column_type=False)
    elif isinstance(left, pl.DataFrame):
        pl.testing.assert_frame_equal(left, right, check_exact=True)
    else:
        assert left.schema == right.schema
        assert left.to_pylist() == right.to_pylist()
        for name in left.column_names:
            if pa.types.is_dictionary(left.schema.field(name).type):
                categories = [table[name].combine_chunks().dictionary.to_pylist() for table in (left, right)]
                assert categories[0] == categories[1]


def values(frame: Any, name: str) -> list[Any]:
    return frame[name].to_pylist() if isinstance(frame, pa.Table) else list(frame[name])


# What a column is


def test_a_column_is_summarised_alike_in_every_kind_of_frame(make: Any) -> None:
    summary = summarise(
        make(
            {
                "age": [30, 25, 30],
                "pay": [2.0, 1.0, None],
                "job": ["nurse", None, "clerk"],
                "sick": [True, False, True],
            }
        )
    )
    assert summary.rows == 3
    assert summary.columns == (
        Column("age", "integer", (25, 30)),
        Column("pay", "float", (1.0, 2.0), missing=True),
        Column("job", "text", ("clerk", "nurse"), missing=True),
        Column("sick", "boolean", (False, True)),
    )
    assert [type(column.values[0]) for column in summary.columns] == [int, float, str, bool]


@pytest.mark.parametrize(
    ("frame", "ordered"),
    [
        (pd.DataFrame({"x": pd.Categorical(["b"], ["c", "b", "a"])}), False),
        (pd.DataFrame({"x": pd.Categorical(["b"], ["c", "b", "a"], ordered=True)}), True),
        (pl.DataFrame({"x": ["b"]}, schema={"x": pl.Enum(["c", "b", "a"])}), True),
        (pa.table({"x": pa.DictionaryArray.from_arrays([1], ["c", "b", "a"])}), False),
        (pa.table({"x": pa.DictionaryArray.from_arrays([1], ["c", "b", "a"], ordered=True)}), True),
    ],
)
def test_declared_categories_keep_their_order_used_or_not(frame: Any, ordered: bool) -> None:
    assert summarise(frame).columns == (Column("x", "text", ("c", "b", "a"), ordered=ordered),)


def test_a_polars_categorical_declares_nothing_so_its_own_values_are_sorted() -> None:
    others = pl.Series(["z", "y"], dtype=pl.Categorical)
    frame = pl.DataFrame({"x": ["c", "a", "c"]}, schema={"x": pl.Categorical})
    assert len(others) == 2
    assert summarise(frame).columns == (Column("x", "text", ("a", "c")),)


def test_numbers_as_categories_are_categories() -> None:
    frame = pd.DataFrame({"x": pd.Categorical([2, 1])})
    assert summarise(frame).columns == (Column("x", "text", (1, 2)),)


@pytest.mark.parametrize(
    ("series", "column"),
    [
        (pd.Series([2, None, 1], dtype="Int64"), Column("x", "integer", (1, 2), missing=True)),
        (pd.Series([2, None, 1], dtype="int8[pyarrow]"), Column("x", "integer", (1, 2), missing=True)),
        (pd.Series([2, 1], dtype="uint8"), Column("x", "integer", (1, 2))),
        (pd.Series([2.0, np.nan, 1.0]), Column("x", "float", (1.0, 2.0), missing=True)),
        (pd.Series([1.5, None], dtype="Float32"), Column("x", "float", (1.5,), missing=True)),
        (pd.Series([True, None], dtype="boolean"), Column("x", "boolean", (True,), missing=True)),
        (pd.Series(["b", np.nan, "a"], dtype=object), Column("x", "text", ("a", "b"), missing=True)),
        (pd.Series(["b", None], dtype="string"), Column("x", "text", ("b",), missing=True)),
        (pd.Series([2, None, 1], dtype=object), Column("x", "integer", (1, 2), missing=True)),
        (pd.Series([Decimal("0.1"), None], dtype=object), Column("x", "float", (0.1,), missing=True)),
        (pl.Series([0.5, float("nan")]), Column("x", "float", (0.5,), missing=True)),
        (pl.Series([Decimal("0.1")]), Column("x", "float", (0.1,))),
        (pa.chunked_array([[0.5], [float("nan")]]), Column("x", "float", (0.5,), missing=True)),
        (pa.chunked_array([pa.array([Decimal("0.1")])]), Column("x", "float", (0.1,))),
        (pa.chunked_array([pa.array([2, 1], pa.uint64())]), Column("x", "integer", (1, 2))),
    ],
    ids=lambda given: given.name if isinstance(given, Column) else str(getattr(given, "dtype", "arrow")),
)
def test_a_column_is_what_its_values_are(series: Any, column: Column) -> None:
    kind = {pd.Series: "pandas", pl.Series: "polars", pa.ChunkedArray: "arrow"}[type(series)]
    assert summarise(MAKERS[kind]({"x": series})).columns == (column,)


def test_every_column_of_no_use_is_named_with_what_to_do() -> None:
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=2, unit="s"),
            "age": [30, 40],
            "tags": [["a"], ["b"]],
            "mixed": pd.Series([1, "a"], dtype=object),
            "huge": pd.Series([2**70, 1], dtype=object),
            "band": pd.cut([1.0, 2.0], 2),
        }
    )
    assert problems_of(summarise, frame) == [
        "column 'when' holds timestamp[s] values; convert it to a number or text",
        "column 'tags' holds list<item: string> values; convert it to a number or text",
        "column 'mixed' holds values of mixed or unknown types (object); convert it to a number or text",
        "column 'huge' holds values of mixed or unknown types (object); convert it to a number or text",
        "column 'band' holds extension<pandas.interval<ArrowIntervalType>> values; convert it to a number or text",
    ]


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (pl.DataFrame({"x": [{"a": 1}]}), "struct<a: int64> values"),
        (pl.DataFrame({"x": [1]}, schema={"x": pl.Int128}), "values of mixed or unknown types (Int128)"),
        (pa.table({"x": pa.array([1], pa.date32())}), "date32[day] values"),
        (pa.table({"x": pa.array(["a"], pa.string_view())}), "string_view values"),
    ],
)
def test_a_type_that_is_neither_number_nor_text_is_named(frame: Any, what: str) -> None:
    assert problems_of(summarise, frame) == [f"column 'x' holds {what}; convert it to a number or text"]


def test_an_infinite_number_is_refused_by_column_and_row(make: Any) -> None:
    frame = make({"age": [1.0, float("-inf"), float("inf")], "pay": [1.0, 2.0, 3.0]})
    assert problems_of(summarise, frame) == ["column 'age', row 1: -inf is not a finite number"]


def test_column_names_must_be_texts_and_different() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "a", 3, "b"])
    assert problems_of(summarise, frame) == [
        "column 'a' appears 2 times; rename or drop the others",
        "column names must be texts, not 3; rename the column",
    ]
    table = pa.table([[1], [2], [3]], names=["a", "b", "a"])
    assert problems_of(summarise, table) == ["column 'a' appears 2 times; rename or drop the others"]


def test_a_frame_without_rows_is_refused(make: Any) -> None:
    assert problems_of(summarise, make({"age": []})) == ["the frame has no rows; give at least one"]


@pytest.mark.parametrize("thing", [3, None, {"age": [1]}, pl.LazyFrame({"age": [1]}), pd.Series([1])])
def test_what_is_not_a_frame_is_refused_by_its_type(thing: object) -> None:
    assert problems_of(summarise, thing) == [
        f"expected a data frame (pandas, polars or Arrow), got {type(thing).__name__}"
    ]


# From a frame to cells


def test_cells_are_in_the_schemas_order_without_the_target(make: Any) -> None:
    frame = make(
        {
            "sick": [True, False],
            "paid": ["anything", "else"],
            "job": ["clerk", None],
            "age": [30, None],
            "pay": [None, 2.5],
        }
    )
    reading = read(frame, PEOPLE)
    np.testing.assert_array_equal(reading.cells, [[30, np.nan, 1, 1], [np.nan, 2.5, np.nan, 0]])
    assert reading.cells.dtype == np.float64
    assert reading.problems == ()
    assert not reading.bad_rows.any()
    assert strict(reading) is reading.cells


def test_every_problem_of_a_table_is_told_at_once() -> None:
    frame = pd.DataFrame(
        [["forty", 1.0, pd.Timestamp(2020, 1, 1), 1, 2, 3, 4]],
        columns=["age", "pay", "job", "sic", "other", "other", 7],
    )
    assert problems_of(read, frame, PEOPLE) == [
        "column 'other' appears 2 times; rename or drop the others",
        "column names must be texts, not 7; rename the column",
        "column 'sick' is missing, but the schema declares it",
        "column 'sic' is not in the schema; did you mean 'sick'?",
        "column 'other' is not in the schema; drop it, or declare it",
        f"column 'job' holds timestamp[{frame['job'].dt.unit}] values; convert it to a number or text",
        "column 'age', row 0: 'forty' is not a number; the schema declares 'age' numeric",
    ]


def test_a_table_without_rows_cannot_be_read(make: Any) -> None:
    frame = make({"age": []})
    assert problems_of(read, frame, Schema((AGE,))) == ["the frame has no rows; give at least one"]


@pytest.mark.parametrize(
    ("ages", "sentence"),
    [
        (["30"] * 17 + ["forty"], "row 17: 'forty' is not a number"),
        ([None, "30", "nan"], "row 2: 'nan' is not a number"),
        (["30", "40", "1_000"], "row 2: '1_000' is not a number"),
        ([None, "30", "40"], "row 1: '30' is a text, not a number"),
        ([None, True], "row 1: True is not a number"),
    ],
)
def test_a_numeric_feature_needs_a_column_of_numbers(make: Any, ages: list[Any], sentence: str) -> None:
    expected = [f"column 'age', {sentence}; the schema declares 'age' numeric"]
    assert problems_of(read, make({"age": ages}), Schema((AGE,))) == expected


@pytest.mark.parametrize("rows", [3, 40])
def test_bytes_that_are_no_text_are_told(rows: int) -> None:
    content = pa.array([b"clerk", b"nur\xffse", b"cook"] + [b"clerk"] * (rows - 3), pa.binary())
    broken = pa.table({"job": pa.Array.from_buffers(pa.string(), rows, content.buffers())})
    for frame in (broken, broken.to_pandas(types_mapper=pd.ArrowDtype)):
        (problem,) = problems_of(read, frame, Schema((JOB,)))
        assert problem.startswith("a column of texts holds bytes that are no text in UTF-8; read the data in the enc")


def test_a_column_that_is_all_missing_reads_as_missing(make: Any) -> None:
    frame = make({"age": [None, None], "pay": [None, None], "job": [None, None], "sick": [None, None]})
    assert np.isnan(strict(read(frame, PEOPLE))).all()


def test_single_bad_cells_are_told_by_row_and_blank_their_row_only(make: Any) -> None:
    schema = Schema(
        (
            Feature(name="age", kind="numeric", integer=True),
            PAY,
            Feature(name="job", kind="categorical", levels=JOB.levels),
        )
    )
    frame = make(
        {
            "age": [30.0, 17.5, None, 40.0, 50.0],
            "pay": [1.0, 2.0, 3.0, float("inf"), None],
            "job": ["clerk", "enginer", "nurse", "astronaut", None],
        }
    )
    reading = read(frame, schema)
    assert [(problem.row, problem.column) for problem in reading.problems] == [
        (1, "age"),
        (1, "job"),
        (2, "age"),
        (3, "pay"),
        (3, "job"),
        (4, "job"),
    ]
    assert [problem.sentence for problem in reading.problems] == [
        "column 'age', row 1: 17.5 is not whole; the schema declares 'age' integer",
        "column 'job', row 1: 'enginer' is not a known level; did you mean 'engineer'?",
        "column 'age', row 2: missing, but the schema says it never is; fill it in, or declare missing = true",
        "column 'pay', row 3: inf is not a finite number",
        "column 'job', row 3: 'astronaut' is not a known level; known are 'nurse', 'clerk', 'engineer'",
        "column 'job', row 4: missing, but the schema says it never is; fill it in, or declare missing = true",
    ]
    assert reading.bad_rows.tolist() == [False, True, True, True, True]
    np.testing.assert_array_equal(reading.cells[0], [30, 1, 1])
    assert np.isnan(reading.cells[1:]).all()
    assert Counter(problem.row for problem in reading.problems) == {1: 2, 2: 1, 3: 2, 4: 1}
    assert problems_of(strict, reading) == [problem.sentence for problem in reading.problems]


def test_an_error_lists_twenty_bad_cells_and_counts_the_rest() -> None:
    reading = read(pd.DataFrame({"job": ["smith"] * 23}), Schema((JOB,)))
    told = problems_of(strict, reading)
    assert told[19:] == [reading.problems[19].sentence, "and 3 more"]


def test_only_so_many_unknown_values_get_a_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("l2c.adapters.frames.reading.SUGGESTIONS", 1)
    reading = read(pd.DataFrame({"job": ["nurs", "clerc", "nurs"]}), Schema((JOB,)))
    suggested = ["did you mean" in problem.sentence for problem in reading.problems]
    assert suggested == [True, False, True]


def test_the_known_levels_of_a_long_list_are_cut_short() -> None:
    schema = Schema((Feature(name="x", kind="categorical", levels=tuple("abcdef")),))
    (problem,) = read(pd.DataFrame({"x": ["zzz"]}), schema).problems
    assert problem.sentence.endswith("is not a known level; known are 'a', 'b', 'c', 'd', 'e', …")


@pytest.mark.parametrize(
    ("levels", "column"),
    [
        ((0, 1), [False, True]),
        ((0, 1), [0.0, 1.0]),
        ((False, True), [0, 1]),
        ((0.0, 1.0), pd.Categorical([0, 1])),
        ((0.1, 0.2), [Decimal("0.1"), Decimal("0.2")]),
    ],
)
def test_levels_are_matched_by_python_equality(levels: tuple[Any, ...], column: Any) -> None:
    schema = Schema((Feature(name="x", kind="binary", levels=levels),))
    np.testing.assert_array_equal(strict(read(pd.DataFrame({"x": column}), schema)), [[0], [1]])


def test_a_text_that_reads_like_a_number_is_not_that_number(make: Any) -> None:
    (problem,) = read(make({"grade": ["1"]}), Schema((GRADE,))).problems
    assert problem.sentence == "column 'grade', row 0: '1' is not a known level; did you mean 1?"


def test_numbers_outside_the_declared_range_and_unused_categories_are_fine() -> None:
    schema = Schema((Feature(name="age", kind="numeric", low=0, high=10), JOB))
    frame = pd.DataFrame({"age": [99], "job": pd.Categorical(["clerk"], ["clerk", "smith"])})
    np.testing.assert_array_equal(strict(read(frame, schema)), [[99, 1]])


def test_numbers_behind_categories_are_numbers() -> None:
    np.testing.assert_array_equal(
        strict(read(pd.DataFrame({"age": pd.Categorical([40, 30, None])}), Schema((AGE,)))), [[40], [30], [np.nan]]
    )


def test_arrow_chunks_with_different_dictionaries_are_one_column() -> None:
    chunks = [pa.array(["clerk", "nurse"]).dictionary_encode(), pa.array(["engineer"]).dictionary_encode()]
    cells = strict(read(pa.table({"job": pa.chunked_array(chunks)}), Schema((JOB,))))
    np.testing.assert_array_equal(cells, [[1], [0], [2]])


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(list(MAKERS)),
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-(2**40), 2**40)),
            st.one_of(st.none(), st.sampled_from([*JOB.levels, "smith"])),
            st.one_of(st.none(), st.booleans()),
        ),
        min_size=1,
    ),
)
def test_reading_agrees_with_a_cell_by_cell_reader(kind: str, rows: list[tuple[Any, Any, Any]]) -> None:
    ages, jobs, sick = map(list, zip(*rows, strict=True))
    frame = MAKERS[kind]({"job": pa_safe(kind, jobs), "sick": pa_safe(kind, sick), "age": pa_safe(kind, ages)})
    reading = read(frame, Schema((AGE, JOB, SICK)))
    for row, (age, job, ill) in enumerate(rows):
        bad = job == "smith"
        expected = [
            np.nan if bad or value is None else known(value)
            for value, known in ((age, float), (job, JOB.levels.index), (ill, float))
        ]
        np.testing.assert_array_equal(reading.cells[row], expected)
        assert reading.bad_rows[row] == bad == any(problem.row == row for problem in reading.problems)


def pa_safe(kind: str, column: list[Any]) -> Any:
    """Return a column that keeps integers beside missing values; pandas would make them floats."""
    return pd.Series(column, dtype=object) if kind == "pandas" else column


# From cells to a frame

TEXTS = ["nurse", "clerk", None]
NUMBERS = [30, 40, None]
WHOLE = [30, 40, 50]
CATEGORIES = ["clerk", "unused", "nurse"]
CHUNKED_TEXTS = pa.chunked_array([pa.array(TEXTS[:1]), pa.array(TEXTS[1:])])

STORED: list[tuple[Feature, Any]] = [
    *[(AGE, pd.Series(WHOLE, dtype=name)) for name in ("int8", "int32", "int64", "uint8", "uint64")],
    *[(AGE, pd.Series(NUMBERS, dtype=name)) for name in ("Int8", "Int64", "UInt16", "float32", "int64[pyarrow]")],
    *[(PAY, pd.Series([0.5, 1.25, None], dtype=name)) for name in ("float64", "float32", "float16", "Float64")],
    (PAY, pd.Series([0.5, 1.25, None], dtype="double[pyarrow]")),
    (PAY, pd.Series([Decimal("0.50"), Decimal("1.25"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))),
    (PAY, pd.Series([0.5, 1.25, np.nan], dtype=object)),
    (AGE, pd.Series([30, 40, None], dtype=object)),
    *[(JOB, pd.Series(TEXTS, dtype=name)) for name in ("str", "string[python]", "string[pyarrow]", object)],
    (JOB, pd.Series(TEXTS, dtype=pd.StringDtype("python", na_value=np.nan))),
    (JOB, pd.Series(["nurse", "clerk", np.nan], dtype=object)),
    (JOB, pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))),
    (JOB, pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string()))),
    (JOB, pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.dictionary(pa.int16(), pa.string())))),
    (JOB, pd.Series(pd.Categorical(TEXTS, CATEGORIES))),
    (JOB, pd.Series(pd.Categorical(TEXTS, CATEGORIES, ordered=True))),
    (JOB, pd.Series(pd.Categorical(TEXTS, pd.Index(CATEGORIES, dtype=object)))),
    (GRADE, pd.Series(pd.Categorical([1, 2, None], [3, 2, 1]))),
    (GRADE, pd.Series(pd.Categorical([1, 2, None], pd.Index([3, 2, 1], dtype="int8")))),
    (GRADE, pd.Series([1.0, 2.0, np.nan])),
    (SICK, pd.Series([False, True, True])),
    *[(SICK, pd.Series([False, True, None], dtype=name)) for name in ("boolean", "bool[pyarrow]", object)],
    (SICK, pd.Series([0, 1, 1], dtype="int8")),
    *[(AGE, pl.Series(NUMBERS, dtype=kind)) for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)],
    *[(AGE, pl.Series(NUMBERS, dtype=kind)) for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)],
    *[(PAY, pl.Series([0.5, 1.25, None], dtype=kind)) for kind in (pl.Float32, pl.Float64)],
    (PAY, pl.Series([Decimal("0.50"), Decimal("1.25"), None], dtype=pl.Decimal(10, 2))),
    *[(JOB, pl.Series(TEXTS, dtype=kind)) for kind in (pl.String, pl.Categorical, pl.Enum(CATEGORIES))],
    (JOB, pl.Series([None, None, None])),
    (SICK, pl.Series([False, True, None])),
    (SICK, pl.Series([0, 1, None], dtype=pl.Int8)),
    *[(AGE, pa.chunked_array([pa.array(NUMBERS, kind)])) for kind in (pa.int8(), pa.uint64(), pa.int64())],
    *[(PAY, pa.chunked_array([pa.array([0.5, 1.25, None], kind)])) for kind in (pa.float16(), pa.float64())],
    (PAY, pa.chunked_array([pa.array([Decimal("0.50"), Decimal("1.25"), None], pa.decimal128(5, 2))])),
    (JOB, CHUNKED_TEXTS),
    (JOB, CHUNKED_TEXTS.cast(pa.large_string())),
    (JOB, pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([2, 0, None], pa.int8()), CATEGORIES)])),
    (JOB, pa.chunked_array([pa.DictionaryArray.from_arrays([2, 0, None], CATEGORIES, ordered=True)])),
    (GRADE, pa.chunked_array([pa.DictionaryArray.from_arrays([2, 1, None], [3, 2, 1])])),
    (SICK, pa.chunked_array([pa.array([False, True, None])])),
]


def stored_frame(feature: Feature, column: Any) -> Any:
    kind = {pd.Series: "pandas", pl.Series: "polars", pa.ChunkedArray: "arrow"}[type(column)]
    return MAKERS[kind]({feature.name: column})


def stored_id(given: Any) -> str:
    if isinstance(given, Feature):
        return given.name
    kind = given.type if isinstance(given, pa.ChunkedArray) else given.dtype
    return f"{type(given).__module__.split('.')[0]}-{kind!r}".replace("\n", " ")


@pytest.mark.parametrize(("feature", "column"), STORED, ids=stored_id)
def test_changing_a_cell_to_another_rows_value_equals_taking_that_row(feature: Feature, column: Any) -> None:
    frame, schema = stored_frame(feature, column), Schema((feature,))
    cells = strict(read(frame, schema))[[1, 1, 2]]
    changed = np.array([[False], [True], [False]])
    assert_same(rebuild(frame, schema, np.array([1, 0, 2]), cells, changed), take(frame, [1, 1, 2]))
    assert_same(frame, stored_frame(feature, column))


@pytest.mark.parametrize(("feature", "column"), STORED, ids=stored_id)
def test_a_frame_built_from_its_own_cells_is_that_frame(feature: Feature, column: Any) -> None:
    frame, schema = stored_frame(feature, column), Schema((feature,))
    cells = strict(read(frame, schema))
    shape = shape_of(frame, schema)
    assert_same(shape.build(cells), frame)
    kept = FrameShape.from_dict(schema, json.loads(json.dumps(shape.to_dict())))
    assert kept == shape
    assert_same(kept.build(cells), frame)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(list(MAKERS)), data=st.data())
def test_rebuilding_agrees_with_a_cell_by_cell_builder(kind: str, data: st.DataObject) -> None:
    people = {"job": ["nurse", "clerk", "engineer"], "age": [30, 2**60 + 1, 50], "sick": [True, False, True]}
    schema = Schema((AGE, JOB, SICK))
    rows = data.draw(st.lists(st.integers(0, 2), max_size=8))
    size = len(rows)
    ages = data.draw(st.lists(st.integers(-1000, 1000), min_size=size, max_size=size))
    codes = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=size, max_size=size))
    flags = st.tuples(st.booleans(), st.booleans(), st.booleans())
    changed = data.draw(st.lists(flags, min_size=size, max_size=size))
    cells = np.array([(age, *pair) for age, pair in zip(ages, codes, strict=True)], dtype=float).reshape(-1, 3)
    mask = np.array(changed, dtype=bool).reshape(-1, 3)
    frame = MAKERS[kind](people)
    result = rebuild(frame, schema, np.array(rows, dtype=np.int64), cells, mask)
    for place, feature in enumerate(schema.features):
        new = [int(cell) if feature.numeric else feature.levels[int(cell)] for cell in cells[:, place]]
        expected = [
            new[i] if mask[i, place] else people[feature.name][row]  # type: ignore[index]
            for i, row in enumerate(rows)
        ]
        assert values(result, feature.name) == expected
    assert_same(take(result, []), take(frame, []))


def test_the_callers_own_values_come_back_exactly_where_nothing_changed() -> None:
    big, price = 2**63 - 1, Decimal("12345678901234567.89")
    table = pa.table({"age": [big, 1], "pay": pa.array([price, None], pa.decimal128(30, 2))})
    schema = Schema((AGE, PAY))
    result = rebuild(table, schema, np.array([0, 1]), np.zeros((2, 2)), np.array([[False, False], [True, False]]))
    assert result.to_pylist() == [{"age": big, "pay": price}, {"age": 0, "pay": None}]


def test_each_kind_of_missing_value_is_kept_as_it_was() -> None:
    frame = pd.DataFrame({"job": pd.Series([None, np.nan, pd.NA, "clerk"], dtype=object)})
    result = rebuild(frame, Schema((JOB,)), np.arange(4), np.zeros((4, 1)), np.zeros((4, 1), dtype=bool))
    assert [result["job"][row] is frame["job"][row] for row in range(4)] == [True] * 4


def test_a_polars_frame_keeps_nan_and_null_apart() -> None:
    frame = pl.DataFrame({"pay": [float("nan"), None, 1.0]})
    result = rebuild(frame, Schema((PAY,)), np.arange(3), np.zeros((3, 1)), np.zeros((3, 1), dtype=bool))
    assert_same(result, frame)


def test_named_polars_categories_stay_the_same() -> None:
    kind = pl.Categorical(pl.Categories("jobs"))
    frame = pl.DataFrame({"job": ["nurse", "clerk"]}, schema={"job": kind})
    result = rebuild(frame, Schema((JOB,)), np.array([0]), np.array([[2.0]]), np.array([[True]]))
    assert result.schema == frame.schema
    assert values(result, "job") == ["engineer"]


def test_a_string_dtype_without_a_name_of_its_own_stays_the_same() -> None:
    kind = pd.StringDtype("python", na_value=np.nan)
    frame = pd.DataFrame({"job": pd.Series(["nurse"], dtype=kind)})
    result = rebuild(frame, Schema((JOB,)), np.array([0]), np.array([[2.0]]), np.array([[True]]))
    assert result["job"].dtype == kind
    assert values(result, "job") == ["engineer"]


def test_arrow_chunks_with_different_dictionaries_are_gathered_together() -> None:
    chunks = [pa.array(["clerk", "nurse"]).dictionary_encode(), pa.array(["engineer"]).dictionary_encode()]
    table = pa.table({"job": pa.chunked_array(chunks)})
    changed = np.array([[True], [False], [False]])
    result = rebuild(table, Schema((JOB,)), np.array([1, 2, 0]), np.full((3, 1), 2.0), changed)
    assert values(result, "job") == ["engineer", "engineer", "clerk"]


def test_gathering_leaves_the_callers_column_alone() -> None:
    column = pl.Series([1, 2])
    gathered = KINDS["polars"].gather(column, pl.Series([3]), np.array([2, 0]))
    assert (gathered.to_list(), column.to_list()) == ([3, 1], [1, 2])


def test_the_result_has_the_frames_own_column_order_a_fresh_index_and_no_target() -> None:
    frame = pd.DataFrame({"job": ["clerk"], "paid": [1], "age": [30]}, index=["ann"])
    schema = Schema((AGE, JOB), target="paid")
    result = rebuild(frame, schema, np.array([0, 0]), np.zeros((2, 2)), np.array([[True, False], [False, True]]))
    pd.testing.assert_frame_equal(result, pd.DataFrame({"job": ["clerk", "nurse"], "age": [0, 30]}))


def test_an_object_column_gets_plain_python_values() -> None:
    frame = pd.DataFrame({"age": pd.Series([None], dtype=object), "pay": pd.Series([None], dtype=object)})
    cells, changed = np.array([[30.0, 0.5]]), np.array([[True, True]])
    result = rebuild(frame, Schema((AGE, PAY)), np.array([0]), cells, changed)
    assert [type(result[name][0]) for name in ("age", "pay")] == [int, float]


@pytest.mark.parametrize(
    ("feature", "column", "cell", "sentence"),
    [
        (
            PAY,
            pd.Series([1, 2]),
            17.5,
            "column 'pay' is stored as int64 and cannot hold 17.5; "
            "declare it integer = true, or convert the column to float",
        ),
        (
            AGE,
            pl.Series([1, 2], dtype=pl.Int8),
            300.0,
            "column 'age' is stored as Int8 and cannot hold 300.0; convert the column to a type that can",
        ),
        (
            PAY,
            pa.chunked_array([pa.array([Decimal("1.50")], pa.decimal128(5, 2))]),
            1.256,
            "column 'pay' is stored as decimal128(5, 2) and cannot hold 1.256; convert the column to a type that can",
        ),
        (
            JOB,
            pd.Series([np.nan]),
            1.0,
            "column 'job' is stored as float64 and cannot hold 'clerk'; convert the column to a type that can",
        ),
        (
            GRADE,
            pd.Series([True]),
            1.0,
            "column 'grade' is stored as bool and cannot hold 2; convert the column to a type that can",
        ),
        (
            JOB,
            pl.Series([None]),
            1.0,
            "column 'job' is stored as Null and cannot hold 'clerk'; convert the column to a type that can",
        ),
        (
            JOB,
            pd.Series(pd.Categorical(["nurse"])),
            1.0,
            "column 'job' has no category 'clerk'; add it to the column's categories",
        ),
        (
            JOB,
            pl.Series(["nurse"], dtype=pl.Enum(["nurse"])),
            2.0,
            "column 'job' has no category 'engineer'; add it to the column's categories",
        ),
        (
            JOB,
            pa.chunked_array([pa.array(["nurse"]).dictionary_encode()]),
            2.0,
            "column 'job' has no category 'engineer'; add it to the column's categories",
        ),
        (
            AGE,
            pd.Series(pd.Categorical([30])),
            40.0,
            "column 'age' has no category 40; add it to the column's categories",
        ),
        (
            AGE,
            pd.Series([30]),
            np.nan,
            "column 'age' is stored as int64 and cannot hold a missing value; convert the column to a nullable type",
        ),
        (
            SICK,
            pd.Series([True]),
            np.nan,
            "column 'sick' is stored as bool and cannot hold a missing value; convert the column to a nullable type",
        ),
    ],
)
def test_a_value_that_a_type_cannot_hold_is_refused_not_bent(
    feature: Feature, column: Any, cell: float, sentence: str
) -> None:
    frame, schema, cells = stored_frame(feature, column), Schema((feature,)), np.array([[cell]])
    assert problems_of(rebuild, frame, schema, np.array([0]), cells, np.array([[True]])) == [sentence]
    assert problems_of(shape_of(frame, schema).build, cells) == [sentence]


def test_a_level_that_the_type_cannot_hold_is_no_problem_until_it_is_used() -> None:
    frame = pd.DataFrame({"job": pd.Categorical(["nurse"])})
    shape = shape_of(frame, Schema((JOB,)))
    assert shape.build(np.array([[0.0]]))["job"].tolist() == ["nurse"]


def test_a_shape_has_the_frames_own_column_order(make: Any) -> None:
    frame = make({"job": ["clerk"], "paid": [1], "age": [30]})
    schema = Schema((AGE, JOB), target="paid")
    shape = shape_of(frame, schema)
    assert [name for name, _ in shape.columns] == ["job", "age"]
    assert_same(shape.build(strict(read(frame, schema))), frames.features_of(frame, schema))


def test_a_shape_is_told_in_words() -> None:
    job = pd.CategoricalDtype(pd.Index(["clerk"], dtype=object), ordered=True)
    frame = pd.DataFrame({"job": pd.Categorical(["clerk"], dtype=job), "age": pd.Series([None], dtype=object)})
    assert shape_of(frame, Schema((AGE, JOB))).to_dict() == {
        "kind": "pandas",
        "columns": [
            {"name": "job", "dtype": "category[object]", "categories": ["clerk"], "ordered": True},
            {"name": "age", "dtype": "object", "none": True},
        ],
    }


def test_a_polars_shape_without_polars_says_how_to_install_it() -> None:
    script = """
import sys
sys.modules["polars"] = None
import numpy as np
from l2c.adapters.frames import FrameShape
from l2c.core.feature import Feature
from l2c.core.schema import Schema
schema = Schema((Feature(name="age", kind="numeric"),))
FrameShape.from_dict(schema, {"kind": "polars", "columns": [{"name": "age", "dtype": "Int64"}]}).build(np.zeros((1, 1)))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    said = ended.stderr.strip().splitlines()[-1]
    assert said == 'l2c.errors.MissingExtraError: a polars data frame needs polars: pip install "l2c[polars]"'


# Beside the cells


def test_features_are_the_schemas_columns_in_the_frames_order(make: Any) -> None:
    frame = make({"sick": [True], "paid": [1], "job": ["clerk"], "age": [3]})
    assert_same(
        frames.features_of(frame, Schema((AGE, JOB, SICK), target="paid")),
        make({"sick": [True], "job": ["clerk"], "age": [3]}),
    )


def test_a_frame_says_its_kind(make: Any, request: pytest.FixtureRequest) -> None:
    frame = make({"age": [1, 2, 3]})
    assert frames.kind_of(frame) == request.node.callspec.params["make"]


def test_only_row_labels_that_are_not_positions_are_an_index(make: Any) -> None:
    assert frames.index_of(make({"age": [1, 2]})) is None
    frame = pd.DataFrame({"age": [1, 2, 3]})
    assert frames.index_of(frame[1:]) == [1, 2]
    assert frames.index_of(frame.set_index(pd.Index(["a", "b", "c"]))) == ["a", "b", "c"]


def test_bookkeeping_goes_in_front_and_behind_and_yields_its_name(make: Any) -> None:
    frame = make({"rank": [7, 8], "age": [30, 40]})
    decorated = frames.decorate(frame, {"row": np.array([0, 0]), "rank": [1, 2]}, {"prediction": ["paid", "paid"]})
    assert_same(
        decorated,
        make({"row": [0, 0], "rank_": [1, 2], "rank": [7, 8], "age": [30, 40], "prediction": ["paid", "paid"]}),
    )


def test_a_decorated_frame_shares_nothing_with_the_first(make: Any) -> None:
    frame, row = make({"job": ["clerk", "nurse"], "age": [30, 40]}), np.array([0, 1])
    decorated = frames.decorate(frame, {"row": row}, {})
    if isinstance(decorated, pd.DataFrame):
        decorated.loc[:, "age"], decorated.loc[:, "row"], decorated.loc[:, "job"] = 7, 7, "cook"
    assert_same(frame, make({"job": ["clerk", "nurse"], "age": [30, 40]}))
    assert row.tolist() == [0, 1]


@pytest.mark.skipif(not COPIES_ON_WRITE, reason="pandas copies when it is told to")
def test_features_do_not_change_with_the_frame_that_they_came_from() -> None:
    frame = pd.DataFrame({"age": [1, 2], "job": ["nurse", "clerk"]})
    features = frames.features_of(frame, Schema((AGE, JOB)))
    frame.loc[0, "age"] = 50
    assert features["age"].tolist() == [1, 2]


@pytest.mark.parametrize("rows", [1, 16, 17, 40])
def test_few_rows_and_many_are_read_alike(make: Any, rows: int) -> None:
    jobs, grades = ["nurse", None, "clerk", "engineer", "cook"], [3, None, 1, 2]
    people = {"job": (jobs * rows)[:rows], "grade": (grades * rows)[:rows]}
    reading = read(make(people), Schema((JOB, GRADE)))
    known = {None: np.nan, "nurse": 0.0, "clerk": 1.0, "engineer": 2.0, 1: 0.0, 2: 1.0, 3: 2.0}
    bad = [job == "cook" for job in people["job"]]
    expected = np.array([[known.get(job, -1), known[grade]] for job, grade in zip(*people.values(), strict=True)])
    expected[bad] = np.nan
    assert np.array_equal(reading.cells, expected, equal_nan=True)
    assert [problem.row for problem in reading.problems] == np.flatnonzero(bad).tolist()


def test_a_frame_of_the_expected_shape_has_that_very_shape(make: Any) -> None:
    rows, schema = make({"age": [30, 40], "job": ["nurse", "clerk"]}), Schema((AGE, JOB))
    expected = shape_of(rows, schema)
    assert shape_of(rows, schema, expected) is expected
    other = make({"job": ["nurse", "clerk"], "age": [30, 40]})
    assert shape_of(other, schema, expected) == shape_of(other, schema) != expected


@pytest.mark.parametrize("values", [("paid", "late"), (0, 1), (False, True), ("paid", 0), (2**63, 1)])
@pytest.mark.parametrize("index", [[1, 0, 1], [1], []])
def test_few_values_that_stand_there_often_make_the_column_of_their_list(
    make: Any, values: tuple[Any, ...], index: list[int]
) -> None:
    kind = frames.kinds.library_of(make({"age": [1]}))
    if kind.name != "pandas" and values in (("paid", 0), (2**63, 1)):
        values = ("paid", "due")  # no column of theirs holds both
    column, listed = kind.coded(values, np.array(index, dtype=np.int64)), [values[place] for place in index]
    assert_same(kind.frame({"x": column}), kind.frame({"x": pd.Series(listed) if kind.name == "pandas" else listed}))


@pytest.mark.parametrize("rows", [3, 5000])
def test_levels_gathered_at_once_are_those_gathered_one_by_one(make: Any, rows: int) -> None:
    frame = make({"job": ["a", None, "b"], "town": ["x", "y", "z"], "age": [1.5, 2.5, 3.5]})
    kind = frames.kinds.library_of(frame)
    columns, index = kind.columns(frame), np.random.default_rng(0).integers(0, 3, (3, rows))
    together = kind.frame(dict(zip("abc", kind.gather_joined(kind.joined(columns), index), strict=True)))
    apart = (kind.gather(column, None, places) for column, places in zip(columns, index, strict=True))
    assert_same(together, kind.frame(dict(zip("abc", apart, strict=True))))


@pytest.mark.parametrize("rows", [3, 5000])
def test_columns_gathered_at_once_are_those_gathered_one_by_one(make: Any, rows: int) -> None:
    frame = make({"job": ["a", None, "b"], "town": ["x", "y", "z"], "age": [1.5, 2.5, 3.5]})
    kind = frames.kinds.library_of(frame)
    job, town, age = kind.columns(frame)
    index = np.random.default_rng(0).integers(0, 6, rows)
    parts = [(job, town, index), (town, None, index % 3), (age, age, index), (town, job, index[::-1].copy())]
    together = kind.frame(dict(zip("abcd", kind.gather_all(parts), strict=True)))
    assert_same(together, kind.frame(dict(zip("abcd", (kind.gather(*part) for part in parts), strict=True))))


def test_levels_that_are_equal_but_of_other_types_are_not_mixed_up() -> None:
    for levels, text in (((0, 1), "0"), ((False, True), "False"), ((0.0, 1.0), "0.0")):
        feature = Feature(name="x", kind="binary", levels=levels)
        shape = FrameShape("pandas", Schema((feature,)), (("x", Dtype("object")),))
        assert str(shape.build(np.zeros((1, 1)))["x"][0]) == text


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda rows: rows, True),
        (lambda rows: rows[["job", "age", "pay"]], True),
        (lambda rows: rows.astype({"age": "int32"}), False),
        (lambda rows: rows.astype({"job": object}), False),
        (lambda rows: rows.assign(pay=[np.nan, 1.0]), False),
        (lambda rows: rows.assign(age=[2**53 + 2, 1]), False),
        (pl.from_pandas, False),
    ],
)
def test_a_frame_holds_what_is_built_if_its_types_are_those_that_are_built(change: Any, same: bool) -> None:
    rows = pd.DataFrame({"age": [30, 40], "pay": [0.5, 1.5], "job": ["nurse", "clerk"]})
    rows = rows.astype({"job": pd.StringDtype("pyarrow", na_value=np.nan)})
    schema = Schema((AGE, PAY, JOB))
    frame = change(rows)
    cells = strict(read(frame, schema))
    own, shape = shape_of(frame, schema), shape_of(rows, schema)
    assert frames.holds_what_is_built(frames.Given(frame), own, shape, cells) == same
    if same:
        assert_same(shape_of(rows, schema).build(cells), frame[list(rows.columns)])


def test_an_object_column_holds_what_is_built_if_it_holds_texts_alone() -> None:
    texts, numbers = pd.DataFrame({"job": ["nurse"]}, dtype=object), pd.DataFrame({"grade": [1.0]}, dtype=object)
    for rows, feature, same in ((texts, JOB, True), (numbers, GRADE, False)):
        schema = Schema((feature,))
        shape = shape_of(rows, schema)
        assert frames.holds_what_is_built(frames.Given(rows), shape, shape, np.zeros((1, 1))) == same


# Files


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])
def test_a_table_written_to_a_file_is_read_back(make: Any, suffix: str, tmp_path: Any) -> None:
    path = tmp_path / f"rows{suffix}"
    frames.write_file(make({"age": [30, 40], "pay": [0.1, None], "job": ["clerk", 'ä, "b"']}), path)
    expected = pd.DataFrame({"age": [30, 40], "pay": [0.1, None], "job": ["clerk", 'ä, "b"']})
    pd.testing.assert_frame_equal(frames.read_file(str(path)), expected, check_dtype=suffix != ".parquet")
    assert [other.name for other in tmp_path.iterdir()] == [path.name]


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Any) -> None:
    def told(name: str, content: bytes | None = None) -> str:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        (problem,) = problems_of(frames.read_file, tmp_path / name)
        return problem.replace(str(tmp_path), "")

    assert told("rows.cvs") == "file '/rows.cvs': the name must end in .csv or .parquet; did you mean '.csv'?"
    assert told("empty.csv", b"") == "file '/empty.csv' is empty"
    assert told("head.csv", b"age,job\n") == "file '/head.csv' has no rows"
    assert told("heads.csv") == "there is no file '/heads.csv'; did you mean 'head.csv'?"
    assert told("nowhere/rows.csv") == "there is no file '/nowhere/rows.csv'"
    assert told("latin.csv", b"age\n\xe4\n").startswith("file '/latin.csv' is not a csv file that can be read: ")
    assert told("ragged.csv", b"a\n1\n1,2,3\n").startswith("file '/ragged.csv' is not a csv file that can be read: ")
    assert told("x.parquet", b"age").startswith("file '/x.parquet' is not a parquet file that can be read: ")


def test_what_reads_like_missing_is_a_level_where_the_schema_says_so(tmp_path: Any) -> None:
    words = ("None", "NA", "n/a", "null", "some")
    schema = Schema((Feature(name="debt", kind="categorical", levels=words), Feature(name="age", kind="numeric")))
    path = tmp_path / "rows.csv"
    path.write_text("age,debt,note\n" + "".join(f"{40 + i},{word},NA\n" for i, word in enumerate(words)) + "NA,,x\n")
    frame = frames.read_file(path, schema)
    assert frame["debt"].tolist()[:5] == list(words)
    assert frame.isna().sum().to_dict() == {"age": 1, "debt": 1, "note": 5}
    (chunk,) = frames.chunks_of(path, schema, 10).each
    pd.testing.assert_frame_equal(chunk.frame, frame)
    assert frames.read_file(path)["debt"].isna().sum() == 5  # without a schema nothing is known of it


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_the_words_for_missing_are_those_of_pandas(word: str, tmp_path: Any) -> None:
    (tmp_path / "rows.csv").write_text(f'age,job\n{word},"{word}"\n1,clerk\n')
    assert pd.read_csv(tmp_path / "rows.csv").isna().sum().tolist() == [1, 1]


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Any) -> None:
    path = tmp_path / "rows.parquet"
    frames.write_file(pd.DataFrame({"age": [1]}), path)
    with pytest.raises(pa.ArrowInvalid):
        frames.write_file(pd.DataFrame({"age": pd.Series([1, "a"], dtype=object)}), path)
    assert frames.read_file(path)["age"].tolist() == [1]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_draft_that_is_not_finished_is_removed(tmp_path: Any) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old")

    def stop_half_way() -> None:
        with frames.replacing(path) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stop_half_way()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_needs_a_folder_and_a_known_ending(tmp_path: Any) -> None:
    frame = pd.DataFrame({"age": [1]})
    assert problems_of(frames.write_file, frame, tmp_path / "no" / "rows.csv") == [
        f"there is no folder '{tmp_path}/no' to write 'rows.csv' to"
    ]
    assert problems_of(frames.write_file, frame, "rows.xlsx") == [
        "file 'rows.xlsx': the name must end in .csv or .parquet"
    ]


EVERY_SORT = {
    "count": np.array([1, 2, 3]),
    "share": np.array([0.5, np.nan, 1.5]),
    "few": np.array([1, 2, 3], dtype=np.int8),
    "known": np.array([True, False, True]),
    "any": np.array(["a", None, 3], dtype=object),
    "town": pd.array(["x", "y", None], dtype="str"),
    "job": pd.Categorical(["clerk", None, "nurse"]),
    "grade": pd.array([1, None, 3], dtype="Int64"),
    "more": np.array([4, 5, 6]),
}


@pytest.mark.parametrize("since", [[], ["2024-01-01", "2024-01-02", "2024-01-03"]])
def test_a_frame_is_the_one_that_pandas_makes_and_shares_no_plain_array(since: list[str]) -> None:
    columns = EVERY_SORT | ({"since": np.array(since, dtype="datetime64[ns]")} if since else {})
    made = KINDS["pandas"].frame(columns)
    assert_same(made, pd.DataFrame({name: pd.Series(column, copy=True) for name, column in columns.items()}))
    for column in columns.values():
        if isinstance(column, np.ndarray):
            assert not any(np.shares_memory(column, held) for held in made._iter_column_arrays())
    made.index.name, made.columns.name = "person", "feature"
    other = KINDS["pandas"].frame(columns)
    assert (other.index.name, other.columns.name) == (None, None)


@pytest.mark.skipif(FROM_BLOCKS is None, reason="pandas makes no frames of blocks")
def test_frames_of_texts_and_numbers_have_a_mould_and_such_of_dates_have_none() -> None:
    for name, has in (("town", True), ("job", True), ("since", False)):
        KINDS["pandas"].frame({"count": EVERY_SORT["count"], name: (EVERY_SORT | DATES)[name]})
        mould = MOULDS[EVERY_SORT["count"].dtype.str, type((EVERY_SORT | DATES)[name])]
        assert (mould is not None) == has


DATES = {"since": pd.array(pd.date_range("2024-01-01", periods=3)), "until": pd.period_range("2024", periods=3).array}


@pytest.mark.parametrize("names", [EVERY_SORT, [*EVERY_SORT, "since"], ["count", "until"], ["town", "share", "town2"]])
def test_a_frame_like_one_before_is_as_whole_as_that(names: Sequence[str]) -> None:
    sorts = EVERY_SORT | DATES | {"town2": EVERY_SORT["town"]}
    columns = {name: sorts[name] for name in names}
    first = KINDS["pandas"].frame({name: column.copy() for name, column in columns.items()})
    again, other = (KINDS["pandas"].frame({name: column[[2, 0]] for name, column in columns.items()}) for _ in range(2))
    assert_same(again, first.iloc[[2, 0]].reset_index(drop=True))
    for name in names:
        again.loc[0, name] = again.loc[1, name]
    again.insert(1, "new", [7, 8])
    again = again.drop(columns=next(iter(names)))
    assert again.columns.tolist() == ["new", *list(names)[1:]]
    assert_same(pd.concat([again, again]).head(2), again)
    assert_same(other, first.iloc[[2, 0]].reset_index(drop=True))


CATEGORIES = {
    "as the schema has them": pd.CategoricalDtype(["clerk", "cook", "nurse"]),
    "ordered, in another order": pd.CategoricalDtype(["nurse", "clerk", "cook"], ordered=True),
    "more": pd.CategoricalDtype(["boss", "clerk", "cook", "nurse"]),
    "of objects": pd.CategoricalDtype(pd.Index(["clerk", "cook", "nurse"], dtype=object)),
    "in Python": pd.CategoricalDtype(pd.Index(["clerk", "cook", "nurse"], dtype=pd.StringDtype("python"))),
}


@pytest.mark.parametrize("dtype", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_are_read_and_come_back_as_they_are(dtype: pd.CategoricalDtype) -> None:
    feature = Feature(name="job", kind="categorical", levels=("clerk", "cook", "nurse"), missing=True)
    schema = Schema((feature, Feature(name="age", kind="numeric", integer=True)))
    rows = pd.DataFrame({"job": pd.Categorical(["nurse", None, "clerk"], dtype=dtype), "age": [30, 40, 50]})
    assert np.array_equal(read(rows, schema).cells, [[2, 30], [np.nan, 40], [0, 50]], equal_nan=True)
    shape, cells = shape_of(rows, schema), read(rows, schema).cells
    assert shape.columns[0][1] == Dtype(shape.columns[0][1].name, tuple(dtype.categories), dtype.ordered)
    now, changed = cells[[0, 1, 2, 2]].copy(), np.zeros((4, 2), dtype=bool)
    now[3, 0], changed[3, 0] = 1, True
    made = rebuild(rows, schema, np.array([0, 1, 2, 2]), now, changed)
    expected = pd.DataFrame(
        {"job": pd.Categorical(["nurse", None, "clerk", "cook"], dtype=dtype), "age": [30, 40, 50, 50]}
    )
    assert_same(made, expected)
    assert_same(shape.build(cells), rows)


def test_a_level_that_is_no_category_of_a_frame_is_told_where_it_is_needed() -> None:
    feature = Feature(name="job", kind="categorical", levels=("clerk", "cook", "nurse"))
    schema = Schema((feature, Feature(name="age", kind="numeric", integer=True)))
    rows = pd.DataFrame({"job": pd.Categorical(["nurse"]), "age": [30]})
    stays, moves = np.array([[False, True]]), np.array([[True, False]])
    assert rebuild(rows, schema, np.array([0]), np.array([[2.0, 31.0]]), stays)["job"].tolist() == ["nurse"]
    with pytest.raises(DataError, match="column 'job' has no category 'cook'; add it to the column's categories"):
        rebuild(rows, schema, np.array([0]), np.array([[1.0, 30.0]]), moves)


def test_given_rows_stay_as_they_were_given_whatever_their_frame_is_like() -> None:
    class Sheet(pd.DataFrame):
        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return Sheet

    plain = pd.DataFrame({"town": ["x", "y"], "age": [30, 41], "share": [0.5, 2.0**-30]}, index=["ann", "bob"])
    labelled, noted, gone = plain.copy(), plain.copy(), plain.copy()
    labelled.index.name, labelled.columns = "person", pd.Index(["town", "age", "share"], dtype=object, name="feature")
    noted.attrs["source"] = "survey"
    gone.loc["ann", "share"] = np.nan
    exact = plain.assign(age=[2**53 + 1, 7])
    ordered, strict = plain.astype({"town": "category"}), plain.copy().set_flags(allows_duplicate_labels=False)
    others = (noted, gone, exact, ordered, strict, Sheet(plain.copy()), plain.astype({"age": "int8"}))
    for frame in (plain, labelled, *others):
        schema = Schema.infer(frame)
        shape, cells = shape_of(frame, schema), read(frame, schema).cells
        kept, given = frame.copy(deep=True), frames.Given.of(frames.opened(frame), shape, cells)
        frame.loc["ann"] = frame.loc["bob"]
        frame.index.name, frame.columns.name = "later", "later"
        frame.index = ["eve", "bob"]
        assert_same(given.frame, kept)
        assert given.frame.flags == kept.flags
        assert (type(given.frame), given.frame.attrs) == (type(kept), kept.attrs)


@pytest.mark.parametrize("names", [["town", "paid", "age"], ["paid", "town", "age"], ["town", "age", "paid", 7]])
def test_of_few_given_rows_nothing_is_looked_up_but_their_features(
    names: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pd.DataFrame({"town": ["x", "y"], "age": [30, 41], "paid": [True, False], 7: [1, 2]}, index=["ann", "bob"])
    frame = whole[names].rename_axis(columns="feature")
    expected = frame[[name for name in names if name in ("town", "age")]]
    schema = Schema((Feature(name="town", kind="binary", levels=("x", "y")), AGE))
    monkeypatch.setattr(frames.given, "features_of", None)  # a step for each column
    given = frames.Given.of(frames.opened(frame), shape_of(frame, schema), read(expected, schema).cells)
    assert_same(given.frame, expected)


@pytest.mark.parametrize("name", EVERY_SORT)
def test_what_stands_behind_some_rows_can_be_written_to(name: str) -> None:
    kind, column = KINDS["pandas"], EVERY_SORT[name].copy()
    whole = kind.frame({name: column.copy()})
    rest = kind.frame({name: kind.behind(column, 1)})
    assert_same(rest, whole[1:].reset_index(drop=True))
    rest.iloc[0, 0] = rest.iloc[1, 0]
    assert_same(kind.frame({name: column}), whole)


def test_plain_arrays_are_copied_into_frames_of_any_kind(make: Any) -> None:
    kind, numbers = frames.kinds.library_of(make({"age": [1]})), np.array([1.0, 2.0])
    made = kind.frame({"x": numbers})
    numbers[:] = 9.0
    assert_same(made, kind.frame({"x": np.array([1.0, 2.0])}))


def test_numbers_of_one_type_are_made_together_or_each_as_it_can_be() -> None:
    schema = Schema((AGE, PAY, Feature(name="debt", kind="numeric", integer=True)))
    rows = pd.DataFrame({"debt": [1, 2], "age": [30, 40], "pay": [0.5, 1.5]})
    shape = shape_of(rows, schema)
    assert_same(shape.build(np.array([[30.0, 0.5, 1.0], [40.0, 1.5, 2.0]])), rows)
    large = shape.build(np.array([[30.0, np.nan, 2.0**60]]))  # by way of Arrow, beside one that is a plain array
    assert_same(large, pd.DataFrame({"debt": [2**60], "age": [30], "pay": [np.nan]}))
    [problem] = problems_of(shape.build, np.array([[30.5, 0.5, 1.0]]))
    assert problem.startswith("column 'age' is stored as int64 and cannot hold 30.5; declare it integer = true")


CELLS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 2.0**60])


@given(st.lists(CELLS, min_size=1, max_size=12), *(st.booleans() for _ in range(3)))
def test_cellsare_sound_where_none_is_suspect(cells: list[float], numeric: bool, integer: bool, missing: bool) -> None:
    kind, levels = ("numeric", ()) if numeric else ("ordinal", (1, 2))
    schema = Schema((Feature(name="x", kind=kind, levels=levels, integer=integer and numeric, missing=missing),))
    column = np.array(cells)[:, None]
    sound = are_sound.plain(column, schema.numeric, schema.integer, schema.missing)
    assert sound == are_sound(column, schema.numeric, schema.integer, schema.missing)
    assert sound == (not suspects(schema, column).any())


def test_columns_of_several_labels_are_refused_in_words() -> None:
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert problems_of(Schema.infer, frame)[0] == "column names must be texts, not ('a', 'x'); rename the column"
