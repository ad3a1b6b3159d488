"""What a stream is asked for holds from its first chunk to its last, and is known again when it goes on."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c.errors import InputError
from loans import applicants, desk, granted

ROWS = applicants(30, seed=6)
ASKED = {"n": 3, "tries": 500, "reasons": False}


class EndedError(Exception):
    pass


def end_after_two(done: int, _: int) -> None:
    if done >= 20:
        raise EndedError


def begun(folder, **asked) -> None:
    """Begin a stream of three parts and end it after two."""
    with pytest.raises(EndedError):
        desk().explain_stream(ROWS, folder, chunk=10, progress=end_after_two, **{**ASKED, **asked})


def gone_on_with(folder, **asked) -> l2c.Streamed:
    told = desk().explain_stream(ROWS, folder, chunk=10, **{**ASKED, **asked})
    assert (told.parts_before, told.parts) == (2, 3)
    return told


def once(*values):
    """Return values that can be walked along only once."""
    return iter(values)


@pytest.mark.parametrize(
    ("name", "given"),
    [("lock", ("job", "school")), ("where", ("savings >= was.savings",)), ("desired", ("granted",))],
)
def test_what_can_be_walked_along_only_once_holds_for_every_chunk(tmp_path, name, given):
    found = desk().explain_stream(ROWS, tmp_path, chunk=10, **ASKED, **{name: once(*given)}).read()
    assert len(found)
    pd.testing.assert_frame_equal(found.to_frame(), desk().explain(ROWS, **ASKED, **{name: given}).to_frame())


def test_limits_within_limits_too(tmp_path):
    found = desk().explain_stream(ROWS, tmp_path, chunk=10, **ASKED, permit={"job": once("cook", "clerk")}).read()
    plain = desk().explain(ROWS, **ASKED, permit={"job": ["cook", "clerk"]})
    pd.testing.assert_frame_equal(found.to_frame(), plain.to_frame())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"seed": 0}),
        ({}, {"lock": ()}),
        ({"lock": ["job", "school"]}, {"lock": {"school", "job"}}),
        ({"plausibility": 1}, {"plausibility": 1.0}),
        ({"desired": "granted"}, {"desired": ["granted"]}),
        ({"desired": ["granted", "refused"]}, {"desired": ("refused", "granted")}),
        ({"permit": {"hours": (20, 45)}}, {"permit": {"hours": np.array([20.0, 45.0])}}),
        ({"n": 3}, {"n": np.int64(3)}),
        ({"release": "values"}, {"no_copies": False}),
    ],
)
def test_the_same_request_said_otherwise_goes_on(tmp_path, one, other):
    begun(tmp_path, **one)
    gone_on_with(tmp_path, **other)


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ({"permit": {"hours": (20, np.int64(45))}}, {"permit": {"hours": (20, np.int64(40))}}, "permit"),
        ({"where": "hours <= 40"}, {"where": "hours <= 45"}, "where"),
        ({}, {"where": "hours <= 45"}, "where"),
        ({"desired": "granted"}, {"desired": "refused"}, "desired"),
        ({"desired_proba": (0.5, 0.9)}, {"desired_proba": (0.5, 0.95)}, "desired_proba"),
        ({"robust": 0.1}, {"robust": 0.2}, "robust"),
        ({"no_copies": True}, {}, "no_copies"),
        ({"reasons": True}, {}, "reasons"),
        ({"n": 4}, {}, "n"),
        ({"pool": 300}, {}, "pool"),
    ],
)  # fmt: skip
def test_another_request_does_not(tmp_path, one, other, named):
    begun(tmp_path, **one)
    with pytest.raises(InputError, match=f"was begun with another request: {named} differs; ask"):
        desk().explain_stream(ROWS, tmp_path, chunk=10, **{**ASKED, **other})


def stricter(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame) * 0.9


def as_strict(frame: pd.DataFrame) -> np.ndarray:
    return granted(frame) * (0.9 + 1e-9)


stricter.classes = as_strict.classes = granted.classes


def test_other_versions_of_the_model_are_known_by_what_they_answer(tmp_path):
    begun(tmp_path, robust=[granted])
    with pytest.raises(InputError, match="robust differs"):
        desk().explain_stream(ROWS, tmp_path, chunk=10, **ASKED, robust=[stricter])
    with pytest.raises(InputError, match="robust differs"):
        desk().explain_stream(ROWS, tmp_path, chunk=10, **ASKED, robust=[granted, granted])
    begun(tmp_path / "again", robust=[stricter])
    found = gone_on_with(tmp_path / "again", robust=[as_strict]).read()
    assert (stricter(found.to_frame()[list(ROWS)]) > 0.5)[found.to_frame()["prediction"] == "granted"].all()


def gate(population: pd.DataFrame) -> l2c.Gate:
    return l2c.Gate(k=1, population=population, k_map=2)


@pytest.fixture
def linkable():
    """An explainer whose schema says by what people can be linked."""
    schema = l2c.Schema.infer(applicants(), immutable=["owner"], quasi=["age", "job", "school"], sensitive=["savings"])
    return l2c.L2C(epochs=0, select="first").fit(applicants(), granted, schema)


def test_a_population_is_known_by_its_rows_and_leaves_none_of_them(tmp_path, linkable):
    people = applicants(100, seed=9)
    others = people.assign(job=people["job"].where(people.index != 50, "pilot"))
    assert not others.equals(people)
    with pytest.raises(EndedError):
        linkable.explain_stream(ROWS, tmp_path, chunk=10, progress=end_after_two, **ASKED, gate=gate(people))
    kept = (tmp_path / "_stream.json").read_text()
    assert not any(word in kept for word in ("savings", "school", *people["job"]))
    with pytest.raises(InputError, match="population differs"):
        linkable.explain_stream(ROWS, tmp_path, chunk=10, **ASKED, gate=gate(others))
    with pd.option_context("display.max_columns", 2):
        assert linkable.explain_stream(ROWS, tmp_path, chunk=10, **ASKED, gate=gate(people.copy())).parts_before == 2


def test_what_is_told_in_coarser_levels_is_read_as_one(tmp_path, linkable):
    asked = {**ASKED, "n": 6, "gate": l2c.Gate(k=3, l=3, generalise=True), "max_changes": 2}
    whole = linkable.explain(ROWS, **asked)
    assert whole.released.coarse.any()
    found = linkable.explain_stream(ROWS, tmp_path / "found", chunk=10, **asked).read()
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame())
    assert found.released.coarse.tolist() == whole.released.coarse.tolist()
    found.write(tmp_path / "found.parquet")
    pd.testing.assert_frame_equal(l2c.read(tmp_path / "found.parquet").to_frame(), whole.to_frame())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lock": ["jobb"]}, "no feature 'jobb'"),
        ({"n": 0}, "n must be at least 1"),
        ({"desired": "grant"}, "no class of the model"),
        ({"robust": 0.7}, "robust is a margin"),
    ],
)
def test_a_wrong_request_takes_no_folder(tmp_path, wrong, told):
    with pytest.raises(InputError, match=told):
        desk().explain_stream(ROWS, tmp_path / "found", **{**ASKED, **wrong})
    assert not (tmp_path / "found").exists()


def test_rows_that_cannot_be_used_leave_the_folder_free(tmp_path):
    with pytest.raises(InputError, match="column 'job' is missing"):
        desk().explain_stream(ROWS.drop(columns="job"), tmp_path, **ASKED)
    assert desk().explain_stream(ROWS, tmp_path, **ASKED, lock=["job"]).parts_before == 0


def test_a_folder_that_was_marked_and_holds_no_part_is_free(tmp_path):
    desk().explain_stream(ROWS, tmp_path, **ASKED)
    (tmp_path / "part-00000.parquet").unlink()
    (tmp_path / ".0123456789abcdef-part-00000.parquet").write_bytes(b"half")
    assert desk().explain_stream(ROWS, tmp_path, **ASKED, lock=["job"]).parts_before == 0
    assert "job" in json.loads((tmp_path / "_stream.json").read_text())["request"]["lock"]


def test_an_unknown_argument_is_told_as_by_any_function(tmp_path):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'locks'; did you mean 'lock'\?"):
        desk().explain_stream(ROWS, tmp_path, locks=["job"])
