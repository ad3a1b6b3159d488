"""Compiled loops, where there is a compiler."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from inspect import get_annotations
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest

import l2c
from l2c.core.compiled import Compiled, Inlined, compiles


@Compiled
def doubled(number: int) -> int:
    """Return twice a number."""
    return 2 * number


@Compiled
def total_of_doubles(numbers: np.ndarray) -> int:
    total = 0
    for number in numbers:
        total += doubled(number)
    return total


def test_a_loop_keeps_its_name_and_its_plain_self():
    assert doubled.__name__ == "doubled"
    assert doubled.__doc__ == "Return twice a number."
    assert doubled.plain(4) == 8


def test_compiled_loops_call_each_other():
    if not compiles():
        pytest.skip("numba is not installed")
    assert total_of_doubles(np.arange(5)) == 20
    assert doubled(21) == 42
    assert len(total_of_doubles.fast.signatures) == 1


class Pair(NamedTuple):
    one: float
    two: float


TIMES = 3


@Compiled
def product(pair: Pair) -> float:
    return pair.one * doubled(pair.two) * TIMES


def digest_with(loop: Compiled, **around: object) -> str:
    """Return the digest that a loop would have in other surroundings."""
    plain = FunctionType(loop.plain.__code__, loop.plain.__globals__ | around)
    plain.__annotations__ = loop.plain.__annotations__
    return type(loop)(plain).digest


def test_what_is_kept_on_disk_is_known_by_all_that_went_into_it():
    class Swapped(NamedTuple):
        two: float
        one: float

    same = digest_with(product)
    assert same == product.digest
    others = [
        digest_with(product, TIMES=4),
        digest_with(product, doubled=Compiled(lambda number: number + number)),
        digest_with(product, doubled=Inlined(doubled.plain)),
        digest_with(product, Pair=Swapped),
        digest_with(total_of_doubles),
    ]
    assert len({same, *others}) == 6


def test_a_change_of_what_a_loop_calls_is_compiled_anew():
    if not compiles():
        pytest.skip("numba is not installed")
    assert doubled.fast.py_func.__qualname__.startswith("doubled_")
    assert total_of_doubles.digest[:12] in total_of_doubles.fast.py_func.__qualname__


class Room(NamedTuple):
    numbers: np.ndarray
    sums: np.ndarray


@Inlined
def add_up(room: Room) -> None:
    for n in range(len(room.numbers)):
        room.sums[0] += room.numbers[n]


@Inlined
def made_inside(count: int) -> float:
    return np.ones(count).sum()


@Compiled
def added_up(numbers: np.ndarray) -> np.ndarray:
    room = Room(numbers, np.zeros(1))
    add_up(room)
    return room.sums


@Compiled
def counted(count: int) -> float:
    return made_inside(count)


def test_an_inlined_loop_works_on_its_callers_arrays():
    if not compiles():
        pytest.skip("numba is not installed")
    assert added_up(np.arange(4.0)).tolist() == [6.0]


def test_an_inlined_loop_that_makes_an_array_is_not_compiled():
    if not compiles():
        pytest.skip("numba is not installed")
    from numba.core.errors import NumbaError

    with pytest.raises(NumbaError, match="made_inside"):
        counted(3)


def modules() -> Iterator[ModuleType]:
    """Yield every module of the package that can be imported here."""
    for found in pkgutil.walk_packages(l2c.__path__, "l2c."):
        try:
            yield import_module(found.name)
        except ImportError:  # an extra that is not installed
            continue


def inlined_loops() -> list[Inlined]:
    every = [value for module in modules() for value in vars(module).values() if isinstance(value, Inlined)]
    return list({id(loop): loop for loop in every}.values())


def numbers_alone(told: Any, around: dict[str, Any]) -> bool:
    """Return whether a function that is told to return this returns nothing but numbers, also in tuples and records."""
    told = getattr(told, "__forward_arg__", told)
    kind = eval(told, around) if isinstance(told, str) else told  # noqa: S307  (the package's own annotations)
    if kind in (None, Any, int, float, bool):
        return True
    if hasattr(kind, "_fields"):
        return all(numbers_alone(one, around) for one in get_annotations(kind).values())
    return bool(get_args(kind)) and all(numbers_alone(one, around) for one in get_args(kind))


def test_no_inlined_loop_returns_an_array():
    loops = inlined_loops()
    assert len(loops) > 40
    for loop in loops:
        assert numbers_alone(loop.plain.__annotations__["return"], loop.plain.__globals__), loop.plain.__qualname__
    assert not numbers_alone("np.ndarray", {"np": np})
    assert not numbers_alone("tuple[int, np.ndarray]", {"np": np})
    assert not numbers_alone("Room", {"Room": Room, "np": np})
