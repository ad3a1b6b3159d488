"""The gate: every class that is released keeps the policy, by a counter that shares no code; or the row is withheld."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import l2c
from checker import Asked
from counter import Counter
from gates import as_found, counter_of, gated_world, random_gate
from l2c.app.display import sheets
from l2c.app.requests import gate_problems
from l2c.errors import InputError
from l2c.release import gated
from l2c.release.ranking import only
from loans import SCHEMA, Contrary, applicants, granted, refused

ROLES = {"age": "quasi", "job": "quasi", "owner": "quasi", "savings": "sensitive", "hours": "sensitive"}


@cache
def desk() -> l2c.Explainer:
    """Return an explainer of loans in which people can be found by their age, job and house."""
    schema = SCHEMA
    for name, role in ROLES.items():
        schema = schema.edit(name, role=role)
    return l2c.L2C(epochs=2, hidden=8).fit(applicants(), granted, schema)


def broken(found: l2c.Explanations, gate: l2c.Gate, population: pd.DataFrame | None = None) -> list[str]:
    return counter_of(desk()).broken(found.to_frame(), gate.to_dict(), population)


# The counter itself


COUNTED = Counter(
    {
        "features": [
            {"name": "age", "kind": "numeric", "role": "quasi"},
            {"name": "debt", "kind": "ordinal", "levels": ["low", "high"], "role": "sensitive"},
        ]
    },
    {"age": [30.0]},
)
LONG = pd.DataFrame(
    {
        "row": [0, 0, 0, 1],
        "age": [20.0, 30.0, 40.0, 22.0],
        "debt": ["low", "high", "low", "low"],
        "prediction": ["yes"] * 4,
    }
)


@pytest.mark.parametrize(
    ("policy", "lines"),
    [
        ({"k": 1}, []),
        ({"k": 2}, ["(1, 'yes'): 1 samples", "(0, 'yes'): 1 samples"]),
        ({"k": 3, "scope": "release"}, ["(1, 'yes'): 1 samples"]),
        ({"k": 2, "scope": "release", "count": "people"}, ["(1, 'yes'): 1 people"]),
        ({"k": 1, "l": 2, "scope": "release"}, ["(1, 'yes'): 1 values of debt"]),
        ({"k": 1, "t": 0.2}, ["(1, 'yes'): 0.3333 away in debt"]),
        ({"k": 1, "k_map": 2}, ["(0, 'yes'): matches 1", "(0, 'yes'): matches 1"]),
    ],
)
def test_the_counter_sees_what_breaks_a_policy(policy, lines):
    policy = {"scope": "set", "count": "samples"} | policy
    population = pd.DataFrame({"age": [29.0]})
    told = [line for line in COUNTED.broken(LONG, policy, population) if "0.1667" not in line]
    assert told == lines


# What is promised, on any table and for any policy


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_table_and_the_policy_no_class_that_is_released_breaks_it(seed):
    rng = np.random.default_rng(seed)
    world, explainer, asked = gated_world(rng)
    counter = counter_of(explainer)
    for _ in range(3):
        found = explainer.explain(world.rows[:30], 8, gate=asked.gate, tries=400, reasons=False, seed=seed)
        told = counter.broken(found.to_frame(), asked.plain, asked.population)
        judged = replace(found, released=replace(found.released, coarse=None))
        assert told + world.breaches(explainer, world.rows[:30], judged, [Asked({})] * 30) == []
        for outcome, count in zip(found.outcomes, np.bincount(found.released.row, minlength=30), strict=True):
            assert outcome.found == count <= 8
            assert (outcome.status == "found") == (count == 8)
            assert (outcome.status == "withheld") <= (count == 0 < outcome.valid)
        asked = random_gate(rng, world, explainer)


@pytest.mark.parametrize(
    "gate",
    [
        l2c.Gate(k=4),
        l2c.Gate(k=5, l=2),
        l2c.Gate(k=3, l=3, t=0.3),
        l2c.Gate(k=4, l=2, scope="release"),
        l2c.Gate(k=4, l=2, scope="release", count="people"),
        l2c.Gate(k=4, scope="release", count="people", t=0.3),
    ],
    ids=lambda gate: gate.sentence,
)
def test_full_sets_keep_a_policy_by_the_audit_and_by_the_counter(gate):
    found = desk().explain(refused(14), 20, gate=gate, reasons=False)
    required = [f"{name}={value}" for name, value in gate.to_dict().items() if name != "generalise"]
    assert broken(found, gate) == found.audit().violations(",".join(required)) == []
    statuses = {outcome.status for outcome in found.outcomes}
    assert statuses <= ({"found", "withheld"} if gate.t is None or gate.scope == "set" else {"found", "partial"})
    assert sum(outcome.status == "found" for outcome in found.outcomes) >= 11
    assert (granted(found.features()) > 0.5).all()


def test_where_choosing_again_ends_too_soon_the_rest_is_left_out(monkeypatch):
    monkeypatch.setattr(gated, "CLOSER_ROUNDS", 1)
    monkeypatch.setattr(gated, "ROUNDS", 1)
    close, people = l2c.Gate(k=3, l=2, t=0.12), l2c.Gate(k=5, l=2, scope="release", count="people")
    for gate in (close, people):
        found = desk().explain(refused(9), 20, gate=gate, reasons=False)
        assert len(found)
        assert broken(found, gate) == []


def test_sets_without_a_gate_would_break_it():
    found = desk().explain(refused(14), 20, reasons=False)
    assert broken(found, l2c.Gate(k=5, l=2))


@pytest.mark.parametrize("n", [3, 5, 7, 10, 11])
def test_a_set_need_not_be_a_multiple_of_k(n):
    found = desk().explain(refused(6), n, gate=l2c.Gate(k=3), reasons=False)
    assert [outcome.status for outcome in found.outcomes] == ["found"] * 6
    assert broken(found, l2c.Gate(k=3)) == []


def test_a_class_matches_nobody_of_a_population_or_enough_of_it():
    people = applicants(25, seed=9)
    gate = l2c.Gate(k=2, population=people, k_map=3)
    found = desk().explain(refused(10), 20, gate=gate, reasons=False)
    assert broken(found, gate, people) == []
    assert found.audit(people).violations("k=2,k_map=3") == []
    free = desk().explain(refused(10), 20, gate=l2c.Gate(k=2), reasons=False)
    assert broken(free, gate, people)
    matched = found.audit(people).figures.levels.sets.population.matched.samples
    assert 0 < matched < 1


def test_with_the_models_answers_a_population_is_linked_by_them_too():
    people = applicants(40, seed=9)
    people["answer"] = np.where(granted(people) > 0.5, "granted", "refused")
    gate = l2c.Gate(k=2, population=people, population_prediction="answer", k_map=2)
    found = desk().explain(refused(10), 20, gate=gate, reasons=False)
    assert found.audit(people, population_prediction="answer").violations("k=2,k_map=2") == []
    alone = desk().explain(refused(10), 20, gate=l2c.Gate(k=2, population=people, k_map=2), reasons=False)
    assert alone.audit(people, population_prediction="answer").violations("k_map=2")
    with pytest.raises(InputError, match="population_prediction says nothing without population: give both"):
        l2c.Gate(population_prediction="answer")
    unsure = l2c.Gate(population=people, population_prediction=["maybe"] * 40, k_map=2)
    with pytest.raises(InputError, match="the population's prediction 'maybe' is no class of the model"):
        desk().explain(refused(1), 3, gate=unsure)


# In any batch and order


def test_in_the_scope_of_a_set_neither_batch_nor_order_change_what_a_row_gets():
    rows, gate = refused(9), l2c.Gate(k=4, l=2, t=0.4)
    whole = desk().explain(rows, 12, gate=gate, seed=5, reasons=False)
    backwards = desk().explain(rows[::-1].reset_index(drop=True), 12, gate=gate, seed=5, reasons=False)
    names = list(desk().schema.names)
    for row in range(9):
        frames = [found.to_frame() for found in (whole, backwards)]
        one, other = (frame[frame["row"] == place][names] for frame, place in zip(frames, (row, 8 - row), strict=True))
        alone = desk().explain(rows[row : row + 1], 12, gate=gate, seed=5, reasons=False).to_frame()[names]
        assert one.to_numpy().tolist() == other.to_numpy().tolist() == alone.to_numpy().tolist()


@pytest.mark.parametrize("gate", [l2c.Gate(k=3, l=2), l2c.Gate(k=3, scope="release", count="people")])
def test_what_a_twin_is_wrong_about_keeps_the_policy_too(gate):
    contrary, rows = replace(desk(), blackbox=Contrary(desk())), applicants(30, seed=6)
    found = contrary.explain(rows, 9, gate=gate, reasons=False)
    assert "found" in {outcome.status for outcome in found.outcomes}
    assert broken(found, gate) == []
    without = replace(contrary, _twin=None).explain(rows, 9, gate=gate, reasons=False)
    if gate.scope == "release":  # the rows hang on one another: all of them are searched again
        assert found.outcomes == without.outcomes
        assert found.to_frame().equals(without.to_frame())
        return
    assert found.outcomes != desk().explain(rows, 9, gate=gate, reasons=False).outcomes
    for row in range(len(rows)):
        alone = contrary.explain(rows[row : row + 1], 9, gate=gate, reasons=False)
        assert alone.outcomes == found.outcomes[row : row + 1]
        assert np.array_equal(alone.released.cells, found.released.cells[found.released.row == row])


def test_asked_again_a_release_is_the_same():
    gate = l2c.Gate(k=3, scope="release", count="people")
    frames = [desk().explain(refused(9), 12, gate=gate, seed=5, reasons=False).to_frame() for _ in range(2)]
    assert frames[0].equals(frames[1])


def test_a_release_depends_on_who_is_in_it_and_too_few_people_are_told_why():
    rows = refused(14)
    renters = rows[~rows["owner"]].head(5).reset_index(drop=True)
    gate = l2c.Gate(k=4, scope="release", count="people")
    together = desk().explain(renters, 6, gate=gate, reasons=False)
    assert {outcome.status for outcome in together.outcomes} == {"found"}
    few = desk().explain(renters[:3], 6, gate=gate, reasons=False)
    assert {outcome.status for outcome in few.outcomes} == {"withheld"}
    assert few.outcomes[0].sentence.endswith("but only 3 people of this release have the same owner: k = 4 needs 4")
    assert len(few) == 0
    assert few.scores().validity is None


# What cannot be kept


def test_a_row_whose_classes_are_too_small_is_withheld_with_the_reason():
    found = desk().explain(refused(3), 60, gate=l2c.Gate(k=60), reasons=False, tries=3000)
    assert [outcome.status for outcome in found.outcomes] == ["withheld"] * 3
    assert "share their quasi-identifiers: k = 60 needs 60" in found.outcomes[0].sentence
    assert len(found) == 0


def test_a_row_whose_classes_say_the_same_is_withheld_with_the_reason():
    found = desk().explain(refused(2), 6, gate=l2c.Gate(k=2, l=2), lock=["savings"], tries=2000, reasons=False)
    assert [outcome.status for outcome in found.outcomes] == ["withheld"] * 2
    assert (
        found.outcomes[0]
        .sentence.split("found, ")[1]
        .startswith("but no class of 2 of them has 2 values of every sensitive feature")
    )


def test_a_row_all_of_whose_classes_are_known_is_withheld_with_the_reason():
    rows = refused(1)
    people = applicants(4000, seed=3).drop_duplicates(["age", "job", "owner"])
    gate = l2c.Gate(k=1, population=people, k_map=3000)
    found = desk().explain(rows, 6, gate=gate, lock=["age", "job"], tries=2000, reasons=False)
    assert found.outcomes[0].status == "withheld"
    assert "no class of them matches none or at least 3000 rows of the population" in found.outcomes[0].sentence


def test_a_row_whose_classes_are_larger_than_a_set_is_withheld_with_the_reason():
    found = desk().explain(refused(1), 4, gate=l2c.Gate(k=1, l=4), reasons=False, max_changes=2, tries=4000)
    told = {outcome.sentence.split("found, ")[-1].split(";")[0] for outcome in found.outcomes if outcome.found < 4}
    assert told <= {
        "but a class of them that keeps the policy (k = 1, l = 4) is larger than the set",
        "but no class of 1 of them has 4 values of every sensitive feature",
    }
    assert broken(found, l2c.Gate(k=1, l=4)) == []


def test_a_row_that_time_was_too_short_for_is_told_so(monkeypatch):
    monkeypatch.setattr("l2c.app.answering._clock", lambda _: lambda: True)
    found = desk().explain(refused(3), 60, gate=l2c.Gate(k=60), reasons=False)
    assert all(outcome.sentence.endswith("the time budget ended") for outcome in found.outcomes)


def test_a_row_for_which_the_policy_leaves_some_is_partial():
    found = desk().explain(refused(4), 200, gate=l2c.Gate(k=12, l=3), tries=6000, reasons=False)
    assert {outcome.status for outcome in found.outcomes} <= {"found", "partial", "withheld"}
    short = [outcome for outcome in found.outcomes if outcome.status == "partial"]
    assert short
    assert all("the policy (k = 12, l = 3) lets no more out" in outcome.sentence for outcome in short)
    assert broken(found, l2c.Gate(k=12, l=3)) == []


def test_a_relaxation_that_is_named_helps_under_the_gate_too():
    rows = refused(3)
    asked = {"gate": l2c.Gate(k=4, l=2), "tries": 3000}
    found = desk().explain(rows, 30, max_changes=2, **asked)
    told = [
        (row, one) for row, outcome in enumerate(found.outcomes) if outcome.reason for one in outcome.reason.relaxations
    ]
    assert told
    for row, relaxation in told[:3]:
        assert relaxation.limit == "max_changes"
        again = desk().explain(rows[row : row + 1], 30, max_changes=relaxation.value, reasons=False, **asked)
        assert len(again) > np.bincount(found.released.row, minlength=3)[row]


def test_in_a_release_no_relaxation_is_promised_to_a_row_that_others_hold_back():
    gate = l2c.Gate(k=4, scope="release", count="people")
    found = desk().explain(refused(2), 6, gate=gate, max_changes=3)
    assert all(not outcome.reason.relaxations for outcome in found.outcomes if outcome.status == "withheld")


def test_what_the_model_takes_back_takes_its_class_along():
    calls: list[int] = []
    steady_until = 10**9

    def moody(frame: pd.DataFrame) -> np.ndarray:
        calls.append(len(frame))
        sure = granted(frame)
        return np.where(frame["hours"] > 40, 0.0, sure) if len(calls) > steady_until else sure

    moody.classes = granted.classes
    schema, gate = desk().schema, l2c.Gate(k=4, l=2)
    rows = refused(6).astype({"age": "int32"})  # not what the model was shown before, so that it is asked again
    explainer = l2c.L2C(epochs=0, hidden=4, select="first").fit(applicants(), moody, schema)
    explainer = replace(explainer, _twin=None)  # or it would foresee what the model says, and search again without
    before = len(calls)
    steady = explainer.explain(rows, 12, gate=gate, reasons=False)
    steady_until = before + 2 * (len(calls) - before) - 1  # the last call of the next explain is the last word
    found = explainer.explain(rows, 12, gate=gate, reasons=False)
    stay = steady.to_frame()["hours"] <= 40
    assert 0 < len(found) < stay.sum()  # more is gone than was taken back
    assert broken(found, gate) == []
    assert broken(replace(steady, released=only(steady.released, stay.to_numpy())), gate)
    lost = [outcome for outcome, was in zip(found.outcomes, steady.outcomes, strict=True) if outcome.found < was.found]
    assert lost
    assert all("took back" in outcome.sentence for outcome in lost)
    assert {outcome.status for outcome in found.outcomes} <= {"found", "partial", "withheld", "none_valid"}


# Coarser levels


def test_what_would_be_withheld_is_told_in_coarser_levels_if_that_is_allowed():
    gate = l2c.Gate(k=40, l=2, generalise=True)
    found = desk().explain(refused(4), 50, gate=gate, reasons=False)
    assert [outcome.status for outcome in found.outcomes] == ["found"] * 4
    assert "told in coarser levels" in found.outcomes[0].sentence
    frame = found.to_frame()
    assert broken(found, gate) == found.audit().violations("k=40,l=2") == []
    assert set(frame["owner"]) <= {"any", "False", "True"}
    assert frame.groupby("row")["age"].nunique().max() <= 2
    assert (granted(found.features()) > 0.5).all()
    assert as_found(found)["owner"].dtype == bool


def test_what_keeps_the_policy_as_it_is_is_told_as_it_is():
    gate = l2c.Gate(k=3, generalise=True)
    found = desk().explain(refused(4), 12, gate=gate, reasons=False)
    plain = desk().explain(refused(4), 12, gate=l2c.Gate(k=3), reasons=False)
    assert (found.released.coarse == 0).all()
    assert found.features().equals(plain.features())
    layout = found.released.layout
    assert found.to_frame()["age"].tolist() == [layout.text(0, level) for level in found.released.levels[:, 0]]


def test_a_generalised_release_keeps_the_policy_together():
    gate = l2c.Gate(k=5, scope="release", count="people", generalise=True)
    found = desk().explain(refused(7), 6, gate=gate, reasons=False)
    assert {outcome.status for outcome in found.outcomes} == {"found"}
    assert len(set(found.released.coarse.tolist())) == 1
    assert broken(found, gate) == []


def test_a_generalised_release_is_not_linked_with_other_rows():
    found = desk().explain(refused(2), 6, gate=l2c.Gate(k=3, generalise=True), reasons=False)
    with pytest.raises(InputError, match="told in texts"):
        found.audit(applicants())


def test_a_found_file_keeps_the_policy_and_the_coarser_levels(tmp_path):
    gate = l2c.Gate(k=25, l=2, population=applicants(30), k_map=2, generalise=True)
    found = desk().explain(refused(3), 25, gate=gate, reasons=False)
    found.write(tmp_path / "found.parquet")
    back = l2c.read(tmp_path / "found.parquet")
    told = {"k": 25, "l": 2, "k_map": 2, "scope": "set", "count": "samples", "generalise": True, "population": 30}
    assert back.notes["gate"] == told
    assert back.to_frame().equals(found.to_frame())
    assert back.released.coarse.tolist() == found.released.coarse.tolist()


def test_what_is_told_coarsely_is_told_so_at_every_door(tmp_path):
    gate = l2c.Gate(k=40, l=2, generalise=True)
    found = desk().explain(refused(4), 50, gate=gate, reasons=False)
    told, exact = found.to_frame(), found.features()
    found.write(tmp_path / "found.parquet")
    stored = pd.read_parquet(tmp_path / "found.parquet").query("rank > 0")
    checked = l2c.recheck(tmp_path / "found.parquet", model=granted).to_frame()
    assert len(told)
    for name in ("age", "job", "owner"):
        assert stored[name].tolist() == checked[name].tolist() == told[name].tolist() != exact[name].tolist()
        assert stored[f"{name}.representative"].tolist() == exact[name].tolist()
    assert stored["hours"].tolist() == exact["hours"].tolist()
    assert back_to_values(tmp_path / "found.parquet").equals(exact)


def test_a_stream_tells_as_coarsely_as_one_call_and_goes_on(tmp_path):
    asked = {"n": 50, "gate": l2c.Gate(k=40, l=2, generalise=True), "reasons": False}
    whole = desk().explain(refused(4), **asked)
    for before in (0, 2):
        told = desk().explain_stream(refused(4), tmp_path, chunk=2, **asked)
        assert (told.parts_before, told.parts) == (before, 2)
    found = l2c.read(tmp_path)
    assert found.to_frame().equals(whole.to_frame())
    assert found.features().equals(whole.features())
    assert found.released.coarse.tolist() == whole.released.coarse.tolist()
    assert found.released.coarse.any()
    assert found.audit().violations("k=40,l=2") == []


def back_to_values(path: Path) -> pd.DataFrame:
    return l2c.read(path).features().reset_index(drop=True)


def test_a_notebook_shows_the_coarser_levels_and_marks_what_left_them():
    gate = l2c.Gate(k=40, l=2, generalise=True)
    found = desk().explain(refused(4), 50, gate=gate, reasons=False)
    (shown, *_) = sheets(found.released, rows=1, ranks=5)
    lines = dict(shown.lines)
    told = found.to_frame().query("row == 0").head(5)
    for name in ("age", "job", "owner"):
        own, *others = lines[found.schema[name].title]
        assert [cell.text for cell in others] == told[name].tolist()
        assert [cell.changed for cell in others] == [cell.text != own.text for cell in others]
    assert "any" in {cell.text for cells in lines.values() for cell in cells}


# What cannot be asked for


def test_every_problem_of_a_policy_is_told_at_once():
    with pytest.raises(InputError) as refused_:
        l2c.Gate(k=0, l=1.5, t=2, k_map=2, scope="sets", count="people")
    assert list(refused_.value.problems) == [
        "k must be at least 1, not 0",
        "l must be a whole number, not 1.5",
        "t must be between 0 and 1, not 2",
        "scope must be 'set' or 'release', not 'sets'",
        "k_map says nothing without population: give both",
    ]


def test_people_are_not_counted_in_a_set():
    with pytest.raises(InputError, match="a set belongs to one person: count='people' needs scope='release'"):
        l2c.Gate(k=2, count="people")


def test_generalising_is_a_yes_or_a_no():
    with pytest.raises(InputError, match=r"^generalise must be True or False, not 'x'$"):
        l2c.Gate(generalise="x")


def test_a_population_without_k_map_is_refused():
    with pytest.raises(InputError, match="population says nothing without k_map: give both"):
        l2c.Gate(k=2, population=applicants(3))


def test_every_problem_of_a_gate_and_a_request_is_told_at_once():
    bare = l2c.L2C(epochs=0, select="first").fit(applicants(), granted, SCHEMA)
    with pytest.raises(InputError) as refused_:
        bare.explain(refused(1), 3, gate=l2c.Gate(k=5, l=2, t=0.5), plausibility=2)
    assert [problem.split(":")[0] for problem in refused_.value.problems] == [
        "plausibility is a dial from 0 to 1, not 2",
        "the gate needs to know by what people can be linked, and no feature has the role 'quasi'",
        "the gate's l = 2 and t = 0.5 is about sensitive features, and none has the role 'sensitive'",
        "n = 3 is less than the gate's k = 5",
    ]


def test_n_may_be_less_than_k_where_others_are_in_a_class():
    gate = l2c.Gate(k=4, scope="release")
    found = desk().explain(refused(9), 2, gate=gate, reasons=False)
    assert len(found)
    assert broken(found, gate) == []


def test_what_is_no_gate_is_refused():
    with pytest.raises(InputError, match=r"gate must be an l2c.Gate, such as l2c.Gate\(k=5, l=2\), not 5"):
        desk().explain(refused(1), 3, gate=5)


def test_more_values_than_there_are_levels_are_refused():
    with pytest.raises(InputError, match="the gate's l = 9: 'hours' has only 4 levels"):
        desk().explain(refused(1), 20, gate=l2c.Gate(k=9, l=9))


def test_a_gate_that_can_be_kept_has_no_problems():
    gate = l2c.Gate(k=2, scope="release")
    assert list(gate.problems(desk().schema, 5)) == []
    assert list(gate_problems(None, desk().schema, 5, memorised=False)) == []


def test_a_policy_is_told_in_words():
    gate = l2c.Gate(k=5, l=2, t=0.3, population=applicants(3), k_map=2, scope="release", count="people")
    assert gate.sentence == (
        "every class of the release has at least 5 people and 2 values of every sensitive feature, differs by at most "
        "0.3 from the release, matches no row of the population or at least 2"
    )
    assert l2c.Gate(t=0.5).sentence == (
        "every class of a set has at least 2 counterfactuals, differs by at most 0.5 from its set"
    )


# CF-K


def test_anonymising_by_removal_leaves_what_shares_its_class_and_counts_the_rest_as_lost():
    found = desk().explain(refused(5), 20, reasons=False)
    frame = found.to_frame()
    counter = counter_of(desk())
    tables = counter.tables(frame.to_dict("records"), {"scope": "set"})
    expected = sorted(
        place for table in tables.values() for members in table.values() if len(members) > 1 for place in members
    )
    left = found.anonymise(2)
    names = list(desk().schema.names)
    assert left.features().to_numpy().tolist() == frame.loc[expected, names].to_numpy().tolist()
    assert left.audit().violations("k=2") == []
    assert left.scores().validity == pytest.approx(len(expected) / 100)
    by_frame = l2c.anonymise_frame(frame, desk().layout, 2)
    assert np.flatnonzero(by_frame.kept).tolist() == expected
    assert by_frame.share == pytest.approx(len(expected) / 100)
    assert l2c.anonymise_frame(frame.drop(columns="row"), desk().layout, 2).share > by_frame.share


def test_a_set_that_is_lost_whole_is_told_so():
    left = desk().explain(refused(2), 4, reasons=False).anonymise(9)
    assert [outcome.status for outcome in left.outcomes] == ["none_valid"] * 2
    assert left.outcomes[0].sentence == "0 of 4 counterfactuals are left: 4 stood in a class of fewer than 9"
    assert left.scores().coverage == 0


@pytest.mark.parametrize(("k", "words"), [(0, "at least 1, not 0"), (True, "a whole number"), (2.0, "a whole number")])
def test_a_size_that_no_class_can_have_is_refused(k, words):
    found = desk().explain(refused(1), 2, reasons=False)
    for call in (lambda: found.anonymise(k), lambda: l2c.anonymise_frame(found.to_frame(), desk().layout, k)):
        with pytest.raises(InputError, match=f"^k must be {words}"):
            call()
