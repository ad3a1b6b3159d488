"""A batch explained in several threads: the same answers, and a model that notices nothing of it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import l2c
from l2c.core.blackbox import BlackBox
from l2c.errors import InputError, ModelError
from l2c.release import explain, search, settle
from loans import applicants, gloomy, granted, refused, seen, wide_desk, wide_rows

pytestmark = pytest.mark.usefixtures("no_waiting_for_ever")


@dataclass
class Watched:
    """A black box that notes in which threads it is asked, and fails if it is asked twice at once."""

    blackbox: BlackBox
    breaks_after: float = np.inf
    asked_in: list[int] = field(default_factory=list)
    busy: threading.Lock = field(default_factory=threading.Lock)

    @property
    def classes(self):
        return self.blackbox.classes

    def proba(self, cells):
        assert self.busy.acquire(blocking=False)
        try:
            self.asked_in.append(threading.get_ident())
            if len(self.asked_in) > self.breaks_after:
                raise ModelError("the model is gone")
            return self.blackbox.proba(cells)
        finally:
            self.busy.release()


@pytest.fixture
def worked_in(monkeypatch) -> set[int]:
    """Have batches searched in chunks of few rows, in three threads; return in which ones they are."""
    ids = set()
    real = search.Search.run

    def noted(self):
        ids.add(threading.get_ident())
        real(self)

    monkeypatch.setattr(search, "NEAR", 1200)
    monkeypatch.setattr(search.Search, "run", noted)
    monkeypatch.setenv("L2C_THREADS", "3")
    return ids


REQUESTS = [
    {},
    {"select": "first", "plausibility": 0.0, "n": 100},
    {"select": "cheap", "max_changes": 3},
    {"lock": ["age", "hours"], "where": "savings >= was.savings"},
    {"seconds": 600.0},
    {"no_copies": False, "pool": 300},
]


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("trees", [False, True])
def test_threads_change_no_answer_and_the_model_is_asked_in_one(request_, trees, worked_in, monkeypatch):
    explainer, rows, asked = seen(trees=trees), applicants(60, seed=3), {"n": 10, "reasons": False} | request_
    model, steps = Watched(explainer.blackbox), []
    worked_in.clear()  # to fit takes one thread
    together = replace(explainer, blackbox=model).explain(rows, progress=lambda *done: steps.append(done), **asked)
    assert len(worked_in) > 1
    assert threading.get_ident() not in worked_in
    if "seconds" not in request_:  # a model with a deadline works in a thread of its own
        assert set(model.asked_in) == {threading.get_ident()}
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1] == (60, 60)
    monkeypatch.setenv("L2C_THREADS", "1")
    worked_in.clear()
    alone = explainer.explain(rows, **asked)
    assert worked_in == {threading.get_ident()}
    assert alone.to_frame().equals(together.to_frame())
    assert alone.outcomes == together.outcomes


def test_what_only_the_model_can_tell_is_asked_in_the_thread_that_explains(worked_in, monkeypatch):
    explainer, rows = gloomy(seen()), refused(40)
    model = Watched(explainer.blackbox)
    found = replace(explainer, blackbox=model).explain(rows, 8, reasons=False)
    assert len(worked_in) > 1
    # The rows in the end, and in each chunk those that got nothing by the judgement of the twin.
    assert len(model.asked_in) > 4
    assert set(model.asked_in) == {threading.get_ident()}
    monkeypatch.setenv("L2C_THREADS", "1")
    assert found.to_frame().equals(explainer.explain(rows, 8, reasons=False).to_frame())


def test_what_a_solver_settles_is_settled_in_the_thread_that_explains(worked_in, monkeypatch):
    pytest.importorskip("ortools")
    settled_in, real = [], explain.settle
    monkeypatch.setattr(explain, "settle", lambda *given: (settled_in.append(threading.get_ident()), real(*given)))
    rows, explainer = wide_rows(60, 8), wide_desk(seen=True)
    rows = rows[rows.sum(axis=1) < -2].head(8).reset_index(drop=True)
    monkeypatch.setattr(search, "NEAR", 2)
    worked_in.clear()
    hard = {"n": 1, "max_changes": 2, "tries": 300, "reasons": False}
    found = explainer.explain(rows, **hard)
    assert len(settled_in) > 2
    assert set(settled_in) == {threading.get_ident()}
    assert len(worked_in) > 1
    assert {"found", "infeasible"} <= {outcome.status for outcome in found.outcomes}
    monkeypatch.setenv("L2C_THREADS", "1")
    alone = explainer.explain(rows, **hard)
    assert alone.outcomes == found.outcomes
    assert alone.to_frame().equals(found.to_frame())


def test_a_model_that_breaks_ends_all_threads_with_what_it_says(worked_in):
    explainer, before = gloomy(seen()), threading.active_count()
    broken = replace(explainer, blackbox=Watched(explainer.blackbox, breaks_after=2))
    with pytest.raises(ModelError, match="the model is gone"):
        broken.explain(refused(40), 8, reasons=False)
    assert len(worked_in) > 1
    assert threading.active_count() == before


def test_whoever_is_told_of_progress_may_end_it(worked_in):
    before = threading.active_count()

    def enough(done: int, _: int) -> None:
        if done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seen().explain(applicants(60, seed=3), 10, progress=enough)
    assert len(worked_in) > 1
    assert threading.active_count() == before


def test_a_solver_settles_the_same_rows_whatever_the_threads(worked_in, monkeypatch):
    pytest.importorskip("ortools")
    monkeypatch.setattr(settle, "SETTLED", 1)
    monkeypatch.setattr(search, "NEAR", 3)
    rows, explainer = wide_rows(60, 8), wide_desk(seen=True)
    rows = rows[rows.sum(axis=1) < -4].head(10).reset_index(drop=True)
    hard = {"n": 1, "max_changes": 1, "tries": 3, "reasons": False}
    together = explainer.explain(rows, **hard).outcomes
    assert len(worked_in) > 1
    assert {"infeasible", "none_valid"} <= {outcome.status for outcome in together}
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("L2C_THREADS", threads)
        assert explainer.explain(rows, **hard).outcomes == together


def test_a_model_that_is_not_seen_into_a_gate_and_a_small_batch_need_no_threads(worked_in, monkeypatch):
    rows, schema = applicants(30, seed=3), seen().schema
    replace(seen(), _twin=None).explain(rows, 5, reasons=False)
    for name, role in {"age": "quasi", "job": "quasi", "savings": "sensitive"}.items():
        schema = schema.edit(name, role=role)
    gated = l2c.L2C(epochs=0).fit(applicants(), granted, schema)
    assert gated._twin is not None
    gated.explain(rows, 6, gate=l2c.Gate(k=2), reasons=False)
    monkeypatch.setattr(search, "NEAR", 1 << 16)
    seen().explain(rows, 5, reasons=False)
    assert worked_in == {threading.get_ident()}


@pytest.mark.usefixtures("worked_in")
def test_layers_of_the_models_own_are_run_in_the_thread_that_explains():
    torch = pytest.importorskip("torch")

    class Own(torch.nn.Module):
        """A layer that works in a place of its own, where two at once would be in each other's way."""

        def __init__(self):
            super().__init__()
            self.run_in = set()

        def forward(self, units):
            self.run_in.add(threading.get_ident())
            return torch.tanh(units)

        def __deepcopy__(self, _):
            return self

    rows, schema, own = applicants(80), seen().schema, Own()
    inputs = l2c.OneHotInput.fit(rows, schema)
    generator = torch.Generator().manual_seed(0)
    layers = torch.nn.Linear(inputs.width, 8), own, torch.nn.Linear(8, 1)
    for layer in (layers[0], layers[2]):
        layer.weight.data = torch.randn(layer.weight.shape, generator=generator)
        layer.bias.data.zero_()
    model = l2c.TorchModel(torch.nn.Sequential(*layers), inputs, classes=("refused", "granted"))
    explainer = l2c.L2C(epochs=0).fit(rows, model, schema)
    assert explainer._twin is not None
    own.run_in.clear()
    found = explainer.explain(applicants(60, seed=3), 10, reasons=False)
    assert len(found) > 100
    assert own.run_in == {threading.get_ident()}


def test_a_wrong_number_of_threads_is_refused(monkeypatch):
    monkeypatch.setenv("L2C_THREADS", "all")
    with pytest.raises(InputError, match="L2C_THREADS must be a whole number above 0, not 'all'"):
        seen().explain(applicants(3), 5)
