"""Where a stream's rows come from: files, a frame, frames as they come; their types, their labels, their ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import l2c
from l2c.adapters.frames.chunks import _filled
from l2c.adapters.frames.kinds import KINDS
from l2c.errors import DataError, InputError, StoredFileError
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
def test_a_cell_that_makes_texts_of_truths_is_told_and_the_stream_goes_on_once_it_is_corrected(tmp_path, place, whole):
    path, lines = tmp_path / "rows.csv", ROWS.to_csv(index=False).splitlines()
    path.write_text(
        "\n".join([*lines[: place + 1], lines[place + 1].rsplit(",", 1)[0] + ",maybe", *lines[place + 2 :]])
    )
    expected = f"^column 'owner', row {place}: 'maybe' is not a known level; known are False, True$"
    with pytest.raises(DataError, match=expected):
        desk().explain_stream(path, tmp_path / "found", chunk=10, **ASKED)
    assert len(list((tmp_path / "found").iterdir())) == place // 10
    with pytest.raises(DataError, match=expected):
        l2c.adapters.frames.read_file(path, SCHEMA)
    path.write_text("\n".join(lines))
    pd.testing.assert_frame_equal(streamed(path, tmp_path / "found"), whole)


@pytest.mark.parametrize(
    ("levels", "cells", "told"),
    [
        ((False, True), ["True", "false", "1"], "'1' is not a known level; known are False, True"),
        ((False, True), ["True", " True", "False"], "' True' is not a known level; did you mean True?"),
        ((1, 2, 3), ["1", "2.0", "true"], "'true' is not a known level; known are 1, 2, 3"),
    ],
)
def test_what_is_of_another_sort_than_the_levels_is_told_too(tmp_path, levels, cells, told):
    kind = "binary" if len(levels) == 2 else "ordinal"
    schema = l2c.Schema((l2c.Feature(name="rooms", kind=kind, levels=levels),))
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["rooms", *cells, ""]))
    with pytest.raises(DataError, match=rf"^column 'rooms', row [12]: {told.replace('?', chr(92) + '?')}$"):
        l2c.adapters.frames.read_file(path, schema)


def test_a_cell_that_makes_texts_of_numbered_levels_is_told(tmp_path):
    schema = l2c.Schema((*SCHEMA.features, l2c.Feature(name="rooms", kind="ordinal", levels=(1, 2, 3))))
    rows = ROWS.assign(rooms=["1", "2.0", "x", *"1" * 36, "y"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(DataError) as caught:
        l2c.adapters.frames.read_file(tmp_path / "rows.csv", schema)
    assert caught.value.problems == (
        "column 'rooms', row 2: 'x' is not a known level; known are 1, 2, 3",
        "column 'rooms', row 39: 'y' is not a known level; known are 1, 2, 3",
    )


@pytest.mark.parametrize("gap", [None, 25], ids=["without gaps", "with one"])
def test_whole_numbers_of_a_parquet_file_are_of_the_type_that_one_call_gives_them(tmp_path, gap):
    features = [replace(one, missing=one.name == "age", moves="both") for one in SCHEMA.features]
    explainer = l2c.L2C(epochs=0, select="first").fit(
        applicants().astype({"age": float}), _of_any_age, l2c.Schema(tuple(features))
    )
    rows = ROWS.assign(age=ROWS["age"].where(ROWS.index != gap) if gap else ROWS["age"])
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path, row_group_size=8)
    whole = explainer.explain(pd.read_parquet(path), **ASKED).to_frame()
    assert whole["age"].dtype == ("float64" if gap else "int64")
    pd.testing.assert_frame_equal(streamed(path, tmp_path / "found", explainer=explainer), whole)


def _of_any_age(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame.assign(age=frame["age"].fillna(40)))


_of_any_age.classes = granted.classes


def test_a_row_that_cannot_be_read_for_another_reason_is_another_row(tmp_path):
    rows = ROWS[:10].assign(job=["zzz", *ROWS["job"][1:10]])
    desk().explain_stream(rows, tmp_path, **ASKED)
    assert desk().explain_stream(rows, tmp_path, **ASKED).parts_before == 1
    with pytest.raises(InputError, match="was made of other rows"):
        desk().explain_stream(rows.assign(job=["qqq", *rows["job"][1:]]), tmp_path, **ASKED)


@pytest.mark.parametrize("name", ["run:1", "s3:x", "mock:y"])
def test_a_folder_whose_name_looks_like_an_address_is_a_folder(tmp_path, monkeypatch, whole, name):
    monkeypatch.chdir(tmp_path)
    desk().explain_stream(ROWS, name, chunk=10, **ASKED)
    pd.testing.assert_frame_equal(l2c.read(name).to_frame(), whole)
    assert desk().explain_stream(ROWS, name, chunk=10, **ASKED).parts_before == 4
    assert len(list((tmp_path / name).iterdir())) == 4


def test_a_folder_of_files_is_told_to_be_one(tmp_path):
    (tmp_path / "rows.parquet").mkdir()
    with pytest.raises(DataError, match=r"rows.parquet' is a folder; give one file. .*to_batches\(\)"):
        desk().explain_stream(tmp_path / "rows.parquet", tmp_path / "found", **ASKED)


def test_a_parquet_file_that_is_damaged_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    ROWS.to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    for read in (lambda: l2c.adapters.frames.read_file(path), lambda: streamed(path, tmp_path / "found")):
        with pytest.raises(DataError, match=r"rows.parquet' is not a parquet file that can be read: "):
            read()


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
    known = found["index"].astype(object).where(found["index"].notna(), None) if "index" in found else None
    return None if known is None else known.tolist()


def written_and_read(found: l2c.Explanations, tmp_path) -> pd.DataFrame:
    """Return what a found file tells: labels of several types are texts there."""
    found.write(tmp_path / "whole.parquet")
    return l2c.read(tmp_path / "whole.parquet").to_frame()


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(1000, 1040),
        pd.RangeIndex(0, 80, 2, name="id"),
        pd.Index([f"p{place}" for place in range(40)]),
        pd.Index([*range(20), *range(100, 120)]),
        pd.Index([*range(10), *(f"p{place}" for place in range(30))], dtype=object),
        pd.Index([*range(100, 110), *(f"p{place}" for place in range(30))], dtype=object),
        pd.Index([*range(20), *range(20)]),
        pd.Index([*range(1, 40), 0]),
        pd.RangeIndex(39, -1, -1),
        pd.Index([*map(float, range(20)), *(place + 0.5 for place in range(20))]),
        pd.Index([None] * 10 + [f"p{place}" for place in range(30)]),
        pd.date_range("2026-01-01", periods=40, name="day"),
        pd.date_range("2026-01-01", periods=40, tz="Europe/Berlin"),
        pd.date_range("2026-01-01", periods=40, unit="s"),
        pd.date_range("2026-01-01", periods=40, freq="ns", unit="ns"),
        pd.timedelta_range("1s", periods=40, freq="ns", unit="ns"),
        pd.period_range("2026-01", periods=40, freq="M"),
        pd.interval_range(0, 40),
        pd.CategoricalIndex(list("abcd") * 10),
        pd.Index([float("nan"), *map(float, range(39))]),
        pd.MultiIndex.from_arrays([pd.RangeIndex(40), list("abcd") * 10]),
        pd.MultiIndex.from_arrays([pd.date_range("2026-01-01", periods=40), [float("nan"), *range(39)]]),
    ],
    ids=[
        "range", "steps", "texts", "from somewhere on", "places and texts", "numbers and texts", "twice the same",
        "shuffled", "backwards", "fractions", "gaps", "days", "zone", "seconds", "nanoseconds", "durations", "months",
        "intervals", "categories", "a number missing", "levels", "levels of days",
    ],
)  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 10])
def test_labels_are_those_of_one_call(tmp_path, index, chunk):
    rows = ROWS.set_axis(index, axis=0)
    expected = labels(written_and_read(desk().explain(rows, **ASKED), tmp_path))
    assert labels(streamed(rows, tmp_path / "frame", chunk=chunk)) == expected
    if index.dtype != object or isinstance(index, pd.MultiIndex):
        rows.to_parquet(tmp_path / "rows.parquet", row_group_size=7)
        assert labels(streamed(tmp_path / "rows.parquet", tmp_path / "found", chunk=chunk)) == expected


def test_a_range_of_labels_that_is_not_as_long_as_the_file_is_not_its_own(tmp_path, whole):
    table = pa.Table.from_pandas(ROWS)
    with pq.ParquetWriter(tmp_path / "rows.parquet", pa.Table.from_pandas(ROWS[:4]).schema) as file:
        for start in range(0, 40, 4):
            file.write_table(table[start : start + 4].cast(file.schema))
    for chunk in (4, 7, 40):
        found = streamed(tmp_path / "rows.parquet", tmp_path / str(chunk), chunk=chunk)
        pd.testing.assert_frame_equal(found, whole)


def test_labels_of_frames_as_they_come_are_told_where_some_are_no_places(tmp_path):
    frames = [ROWS[:10], ROWS[10:20].set_axis(range(500, 510), axis=0), ROWS[20:].reset_index(drop=True)]
    found = streamed(iter(frames), tmp_path)
    assert dict.fromkeys(labels(found)) == dict.fromkeys([*range(10), *range(500, 510), *range(20, 40)])
    assert "index" in pd.read_parquet(tmp_path)


def test_labels_of_other_types_than_those_before_are_refused(tmp_path):
    named = ROWS[20:].set_axis([f"p{place}" for place in range(20)], axis=0)
    with pytest.raises(
        DataError,
        match=r"^rows 20 and on: row labels were of type int64 in the first part and are of type string here; g",
    ):
        desk().explain_stream([ROWS[:20], named], tmp_path, **ASKED)
    assert len(l2c.read(tmp_path).outcomes) == 20
    assert pq.read_table(tmp_path).num_rows > 20


def test_rows_that_are_called_otherwise_are_other_rows(tmp_path):
    named = [ROWS.set_axis([f"{letter}{place}" for place in range(40)], axis=0) for letter in "ab"]
    desk().explain_stream(named[0][:20], tmp_path, chunk=10, **ASKED)
    with pytest.raises(InputError, match=r"part-00000.parquet was made of rows that are labelled otherwise than those"):
        desk().explain_stream(named[1], tmp_path, chunk=10, **ASKED)
    assert desk().explain_stream(named[0], tmp_path, chunk=10, **ASKED).parts_before == 2


def in_categories(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(job=frame["job"].astype(str).astype("category"))


BY_JOB = ROWS.sort_values("job", ignore_index=True)


@pytest.mark.parametrize(
    "given",
    [
        lambda: in_categories(BY_JOB),
        lambda: [in_categories(BY_JOB[start : start + 10].reset_index(drop=True)) for start in range(0, 40, 10)],
        lambda: [pa.Table.from_pandas(in_categories(BY_JOB[start : start + 10])) for start in range(0, 40, 10)],
        lambda: pa.concat_tables(
            [pa.Table.from_pandas(in_categories(BY_JOB[start : start + 8])) for start in range(0, 40, 8)]
        ),
        lambda: pl.from_pandas(BY_JOB).with_columns(pl.col("job").cast(pl.Categorical)),
    ],
    ids=["pandas", "pandas by pieces", "arrow by pieces", "arrow of pieces", "polars"],
)  # fmt: skip
@pytest.mark.parametrize("lock", [(), ("job",)])
def test_categories_that_only_later_rows_have_are_known_from_the_first(tmp_path, given, lock):
    desk().explain_stream(given(), tmp_path, chunk=10, **ASKED, lock=lock)
    found, whole = l2c.read(tmp_path), desk().explain(BY_JOB, **ASKED, lock=lock)
    told = found.to_frame()
    told = told if isinstance(told, pd.DataFrame) else pl.from_dataframe(told).to_pandas()
    pd.testing.assert_frame_equal(
        told.astype({"job": str}), whole.to_frame().astype({"job": str}), check_dtype=False, check_categorical=False
    )
    assert found.outcomes == whole.outcomes
    assert pl.read_parquet(tmp_path).height == len(pd.read_parquet(tmp_path)) == len(found) + 40


@pytest.mark.parametrize("lock", [(), ("job",)])
def test_categories_in_a_file_too(tmp_path, lock):
    table = pl.from_pandas(BY_JOB).with_columns(pl.col("job").cast(pl.Categorical))
    table.write_parquet(tmp_path / "rows.parquet", row_group_size=10)
    found = desk().explain_stream(tmp_path / "rows.parquet", tmp_path / "found", chunk=8, **ASKED, lock=lock).read()
    whole = desk().explain(pd.read_parquet(tmp_path / "rows.parquet"), **ASKED, lock=lock)
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame(), check_dtype=False, check_categorical=False)
    assert found.frame["job"].tolist() == BY_JOB["job"].tolist()


@pytest.mark.parametrize("levels", [(1, 2, 3), (0.5, 1.5, 2.5), (False, True)])
def test_categories_that_are_no_texts_are_known_too(tmp_path, levels):
    kind = "binary" if len(levels) == 2 else "categorical"
    rows = applicants().assign(room=[levels[place % len(levels)] for place in range(120)])
    schema = l2c.Schema((*SCHEMA.features, l2c.Feature(name="room", kind=kind, levels=levels)))
    explainer = l2c.L2C(epochs=0, select="first").fit(rows, granted, schema)
    some = rows[:40].sort_values("room", ignore_index=True)
    frames = [some[start : start + 10].reset_index(drop=True) for start in range(0, 40, 10)]
    found = explainer.explain_stream([one.astype({"room": "category"}) for one in frames], tmp_path, **ASKED).read()
    whole = explainer.explain(some.astype({"room": "category"}), **ASKED)
    pd.testing.assert_frame_equal(
        found.to_frame().astype({"room": object}), whole.to_frame().astype({"room": object}), check_dtype=False
    )
    assert found.frame["room"].tolist() == some["room"].tolist()


def test_categories_of_arrow_within_pandas_are_known_too(tmp_path):
    kind = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    frames = [BY_JOB[start : start + 10].reset_index(drop=True) for start in range(0, 40, 10)]
    found = desk().explain_stream([one.astype({"job": kind}) for one in frames], tmp_path, **ASKED).read()
    whole = desk().explain(BY_JOB, **ASKED)
    assert found.to_frame()["job"].tolist() == whole.to_frame()["job"].tolist()
    assert found.outcomes == whole.outcomes


def test_more_levels_than_a_small_index_can_tell_are_known_too():
    names = tuple(f"n{place}" for place in range(300))
    schema = l2c.Schema((l2c.Feature(name="town", kind="categorical", levels=names),))
    few = pa.DictionaryArray.from_arrays(pa.array([1, 2, 0], pa.int8()), pa.array([None, "n7", "n299"]))
    table = KINDS["arrow"].with_levels(pa.table({"town": few, "other": few}), schema)
    town = table.column("town").chunk(0)
    assert town.to_pylist() == ["n7", "n299", None]
    assert sorted(town.dictionary.to_pylist()) == sorted(names)
    assert table.column("other").chunk(0).equals(few)
    ordered = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["n7"]), ordered=True)
    assert KINDS["arrow"].with_levels(pa.table({"town": ordered}), schema).column("town").chunk(0).equals(ordered)


def test_columns_that_are_called_alike_are_told_as_by_one_call(tmp_path):
    twice = pd.concat([ROWS, ROWS[["job"]]], axis=1)
    for given in (twice, [twice]):
        with pytest.raises(DataError, match="column 'job' appears 2 times; rename or drop the others"):
            desk().explain_stream(given, tmp_path, **ASKED)


def test_truths_that_are_all_missing_in_the_first_lines_are_truths(tmp_path):
    features = tuple(replace(feature, missing=feature.name == "owner") for feature in SCHEMA.features)
    rows = applicants().astype({"owner": object}).assign(owner=lambda some: some["owner"].where(some.index > 9, None))
    explainer = l2c.L2C(epochs=0, select="first").fit(rows, _with_any_owner, l2c.Schema(features))
    rows[:40].to_csv(tmp_path / "rows.csv", index=False)
    for chunk, found in ((10, "ten"), (15, "fifteen")):
        told = explainer.explain_stream(tmp_path / "rows.csv", tmp_path / found, chunk=chunk, **ASKED).read()
        whole = explainer.explain(pd.read_csv(tmp_path / "rows.csv"), **ASKED)
        pd.testing.assert_frame_equal(told.to_frame(), whole.to_frame())
        assert told.frame["owner"].tolist()[10:] == rows["owner"].tolist()[10:40]


def _with_any_owner(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame.assign(owner=frame["owner"].astype(object).where(frame["owner"].notna(), False)))


_with_any_owner.classes = granted.classes


def test_ordered_categories_that_the_first_frame_does_not_have_are_refused(tmp_path):
    levels = SCHEMA["school"].levels
    rows = [ROWS[ROWS["school"] != "high"], ROWS[ROWS["school"] == "high"]]
    orders = [pd.CategoricalDtype(list(order), ordered=True) for order in (levels[:2], levels)]
    typed = [some.astype({"school": order}) for some, order in zip(rows, orders, strict=True)]
    with pytest.raises(
        DataError, match=r"^rows \d+ and on: column 'school' was stored as category\[str\] in the first"
    ):
        desk().explain_stream(typed, tmp_path, **ASKED, lock=["school"])
    assert l2c.read(tmp_path).frame["school"].tolist() == rows[0]["school"].tolist()


def test_rows_that_are_labelled_by_their_places_alone_have_no_labels(tmp_path, whole):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    for number, source in enumerate((ROWS, [ROWS[:25], ROWS[25:]], pd.read_csv(tmp_path / "rows.csv", chunksize=16))):
        pd.testing.assert_frame_equal(streamed(source, tmp_path / str(number)), whole)


def test_batches_are_put_together_whatever_their_size():
    batches = pa.table({"row": range(25)}).to_batches(3)
    assert [table["row"].to_pylist() for table in _filled(iter(batches), 10)] == [
        [*range(10)], [*range(10, 20)], [*range(20, 25)]
    ]  # fmt: skip


def test_whole_numbers_of_a_file_with_types_stay_whole_where_fractions_are_allowed(tmp_path):
    rows = ROWS.assign(hours=ROWS["hours"].round().astype("int64"))
    rows.to_parquet(tmp_path / "rows.parquet")
    asked = {**ASKED, "lock": ["hours"]}
    found = desk().explain_stream(tmp_path / "rows.parquet", tmp_path / "found", chunk=10, **asked).read()
    pd.testing.assert_frame_equal(found.to_frame(), desk().explain(rows, **asked).to_frame())
    assert found.frame["hours"].dtype == "int64"


def test_levels_that_are_whole_numbers_stay_whole_in_a_file_without_types(tmp_path):
    rows = applicants().assign(room=np.arange(120) % 3 + 1)
    schema = l2c.Schema((*SCHEMA.features, l2c.Feature(name="room", kind="categorical", levels=(1, 2, 3))))
    explainer = l2c.L2C(epochs=0, select="first").fit(rows, granted, schema)
    rows[:40].to_csv(tmp_path / "rows.csv", index=False)
    as_it_was_read(tmp_path / "rows.csv", tmp_path, explainer)
    assert l2c.read(tmp_path / "found").frame["room"].dtype == "int64"


def test_row_groups_do_not_decide_how_many_parts_there_are(tmp_path):
    ROWS.astype({"job": "category", "school": "category"}).to_parquet(tmp_path / "rows.parquet", row_group_size=3)
    told = desk().explain_stream(tmp_path / "rows.parquet", tmp_path / "found", chunk=16, **ASKED)
    assert [len(l2c.read(part).outcomes) for part in sorted(told.folder.glob("part-*"))] == [16, 16, 8]


@pytest.mark.parametrize("stored", [pa.int64(), pa.uint8()])
def test_numbers_that_may_be_missing_are_fractions_in_every_chunk_of_a_file(tmp_path, stored):
    features = tuple(
        l2c.Feature(name=f.name, kind=f.kind, levels=f.levels, integer=f.integer, missing=f.name == "age")
        for f in SCHEMA.features
    )
    gaps = applicants().astype({"age": float}).mask(np.arange(120)[:, None] + np.zeros((1, 6)) == 7)
    gaps = applicants().assign(age=gaps["age"])
    explainer = l2c.L2C(epochs=0, select="first").fit(gaps, _with_gaps, l2c.Schema(features))
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    ages = pa.array([None if place == 33 else age for place, age in enumerate(ROWS["age"].tolist())], stored)
    pq.write_table(table.set_column(0, "age", ages), tmp_path / "rows.parquet")
    asked = explainer.explain(pd.read_parquet(tmp_path / "rows.parquet"), **ASKED).to_frame()
    pd.testing.assert_frame_equal(streamed(tmp_path / "rows.parquet", tmp_path / "found", explainer=explainer), asked)


def _with_gaps(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame.assign(age=frame["age"].fillna(40)))


_with_gaps.classes = granted.classes


def test_missing_objects_are_said_alike_in_all_parts(tmp_path):
    features = tuple(replace(feature, missing=feature.name == "job") for feature in SCHEMA.features)
    rows = applicants().astype({"job": object})
    rows.loc[7, "job"] = None
    explainer = l2c.L2C(epochs=0, select="first").fit(rows, _with_any_job, l2c.Schema(features))
    some = ROWS.astype({"job": object})
    some.loc[15, "job"] = None
    streamed(some, tmp_path, explainer=explainer)
    assert l2c.read(tmp_path).frame["job"][15] is None


def _with_any_job(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame.assign(job=frame["job"].astype(object).where(frame["job"].notna(), "clerk")))


_with_any_job.classes = granted.classes


def test_a_part_in_the_place_of_one_with_the_same_rows_is_told(tmp_path):
    twice = [pl.from_pandas(ROWS[:10])] * 2
    desk().explain_stream(twice, tmp_path, **ASKED)
    (tmp_path / "part-00001.parquet").write_bytes((tmp_path / "part-00000.parquet").read_bytes())
    with pytest.raises(InputError, match=r"part-00001.parquet was made of other rows than those that come now"):
        desk().explain_stream(twice, tmp_path, **ASKED)
    with pytest.raises(StoredFileError, match=r"part-00001.parquet belongs to another release"):
        l2c.read(tmp_path)


def test_a_part_of_other_types_that_is_stored_alike_is_told(tmp_path):
    frames = [ROWS[:10], ROWS[10:20]]
    desk().explain_stream(frames, tmp_path / "texts", **ASKED)
    desk().explain_stream([in_categories(frame) for frame in frames], tmp_path / "categories", **ASKED)
    part = "part-00001.parquet"
    (tmp_path / "texts" / part).write_bytes((tmp_path / "categories" / part).read_bytes())
    with pytest.raises(StoredFileError, match=f"{part} belongs to another release than the parts before it"):
        l2c.read(tmp_path / "texts")


@pytest.mark.parametrize("labels", [[float("nan"), *range(1, 40)], [None] * 40], ids=["some", "all"])
def test_labels_that_are_missing_in_a_file_are_the_same_when_it_is_gone_on_with(tmp_path, labels):
    ROWS.set_axis(pd.Index(labels, name="id"), axis=0).to_parquet(tmp_path / "rows.parquet")
    for before in (0, 4):
        told = desk().explain_stream(tmp_path / "rows.parquet", tmp_path / "found", chunk=10, **ASKED)
        assert told.parts_before == before
    assert told.read().index[0] is None
