"""Watching over a model: that it answers the same row alike, and that it answers in time."""

from __future__ import annotations

import contextvars
import queue
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from l2c.adapters.models.frame_model import FrameModel
from l2c.adapters.models.range_model import RangeModel
from l2c.core.blackbox import Around, BlackBox
from l2c.core.types import Cells, Probabilities
from l2c.errors import InputError, ModelError

STEADY = 1e-6
"""How far two answers to one row may be apart: single precision rounds differently in other batches."""

Answer = TypeVar("Answer")
Outcome = tuple[Any, BaseException | None]
Questions = queue.SimpleQueue[tuple[Callable[[], Any], "queue.SimpleQueue[Outcome]"] | None]


def probe_steadiness(blackbox: BlackBox, examples: Cells) -> None:
    """Raise if the model answers the same rows differently when asked again, or when asked among other rows."""
    first = blackbox.proba(examples)
    again = _apart(first, blackbox.proba(examples))
    if again is not None:
        raise ModelError(
            f"the model is not steady: asked twice about the same row, its answers differ by up to {again:.2g}; "
            "turn off what is random in it, such as dropout or sampling"
        )
    # Those of one mind, and one of them twice: what a batch has in common is not what all rows have in common.
    order = np.argsort(first[:, 0], kind="stable")[: len(first) // 2 + 1][::-1]
    order = np.append(order, order[:1])
    elsewhere = _apart(first[order], blackbox.proba(examples[order]))
    if elsewhere is not None:
        raise ModelError(
            f"the model is not steady: its answer to a row depends on the rows beside it, by up to {elsewhere:.2g}; "
            "it must judge each row by itself"
        )


def within(blackbox: BlackBox, seconds: float) -> BlackBox:
    """Return the same model with a deadline: a question that takes longer raises a `ModelError`.

    The model works in a thread of its own, for nothing else can be left behind when it hangs. That thread goes on
    until the model returns, but it does not keep the program from ending.
    """
    if not seconds > 0:
        raise InputError(f"a deadline is more than 0 seconds away, not {seconds!r}")
    deadline = Deadline(seconds)
    if isinstance(blackbox, FrameModel | RangeModel):
        answer = blackbox.answer
        return replace(blackbox, answer=lambda frame: deadline.meet(lambda: answer(frame)))
    return Hurried(blackbox, deadline)


@dataclass(frozen=True, slots=True, eq=False)
class Hurried(Around):
    """A black box that must answer in time."""

    blackbox: BlackBox
    deadline: Deadline

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.deadline.meet(lambda: self.blackbox.proba(cells))


@dataclass(frozen=True, slots=True, eq=False)
class Deadline:
    """So many seconds for one call.

    The thread that makes it stays for the next: models that work in several threads would start theirs anew in each.
    """

    seconds: float
    # Each thread that asks has a worker of its own, so that none waits for the question of another.
    workers: threading.local = field(default_factory=threading.local)

    def meet(self, call: Callable[[], Answer]) -> Answer:
        """Return what a call returns, or raise if it takes too long."""
        worker = getattr(self.workers, "worker", None)
        # After a fork, the thread is in the other process.
        if worker is None or not worker.thread.is_alive():
            worker = self.workers.worker = _Worker()
        try:
            answer, error = worker.asked(_carried(call)).get(timeout=self.seconds)
        except queue.Empty:
            self.workers.worker = None
            raise ModelError(f"the model did not answer within {self.seconds:g} s") from None
        if error is not None:
            raise error
        return answer


class _Worker:
    """A thread that answers questions one by one, until nobody is left to ask."""

    def __init__(self) -> None:
        self.questions: Questions = queue.SimpleQueue()
        self.thread = threading.Thread(target=_work, args=(self.questions,), name="l2c-model", daemon=True)
        self.thread.start()
        weakref.finalize(self, self.questions.put, None)

    def asked(self, call: Callable[[], Any]) -> queue.SimpleQueue[Outcome]:
        """Return where the outcome of a call will be found."""
        outcome: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self.questions.put((call, outcome))
        return outcome


def _work(questions: Questions) -> None:
    while (question := questions.get()) is not None:
        call, outcome = question
        try:
            outcome.put((call(), None))
        except BaseException as error:  # whatever it is, it is for the one who asked
            outcome.put((None, error))
        del question, call, outcome  # hold no rows while waiting


def _carried(call: Callable[[], Answer]) -> Callable[[], Answer]:
    """Return the call as this thread would make it: in its context and with scikit-learn's settings, which it lacks."""
    context = contextvars.copy_context()
    if "sklearn" not in sys.modules:
        return lambda: context.run(call)
    from sklearn import config_context, get_config

    settings = get_config()

    def carried() -> Answer:
        if get_config() == settings:
            return context.run(call)
        with config_context(**settings):
            return context.run(call)

    return carried


def _apart(answers: Probabilities, others: Probabilities) -> float | None:
    """Return how far answers are apart where that is more than rounding."""
    most = float(np.abs(answers - others).max(initial=0.0))
    return most if most > STEADY else None
