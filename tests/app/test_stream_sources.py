"""Where a stream's rows come from: files, a frame, frames as they come; their types, their labels, their ends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import l2c
from l2c.errors import DataError, InputError
from loans import SCHEMA, applicants, desk, granted

ROWS = applicants(40, seed=8)
ASKED = {"n": 2, "tries": 500, "reasons": False}


@pytest.fixture(scope="module")
def whole():
    return desk().explain(ROWS, **ASKED).to_frame()


def streamed(source, folder, *, explainer=None, chunk=10) -> pd.DataFrame:
    """Return what a stream tells, once any tool could read it."""
    (explainer or desk()).explain_stream(source, folder, chunk=chunk, **ASKED)
    found = l2c.read(folder)
    assert pq.read_table(folder).num_rows == ds.dataset(folder).to_table().num_rows == len(found) + len(found.outcomes)
    return found.to_frame()


@pytest.mark.parametrize(
    "given",
    [
        lambda: ROWS,
        lambda: pl.from_pandas(ROWS),
        lambda: pa.Table.from_pandas(ROWS),
        lambda: pa.Table.from_pandas(ROWS).to_batches(7),
        lambda: iter([ROWS[:0], ROWS[:15], ROWS[:0], ROWS[15:].reset_index(drop=True)]),
    ],
)
def test_a_frame_and_frames_of_any_library(tmp_path, whole, given):
    found = streamed(given(), tmp_path)
    found = found if isinstance(found, pd.DataFrame) else pl.from_dataframe(found).to_pandas()
    pd.testing.assert_frame_equal(found, whole, check_dtype=False)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (5, "iterable of frames, got int"),
        (None, "got NoneType"),
        (pl.LazyFrame({"age": [3]}), "got LazyFrame"),
        ([ROWS[:3], None], "frame 1 of the source: expected a data frame"),
        ([], "the source has no rows"),
        ([ROWS[:0]], "the source has no rows"),
        ([ROWS[:3], pl.from_pandas(ROWS[3:6])], "the first was pandas, this is polars"),
    ],
)
def test_what_is_no_source_is_told(tmp_path, given, told):
    with pytest.raises(DataError, match=told):
        desk().explain_stream(given, tmp_path, **ASKED)


def test_files_without_rows_are_told(tmp_path):
    ROWS[:0].to_csv(tmp_path / "a.csv", index=False)
    ROWS[:0].to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(DataError, match="the source has no rows"):
            desk().explain_stream(tmp_path / name, tmp_path / "found", **ASKED)


def test_a_place_where_no_folder_can_be_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made: Not a directory; choose another"):
        desk().explain_stream(ROWS, tmp_path / "file" / "found", **ASKED)


def as_it_was_read(path, tmp_path, explainer=None) -> None:
    """Hold a stream of a CSV file against one call with all of it."""
    with_types = pd.read_csv(path)
    asked = (explainer or desk()).explain(with_types, **ASKED)
    pd.testing.assert_frame_equal(streamed(path, tmp_path / "found", explainer=explainer), asked.to_frame())


def test_fractions_that_are_whole_in_the_first_lines_are_fractions(tmp_path):
    rows = ROWS.assign(hours=np.where(np.arange(40) < 20, 30.0, 30.5))
    rows["hours"] = rows["hours"].map("{:g}".format)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert pd.read_csv(tmp_path / "rows.csv", nrows=10)["hours"].dtype == "int64"
    as_it_was_read(tmp_path / "rows.csv", tmp_path)


def test_levels_that_are_whole_in_the_first_lines_are_fractions(tmp_path):
    rooms = np.where(np.arange(40) < 20, "1", "1.5")
    features = (*SCHEMA.features, l2c.Feature(name="rooms", kind="ordinal", levels=(1.0, 1.5, 2.0)))
    explainer = l2c.L2C(epochs=0, select="first").fit(
        applicants().assign(rooms=np.resize([1.0, 1.5, 2.0], 120)), granted, l2c.Schema(features)
    )
    ROWS.assign(rooms=rooms).to_csv(tmp_path / "rows.csv", index=False)
    as_it_was_read(tmp_path / "rows.csv", tmp_path, explainer)


@pytest.mark.parametrize("place", [3, 33], ids=["in the first part", "in a later part"])
@pytest.mark.parametrize("cell", ["", "30.5"], ids=["a gap", "a fraction"])
def test_a_whole_number_that_is_none_changes_no_type_of_other_parts(tmp_path, cell, place):
    rows = ROWS.astype({"age": str})
    rows.loc[place, "age"] = cell
    rows.to_csv(tmp_path / "rows.csv", index=False)
    found = l2c.read(desk().explain_stream(tmp_path / "rows.csv", tmp_path / "found", chunk=10, **ASKED).folder)
    asked = desk().explain(pd.read_csv(tmp_path / "rows.csv"), **ASKED)
    assert found.outcomes == asked.outcomes
    assert found.outcomes[place].status == "bad_input"
    types = [pq.read_schema(part).field("age").type for part in sorted((tmp_path / "found").glob("part-*"))]
    assert len(set(types)) == 1
    # A fraction where there may be none is left out: the sentence tells it.
    pd.testing.assert_frame_equal(found.to_frame(), asked.to_frame(), check_dtype=cell == "" or place < 10)


def test_values_that_do_not_fit_the_types_of_the_first_frame_are_refused(tmp_path):
    later = ROWS[20:].assign(hours=30.5)
    with pytest.raises(
        DataError, match=r"^rows 20 and on: column 'hours' was stored as int64 in the first part and is"
    ):
        desk().explain_stream(
            [ROWS[:20].astype({"hours": "int64"}), later], tmp_path, **ASKED, lock=["hours", "savings", "age"]
        )
    assert len(l2c.read(tmp_path).outcomes) == 20


def labels(found: pd.DataFrame) -> list[object] | None:
    return found["index"].tolist() if "index" in found else None


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(1000, 1040),
        pd.RangeIndex(0, 80, 2, name="id"),
        pd.Index([f"p{place}" for place in range(40)]),
        pd.Index([*range(20), *range(100, 120)]),
        pd.Index([*range(10), *(f"p{place}" for place in range(30))], dtype=object),
    ],
    ids=["range", "steps", "texts", "from somewhere on", "numbers and texts"],
)
def test_labels_are_those_of_one_call(tmp_path, index):
    rows = ROWS.set_axis(index, axis=0)
    expected = [
        str(label) if index.dtype == object else label for label in labels(desk().explain(rows, **ASKED).to_frame())
    ]
    assert labels(streamed(rows, tmp_path / "frame")) == expected
    if index.dtype != object:
        rows.to_parquet(tmp_path / "rows.parquet", row_group_size=7)
        assert labels(streamed(tmp_path / "rows.parquet", tmp_path / "found")) == expected


def test_rows_that_are_labelled_by_their_places_alone_have_no_labels(tmp_path, whole):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    for number, source in enumerate((ROWS, [ROWS[:25], ROWS[25:]], pd.read_csv(tmp_path / "rows.csv", chunksize=16))):
        pd.testing.assert_frame_equal(streamed(source, tmp_path / str(number)), whole)


def test_row_groups_do_not_decide_how_many_parts_there_are(tmp_path):
    ROWS.astype({"job": "category", "school": "category"}).to_parquet(tmp_path / "rows.parquet", row_group_size=3)
    told = desk().explain_stream(tmp_path / "rows.parquet", tmp_path / "found", chunk=16, **ASKED)
    assert [len(l2c.read(part).outcomes) for part in sorted(told.folder.glob("part-*"))] == [16, 16, 8]


def test_numbers_that_may_be_missing_are_fractions_in_every_chunk_of_a_file(tmp_path):
    features = tuple(
        l2c.Feature(name=f.name, kind=f.kind, levels=f.levels, integer=f.integer, missing=f.name == "age")
        for f in SCHEMA.features
    )
    gaps = applicants().astype({"age": float}).mask(np.arange(120)[:, None] + np.zeros((1, 6)) == 7)
    gaps = applicants().assign(age=gaps["age"])
    explainer = l2c.L2C(epochs=0, select="first").fit(gaps, _with_gaps, l2c.Schema(features))
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    ages = pa.array([None if place == 33 else age for place, age in enumerate(ROWS["age"].tolist())], pa.int64())
    pq.write_table(table.set_column(0, "age", ages), tmp_path / "rows.parquet")
    asked = explainer.explain(pd.read_parquet(tmp_path / "rows.parquet"), **ASKED).to_frame()
    pd.testing.assert_frame_equal(streamed(tmp_path / "rows.parquet", tmp_path / "found", explainer=explainer), asked)


def _with_gaps(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame.assign(age=frame["age"].fillna(40)))


_with_gaps.classes = granted.classes
