"""Inner loops that numba compiles where it is installed; where it is not, numpy does the same, to the last bit.

A loop is compiled when it is first needed, and kept on disk, under a name that tells what it and all that it calls say:
numba itself only looks at the file of the outermost. It lets other threads of Python run beside it (`core/threads.py`);
numba's own are never started: they would slow down what torch does afterwards.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property, update_wrapper
from inspect import get_annotations
from types import FunctionType
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

import numpy as np

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

    # Told in so many words: what is not told is taken over from whoever calls.
    options: ClassVar[Mapping[str, Any]] = {"_nrt": True, "forceinline": False}

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

            compiled = numba.njit(cache=True, nogil=True, error_model="numpy", **self.options)
            self._fast = compiled(_with_fast_callees(self.plain, f"{self.plain.__qualname__}_{self.digest[:12]}"))
        return self._fast

    @cached_property
    def digest(self) -> str:
        """What the function says, and all that it calls and takes: a change of any of these changes it."""
        plain: Any = self.plain
        code, around = plain.__code__, plain.__globals__
        used = {name: _told(around[name]) for name in code.co_names if name in around}
        taken = {name: _told(around.get(kind)) for name, kind in plain.__annotations__.items()}
        said = (code.co_code.hex(), code.co_varnames, code.co_names, repr(code.co_consts))
        told = (said, sorted(self.options.items()), used, taken)
        return hashlib.sha256(repr(told).encode()).hexdigest()


def _told(value: Any) -> Any:
    """Return what a loop is told by a name: what a function comes to, the fields of a record, or a number."""
    if isinstance(value, Compiled):
        return value.digest
    if isinstance(value, type) and hasattr(value, "_fields"):
        around = vars(sys.modules[value.__module__])
        return [(name, str(kind), _told(around.get(str(kind)))) for name, kind in get_annotations(value).items()]
    return repr(value) if isinstance(value, int | float | np.generic) else None


class Inlined(Compiled[Given, Answer]):
    """A compiled function that becomes part of those that call it, and works on their arrays.

    A call would hand over seven words or more for each array, and count who refers to each of those that come in a
    record: that takes longer than what an inner loop does with them. So nothing is counted here. It may look at parts
    of arrays, but makes none, which numba refuses, and returns none, not in a record either: it would be freed early.
    """

    options: ClassVar[Mapping[str, Any]] = {"_nrt": False, "forceinline": True}


def _with_fast_callees(plain: Any, name: str) -> FunctionType:
    """Return a function, by a name, that calls compiled ones directly: numba knows its own, and not what wraps them."""
    known = {
        name: value.fast if isinstance(value, Compiled) else value
        for name, value in plain.__globals__.items()
        if name in plain.__code__.co_names
    }
    direct = FunctionType(plain.__code__, plain.__globals__ | known, plain.__name__, plain.__defaults__)
    update_wrapper(direct, plain)
    direct.__qualname__ = name
    return direct
