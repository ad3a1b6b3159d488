"""Inner loops that numba compiles where it is installed; where it is not, numpy does the same, to the last bit.

A loop is compiled when it is first needed, for one thread, and kept on disk. Numba's own threads are never started:
they would slow down what torch does afterwards.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache, update_wrapper
from types import FunctionType
from typing import Any, ClassVar, Generic, Literal, ParamSpec, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


@cache
def compiles() -> bool:
    """Return whether loops are compiled: whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


class Compiled(Generic[Given, Answer]):
    """A function of numbers and arrays that is compiled at its first call; `plain` is the function itself.

    It may call others of its module that are compiled too.
    """

    inline: ClassVar[Literal["never", "always"]] = "never"

    def __init__(self, plain: Callable[Given, Answer]) -> None:
        self.plain = plain
        self._fast: Any = None
        update_wrapper(self, plain)

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Answer:
        answer: Answer = (self._fast or self.fast)(*given, **named)
        return answer

    @property
    def fast(self) -> Any:
        """The compiled function."""
        if self._fast is None:
            import numba

            compiled = numba.njit(cache=True, nogil=True, error_model="numpy", inline=self.inline)
            self._fast = compiled(_with_fast_callees(self.plain))
        return self._fast


class Inlined(Compiled[Given, Answer]):
    """A compiled function that becomes part of those that call it: a call would cost as much as what it does."""

    inline = "always"


def _with_fast_callees(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls compiled functions directly: numba knows its own, and not what wraps them."""
    if not isinstance(plain, FunctionType):  # pragma: no cover - a decorator is given a function
        raise TypeError(f"{plain!r} is no function")
    known = {
        name: value.fast if isinstance(value, Compiled) else value
        for name, value in plain.__globals__.items()
        if name in plain.__code__.co_names
    }
    direct = FunctionType(plain.__code__, plain.__globals__ | known, plain.__name__, plain.__defaults__)
    return update_wrapper(direct, plain)
