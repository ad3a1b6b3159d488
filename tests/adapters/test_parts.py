"""Parts of a release as one table: their types and their labels."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from l2c import Feature, Schema
from l2c.adapters.frames import shape_of
from l2c.adapters.frames.storing import from_arrow, to_arrow
from l2c.adapters.parts import all_labelled, stored_like, with_room_for_gaps
from l2c.errors import DataError

SCHEMA = Schema(
    (
        Feature(name="age", kind="numeric"),
        Feature(name="job", kind="categorical", levels=("clerk", "cook")),
        Feature(name="owner", kind="binary", levels=(False, True)),
    )
)
FIRST = pd.DataFrame({"age": [30, 40], "job": ["cook", "clerk"], "owner": [True, False]})


def stored(first, later, unread=(False, False)) -> pa.Table:
    return stored_like(shape_of(first, SCHEMA), to_arrow(later), shape_of(later, SCHEMA), list(unread))


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
    assert pa.types.is_dictionary(stored(first, FIRST).column("job").type)
    pd.testing.assert_frame_equal(from_arrow(stored(first, FIRST), shape_of(first, SCHEMA)), first)


def test_a_gap_is_none_where_whole_numbers_are_stored():
    table = stored(FIRST, FIRST.assign(age=[30.0, None]))
    assert table.column("age").type == pa.int64()
    assert table.column("age").to_pylist() == [30, None]
    wide = with_room_for_gaps(shape_of(FIRST, SCHEMA), table)
    assert from_arrow(table, wide).dtypes.astype(str).to_dict() == {"age": "float64", "job": "str", "owner": "bool"}
    polars = pl.from_pandas(FIRST)
    gone = stored(polars, polars.with_columns(age=pl.Series([30.0, float("nan")])))
    assert gone.column("age").to_pylist() == [30, None]
    assert with_room_for_gaps(shape_of(polars, SCHEMA), gone) == shape_of(polars, SCHEMA)


def test_what_does_not_fit_is_left_out_of_unread_rows_and_refused_of_others():
    later = FIRST.assign(age=[30.0, 40.5])
    assert stored(FIRST, later, unread=[False, True]).column("age").to_pylist() == [30, None]
    with pytest.raises(DataError, match="column 'age' was stored as int64 in the first part and is float64 here"):
        stored(FIRST, later, unread=[True, False])
    with pytest.raises(DataError, match="the first was pandas, this is polars"):
        stored(FIRST, pl.from_pandas(FIRST))


def test_parts_without_labels_are_labelled_by_their_rows_where_others_have_some():
    plain, numbered = pa.table({"row": [0, 1]}), pa.table({"index": [70, 80], "row": [2, 3]})
    named = pa.table({"row": [4], "index": ["ann"]})
    assert [table.column_names for table in all_labelled([plain, plain], "index", "row")] == [["row"], ["row"]]
    told = all_labelled([plain, numbered], "index", "row")
    assert [table.column("index").to_pylist() for table in told] == [[0, 1], [70, 80]]
    told = all_labelled([plain, numbered, named], "index", "row")
    assert [table.column("index").to_pylist() for table in told] == [["0", "1"], ["70", "80"], ["ann"]]
