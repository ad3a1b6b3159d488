"""Parts of a batch in several threads: in their order, one error for all, and calls made where they are waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from l2c.core import threads
from l2c.core.threads import Here, how_many, in_order
from l2c.errors import InputError


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

    found = in_order(work, range(50), 2)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(found)
    assert len(begun) < 10
    assert threading.active_count() == before


def test_an_error_of_a_call_can_be_dealt_with_by_the_part_that_handed_it_over() -> None:
    def work(part: int, here: Here) -> str:
        try:
            here(raising(ValueError(f"no {part}")))
        except ValueError as error:
            return str(error)
        return ""

    assert list(in_order(work, range(4), 2)) == ["no 0", "no 1", "no 2", "no 3"]


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

    for found in in_order(work, range(100), 3):
        if found == 1:
            break
    del found
    assert len(begun) < 20
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"L2C_THREADS": "5"}, 5),
        ({"L2C_THREADS": "40"}, 40),
        ({"OMP_NUM_THREADS": "2"}, 2),
        ({"OMP_NUM_THREADS": " 3,1"}, 3),
        ({"OMP_NUM_THREADS": "99"}, threads.MOST),
        ({"OMP_NUM_THREADS": "many"}, 6),
        ({"OMP_NUM_THREADS": "0"}, 6),
        ({}, 6),
    ],
)
def test_the_environment_says_how_many(told: dict[str, str], expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_processors", lambda: 6)
    assert how_many(told) == expected


@pytest.mark.parametrize("told", ["0", "-1", "two", "1.5", ""])
def test_what_is_no_number_of_threads_is_refused(told: str) -> None:
    with pytest.raises(InputError, match="L2C_THREADS must be a whole number above 0"):
        how_many({"L2C_THREADS": told})


@pytest.mark.parametrize(
    ("told", "expected"),
    [("max 100000", 12), ("300000 100000", 3), ("50000 100000", 1), ("9900000 100000", 12), ("", 12), (None, 12)],
)
def test_a_container_uses_no_more_than_it_may(
    told: str | None, expected: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quota = tmp_path / "cpu.max"
    if told is not None:
        quota.write_text(told)
    monkeypatch.setattr(threads, "QUOTA", quota)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    assert threads._processors() == expected
