"""What an answer may cost: questions to the model and memory, counted; never seconds."""

from __future__ import annotations

import math
import sys
import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest

import l2c
from l2c.adapters.models import frame_model
from l2c.app import answering
from l2c.app.ahead import as_many_as
from l2c.app.answered import other_than
from l2c.app.people import People
from l2c.app.pooling import acceptance_at, pools_from
from l2c.core.blackbox import BlackBox
from l2c.core.method import Question
from l2c.core.types import Cells, Probabilities
from l2c.release import jury, search, sift
from l2c.release.budget import Budget
from l2c.release.search import FEW
from l2c.release.select import Selection
from loans import (
    WIDE,
    Contrary,
    applicants,
    desk,
    gloomy,
    refused,
    seen,
    twisted,
    wide_desk,
    wide_rows,
    worst,
)


@dataclass
class Asked:
    """A black box that counts what it is asked."""

    blackbox: BlackBox
    calls: int = 0
    rows: int = 0

    @property
    def classes(self):
        return self.blackbox.classes

    def proba(self, cells: Cells) -> Probabilities:
        self.calls, self.rows = self.calls + 1, self.rows + len(cells)
        return self.blackbox.proba(cells)


def asked(explainer: l2c.Explainer, rows, **request) -> tuple[Asked, l2c.Explanations]:
    counting = Asked(explainer.blackbox)
    return counting, replace(explainer, blackbox=counting).explain(rows, reasons=False, **request)


BOTH = "hours <= was.hours or savings <= was.savings"


@pytest.mark.parametrize("trees", [False, True])
def test_a_model_that_is_seen_into_is_asked_about_the_rows_and_what_is_released_and_little_else(trees):
    rows = applicants(30, seed=2)
    for explainer in (seen(trees=trees), replace(seen(trees=trees), _twin=None)):
        counting, found = asked(explainer, rows, n=20, plausibility=0.0)
        if explainer._twin is None:
            assert counting.rows == len(rows) + found.released.tries
        else:
            assert counting.calls <= 2
            assert counting.rows <= len(rows) + len(found) + 0.01 * found.released.tries


@pytest.mark.parametrize("limits", [{"max_cost": 4.0}, {"where": BOTH}, {"desired_proba": (0.6, 0.9)}], ids=str)
@pytest.mark.parametrize(("count", "n"), [(30, 20), (1, 5)])
@pytest.mark.parametrize("trees", [False, True])
def test_nor_is_it_asked_about_more_where_costs_or_conditions_or_ranges_of_probability_count(trees, count, n, limits):
    rows = applicants(count, seed=2)
    counting, found = asked(seen(trees=trees), rows, n=n, plausibility=0.0, **limits)
    assert all(outcome.found for outcome in found.outcomes)  # it is asked about rows that get none
    assert len(found) < 0.5 * found.released.tries
    # Rows by themselves, what comes close, and what is released.
    assert counting.calls <= 3
    assert counting.rows <= len(rows) + len(found) + 0.01 * found.released.tries


def test_what_the_model_was_not_shown_as_it_is_released_it_is_asked_about_again():
    rows = applicants(30, seed=2)
    explainer = replace(seen(), _twin=None)
    for frame, again in ((rows, False), (rows.astype({"savings": "float32"}), True)):
        counting, found = asked(explainer, frame, n=20, plausibility=0.0)
        assert counting.rows == len(rows) + found.released.tries + again * len(found)


def test_what_takes_its_second_values_to_keep_the_limits_is_not_asked_about_with_them_twice(monkeypatch):
    monkeypatch.setattr(l2c.release.search, "FEW", 0)
    explainer, rows = replace(seen(), _twin=None), worst(1)
    shown: list[np.ndarray] = []

    class Shown(Asked):
        def proba(self, cells: Cells) -> Probabilities:
            shown.append(cells)
            return super().proba(cells)

    explainer = replace(explainer, blackbox=Shown(explainer.blackbox))
    # No proposal keeps to this with the first values.
    within = "savings + hours >= 45 and savings + hours <= 49"
    found = explainer.explain(rows, 50, reasons=False, plausibility=0.0, where=within)
    assert 0 < len(found) < found.released.tries
    asked_about = np.concatenate(shown)
    assert len(np.unique(asked_about, axis=0)) == len(asked_about) == 1 + found.released.tries


@pytest.mark.parametrize("trees", [False, True])
def test_a_twin_changes_no_answer(trees):
    rows, explainer = applicants(30, seed=2), seen(trees=trees)
    for request in (
        {"select": "first"},
        {"select": "balanced", "plausibility": 0.0},
        {"max_changes": 2},
        {"max_cost": 3.0},
        {"max_cost": 2.0, "max_changes": 2, "select": "cheap"},
        {"where": BOTH},
        {"where": "age + hours <= was.age + was.hours + 4", "max_cost": 3.0},
        {"desired_proba": (0.6, 0.8)},
        {"desired_proba": (0.97, 1.0), "max_changes": 3},
    ):
        with_twin = explainer.explain(rows, 8, reasons=False, **request)
        without = replace(explainer, _twin=None).explain(rows, 8, reasons=False, **request)
        assert with_twin.to_frame().equals(without.to_frame())
        assert with_twin.outcomes == without.outcomes


def test_a_twin_that_is_wrong_costs_time_and_not_a_counterfactual():
    twin = wide_desk(seen=True)._twin
    assert twin is not None
    twisted_desk = wide_desk(seen=False)
    assert twisted_desk._twin is None
    rows = wide_rows(10, 5)
    expected = twisted_desk.explain(rows, 5, reasons=False)
    misled = replace(twisted_desk, _twin=twin).explain(rows, 5, reasons=False)
    assert misled.to_frame().equals(expected.to_frame())
    assert misled.outcomes == expected.outcomes

    # Also where it is right about the rows themselves, and wrong about what they may become.
    class Agreeing(type(twin)):
        def agrees(self, foreseen, _):
            return np.ones(len(foreseen), dtype=bool)

    agreeing = Agreeing(**{name: getattr(twin, name) for name in type(twin).__dataclass_fields__})
    misled = replace(twisted_desk, _twin=agreeing).explain(rows, 5, reasons=False)
    long = misled.to_frame()
    assert ((twisted(long[list(WIDE.names)]) > 0.5) == (long["prediction"] == 1)).all()
    assert [o.found for o in misled.outcomes] == [o.found for o in expected.outcomes]


def set_of(found: l2c.Explanations, row: int) -> tuple[bytes, bytes]:
    """Return the values of a row's counterfactuals, and their probabilities, in order."""
    released = found.released
    here = released.row == row
    return released.cells[here].tobytes(), released.chance[here].tobytes()


@pytest.mark.parametrize("more", [{}, {"max_changes": 2}, {"select": "first", "plausibility": 0.0}, {"n": 40}])
def test_a_twin_that_is_wrong_about_some_rows_changes_no_answer_of_the_others(more):
    rows, request = applicants(40, seed=6), {"n": 8, "reasons": False} | more
    contrary, wary = (replace(seen(), blackbox=Asked(Contrary(seen()))) for _ in range(2))
    together, by_twin = contrary.explain(rows, **request), seen().explain(rows, **request)
    questions = contrary.blackbox.rows
    without = replace(wary, _twin=None).explain(rows, **request)
    for row in range(len(rows)):
        alone = contrary.explain(rows[row : row + 1], **request)
        assert alone.outcomes == together.outcomes[row : row + 1]
        assert set_of(alone, 0) == set_of(together, row)
    searched_again = [set_of(together, row) != set_of(by_twin, row) for row in range(len(rows))]
    assert 0 < sum(searched_again) < len(rows)
    assert all(set_of(together, row) == set_of(without, row) for row in np.flatnonzero(searched_again))
    assert questions < wary.blackbox.rows


def test_searching_again_what_a_twin_was_wrong_about_takes_no_time_of_its_own(monkeypatch):
    clocks = []
    monkeypatch.setattr(answering, "_clock", lambda seconds: clocks.append(seconds) or (lambda: False))
    replace(seen(), blackbox=Contrary(seen())).explain(applicants(40, seed=6), 8, seconds=60.0, reasons=False)
    assert clocks == [60.0]


def test_what_the_model_confirmed_stands_where_there_is_no_time_to_search_again(monkeypatch):
    rows, contrary = applicants(40, seed=6), replace(seen(), blackbox=Contrary(seen()))
    foreseen, over, real = seen().explain(rows, 8, reasons=False).released, [], answering.Judges.confirmed

    def confirmed(*given):
        over.append(True)
        return real(*given)

    monkeypatch.setattr(answering, "_clock", lambda _: lambda: bool(over))
    monkeypatch.setattr(answering.Judges, "confirmed", confirmed)
    monkeypatch.setattr(search, "BLOCK", 400)
    found = contrary.explain(rows, 8, seconds=60.0, reasons=False)
    stands = contrary.blackbox.proba(foreseen.cells)[np.arange(len(foreseen.row)), foreseen.desired[foreseen.row]] > 0.5
    kept = np.bincount(foreseen.row[stands], minlength=len(rows))
    turned = (rows["age"] < 30) & (rows["job"] == "cook")
    assert (kept < 8).any()
    for row in np.flatnonzero(~turned):
        assert found.outcomes[row].found >= kept[row]
    # Of a row that is another than the twin said, nothing stands that was found for it.
    last = contrary.blackbox.proba(found.released.cells)[
        np.arange(len(found)), found.released.desired[found.released.row]
    ]
    assert (last > 0.5).all()
    assert (found.released.current == (contrary.blackbox.proba(found.released.factual)[:, 1] > 0.5)).all()


@pytest.mark.parametrize("compiled", [True, False])
def test_rows_that_get_nothing_by_a_twin_that_is_wrong_are_searched_again_without_it(monkeypatch, compiled):
    if not compiled:
        for module in (search, sift, jury):
            monkeypatch.setattr(module, "compiles", lambda: False)
    rows = refused(12)
    for request in (
        {},
        {"max_changes": 2},
        {"select": "first", "plausibility": 0.0},
        {"max_cost": 3.0},
        {"where": BOTH},
        {"desired_proba": (0.6, 0.9)},
    ):
        expected = replace(seen(), _twin=None).explain(rows, 5, reasons=False, **request)
        assert "found" in {outcome.status for outcome in expected.outcomes}
        found = gloomy(seen()).explain(rows, 5, reasons=False, **request)
        assert found.to_frame().equals(expected.to_frame())
        assert found.outcomes == expected.outcomes


def test_only_the_rows_that_a_twin_wronged_are_searched_again(monkeypatch):
    monkeypatch.setattr(search, "FEW", 0)  # the second values of few proposals are asked in vain
    rows, explainer = refused(12), gloomy(seen())
    locked = [l2c.Limits(lock=("age", "hours", "savings", "job"))] * 6 + [l2c.Limits()] * 6
    counting, together = asked(explainer, rows, n=5, limits=locked)
    questions = 0
    for place in range(12):
        some = slice(place, place + 1)
        one, alone = asked(explainer, rows[some], n=5, limits=locked[some])
        assert alone.outcomes == together.outcomes[some]
        questions += one.rows
    assert counting.rows == questions


def test_rows_that_get_nothing_cost_a_few_questions_and_others_none():
    rows = worst(40)
    for locked, lacking in (([], False), (["age", "hours", "savings", "job"], True)):
        counting, found = asked(seen(), rows, n=5, lock=locked)
        nothing = sum(not outcome.valid for outcome in found.outcomes)
        assert (nothing > 8) == lacking
        more = counting.rows - len(rows) - len(found)
        # With one feature to change, of three levels, there is little to ask about.
        assert more == 0 if not lacking else nothing <= more <= 2 * nothing


def test_a_model_that_is_not_seen_into_is_asked_in_few_large_batches():
    explainer = wide_desk(seen=False)
    counting, found = asked(explainer, wide_rows(200, 5), n=10)
    assert 0 <= counting.rows - (200 + found.released.tries) <= FEW * counting.calls
    assert counting.rows / counting.calls > 50


def test_of_few_proposals_both_values_are_asked_in_one_call(monkeypatch):
    explainer, rows = wide_desk(seen=False), wide_rows(30, 5)
    at_once, found = asked(explainer, rows, n=5, pool=5, plausibility=0.0)
    monkeypatch.setattr(l2c.release.search, "FEW", 0)
    in_turn, same = asked(explainer, rows, n=5, pool=5, plausibility=0.0)
    assert found.to_frame().equals(same.to_frame())
    assert found.outcomes == same.outcomes
    assert at_once.calls < in_turn.calls
    assert in_turn.rows == len(rows) + same.released.tries


@pytest.mark.parametrize("twin", [False, True])
def test_a_single_row_is_one_call_of_the_model_where_its_first_proposals_will_do(twin):
    explainer = wide_desk(seen=twin)
    first_round = math.ceil(3 / acceptance_at(0.5, explainer.bundle.notes["acceptance"]))
    for row in range(20):
        counting, found = asked(explainer, wide_rows(20, 5)[row : row + 1], n=3)
        if twin:
            assert (counting.calls, counting.rows) == (1, 1 + len(found))
        elif found.released.tries <= first_round:
            assert counting.calls == 1
            assert counting.rows <= 1 + 4 * as_many_as(first_round, 20_000)
        else:
            assert counting.calls <= 1 + found.released.tries / first_round


def test_a_first_round_is_as_long_as_it_takes_by_what_was_seen():
    explainer = wide_desk(seen=False)
    assert all(0.1 <= share < 1 for share in explainer.bundle.notes["acceptance"])
    rows = wide_rows(40, 5)
    notes = dict(explainer.bundle.notes, acceptance=[1.0, 1.0])
    timid = replace(explainer, bundle=replace(explainer.bundle, notes=notes))
    (few, found), (many, same) = asked(explainer, rows, n=10), asked(timid, rows, n=10)
    assert few.calls <= many.calls
    assert found.to_frame().equals(same.to_frame())


@pytest.mark.parametrize("rows", [50, 400])
def test_memory_grows_with_what_is_released_and_not_with_what_is_tried(rows):
    explainer, people = seen(), applicants(rows, seed=3)
    explainer.explain(people[:5], 10, reasons=False)
    tracemalloc.start()
    found = explainer.explain(people, 10, reasons=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A pool of 200 for each of 10 asked, at 2 bytes a level and 8 a number: what is tried beyond it is not kept.
    assert peak < 30e6 + 1.5 * rows * 200 * len(explainer.layout.axes) * (2 + 8)
    assert len(found) == 10 * sum(outcome.status == "found" for outcome in found.outcomes)


def test_what_a_twin_makes_of_rows_is_forgotten_once_they_have_what_they_need():
    explainer, rows = seen(trees=True), applicants(40, seed=3)
    cells = People.read(rows, explainer.schema).cells
    proba = explainer.blackbox.proba(cells)
    question = Question.of(explainer.layout, cells, proba, other_than(proba))
    pools = pools_from(
        explainer.bundle.counterer, explainer.blackbox, question, pool=5, enough=5, dial=0.0, seed=0,
        budget=Budget(500), twin=explainer._twin,
    )  # fmt: skip
    assert sum(search.valid.sum() for search in pools.searches) > 0
    assert all(search.by_level is None and not search.jury.inputs for search in pools.searches)


def test_pools_of_a_model_that_is_not_seen_into_hold_levels_and_their_values_are_those_that_it_was_shown():
    explainer = wide_desk(seen=False)
    cells = People.read(wide_rows(20, 5), explainer.schema).cells
    shown: set[bytes] = set()

    class Watched(Asked):
        def proba(self, cells: Cells) -> Probabilities:
            shown.update(row.tobytes() for row in cells)
            return super().proba(cells)

    proba = explainer.blackbox.proba(cells)
    question = Question.of(explainer.layout, cells, proba, other_than(proba))
    pools = pools_from(
        explainer.bundle.counterer, Watched(explainer.blackbox), question, pool=20, enough=20, dial=0.0, seed=0,
        budget=Budget(500),
    )  # fmt: skip
    kept = [part for search in pools.searches for part in search.kept]
    assert kept
    assert all(part.cells is None for part in kept)
    rooms = [part.levels if part.levels.base is None else part.levels.base for part in kept]
    assert all(len(room) <= 2 * len(part.levels) for room, part in zip(rooms, kept, strict=True))
    assert any(part.second.any() for part in kept)
    released = pools.release(20, Selection())
    assert len(released.row)
    assert all(row.tobytes() in shown for row in released.cells)


def test_pools_are_kept_for_no_more_rows_than_are_searched_at_once(monkeypatch):
    explainer = seen()
    monkeypatch.setattr(l2c.release.search, "NEAR", 20 * 1000)

    def peak(rows: int) -> int:
        people = applicants(rows, seed=3)
        tracemalloc.start()
        explainer.explain(people, 5, pool=1000, plausibility=0.0, reasons=False)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(320)  # all that is needed is loaded, and compiled, before it is measured
    # A pool of 1,000 takes 2 bytes a level and 25 for each of its members; of a row, what remains is its answer.
    pool = 1000 * (2 * len(explainer.layout.axes) + 25)
    assert peak(320) - peak(80) < 0.25 * (320 - 80) * pool


def test_a_model_is_asked_about_pieces_of_what_does_not_fit_and_nothing_changes(monkeypatch):
    rows, heights, answer = applicants(30, seed=2), [], desk().blackbox.answer

    def watched(frame):
        heights.append(len(frame))
        return answer(frame)

    explainer = replace(desk(), blackbox=replace(desk().blackbox, answer=watched))
    expected = desk().explain(rows, 6, reasons=False)
    monkeypatch.setattr(frame_model, "TOGETHER", 7)
    found = explainer.explain(rows, 6, reasons=False)
    assert max(heights) == 7
    assert found.to_frame().equals(expected.to_frame())
    assert found.outcomes == expected.outcomes


def test_a_stream_needs_no_more_memory_for_more_rows(tmp_path):
    def peak(chunks: int, name: str) -> int:
        frames = (applicants(40, seed=seed) for seed in range(chunks))
        tracemalloc.start()
        seen().explain_stream(frames, tmp_path / name, n=3, chunk=40, select="first", reasons=False)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    # All that these rows need is loaded, and compiled, before it is measured.
    peak(10, "warm")
    few, many = peak(2, "few"), peak(10, "many")
    # If what was found stayed, it would be about five times as much.
    assert many < 1.6 * few


@pytest.mark.parametrize("trees", [False, True])
def test_rows_are_the_same_with_and_without_a_compiler(monkeypatch, trees):
    if not l2c.core.compiled.compiles():
        pytest.skip("numba is not installed")
    rows, explainer = applicants(25, seed=6), seen(trees=trees)
    fast = [explainer.explain(rows, 6, plausibility=dial).to_frame() for dial in (0.0, 0.5)]
    loops = [name for name, module in sys.modules.items() if name.startswith("l2c.") and hasattr(module, "compiles")]
    assert len(loops) > 10
    for name in loops:
        monkeypatch.setattr(f"{name}.compiles", lambda: False)
    slow = [explainer.explain(rows, 6, plausibility=dial).to_frame() for dial in (0.0, 0.5)]
    assert all(one.equals(other) for one, other in zip(fast, slow, strict=True))
