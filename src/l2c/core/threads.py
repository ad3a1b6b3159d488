"""Parts of a batch worked on in several threads: compiled loops run beside one another, and Python takes turns.

Whatever must not be done in another thread, or by two at once, such as asking somebody's model, is handed to the thread
that waits for the parts: it does so in its own time, and whoever handed it over waits for the answer.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from l2c.errors import InputError

Part = TypeVar("Part")
Done = TypeVar("Done")
Answer = TypeVar("Answer")

MOST = 16
"""Threads at the most: what Python does between compiled loops keeps more from being of use."""

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux tells how much of its processors a container may use."""


class Here(Protocol):
    """Makes a call in the thread that waits for the parts, and returns what it returns, or raises what it raises."""

    def __call__(self, call: Callable[[], Answer]) -> Answer: ...


def how_many(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many threads may work at once: as many as `L2C_THREADS` says, or else as many as there are processors.

    `OMP_NUM_THREADS`, which most libraries of numbers obey, is obeyed too.

    >>> how_many({"L2C_THREADS": "3", "OMP_NUM_THREADS": "1"}), how_many({"OMP_NUM_THREADS": "1"})
    (3, 1)
    """
    told = environment.get("L2C_THREADS")
    if told is not None:
        if not (told.isdecimal() and int(told) > 0):
            raise InputError(f"the environment's L2C_THREADS must be a whole number above 0, not {told!r}")
        return int(told)
    others = environment.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(int(others) if others.isdecimal() and int(others) > 0 else _processors(), MOST)


def _processors() -> int:
    """Return how many processors this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text().split()
        return max(1, min(allowed, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no container, or no limit
        return allowed


def by_oneself(call: Callable[[], Answer]) -> Answer:
    """Make a call in whatever thread this is."""
    return call()


def in_order(work: Callable[[Part, Here], Done], parts: Sequence[Part], at_most: int) -> Iterator[Done]:
    """Yield what is made of each part, in their order, with as many threads at work.

    The first error ends it, once those that are at work have ended. With one thread, or one part, there is no other
    thread at all.

    Examples
    --------
    >>> def squared(number, here):
    ...     return here(lambda: number) ** 2
    >>> list(in_order(squared, [1, 2, 3], at_most=2))
    [1, 4, 9]
    """
    if at_most < 2 or len(parts) < 2:
        yield from (work(part, by_oneself) for part in parts)
        return
    desk = _Desk()
    with ThreadPoolExecutor(min(at_most, len(parts)), thread_name_prefix="l2c") as pool:
        futures = [pool.submit(work, part, desk.hand_in) for part in parts]
        for future in futures:
            future.add_done_callback(desk.wake)
        try:
            for future in futures:
                desk.serve_until(future)
                yield future.result()
        finally:
            desk.close()
            pool.shutdown(wait=False, cancel_futures=True)


class _ClosedError(Exception):
    """Nobody waits for the parts any more."""


class _Desk:
    """Where calls are handed in, and made by the thread that waits."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self.closed, self.door, self.thread = False, threading.Lock(), threading.get_ident()

    def hand_in(self, call: Callable[[], Answer]) -> Answer:
        """Have a call made, and return what it returns."""
        if threading.get_ident() == self.thread:  # a call that was handed in makes another
            return call()
        made: Future[Answer] = Future()
        with self.door:
            if self.closed:
                raise _ClosedError
            self.waiting.put((call, made))
        return made.result()

    def wake(self, _: object) -> None:
        """Let the thread that waits look up: something has ended."""
        self.waiting.put(None)

    def serve_until(self, future: Future[Any]) -> None:
        """Make calls as they come until a part has ended."""
        while not future.done():
            handed = self.waiting.get()
            if handed is None:
                continue
            call, made = handed
            try:
                made.set_result(call())
            except BaseException as error:
                made.set_exception(error)
                if not isinstance(error, Exception):
                    raise

    def close(self) -> None:
        """Turn away whoever waits for a call to be made, or comes later."""
        with self.door:
            self.closed = True
        while not self.waiting.empty():
            handed = self.waiting.get()
            if handed is not None:
                handed[1].set_exception(_ClosedError())
