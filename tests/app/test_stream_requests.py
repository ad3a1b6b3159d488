"""What a stream is asked for holds from its first chunk to its last, and is known again when it goes on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c.adapters.found_parts import glance
from l2c.app.audit import audit_file
from l2c.errors import InputError, StoredFileError
from loans import applicants, desk, granted, score

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


def begun_in(folder) -> dict[str, str]:
    """Return what the first part of a folder says of what it was begun with."""
    stream = glance(folder / "part-00000.parquet").stream
    assert json.loads(json.dumps(stream)) == stream
    return stream["request"]


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
        ({"permit": {"hours": (20, 45)}}, {"permit": {"hours": {"from": 20, "to": 45}}}),
        ({"permit": {"job": ["cook", "clerk"]}}, {"permit": {"job": ("clerk", "cook", "clerk")}}),
        (
            {"forbid": {"job": [("cook", "clerk"), ("*", "pilot")]}},
            {"forbid": {"job": [("*", ["pilot"]), ("cook", "clerk")]}},
        ),
        ({"where": ["hours <= 45", "age > 20"]}, {"where": "age>20 and hours<=45.0"}),
        ({"where": "owner == true or hours < 50"}, {"where": "owner == True or hours < 5e1"}),
        ({"permit": {"owner": [True]}}, {"permit": {"owner": [1]}}),
        ({"forbid": {"hours": [(30, (10, 20))]}}, {"forbid": {"hours": [(30.0, np.array([10.0, 20.0]))]}}),
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
        ({"seed": 2**60}, {"seed": 2**60 + 1}, "seed"),
        ({"seed": 10**400}, {}, "seed"),
        ({"where": "job == 'cook'"}, {"where": "job != 'cook'"}, "where"),
        ({"permit": {"hours": (20, None)}}, {"permit": {"hours": (None, 20)}}, "permit"),
        ({"permit": {"school": {"from": "low"}}}, {"permit": {"school": {"from": "middle"}}}, "permit"),
        ({"forbid": {"job": [("cook", "clerk")]}}, {"forbid": {"job": [("clerk", "cook")]}}, "forbid"),
        ({"where": "hours <= 40"}, {"where": "hours <= 45"}, "where"),
        ({"where": "job == 'cook'"}, {"where": "school == 'low'"}, "where"),
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
    with pytest.raises(InputError, match=rf"was begun with another request: {named} differs.*; ask"):
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
    kept = str(begun_in(tmp_path))
    assert not any(word in kept for word in ("savings", "school", *people["job"]))
    with pytest.raises(InputError, match="population differs"):
        linkable.explain_stream(ROWS, tmp_path, chunk=10, **ASKED, gate=gate(others))
    with pd.option_context("display.max_columns", 2):
        assert linkable.explain_stream(ROWS, tmp_path, chunk=10, **ASKED, gate=gate(people.copy())).parts_before == 2


def test_a_population_is_known_by_a_hash_that_nobody_without_the_key_can_test(tmp_path, linkable):
    assert linkable.bundle.secret is not None
    keys = [linkable.bundle.secret.key, bytes(64)[: len(linkable.bundle.secret.key)]]
    for number, key in enumerate(keys):
        secret = replace(linkable.bundle.secret, key=key)
        under = replace(linkable, bundle=replace(linkable.bundle, secret=secret))
        under.explain_stream(ROWS[:10], tmp_path / str(number), **ASKED, gate=gate(applicants(100, seed=9)))
    marks = [begun_in(tmp_path / str(number))["population"] for number in range(2)]
    assert marks[0] != marks[1]


def test_the_answers_for_a_population_are_known_too(tmp_path, linkable):
    people = applicants(100, seed=9)
    told = np.where(granted(people) > 0.5, "granted", "refused")
    gates = [replace(gate(people), population_prediction=one) for one in (told, np.roll(told, 1))]
    linkable.explain_stream(ROWS, tmp_path, **ASKED, gate=gates[0])
    assert linkable.explain_stream(ROWS, tmp_path, **ASKED, gate=gates[0]).parts_before == 1
    with pytest.raises(InputError, match="another request: population differs"):
        linkable.explain_stream(ROWS, tmp_path, **ASKED, gate=gates[1])


def scored(frame: pd.DataFrame) -> np.ndarray:
    return score(frame)


scored.regression = True


def test_another_range_of_what_is_predicted_is_another_request(tmp_path):
    explainer = l2c.L2C(epochs=0, select="first").fit(applicants(), scored, desk().schema, desired=(0, None))
    explainer.explain_stream(ROWS, tmp_path, **ASKED, desired=(0.5, None))
    assert explainer.explain_stream(ROWS, tmp_path, **ASKED, desired=(0.5, None)).parts_before == 1
    with pytest.raises(InputError, match="another request: range differs"):
        explainer.explain_stream(ROWS, tmp_path, **ASKED, desired=(0.4, None))


def test_what_is_told_in_coarser_levels_is_read_as_one(tmp_path, linkable):
    asked = {**ASKED, "n": 6, "gate": l2c.Gate(k=3, l=3, generalise=True), "max_changes": 2}
    whole = linkable.explain(ROWS, **asked)
    assert whole.released.coarse.any()
    found = linkable.explain_stream(ROWS, tmp_path / "found", chunk=10, **asked).read()
    pd.testing.assert_frame_equal(found.to_frame(), whole.to_frame())
    assert found.released.coarse.tolist() == whole.released.coarse.tolist()
    found.write(tmp_path / "found.parquet")
    pd.testing.assert_frame_equal(l2c.read(tmp_path / "found.parquet").to_frame(), whole.to_frame())


def test_a_folder_is_audited_as_one_file_is(tmp_path, linkable):
    linkable.explain_stream(ROWS, tmp_path / "found", chunk=10, **ASKED)
    linkable.explain(ROWS, **ASKED).write(tmp_path / "found.parquet")
    folder, file = (audit_file(tmp_path / name).to_dict() for name in ("found", "found.parquet"))
    assert folder == file


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


def test_a_folder_that_holds_no_part_any_more_is_free(tmp_path):
    desk().explain_stream(ROWS, tmp_path, **ASKED)
    (tmp_path / "part-00000.parquet").unlink()
    (tmp_path / ".0123456789abcdef-part-00000.parquet").write_bytes(b"half")
    assert desk().explain_stream(ROWS, tmp_path, **ASKED, lock=["job"]).parts_before == 0
    assert "job" in begun_in(tmp_path)["lock"]
    assert [path.name for path in tmp_path.iterdir()] == ["part-00000.parquet"]


def test_parts_of_another_request_behind_a_gap_are_not_taken_for_done(tmp_path):
    begun(tmp_path)
    (tmp_path / "part-00000.parquet").unlink()
    for asked in ({}, {"lock": ["job"]}):
        with pytest.raises(StoredFileError, match=r"holds part-00001.parquet and not part-00000.parquet, which comes"):
            desk().explain_stream(ROWS, tmp_path, chunk=10, **ASKED, **asked)
    with pytest.raises(StoredFileError, match="remove all parts behind the gap"):
        l2c.read(tmp_path)


def test_a_part_of_another_request_among_the_others_is_told(tmp_path):
    begun(tmp_path / "one")
    begun(tmp_path / "other", lock=["job"])
    part = "part-00001.parquet"
    (tmp_path / "other" / part).replace(tmp_path / "one" / part)
    with pytest.raises(InputError, match="was begun with another request: lock differs"):
        desk().explain_stream(ROWS, tmp_path / "one", chunk=10, **ASKED)
    with pytest.raises(StoredFileError, match=f"{part} belongs to another release than the parts before it"):
        l2c.read(tmp_path / "one")


def test_a_found_file_is_no_part_of_a_stream(tmp_path):
    desk().explain(ROWS[:10], **ASKED).write(tmp_path / "part-00000.parquet")
    with pytest.raises(InputError, match=r"part-00000.parquet is a release by itself, and no part of a stream; choose"):
        desk().explain_stream(ROWS, tmp_path, chunk=10, **ASKED)


def test_an_unknown_argument_is_told_as_by_any_function(tmp_path):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'locks'; did you mean 'lock'\?"):
        desk().explain_stream(ROWS, tmp_path, locks=["job"])
