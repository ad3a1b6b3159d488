"""Found files: read back equal in every kind of frame, open to any tool, and refused when damaged."""

from __future__ import annotations

import json
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import l2c
from l2c.adapters import frames, seals
from l2c.adapters.found_file import KEY
from l2c.adapters.seals import seal
from l2c.core.explanation import Released
from l2c.core.goal import Goal
from l2c.errors import DataError, OtherModelError, StoredFileError

ROWS = 60
rng = np.random.default_rng(2)
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 80, ROWS),
        "debt": pd.Series(rng.normal(2000, 700, ROWS).round(2)).mask(rng.random(ROWS) < 0.3),
        "job": rng.choice(["clerk", "cook", "nurse"], ROWS),
        "pet": pd.Series(rng.choice(["cat", "dog", "fish"], ROWS)).mask(rng.random(ROWS) < 0.3),
        "married": rng.random(ROWS) < 0.5,
        "school": rng.choice([1, 2, 3], ROWS),
    }
)
SCHEMA = l2c.Schema.infer(PEOPLE, rises=["age"])


QUICK = l2c.L2C(select="first")
"""What a file holds does not depend on how a set is chosen."""


def by_age_and_job(frame: pd.DataFrame) -> np.ndarray:
    return 1 / (1 + np.exp((50.0 - frame["age"].to_numpy(dtype=float)) / 5 - 2 * (frame["job"] == "cook").to_numpy()))


by_age_and_job.classes = ("late", "paid")


@pytest.fixture(scope="module")
def explainer() -> l2c.Explainer:
    return QUICK.fit(PEOPLE, by_age_and_job, SCHEMA)


@pytest.fixture(scope="module")
def found(explainer) -> l2c.Explanations:
    """Return explanations in which rows end in many ways: found, already, none can exist, and not readable."""
    rows = PEOPLE[:12].assign(job=[*PEOPLE["job"][:10], "pilot", None])
    late = (by_age_and_job(rows) < 0.4).tolist()
    stuck, ranged = late.index(True), late.index(True, late.index(True) + 1)
    limits = [None] * 12
    limits[stuck], limits[ranged] = {"lock": ["age", "job"]}, {"desired_proba": (0.5, 0.9)}
    labelled = rows.set_axis([f"person {letter}" for letter in "abcdefghijkl"])
    some = explainer.explain(labelled, n=3, desired="paid", limits=limits)
    assert {outcome.status for outcome in some.outcomes} >= {"found", "already", "infeasible", "bad_input"}
    assert some.outcomes[stuck].reason.relaxations
    return some


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "found.parquet"


def written(found: l2c.Explanations, path: Path) -> l2c.Explanations:
    found.write(path)
    return l2c.read(path)


def assert_same(left: l2c.Explanations, right: l2c.Explanations) -> None:
    """Fail unless two explanations are equal in everything, types included."""
    for field in fields(Released):
        one, other = (getattr(found.released, field.name) for found in (left, right))
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        elif isinstance(one, Goal):
            for part in ("accepted", "low", "high"):
                np.testing.assert_array_equal(getattr(one, part), getattr(other, part), err_msg=part)
        else:
            assert one == other, field.name
    for one, other in ((left.frame, right.frame), (left.to_frame(), right.to_frame())):
        assert type(one) is type(other)
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), check_exact=True)
        else:
            assert one.schema == other.schema
            assert one.equals(other)
    assert left.index == right.index
    assert dict(left.notes) == dict(right.notes)
    assert repr(left) == repr(right)


def test_explanations_come_back_equal(found, path):
    assert_same(written(found, path), found)


def test_scores_come_back_equal_and_plausibility_asks_for_the_model(found, path):
    again = written(found, path)
    assert again.scores().to_dict() == found.scores().to_dict()
    with_model = l2c.read(path, model=by_age_and_job)
    expected = found.scores(reference=PEOPLE).to_dict()
    assert with_model.scores(reference=PEOPLE).to_dict() == expected


PANDAS = {
    "plain": PEOPLE,
    "categories": PEOPLE.astype(
        {
            "job": pd.CategoricalDtype(["nurse", "clerk", "cook", "pilot"]),
            "pet": pd.CategoricalDtype(["fish", "dog", "cat"], ordered=True),
            "school": pd.CategoricalDtype([3, 2, 1]),
        }
    ),
    "objects": PEOPLE.astype(object).assign(pet=PEOPLE["pet"].astype(object).where(PEOPLE["pet"].notna(), None)),
    "nullable": PEOPLE.convert_dtypes(),
    "small": PEOPLE.astype({"age": "int8", "school": "uint8", "job": "string[python]"}),
    "arrow": PEOPLE.convert_dtypes(dtype_backend="pyarrow"),
    "arrow categories": PEOPLE.astype({"pet": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))}),
}


@pytest.mark.parametrize("rows", PANDAS.values(), ids=PANDAS)
def test_pandas_columns_of_any_type_come_back_as_they_were(explainer, path, rows):
    found = explainer.explain(rows[:10], n=3)
    assert len(found) > 15
    assert_same(written(found, path), found)


POLARS = pl.from_pandas(PEOPLE)
OTHERS = {
    "polars": POLARS,
    "polars enum": POLARS.with_columns(pl.col("job").cast(pl.Enum(["nurse", "clerk", "cook", "pilot"]))),
    "polars categorical": POLARS.with_columns(pl.col("pet").cast(pl.Categorical)),
    "polars small": POLARS.with_columns(pl.col("age").cast(pl.Int8), pl.col("school").cast(pl.UInt16)),
    "arrow": POLARS.to_arrow(),
    "arrow dictionaries": pa.table(
        {
            name: column.combine_chunks().dictionary_encode() if name in ("job", "pet", "school") else column
            for name, column in zip(POLARS.columns, POLARS.to_arrow().columns, strict=True)
        }
    ),
    "arrow decimals": POLARS.to_arrow().set_column(
        1, "debt", pa.array([None if x != x else Decimal(str(x)) for x in PEOPLE["debt"]], pa.decimal128(12, 2))
    ),
}


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_polars_and_arrow_columns_come_back_as_they_were(explainer, path, rows):
    found = explainer.explain(rows[:10] if isinstance(rows, pl.DataFrame) else rows.slice(0, 10), n=3)
    assert len(found) > 15
    assert_same(written(found, path), found)


def test_more_categories_than_a_byte_counts_come_back(path):
    towns = pd.Categorical([f"town {place % 150}" for place in range(600)])
    rows = pd.DataFrame({"age": np.arange(600) % 61 + 18, "town": towns})
    explainer = QUICK.fit(rows, lambda frame: (frame["age"].to_numpy() > 40) * 0.8 + 0.1, l2c.Schema.infer(rows))
    found = explainer.explain(rows[30:40], n=3)
    assert len(found) > 10
    assert_same(written(found, path), found)


@pytest.mark.parametrize(
    "labels",
    [
        ["ann", "bob", "eve"],
        [10, 20, 30],
        [2, 1, 0],
        [0.5, 1.5, 2.5],
        ["twin", "twin", "eve"],
        pd.date_range("2026-01-31", periods=3),
    ],
    ids=["texts", "numbers", "turned", "fractions", "repeated", "dates"],
)
def test_row_labels_come_back(explainer, path, labels):
    found = explainer.explain(PEOPLE[:3].set_axis(labels), n=2)
    assert found.index == pd.Index(labels).tolist()
    assert_same(written(found, path), found)


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), ["('a', 1)", "('a', 2)", "('b', 1)"]),
        (pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1)]), ["(1, 1)", "(1, 2)", "(2, 1)"]),
        (pd.Index([1, "two", 3.5], dtype=object), ["1", "two", "3.5"]),
        (pd.Index([1, 2, 2**70], dtype=object), ["1", "2", str(2**70)]),
    ],
    ids=["levels", "number levels", "mixed", "huge"],
)
def test_row_labels_that_no_column_can_hold_are_kept_as_texts(explainer, path, labels, kept):
    found = explainer.explain(PEOPLE[:3].set_axis(labels), n=2)
    assert written(found, path).index == kept


def test_a_missing_row_label_comes_back_as_none(explainer, path):
    found = explainer.explain(PEOPLE[:3].set_axis(["ann", None, "eve"]), n=2)
    assert written(found, path).index == ["ann", None, "eve"]


def test_rows_without_labels_have_no_column_for_them(explainer, path):
    assert written(explainer.explain(PEOPLE[:3], n=2), path).index is None
    assert "index" not in pq.read_table(path).column_names


def test_only_places_have_statistics_for_rows_stand_in_their_order(found, path):
    found.write(path)
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    assert {column.path_in_schema for column in columns if column.is_stats_set} == {"row", "rank"}


def test_a_release_without_one_counterfactual_comes_back(explainer, path):
    found = explainer.explain(PEOPLE[PEOPLE["age"] > 60], n=2, desired="paid")
    assert {outcome.status for outcome in found.outcomes} == {"already"}
    assert_same(written(found, path), found)


def test_a_release_of_rows_that_cannot_be_read_comes_back(explainer, path):
    found = explainer.explain(PEOPLE[:3].assign(job="pilot"), n=2)
    assert {outcome.status for outcome in found.outcomes} == {"bad_input"}
    assert_same(written(found, path), found)
    assert len(l2c.read(path, model=by_age_and_job)) == 0


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (0.5, 1.5), ("late", "paid")])
def test_classes_of_any_type_come_back(path, labels):
    def model(frame: pd.DataFrame) -> np.ndarray:
        return by_age_and_job(frame)

    model.classes = labels
    found = QUICK.fit(PEOPLE, model, SCHEMA).explain(PEOPLE[:5], n=2)
    again = written(found, path)
    assert_same(again, found)
    assert [type(label) for label in again.released.classes] == [type(label) for label in labels]


AWKWARD = (
    "row", "rank", "rank_", "index", "prediction", "probability", "cost", "status", "sentence", "tries", "valid",
    "reason", "desired", "accepted", "low", "high",
)  # fmt: skip


def test_features_may_have_the_names_of_our_columns(path):
    rows = pd.DataFrame({name: rng.integers(0, 50, ROWS) for name in AWKWARD})
    explainer = QUICK.fit(rows, lambda frame: frame["row"].to_numpy() / 50, l2c.Schema.infer(rows))
    found = explainer.explain(rows[:5].set_axis(list("abcde")), n=2)
    assert_same(written(found, path), found)
    table = pq.read_table(path)
    assert table.column_names[: len(AWKWARD)] == list(AWKWARD)
    assert table.column_names[len(AWKWARD) :] == [
        "row_", "rank__", "index_", "prediction_", "cost_", "reason_", "accepted_", "low_", "high_", "probability_",
        "status_", "sentence_", "tries_", "valid_", "desired_",
    ]  # fmt: skip
    assert pq.read_table(path)["rank__"].to_pylist() == [0, 1, 2] * 5


def test_plain_pandas_reads_the_originals_as_rank_0_with_their_outcomes(found, path):
    found.write(path)
    table = pd.read_parquet(path)
    people = table[table["rank"] == 0]
    assert people["row"].tolist() == list(range(12))
    assert people["index"].tolist() == list(found.index)
    features = people[list(SCHEMA.names)].reset_index(drop=True)
    pd.testing.assert_frame_equal(features, found.frame.reset_index(drop=True))
    told = zip(people["status"], people["sentence"], people["tries"], people["valid"], strict=True)
    assert list(told) == [(each.status, each.sentence, each.tries, each.valid) for each in found.outcomes]
    assert people["desired"].tolist()[:10] == ["paid"] * 10
    assert people["prediction"].tolist()[:10] == [
        "paid" if p > 0.5 else "late" for p in by_age_and_job(PEOPLE[:10]).tolist()
    ]
    assert people["prediction"].isna().tolist() == [False] * 10 + [True] * 2


def test_plain_pandas_reads_the_counterfactuals_behind_their_original(found, path):
    found.write(path)
    table = pd.read_parquet(path)
    places = list(zip(table["row"], table["rank"], strict=True))
    assert places == sorted(places)
    ours = table[table["rank"] > 0].reset_index(drop=True)
    expected = found.to_frame()
    pd.testing.assert_frame_equal(ours[expected.columns], expected)
    assert (ours["prediction"] == "paid").all()
    np.testing.assert_array_equal(ours["probability"], by_age_and_job(ours))


def test_plain_pandas_reads_what_was_asked_of_each_row_and_why_one_got_none(found, path):
    found.write(path)
    table = pd.read_parquet(path)
    people, others = table[table["rank"] == 0], table[table["rank"] > 0]
    assert others[["reason", "accepted", "low", "high"]].isna().all(axis=None)
    assert people["cost"].isna().all()
    assert others["cost"].tolist() == found.to_frame()["cost"].tolist()
    assert people["accepted"].tolist() == ["[1]"] * 10 + ["[]"] * 2
    ranged = people[people["low"].notna()]
    assert (ranged["low"].tolist(), ranged["high"].tolist()) == ([0.5], [0.9])
    (stuck,) = (outcome for outcome in found.outcomes if outcome.status == "infeasible")
    (reason,) = (text for text in people["reason"] if isinstance(text, str))
    assert json.loads(reason) == {
        "proven": True,
        "relaxations": [
            {"limit": one.limit, "feature": one.feature, "value": one.value, "sentence": one.sentence}
            for one in stuck.reason.relaxations
        ],
    }
    assert {one.limit for one in stuck.reason.relaxations} == {"lock"}


def by_thirds(frame: pd.DataFrame) -> np.ndarray:
    years = frame["age"].to_numpy(dtype=float)
    mass = np.exp(-np.abs(years[:, None] - np.array([25.0, 45.0, 65.0])) / 8)
    return mass / mass.sum(axis=1, keepdims=True)


by_thirds.classes = ("young", "middle", "old")


def test_goals_costs_and_reasons_of_every_kind_come_back(path):
    schema = l2c.Schema.infer(PEOPLE, rises=["age"], costs={"age": 2.5, "job": 0.5})
    explainer = QUICK.fit(PEOPLE, by_thirds, schema)
    limits = [
        {"desired_proba": (0.9999, 1)}, {"max_cost": 1.0}, {"permit": {"age": (20, 26)}}, {"lock": ["age"]},
        {"where": "age <= was.age + 1"}, {"forbid": {"age": [("*", (20, 99))]}}, {"desired": "old"}, None,
    ]  # fmt: skip
    youngest = PEOPLE[PEOPLE["age"] < 33].head(8)
    assert len(youngest) == 8
    found = explainer.explain(youngest, n=2, desired=["middle", "old"], limits=limits)
    told = {one.limit for outcome in found.outcomes if outcome.reason for one in outcome.reason.relaxations}
    assert told >= {"desired_proba", "max_cost", "permit", "lock", "where", "forbid"}
    assert set(found.to_frame()["prediction"]) <= {"middle", "old"}
    assert found.to_frame()["cost"].min() >= 2.5
    assert_same(written(found, path), found)


def test_the_metadata_tells_a_person_what_the_file_is(found, path):
    found.write(path)
    told = seals.unseal("l2c found", pq.read_schema(path).metadata[KEY], "it")
    assert told["schema"] == SCHEMA.to_dict()
    assert told["layout"] == found.released.layout.to_dict()
    assert (told["asked"], told["model"]["classes"], told["notes"]["seed"]) == (3, ["late", "paid"], 0)
    assert {"l2c", "numpy", "python"} <= set(told["notes"])


def refusal(path: Path) -> str:
    with pytest.raises(StoredFileError) as caught:
        l2c.read(path)
    return str(caught.value)


def refused_or_equal(path: Path, found: l2c.Explanations) -> bool:
    """Return whether a damaged file was refused; if it is read, it must be read as if it were sound."""
    try:
        again = l2c.read(path)
    except StoredFileError:
        return True
    assert_same(again, found)
    return False


def flipped(content: bytes, position: int, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[position] ^= 1 << bit
    return bytes(damaged)


def test_a_flipped_bit_is_refused_or_changes_nothing(found, path):
    found.write(path)
    content = path.read_bytes()
    chosen = np.random.default_rng(0)
    refused = 0
    for position in chosen.choice(len(content), 150, replace=False):
        path.write_bytes(flipped(content, position, int(chosen.integers(8))))
        refused += refused_or_equal(path, found)
    assert refused > 75


def test_a_flipped_bit_at_the_ends_is_refused(found, path):
    found.write(path)
    content = path.read_bytes()
    for position in (*range(4), *range(len(content) - 8, len(content))):
        path.write_bytes(flipped(content, position, position % 8))
        assert refused_or_equal(path, found) or position < 4


def test_a_flipped_bit_in_the_name_of_a_column_is_refused_or_changes_nothing(found, path):
    found.write(path)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    refused = 0
    for name in (*SCHEMA.names, "index", "tries"):
        start = content.index(name.encode(), footer)
        for position in range(start, start + len(name)):
            path.write_bytes(flipped(content, position, position % 5))
            refused += refused_or_equal(path, found)
    assert refused > 20


def test_the_flip_of_any_value_is_refused_even_where_parquet_itself_would_not_see_it(found, path):
    # Written again by another tool, with sound checksums: only our own hash of the rows can tell.
    found.write(path)
    table = pq.read_table(path)
    for name in table.column_names:
        changed = table.set_column(table.column_names.index(name), name, [altered(table[name].combine_chunks())])
        pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
        assert refusal(path) == f"{path} cannot be read: its rows were altered and do not match their hash"


def altered(column: pa.Array) -> pa.Array:
    """Return a column in which the last value that is there is another one."""
    values = column.to_pylist()
    last = max(place for place, value in enumerate(values) if value is not None)
    if isinstance(values[last], str):
        values[last] += "!"
    else:
        values[last] = not values[last] if isinstance(values[last], bool) else values[last] + 1
    return pa.array(values, column.type)


def test_a_value_that_moved_to_the_row_beside_it_is_refused(found, path):
    found.write(path)
    table = pq.read_table(path)
    debts = table["debt"].to_pylist()
    place = next(place for place in range(1, len(debts)) if debts[place - 1] is None and debts[place] is not None)
    debts[place - 1], debts[place] = debts[place], None
    pq.write_table(table.set_column(1, "debt", [pa.array(debts)]), path)
    assert refusal(path) == f"{path} cannot be read: its rows were altered and do not match their hash"


def test_two_rows_that_changed_places_are_refused(found, path):
    found.write(path)
    table = pq.read_table(path)
    pq.write_table(table.take([1, 0, *range(2, len(table))]), path)
    assert refusal(path) == f"{path} cannot be read: its rows were altered and do not match their hash"


def test_another_tool_may_compress_the_same_rows_otherwise(found, path):
    found.write(path)
    pq.write_table(pq.read_table(path), path, compression="none", use_dictionary=False, row_group_size=7)
    assert_same(l2c.read(path), found)


def test_a_truncated_file_is_refused(found, path):
    found.write(path)
    content = path.read_bytes()
    for length in (0, 1, 4, 8, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        assert refusal(path).startswith(f"{path} is damaged or no Parquet file: ")


def test_what_is_no_parquet_is_refused(path):
    path.write_text("row,rank\n0,1\n")
    assert refusal(path).startswith(f"{path} is damaged or no Parquet file: ")


def test_a_foreign_parquet_file_is_refused(path):
    PEOPLE.to_parquet(path)
    assert refusal(path) == f"{path} is a Parquet file, but not one that L2C wrote"


def test_a_file_that_is_not_there_is_refused(path):
    assert refusal(path) == f"there is no file {str(path)!r}"


@pytest.mark.parametrize(
    ("sealed", "told"),
    [
        (b"{}", "is no l2c found"),
        (b"\x00", "is damaged: it is not JSON"),
        (seal("l2c found", {}).replace("l2c found", "l2c lost").encode(), "is no l2c found"),
        (
            seal("l2c found", {"asked": 3}).replace("3", "4", 1).encode(),
            "was altered: its content does not match its hash",
        ),
    ],
)
def test_foreign_or_altered_metadata_is_refused(found, path, sealed, told):
    found.write(path)
    pq.write_table(pq.read_table(path).replace_schema_metadata({KEY: sealed}), path)
    assert refusal(path) == f"{path} {told}"


def test_a_newer_format_says_which_one_is_read(found, path, monkeypatch):
    monkeypatch.setattr(seals, "FORMAT_VERSION", 2)
    found.write(path)
    monkeypatch.undo()
    assert refusal(path) == f"{path} has format 2; this version of L2C reads format 1"


def test_a_folder_that_is_not_there_is_told_before_anything_is_written(found, tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        found.write(tmp_path / "none" / "found.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_writing_leaves_the_old_file(found, path, monkeypatch):
    found.write(path)
    before = path.read_bytes()

    def crash(_: pa.Table, draft: Path, **__: Any) -> None:
        Path(draft).write_bytes(b"PAR1")
        raise OSError("no space left on device")

    monkeypatch.setattr(pq, "write_table", crash)
    with pytest.raises(DataError, match=r"found.parquet' cannot be written: no space left on device$"):
        found.write(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["found.parquet"]


CELLS = st.fixed_dictionaries(
    {
        "age": st.integers(18, 90),
        "debt": st.none() | st.floats(-1e9, 1e9, allow_subnormal=False),
        "job": st.sampled_from(["clerk", "cook", "nurse", "pilot", "ünknown ✓"]),
        "pet": st.none() | st.sampled_from(["cat", "dog", "fish"]),
        "married": st.booleans(),
        "school": st.sampled_from([1, 2, 3, 9]),
    }
)


@settings(max_examples=25)
@given(st.lists(CELLS, min_size=1, max_size=8), st.sampled_from(["pandas", "polars", "arrow"]), st.integers(1, 4))
def test_any_rows_come_back_equal(explainer, tmp_path_factory, people, kind, n):
    rows = pd.DataFrame(people).astype({"debt": "float64", "pet": "str"})
    native = {"pandas": rows, "polars": pl.from_pandas(rows), "arrow": pa.table(dict(rows.items()))}[kind]
    found = explainer.explain(native, n=n, tries=50)
    assert frames.kind_of(found.to_frame()) == kind
    assert_same(written(found, tmp_path_factory.mktemp("any") / "found.parquet"), found)


def test_reading_with_another_model_is_refused(found, path):
    found.write(path)

    def contrary(frame):
        return 0.5 * np.ones(len(frame))

    contrary.classes = found.released.classes
    with pytest.raises(
        OtherModelError, match="was made with another model: this one answers its probe rows differently"
    ):
        l2c.read(path, model=contrary)
