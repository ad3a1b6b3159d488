"""Parts of a release as one table: their types and their labels."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from l2c import Feature, Schema
from l2c.adapters.frames import shape_of
from l2c.adapters.frames.columns import exactly
from l2c.adapters.frames.row_labels import label_array
from l2c.adapters.frames.storing import from_arrow, to_arrow
from l2c.adapters.parts import (
    Settled,
    as_a_part,
    in_common,
    labels_alike,
    number_of,
    part_path,
    parts_in,
    remove_drafts,
)  # fmt: skip
from l2c.errors import DataError, StoredFileError

SCHEMA = Schema(
    (
        Feature(name="age", kind="numeric"),
        Feature(name="job", kind="categorical", levels=("clerk", "cook")),
        Feature(name="owner", kind="binary", levels=(False, True)),
    )
)
FIRST = pd.DataFrame({"age": [30, 40], "job": ["cook", "clerk"], "owner": [True, False]})


def settled_by(first, schema=SCHEMA) -> Settled:
    table, shape = as_a_part(to_arrow(first), shape_of(first, schema), [False] * len(first), None)
    return Settled(shape, {name: table.schema.field(name).type for name in table.column_names}, None)


def gaps_of(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if table.column(name).null_count]


def stored(first, later, unread=(False, False)) -> pa.Table:
    table, _ = as_a_part(to_arrow(later), shape_of(later, SCHEMA), list(unread), settled_by(first))
    return table


@pytest.mark.parametrize(
    "later",
    [
        FIRST.astype({"age": "float64"}),
        FIRST.astype({"age": "int8"}),
        FIRST.astype({"job": "category"}),
        FIRST.astype({"job": object}),
        FIRST[["owner", "job", "age"]],
    ],
    ids=["fractions", "narrow", "categories", "objects", "another order"],
)
def test_a_part_is_stored_in_the_types_of_the_first(later):
    table = stored(FIRST, later)
    assert table.schema.equals(to_arrow(FIRST).schema)
    pd.testing.assert_frame_equal(from_arrow(table, shape_of(FIRST, SCHEMA)), FIRST)


def test_categories_of_the_first_part_stay_categories():
    first = FIRST.astype({"job": pd.CategoricalDtype(["clerk", "cook", "pilot"])})
    assert stored(first, FIRST).schema == stored(first, first).schema
    assert stored(first, FIRST).column("job").type == pa.large_string()
    pd.testing.assert_frame_equal(from_arrow(stored(first, FIRST), shape_of(first, SCHEMA)), first)


def test_a_gap_is_none_where_whole_numbers_are_stored():
    table = stored(FIRST, FIRST.assign(age=[30.0, None]))
    assert table.column("age").type == pa.int64()
    assert table.column("age").to_pylist() == [30, None]
    wide = shape_of(FIRST, SCHEMA).with_room_for_gaps(gaps_of(table))
    assert from_arrow(table, wide).dtypes.astype(str).to_dict() == {"age": "float64", "job": "str", "owner": "bool"}
    owners = stored(FIRST, FIRST.assign(owner=pd.Series([True, None], dtype=object)))
    assert owners.column("owner").type == pa.bool_()
    held = from_arrow(owners, shape_of(FIRST, SCHEMA).with_room_for_gaps(gaps_of(owners)))["owner"]
    assert (held.dtype, held[0], bool(held.isna()[1])) == (object, True, True)
    polars = pl.from_pandas(FIRST)
    gone = stored(polars, polars.with_columns(age=pl.Series([30.0, float("nan")])))
    assert gone.column("age").to_pylist() == [30, None]
    assert shape_of(polars, SCHEMA).with_room_for_gaps(gaps_of(gone)) == shape_of(polars, SCHEMA)


def test_what_does_not_fit_is_left_out_of_unread_rows_and_refused_of_others():
    later = FIRST.assign(age=[30.0, 40.5])
    assert stored(FIRST, later, unread=[False, True]).column("age").to_pylist() == [30, None]
    assert stored(FIRST, FIRST, unread=[True, True]).column("age").to_pylist() == [30, 40]
    with pytest.raises(DataError, match="column 'age' was stored as int64 in the first part and is float64 here"):
        stored(FIRST, later, unread=[True, False])
    with pytest.raises(DataError, match="the first was pandas, this is polars"):
        stored(FIRST, pl.from_pandas(FIRST))


@pytest.mark.parametrize("later", [FIRST.assign(age=[0.1, 0.2]), pl.from_pandas(FIRST.assign(age=[0.1, 0.2]))])
def test_a_number_is_not_rounded_to_fit(later):
    first = later.astype({"age": "float32"}) if isinstance(later, pd.DataFrame) else later.cast({"age": pl.Float32})
    with pytest.raises(DataError, match=r"'age' was stored as [fF]loat32 in the first part and is [fF]loat64 here"):
        stored(first, later)
    assert stored(first, later, unread=[True, True]).column("age").null_count == 2
    assert stored(later, first).column("age").to_pylist() == [0.10000000149011612, 0.20000000298023224]


def test_a_value_that_the_first_part_has_no_category_for_is_left_out_of_unread_rows_and_refused_of_others():
    first = FIRST.astype({"job": pd.CategoricalDtype(["cook", "clerk"])})
    later = FIRST.assign(job=["pilot", "clerk"])
    assert stored(first, later, unread=[True, False]).column("job").to_pylist() == [None, "clerk"]
    with pytest.raises(DataError, match=r"'job' was stored as category\[str\] in the first part and is str here"):
        stored(first, later, unread=[False, True])
    without = shape_of(FIRST[1:].astype({"job": pd.CategoricalDtype(["clerk", "pilot"])}), SCHEMA)
    with pytest.raises(DataError, match="column 'job' has no category 'cook'; add it to the column's categories"):
        from_arrow(to_arrow(FIRST), without)


def test_parts_miss_objects_alike_where_any_of_them_says_how():
    schema = Schema((Feature(name="job", kind="categorical", levels=("clerk", "cook"), missing=True),))
    shapes = [shape_of(pd.DataFrame({"job": pd.Series(told, dtype=object)}), schema) for told in (["cook"], [None])]
    first = settled_by(pd.DataFrame({"job": ["cook"]}, dtype=object), schema)
    _, later = as_a_part(to_arrow(pd.DataFrame({"job": [None]}, dtype=object)), shapes[1], [False], first)
    for given in (shapes, [shapes[0], later], [later, shapes[0]]):
        assert [dtype.none for _, dtype in in_common(given).columns] == [True]
    assert in_common([shapes[0], shapes[0]]) == shapes[0]
    assert in_common([shapes[0], shape_of(pd.DataFrame({"job": ["cook"]}), schema)]) is None


def test_parts_are_found_in_order_and_none_may_be_missing_among_them(tmp_path):
    for number in (2, 0, 1, 100_000):
        part_path(tmp_path, number).touch()
    with pytest.raises(StoredFileError, match=r"holds part-100000.parquet and not part-00003.parquet, which comes bef"):
        parts_in(tmp_path)
    part_path(tmp_path, 100_000).unlink()
    assert [path.name for path in parts_in(tmp_path)] == [f"part-0000{number}.parquet" for number in range(3)]


def test_nothing_is_removed_but_drafts_of_parts(tmp_path):
    kept = [
        "part-00000.parquet",
        ".0123456789abcdef-note.txt",
        ".part-00001.parquet",
        "0123456789abcdef-part-00001.parquet",
    ]
    for name in (*kept, ".0123456789abcdef-part-00001.parquet"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(kept)


ORDERED = pd.CategoricalDtype(["clerk", "cook"], ordered=True)
NUMBERS = [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(10, 2)]


@pytest.mark.parametrize(
    "first",
    [
        FIRST.astype({"job": ORDERED}),
        FIRST.astype({"job": "category"}),
        FIRST.astype({"job": object}),
        pl.from_pandas(FIRST).cast({"job": pl.Enum(["clerk", "cook"])}),
        pa.Table.from_pandas(FIRST.astype({"job": ORDERED})),
    ],
    ids=["ordered", "categories", "objects", "enum", "arrow"],
)
@pytest.mark.parametrize("later", [FIRST, FIRST.astype({"job": "category"}), FIRST.astype({"job": object})])
def test_parts_of_one_release_have_one_schema_and_are_read_in_the_types_of_the_first(first, later):
    if isinstance(first, pl.DataFrame):
        later = pl.from_pandas(later)
    elif isinstance(first, pa.Table):
        later = pa.Table.from_pandas(later)
    tables = [stored(first, first), stored(first, later)]
    assert tables[0].schema == tables[1].schema
    again = [from_arrow(table, shape_of(first, SCHEMA)) for table in tables]
    assert shape_of(again[0], SCHEMA) == shape_of(again[1], SCHEMA) == shape_of(first, SCHEMA)
    assert again[0].equals(again[1])


@pytest.mark.parametrize("one", NUMBERS)
@pytest.mark.parametrize("other", NUMBERS)
def test_whole_numbers_fit_in_any_type_of_numbers(one, other):
    schema = Schema((Feature(name="age", kind="numeric"),))
    first, later = (pa.table({"age": pa.array([30, 40]).cast(pa.float64()).cast(kind)}) for kind in (one, other))
    table, _ = as_a_part(later, shape_of(later, schema), [False] * 2, settled_by(first, schema))
    assert table.column("age").type == one
    assert table.column("age").to_pylist() == [30, 40]


def test_what_is_not_known_in_the_first_part_is_of_the_types_that_features_have():
    gone = pd.DataFrame({"age": [None], "job": [float("nan")], "owner": [None]}).astype({"age": object})
    for first, told in ((gone, {"age": "object", "job": "str", "owner": "object"}), (gone.astype("Float64"), None)):
        table, shape = as_a_part(to_arrow(first), shape_of(first, SCHEMA), [True], None)
        types = [table.schema.field(name).type for name in SCHEMA.names]
        assert [str(kind) for kind in types] == ["double", "string", "bool"]
        assert {name: dtype.name for name, dtype in shape.columns} == (
            told or {"age": "Float64", "job": "str", "owner": "bool"}
        )
        later, _ = as_a_part(to_arrow(FIRST), shape_of(FIRST, SCHEMA), [False] * 2, settled_by(first))
        assert later.schema == table.schema
        assert from_arrow(later, shape.with_room_for_gaps(gaps_of(later)))["job"].tolist() == ["cook", "clerk"]


def test_what_is_not_known_in_a_later_part_fits_whatever_its_type():
    polars = pl.from_pandas(FIRST)
    for first, later in (
        (FIRST, pd.DataFrame({"age": [None, None], "job": [None, None], "owner": [None, None]}, dtype=object)),
        (polars, pl.DataFrame({"age": [None, None], "job": [None, None], "owner": [None, None]})),
    ):
        table = stored(first, later, unread=[True, True])
        assert table.schema == stored(first, first).schema
        assert [table.column(name).null_count for name in SCHEMA.names] == [2, 2, 2]


def test_labels_are_of_the_type_of_the_first_part_or_refused():
    def settled(kind) -> Settled:
        return Settled(shape_of(FIRST, SCHEMA), {}, kind)

    days = pa.array([0, 1]).cast(pa.timestamp("us"))
    assert labels_alike(pa.array([1.0]), settled(pa.int64())).type == pa.int64()
    assert labels_alike(days.cast(pa.timestamp("ns")), settled(days.type)).equals(days)
    assert labels_alike(pa.array([0.5]), None).to_pylist() == [0.5]
    for labels, kind in (
        (pa.array([0.5]), pa.int64()),
        (pa.array([3]), days.type),
        (days, pa.int64()),
        (days, pa.timestamp("us", tz="Europe/Berlin")),
        (days.cast(pa.timestamp("us", tz="Europe/Berlin")), days.type),
        (pa.array([1], pa.duration("us")), pa.int64()),
        (pa.array([True]), pa.int64()),
        (pa.array([7]), pa.string()),
        (pa.array([7]), None),
    ):
        with pytest.raises(DataError, match=r"were of type .* and are of type .* here; give all of one type, or none"):
            labels_alike(labels, settled(kind))


def test_a_decimal_that_would_be_rounded_does_not_fit():
    assert exactly(pa.array([0.15, None]), pa.decimal128(10, 1)) is None
    assert exactly(pa.array([0.5, None]), pa.decimal128(10, 1)).to_pylist() == [Decimal("0.5"), None]


@pytest.mark.parametrize(
    "labels",
    [
        [pd.Timestamp("2026-01-01"), 5],
        [pd.Timestamp("2026-01-01"), 2.5],
        [pd.Timedelta("1s"), 5],
        [date(2026, 1, 1), pd.Timestamp("2026-01-01 12:00")],
        [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-01", tz="Europe/Berlin")],
        [np.datetime64("2026-01-01"), "ann"],
    ],
)
def test_labels_that_are_times_and_something_else_are_texts(labels):
    assert label_array(labels).to_pylist() == list(map(str, labels))


def test_labels_that_are_times_stay_what_they_are():
    for labels in ([pd.Timestamp("2026-01-01 00:00:00.000000001"), None], [date(2026, 1, 1)], [pd.Timedelta(1, "ns")]):
        assert label_array(labels).to_pylist() == labels


def test_only_what_is_called_as_parts_are_is_one():
    names = [
        "part-00000.parquet",
        "part-123456.parquet",
        "part-000000.parquet",
        "part-1.parquet",
        "part-00000 (1).parquet",
    ]
    assert [number_of(part_path(Path("found"), 0).with_name(name)) for name in names] == [0, 123456, None, None, None]
