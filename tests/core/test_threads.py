"""Parts of a batch in several threads: in their order, one error for all, and calls made where they are waited for."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from l2c.core import threads
from l2c.core.threads import Here, in_order

pytestmark = pytest.mark.usefixtures("no_waiting_for_ever")


@pytest.mark.parametrize("at_most", [1, 2, 3, 8])
def test_parts_come_in_their_order_whoever_is_ready_first(at_most: int) -> None:
    def slow_at_first(part: int, _: Here) -> int:
        time.sleep(0.01 * (5 - part))
        return 10 * part

    assert list(in_order(slow_at_first, range(6), at_most)) == [0, 10, 20, 30, 40, 50]
    assert list(in_order(slow_at_first, [], at_most)) == []


def test_as_many_work_at_once_as_may_and_no_more() -> None:
    together, door = threading.Barrier(3, timeout=10), threading.Lock()
    at_work, most = 0, 0

    def work(part: int, _: Here) -> int:
        nonlocal at_work, most
        with door:
            at_work += 1
            most = max(most, at_work)
        together.wait()  # broken unless three are here at once
        with door:
            at_work -= 1
        return part

    assert list(in_order(work, range(6), 3)) == [*range(6)]
    assert most == 3


@pytest.mark.parametrize(("at_most", "parts"), [(1, 4), (4, 1)])
def test_with_one_thread_or_one_part_all_is_done_in_this_thread(at_most: int, parts: int) -> None:
    found = in_order(lambda _, here: (threading.get_ident(), here(threading.get_ident)), range(parts), at_most)
    assert set(found) == {(threading.get_ident(), threading.get_ident())}


def test_what_is_handed_over_is_done_in_the_thread_that_waits_one_at_a_time() -> None:
    busy = threading.Lock()

    def call() -> int:
        assert busy.acquire(blocking=False)
        time.sleep(0.002)
        busy.release()
        return threading.get_ident()

    def work(_: int, here: Here) -> tuple[int, set[int]]:
        # A call that was handed over may hand over another.
        return threading.get_ident(), {here(call), here(lambda: here(call))}

    for worker, callers in in_order(work, range(12), 4):
        assert worker != threading.get_ident()
        assert callers == {threading.get_ident()}


def raising(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@pytest.mark.parametrize("handed_over", [False, True])
def test_the_first_error_ends_it_and_no_thread_stays(handed_over: bool) -> None:
    begun, before = [], threading.active_count()

    def work(part: int, here: Here) -> int:
        begun.append(part)
        if part == 2:
            (here if handed_over else lambda call: call())(raising(ValueError("the third")))
        time.sleep(0.01)
        return here(lambda: part)

    with pytest.raises(ValueError, match="the third"):
        list(in_order(work, range(500), 2))
    assert len(begun) < 250
    assert threading.active_count() == before


def test_after_an_error_of_a_call_none_of_those_that_wait_is_made() -> None:
    together, made = threading.Barrier(4, timeout=30), []

    def call(part: int) -> None:
        made.append(part)
        raise ValueError(f"no {part}")

    def work(part: int, here: Here) -> None:
        together.wait()  # so that all hand over a call at about the same time
        here(lambda: call(part))

    with pytest.raises(ValueError, match="no "):
        list(in_order(work, range(4), 4))
    assert len(made) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_whoever_ends_the_program_in_a_call_ends_the_work(error: type[BaseException]) -> None:
    before = threading.active_count()
    with pytest.raises(error):
        list(in_order(lambda _, here: here(raising(error())), range(20), 3))
    assert threading.active_count() == before


def test_work_that_nobody_waits_for_any_more_is_left() -> None:
    begun, before = [], threading.active_count()

    def work(part: int, here: Here) -> int:
        begun.append(part)
        time.sleep(0.005)
        return here(lambda: part)

    for found in in_order(work, range(500), 3):
        if found == 1:
            break
    assert len(begun) < 250
    assert threading.active_count() == before


def test_an_error_is_told_at_once_though_a_part_before_it_is_still_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    told, real = threading.Event(), threads._Workshop.close

    def close(self: threads._Workshop) -> None:
        told.set()
        real(self)

    def work(part: int, _: Here) -> bool:
        if part == 1:
            raise ValueError("the second")
        return told.wait(20)

    monkeypatch.setattr(threads._Workshop, "close", close)
    begin = time.monotonic()
    with pytest.raises(ValueError, match="the second"):
        list(in_order(work, range(8), 2))
    assert time.monotonic() - begin < 15


def test_an_interrupt_as_a_call_is_taken_up_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(queue.SimpleQueue):
        """As if the signal came just when something was taken out."""

        def get(self) -> object:
            news = super().get()
            if not isinstance(news, int):
                raise KeyboardInterrupt
            return news

    before = threading.active_count()
    monkeypatch.setattr(threads.queue, "SimpleQueue", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(in_order(lambda part, here: here(lambda: part), range(20), 3))
    assert threading.active_count() == before


@pytest.mark.parametrize("possible", [0, 1, 2])
def test_where_no_more_threads_can_be_started_there_are_fewer(possible: int, monkeypatch: pytest.MonkeyPatch) -> None:
    started, real = [], threading.Thread.start

    def start(self: threading.Thread) -> None:
        if len(started) == possible:
            raise RuntimeError("can't start new thread")
        started.append(self)
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    worked_in = set()

    def work(part: int, here: Here) -> int:
        worked_in.add(threading.get_ident())
        return here(lambda: 2 * part)

    assert list(in_order(work, range(12), 3)) == [*range(0, 24, 2)]
    assert len(started) == possible
    assert (threading.get_ident() in worked_in) == (possible == 0)


def test_a_thread_that_outlives_the_main_one_has_helpers_too() -> None:
    script = """
import threading, time
from l2c.core.threads import in_order
def job():
    threading.main_thread().join()
    print(list(in_order(lambda part, here: here(lambda: part + 1), range(5), 3)))
threading.Thread(target=job).start()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[1, 2, 3, 4, 5]\n", done.stderr
