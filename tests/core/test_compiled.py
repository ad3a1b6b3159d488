"""Compiled loops, where there is a compiler."""

from __future__ import annotations

from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest

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


def test_an_inlined_loop_works_on_its_callers_arrays_and_counts_no_references():
    if not compiles():
        pytest.skip("numba is not installed")
    assert added_up(np.arange(4.0)).tolist() == [6.0]
    (machine_code,) = add_up.fast.inspect_llvm().values()
    assert "NRT_incref" not in machine_code
    assert "NRT_decref" not in machine_code


def test_an_inlined_loop_that_makes_an_array_is_not_compiled():
    if not compiles():
        pytest.skip("numba is not installed")
    from numba.core.errors import NumbaError

    with pytest.raises(NumbaError, match="made_inside"):
        counted(3)
