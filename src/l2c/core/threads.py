"""Parts of a batch worked on in several threads: compiled loops run beside one another, and Python takes turns.

Whatever must not be done in another thread, or by two at once, such as asking somebody's model, is handed to the thread
that waits for the parts: it does so in its own time, and whoever handed it over waits for the answer.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")
Answer = TypeVar("Answer")


class Here(Protocol):
    """Makes a call in the thread that waits for the parts, and returns what it returns; an error ends all work."""

    def __call__(self, call: Callable[[], Answer]) -> Answer: ...


def by_oneself(call: Callable[[], Answer]) -> Answer:
    """Make a call in whatever thread this is."""
    return call()


def in_order(work: Callable[[Part, Here], Done], parts: Sequence[Part], at_most: int) -> Iterator[Done]:
    """Yield what is made of each part, in their order, with as many threads at work.

    An error of a part, or of a call, ends it, once what is at work has ended. With one thread, with one part, and where
    no thread can be started, all is done in this one.

    Examples
    --------
    >>> def squared(number, here):
    ...     return here(lambda: number) ** 2
    >>> list(in_order(squared, [1, 2, 3], at_most=2))
    [1, 4, 9]
    """
    if min(at_most, len(parts)) < 2:
        yield from (work(part, by_oneself) for part in parts)
        return
    workshop = _Workshop(work, parts)
    try:
        workshop.open(min(at_most, len(parts)))
        if not workshop.threads:
            yield from (work(part, by_oneself) for part in parts)
            return
        for place in range(len(parts)):
            yield workshop.made_of(place)
    finally:
        workshop.close()


class _ClosedError(Exception):
    """Nobody waits for the parts any more."""


class _Workshop(Generic[Part, Done]):
    """Threads that take one part after the other, and the thread that waits for them and makes their calls."""

    # Not an executor of the standard library: it takes no work once the main thread has ended, and what it was given it
    # cannot leave before a call that was handed over is answered.

    def __init__(self, work: Callable[[Part, Here], Done], parts: Sequence[Part]) -> None:
        self.work, self.parts, self.waits_in = work, parts, threading.get_ident()
        self.threads: list[threading.Thread] = []
        self.door, self.closed, self.taken = threading.Lock(), False, 0
        self.made: list[Future[Done]] = [Future() for _ in parts]
        self.handed_over: set[Future[Any]] = set()
        # Calls to be made here, or the place of a part that is done.
        self.news: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | int] = queue.SimpleQueue()

    def open(self, count: int) -> None:
        """Start so many threads, or as many as can be."""
        for number in range(count):
            thread = threading.Thread(target=self._go_on, name=f"l2c-{number}")
            try:
                thread.start()
            except RuntimeError:  # there may be no more
                break
            self.threads.append(thread)

    def made_of(self, place: int) -> Done:
        """Return what was made of a part, and make calls until it is; an error of any part ends the waiting."""
        while not self.made[place].done():
            news = self.news.get()
            if isinstance(news, int):
                if (error := self.made[news].exception()) is not None:
                    raise error
                continue
            call, answer = news
            answer.set_result(call())
        return self.made[place].result()

    def close(self) -> None:
        """Turn away whoever waits for a call to be made, and wait until all have left."""
        with self.door:
            self.closed = True
            for answer in self.handed_over:
                if not answer.done():
                    answer.set_exception(_ClosedError())
        for thread in self.threads:
            thread.join()

    def _go_on(self) -> None:
        while (place := self._next()) is not None:
            try:
                self.made[place].set_result(self.work(self.parts[place], self._hand_over))
            except BaseException as error:  # whatever it is, it is for the one who waits
                self.made[place].set_exception(error)
            self.news.put(place)

    def _next(self) -> int | None:
        """Return the place of the next part that nobody has taken; None if there is none, or nobody waits for it."""
        with self.door:
            if self.closed or self.taken == len(self.parts):
                return None
            self.taken += 1
            return self.taken - 1

    def _hand_over(self, call: Callable[[], Answer]) -> Answer:
        """Have a call made by the thread that waits, and return what it returns."""
        if threading.get_ident() == self.waits_in:  # a call that was handed over makes another
            return call()
        answer: Future[Answer] = Future()
        with self.door:
            if self.closed:
                raise _ClosedError
            self.handed_over.add(answer)
        self.news.put((call, answer))
        try:
            return answer.result()
        finally:
            with self.door:
                self.handed_over.discard(answer)
