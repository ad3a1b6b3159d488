"""Watching over models: those that answer a row now so and now so, and those that do not answer at all."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import sklearn
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import l2c
from adapters.models.people import LATE, NUMBERS, ROWS, TEXTS, box_of, cells_of
from l2c.adapters.models import FrameModel, differentiable
from l2c.adapters.models.watch import Hurried, probe_steadiness, within
from l2c.errors import InputError, ModelError

CELLS = cells_of(NUMBERS)
rng = np.random.default_rng(8)
LOGISTIC = LogisticRegression().fit(NUMBERS, LATE)


class Answering:
    """A black box behind a function of cells."""

    classes = ("no", "yes")
    labels_only = False

    def __init__(self, yes: Any) -> None:
        self.yes = yes

    def proba(self, cells: np.ndarray) -> np.ndarray:
        yes = np.broadcast_to(self.yes(cells), len(cells)).astype(float)
        return np.stack([1 - yes, yes], axis=1)


def torch_model() -> l2c.TorchModel:
    inputs = l2c.OneHotInput.fit(TEXTS, l2c.Schema.infer(TEXTS))
    torch.manual_seed(0)
    return l2c.TorchModel(torch.nn.Linear(inputs.width, 2), inputs, classes=("no", "yes"))


def unsteady(model: Any) -> str:
    with pytest.raises(ModelError) as caught:
        probe_steadiness(model, CELLS[:20])
    return str(caught.value)


# Steadiness


@pytest.mark.parametrize("rows", [1, 2, 3, 20, ROWS])
def test_a_steady_model_passes(rows):
    probe_steadiness(box_of(LOGISTIC, NUMBERS), CELLS[:rows])
    probe_steadiness(torch_model(), cells_of(TEXTS)[:rows])


def test_rounding_passes():
    probe_steadiness(Answering(lambda cells: 0.5 + 2e-7 * rng.random(len(cells))), CELLS)
    probe_steadiness(Answering(lambda cells: 0.5 + 1e-9 * len(cells)), CELLS)


def test_a_model_that_draws_its_answers_is_told():
    assert unsteady(Answering(lambda cells: 0.4 + 0.2 * (rng.random(len(cells)) > 0.5))) == (
        "the model is not steady: asked twice about the same row, its answers differ by up to 0.2; "
        "turn off what is random in it, such as dropout or sampling"
    )


def test_a_model_that_counts_its_questions_is_told():
    asked = iter(range(10))
    assert "asked twice" in unsteady(Answering(lambda _: 0.1 * next(asked)))


@pytest.mark.parametrize(
    "yes",
    [
        lambda cells: cells[:, 0] > cells[:, 0].mean(),
        lambda cells: np.arange(len(cells)) / 100,
        lambda cells: 0.5 / len(cells),
        lambda cells: np.r_[0.9, np.full(len(cells) - 1, 0.1)],
    ],
    ids=["mean", "place", "number", "first"],
)
def test_a_model_that_looks_at_the_other_rows_is_told(yes):
    told = unsteady(Answering(yes))
    assert told.startswith("the model is not steady: its answer to a row depends on the rows beside it, by up to ")
    assert told.endswith("; it must judge each row by itself")


def test_even_one_row_shows_a_model_that_looks_at_their_number():
    with pytest.raises(ModelError, match="depends on the rows beside it"):
        probe_steadiness(Answering(lambda cells: 0.5 / len(cells)), CELLS[:1])


# Deadlines


def test_a_model_with_a_deadline_answers_as_without():
    blackbox = within(box_of(LOGISTIC, NUMBERS), 60)
    assert (blackbox.proba(CELLS) == LOGISTIC.predict_proba(NUMBERS)).all()
    assert blackbox.classes == (False, True)
    assert not blackbox.labels_only


def test_a_model_of_frames_stays_one():
    plain = box_of(LOGISTIC, NUMBERS)
    blackbox = within(plain, 60)
    assert isinstance(blackbox, FrameModel)
    assert (blackbox.of_frame(NUMBERS, ROWS) == plain.of_frame(NUMBERS, ROWS)).all()


def test_any_black_box_keeps_its_classes_its_answers_and_its_gradients():
    plain = torch_model()
    blackbox = within(plain, 60)
    assert isinstance(blackbox, Hurried)
    assert blackbox.classes == ("no", "yes")
    assert not blackbox.labels_only
    assert (blackbox.proba(cells_of(TEXTS)) == plain.proba(cells_of(TEXTS))).all()
    assert differentiable(blackbox, None, None).model is plain


@pytest.mark.parametrize("of", ["frames", "cells"])
def test_a_model_that_hangs_is_left_behind(of):
    release = threading.Event()

    def hanging(rows: Any) -> np.ndarray:
        if len(rows) > 10:
            release.wait(30)
        return np.full(len(rows), 0.5)

    plain = box_of(hanging, NUMBERS) if of == "frames" else Answering(hanging)
    blackbox = within(plain, 0.05)
    started = time.monotonic()
    with pytest.raises(ModelError) as caught:
        blackbox.proba(CELLS)
    assert time.monotonic() - started < 10
    assert str(caught.value) == "the model did not answer within 0.05 s"
    # The next question is not kept waiting by the one that hangs.
    assert blackbox.proba(CELLS[:3]).tolist() == [[0.5, 0.5]] * 3
    release.set()


def test_what_the_model_raises_is_raised_to_the_one_who_asked():
    def broken(_: Any) -> np.ndarray:
        raise ZeroDivisionError("nothing left")

    with pytest.raises(ZeroDivisionError, match="nothing left"):
        within(Answering(broken), 60).proba(CELLS)
    with pytest.raises(ModelError, match=r"^the model raised ValueError: odd$"):
        within(box_of(odd_when_many, NUMBERS), 60).proba(CELLS)


def odd_when_many(frame: Any) -> np.ndarray:
    if len(frame) > 10:
        raise ValueError("odd")
    return np.full(len(frame), 0.5)


def test_questions_share_one_thread_that_ends_with_the_model():
    seen = set()

    def watching(_: np.ndarray) -> float:
        seen.add(threading.current_thread())
        return 0.5

    blackbox = within(Answering(watching), 60)
    for _ in range(5):
        blackbox.proba(CELLS)
    (worker,) = seen
    assert worker is not threading.current_thread()
    assert worker.daemon
    del blackbox
    worker.join(10)
    assert not worker.is_alive()


def test_two_who_ask_at_once_do_not_wait_for_each_other():
    both = threading.Barrier(2, timeout=20)
    blackbox = within(Answering(lambda _: 0.5 + 0 * both.wait()), 30)
    other = threading.Thread(target=blackbox.proba, args=(CELLS[:1],))
    other.start()
    assert blackbox.proba(CELLS[:1]).tolist() == [[0.5, 0.5]]
    other.join()


def test_the_context_of_the_one_who_asks_is_kept():
    place: contextvars.ContextVar[float] = contextvars.ContextVar("place", default=0.0)
    blackbox = within(Answering(lambda _: place.get()), 60)
    for value in (0.25, 0.75):
        place.set(value)
        assert blackbox.proba(CELLS[:1])[0, 1] == value


def test_the_settings_of_scikit_learn_are_kept():
    named = FunctionTransformer(lambda frame: frame[["standardscaler__age"]] if hasattr(frame, "columns") else 1 / 0)
    with sklearn.config_context(transform_output="pandas"):
        scaled = make_column_transformer((StandardScaler(), ["age", "the debt"]))
        model = make_pipeline(scaled, named, LogisticRegression()).fit(NUMBERS, LATE)
        blackbox = within(box_of(model, NUMBERS), 60)
        assert (blackbox.proba(CELLS) == model.predict_proba(NUMBERS)).all()


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_deadline_lies_ahead(seconds):
    with pytest.raises(InputError) as caught:
        within(Answering(lambda _: 0.5), seconds)
    assert str(caught.value) == f"a deadline is more than 0 seconds away, not {seconds!r}"


def test_a_program_ends_though_a_model_still_hangs():
    code = (
        "import time, numpy as np\n"
        "from l2c.adapters.models.watch import within\n"
        "from l2c.errors import ModelError\n"
        "class Hanging:\n"
        "    classes = (0, 1)\n"
        "    def proba(self, cells): time.sleep(60)\n"
        "try: within(Hanging(), 0.05).proba(np.zeros((1, 1)))\n"
        "except ModelError as error: print(error)\n"
    )
    started = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("the model did not answer within 0.05 s\n", "")
    assert time.monotonic() - started < 50


def test_labels_stay_labels():
    model = within(box_of(lambda frame: frame["age"] > 40, NUMBERS), 60)
    assert model.labels_only
    hurried = Answering(lambda _: 1.0)
    hurried.labels_only = True
    assert within(hurried, 60).labels_only
