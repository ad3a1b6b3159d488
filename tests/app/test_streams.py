"""Tables of any length: the answers of one call, in parts that outlive the run that wrote them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import l2c
from l2c.errors import DataError, InputError, StoredFileError
from l2c.release import explain
from loans import applicants, desk, granted

ROWS = applicants(50, seed=4)
ASKED = {"n": 3, "seed": 1, "tries": 2000, "reasons": False}


@pytest.fixture(scope="module")
def whole():
    return desk().explain(ROWS, **ASKED)


def same(found: l2c.Explanations, whole: l2c.Explanations) -> bool:
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame())
    return found.outcomes == whole.outcomes


@pytest.fixture(params=["csv", "parquet", "frames", "polars"])
def source(request, tmp_path):
    if request.param == "frames":
        return [ROWS[:7], ROWS[7:40], ROWS[40:]]
    if request.param == "polars":
        return [pl.from_pandas(ROWS[:30]), pl.from_pandas(ROWS[30:])]
    path = tmp_path / f"rows.{request.param}"
    ROWS.to_csv(path, index=False) if request.param == "csv" else ROWS.to_parquet(path, row_group_size=8)
    return path


def test_a_stream_gives_the_answers_of_one_call(source, whole, tmp_path):
    seen = []
    told = desk().explain_stream(source, tmp_path / "found", chunk=16, progress=lambda *p: seen.append(p), **ASKED)
    found = told.read()
    if isinstance(found.frame, pl.DataFrame):
        assert found.to_frame().equals(desk().explain(pl.from_pandas(ROWS), **ASKED).to_frame())
        assert found.outcomes == whole.outcomes
    else:
        long = found.to_frame().drop(columns="index", errors="ignore")
        pd.testing.assert_frame_equal(long, whole.to_frame())
        assert found.outcomes == whole.outcomes
    assert (told.rows, told.counterfactuals, told.parts_before) == (50, len(whole), 0)
    assert told.outcomes == {status: sum(o.status == status for o in whole.outcomes) for status in told.outcomes}
    assert seen[-1][0] == 50
    assert all(total >= done for done, total in seen)


def test_no_more_is_done_than_there_is_also_where_the_last_line_is_not_ended(tmp_path):
    path, seen = tmp_path / "rows.csv", []
    path.write_text(ROWS[:9].to_csv(index=False).rstrip("\n"))
    desk().explain_stream(path, tmp_path / "found", chunk=4, progress=lambda *told: seen.append(told), **ASKED)
    assert seen == [(0, 8), (4, 8), (8, 8), (9, 9)]


def test_a_large_chunk_tells_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(explain, "_step", lambda rows, _: max(1, rows // 4))
    seen = []
    desk().explain_stream(ROWS[:16], tmp_path, chunk=8, progress=lambda *told: seen.append(told), **ASKED)
    assert seen == [(0, 16), (2, 16), (4, 16), (6, 16), (8, 16), (10, 16), (12, 16), (14, 16), (16, 16)]


def test_frames_as_they_come_tell_only_how_many_are_done(tmp_path):
    seen = []
    frames = (ROWS[start : start + 4] for start in (0, 4))
    desk().explain_stream(frames, tmp_path / "found", progress=lambda *told: seen.append(told), **ASKED)
    assert seen == [(4, 4), (8, 8)]


def test_any_tool_reads_the_folder_as_one_table(whole, tmp_path):
    desk().explain_stream([ROWS[:20], ROWS[20:]], tmp_path / "found.parquet", **ASKED)
    table = pd.read_parquet(tmp_path / "found.parquet")
    assert pl.read_parquet(tmp_path / "found.parquet").height == len(table)
    assert (table["rank"] == 0).sum() == 50
    assert table[table["rank"] > 0]["row"].tolist() == whole.to_frame()["row"].tolist()
    part = l2c.read(tmp_path / "found.parquet" / "part-00001.parquet")
    assert len(part.outcomes) == 30
    assert part.outcomes == whole.outcomes[20:]


def test_a_run_that_was_ended_goes_on_where_it_stopped(source, tmp_path, whole):
    def end(done: int, _: int) -> None:
        if done >= 30:
            raise InterruptedError

    out = tmp_path / "found"
    with pytest.raises(InterruptedError):
        desk().explain_stream(source, out, chunk=16, progress=end, **ASKED)
    assert 30 <= len(l2c.read(out).outcomes) < 50
    written = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    told = desk().explain_stream(source, out, chunk=16, **ASKED)
    assert told.parts_before == len(written) < told.parts
    assert all(path.stat().st_mtime_ns == when for path, when in written.items())
    assert (told.rows, told.counterfactuals) == (50, len(whole))
    again = desk().explain_stream(source, out, chunk=16, **ASKED)
    assert (again.parts_before, again.outcomes) == (told.parts, told.outcomes)


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import l2c
from loans import granted
def stop(done, total):
    if done >= 20:
        os.kill(os.getpid(), signal.SIGKILL)
explainer = l2c.load({bundle!r}, model=granted)
explainer.explain_stream({data!r}, {out!r}, chunk=10, progress=stop, n=3, seed=1, tries=2000, reasons=False)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a process is killed elsewhere in another way")
def test_a_killed_process_leaves_what_can_be_read_and_gone_on_with(tmp_path, whole):
    data, out, bundle = tmp_path / "rows.parquet", tmp_path / "found", tmp_path / "bundle"
    ROWS.to_parquet(data)
    desk().save(bundle)
    code = KILLED.format(tests=str(Path(__file__).parent.parent), data=str(data), out=str(out), bundle=str(bundle))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == -signal.SIGKILL
    assert len(l2c.read(out).outcomes) == 20
    assert len(pd.read_parquet(out)) > 20
    told = l2c.load(bundle, model=desk()._model).explain_stream(data, out, chunk=10, **ASKED)
    assert (told.parts_before, told.parts) == (2, 5)
    assert same(told.read(), whole)


def test_what_was_half_written_is_not_read_and_is_written_anew(tmp_path, whole):
    out, parts = tmp_path / "found", [ROWS[:20], ROWS[20:].reset_index(drop=True)]
    desk().explain_stream(parts, out, **ASKED)
    draft = out / ".0123456789abcdef-part-00001.parquet"
    (out / "part-00001.parquet").rename(draft)
    assert len(l2c.read(out).outcomes) == 20
    assert desk().explain_stream(parts, out, **ASKED).parts_before == 1
    assert not draft.exists()
    assert same(l2c.read(out), whole)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"n": 4}, "n"), ({"seed": 2}, "seed"), ({"lock": ["job"]}, "lock"), ({"chunk": 9}, "chunk")],
)
def test_another_request_is_refused(tmp_path, change, named):
    out = tmp_path / "found"
    desk().explain_stream([ROWS[:5]], out, **ASKED)
    with pytest.raises(
        InputError, match=rf"^{out} was begun with another request: {named} differs.*; ask for the same to go"
    ):
        desk().explain_stream([ROWS[:5]], out, **{**ASKED, **change})


def test_another_file_other_rows_and_another_explainer_are_refused(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    ROWS[:6].to_csv(first, index=False)
    ROWS[6:12].to_csv(second, index=False)
    desk().explain_stream(first, tmp_path / "found", **ASKED)
    with pytest.raises(InputError, match=r"part-00000.parquet was made of other rows than those that come now; remove"):
        desk().explain_stream(second, tmp_path / "found", **ASKED)
    desk().explain_stream([ROWS[:6]], tmp_path / "frames", **ASKED)
    with pytest.raises(InputError, match="was made of other rows than those that come now"):
        desk().explain_stream([ROWS[6:12]], tmp_path / "frames", **ASKED)
    other = l2c.L2C(epochs=0, select="first").fit(applicants(), desk()._model, desk().schema)
    with pytest.raises(InputError, match=r"explainer differs; .* saved and loaded is the same$"):
        other.explain_stream([ROWS[:6]], tmp_path / "frames", **ASKED)


def test_a_folder_of_parts_with_something_else_is_left_alone(tmp_path):
    desk().explain_stream([ROWS[:5]], tmp_path, **ASKED)
    (tmp_path / "part-00000 (copy).parquet").write_bytes((tmp_path / "part-00000.parquet").read_bytes())
    with pytest.raises(InputError, match=r"holds part-00000 \(copy\).parquet, which is no part of a stream"):
        desk().explain_stream([ROWS[:5]], tmp_path, **ASKED)


def test_what_is_wrong_with_the_first_rows_is_told_as_by_one_call(tmp_path):
    wrong = ROWS.drop(columns="job")
    with pytest.raises(DataError, match=r"^column 'job' is missing, but the schema declares it$"):
        desk().explain_stream([wrong], tmp_path, **ASKED)


def test_a_source_is_told_where_a_frame_is_expected(tmp_path):
    for source in ("rows.csv", tmp_path / "rows.parquet", iter([ROWS])):
        with pytest.raises(
            DataError, match=r"^expected a data frame .*; explain_stream explains a file, or frames as th"
        ):
            desk().explain(source, 2)


def test_a_folder_in_which_there_is_nothing_to_be_seen_is_free(tmp_path):
    (tmp_path / ".DS_Store").touch()
    assert desk().explain_stream([ROWS[:5]], tmp_path, **ASKED).parts == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for taken, told in (
        (tmp_path / "mine", r"mine holds letter\.txt, which is no part of a stream; choose another folder$"),
        (tmp_path / "mine" / "letter.txt", r"letter\.txt exists and is not the folder of a stream; choose another$"),
    ):
        with pytest.raises(InputError, match=told):
            desk().explain_stream([ROWS[:5]], taken, **ASKED)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_what_a_stream_cannot_do_is_told_all_at_once(tmp_path):
    with pytest.raises(InputError) as told:
        desk().explain_stream(
            [ROWS], tmp_path / "found", chunk=0, limits=[None], seconds=3, gate=SimpleNamespace(scope="release")
        )
    assert list(told.value.problems) == [
        "limits are given row by row, which a stream cannot: say them for all rows, or explain a frame",
        "seconds ends one call of explain; a stream may be ended at any time, and goes on where it stopped",
        "a gate over the whole release has to see all of it before any of it leaves: explain a frame instead",
        "chunk must be at least 1, not 0",
    ]
    assert not (tmp_path / "found").exists()


def test_rows_that_cannot_be_read_are_told_by_their_place_in_the_stream(tmp_path):
    rows = ROWS.assign(job=ROWS["job"].where(np.arange(50) != 33, "clark"))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    found = desk().explain_stream(tmp_path / "rows.csv", tmp_path / "found", chunk=10, **ASKED).read()
    assert found.outcomes[33].status == "bad_input"
    assert found.outcomes[33].sentence == "column 'job', row 33: 'clark' is not a known level; did you mean 'clerk'?"
    assert found.outcomes == desk().explain(rows, **ASKED).outcomes


def test_an_interval_release_has_no_labels_to_settle(tmp_path):
    edges = {"age": (30, 45, 60), "hours": (20, 40), "savings": (20, 40, 80)}
    bins = {name: l2c.Edges(at) for name, at in edges.items()}
    schema = l2c.Schema(tuple(replace(one, binning=bins.get(one.name, one.binning)) for one in desk().schema.features))
    explainer = l2c.L2C(epochs=0, select="first").fit(applicants(), granted, schema, release="intervals")
    frames = [ROWS[:10], ROWS[10:20].set_axis([f"p{place}" for place in range(10)], axis=0)]
    asked = {"n": 2, "reasons": False, "release": "intervals"}
    told = explainer.explain_stream(frames, tmp_path, **asked)
    whole = explainer.explain(ROWS[:20], **asked)
    pd.testing.assert_frame_equal(told.read().to_frame(), whole.to_frame())
    assert explainer.explain_stream(frames, tmp_path, **asked).parts_before == 2


def test_a_part_by_itself_keeps_the_labels_of_its_rows(tmp_path):
    rows = ROWS[:30].set_axis([*range(9, -1, -1), *range(10, 30)], axis=0)
    desk().explain_stream(rows, tmp_path, chunk=10, **ASKED)
    assert l2c.read(tmp_path / "part-00001.parquet").index == [*range(10, 20)]
    assert l2c.read(tmp_path).index == rows.index.tolist()


def test_what_is_quoted_of_a_row_is_left_as_it_is(tmp_path):
    rows = ROWS.assign(job=ROWS["job"].where(np.arange(50) != 33, "x, row 3: y"))
    found = desk().explain_stream(rows, tmp_path, chunk=10, **ASKED).read()
    assert found.outcomes[33].sentence.startswith("column 'job', row 33: 'x, row 3: y' is not a known level")
    assert found.outcomes == desk().explain(rows, **ASKED).outcomes


def test_files_that_are_none_are_told(tmp_path):
    for name, content in (("a.csv", b""), ("a.parquet", b"no")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=r"is empty|is not a parquet file"):
            desk().explain_stream(tmp_path / name, tmp_path / "found", **ASKED)
    with pytest.raises(DataError, match="there is no file"):
        desk().explain_stream(tmp_path / "b.csv", tmp_path / "found", **ASKED)


def test_a_damaged_part_is_told_with_what_to_do(tmp_path, whole):
    desk().explain_stream(ROWS, tmp_path, chunk=20, **ASKED)
    part = tmp_path / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(StoredFileError, match=rf"^{part} is damaged or no part .*; remove it and the parts behind it"):
        desk().explain_stream(ROWS, tmp_path, chunk=20, **ASKED)
    for gone in (part, tmp_path / "part-00002.parquet"):
        gone.unlink()
    assert desk().explain_stream(ROWS, tmp_path, chunk=20, **ASKED).parts_before == 1
    assert same(l2c.read(tmp_path), whole)


def test_a_single_byte_that_is_another_one_is_not_gone_on_with(tmp_path):
    desk().explain_stream(ROWS[:20], tmp_path, chunk=10, **ASKED)
    part = tmp_path / "part-00000.parquet"
    content, told = part.read_bytes(), 0
    for place in range(40, len(content) // 2, 331):
        part.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            l2c.read(tmp_path)
        except StoredFileError:
            told += 1
            with pytest.raises(StoredFileError, match="is damaged or no part of a release"):
                desk().explain_stream(ROWS[:20], tmp_path, chunk=10, **ASKED)
        else:
            assert desk().explain_stream(ROWS[:20], tmp_path, chunk=10, **ASKED).parts_before == 2
    assert told > 10


def test_a_source_that_ends_before_its_parts_do_is_another_one(tmp_path):
    desk().explain_stream(ROWS, tmp_path / "found", chunk=20, **ASKED)
    with pytest.raises(InputError, match="found holds 3 parts, and the source has rows for 2 of them: it is another"):
        desk().explain_stream(ROWS[:40], tmp_path / "found", chunk=20, **ASKED)


def test_what_was_not_done_yet_may_be_corrected(tmp_path, whole):
    path, wrong = tmp_path / "rows.csv", ROWS.astype({"age": object})
    wrong.loc[33, "age"] = "forty"
    wrong.to_csv(path, index=False)
    with pytest.raises(DataError, match=r"^rows 20 and on: column 'age', row 33: 'forty' is not a number"):
        desk().explain_stream(path, tmp_path / "found", chunk=20, **ASKED)
    ROWS.to_csv(path, index=False)
    assert desk().explain_stream(path, tmp_path / "found", chunk=20, **ASKED).parts_before == 1
    assert same(l2c.read(tmp_path / "found"), whole)


def test_a_folder_is_checked_again_as_one_file_is(tmp_path, whole):
    desk().explain_stream(ROWS, tmp_path / "found", chunk=16, **ASKED)
    whole.write(tmp_path / "found.parquet")
    folder, file = (l2c.recheck(tmp_path / name, model=granted) for name in ("found", "found.parquet"))
    assert folder.holds.tolist() == file.holds.tolist()


def test_a_folder_without_parts_or_with_foreign_ones_is_told(tmp_path):
    with pytest.raises(StoredFileError, match="holds no part of a release yet"):
        l2c.read(tmp_path)
    desk().explain(ROWS[:4], 2).write(tmp_path / "part-00000.parquet")
    desk().explain(ROWS[:4], 3).write(tmp_path / "part-00001.parquet")
    with pytest.raises(
        StoredFileError, match=r"part-00001.parquet belongs to another release than the parts before it"
    ):
        l2c.read(tmp_path)
