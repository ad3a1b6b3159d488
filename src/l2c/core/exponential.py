"""Exponentials that are the same to the last bit wherever they are worked out.

Libraries round them each in their own way: numpy by the processor that it finds, compiled loops by the system's. Here
they are a fixed row of additions and multiplications, in compiled loops and in numpy alike, so that what hangs on them
is the same on every machine; and loops of nothing else become vector instructions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.core.compiled import Compiled, Inlined, compiles

LEAST = -708.0
"""Below this the exponential counts as 0: what it is has no longer all of its digits."""

PER_HALVING = 1 / math.log(2)
LOG_2, LOG_2_REST = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""The logarithm of 2 in two parts, the first so short that a whole multiple of it is exact."""

WHOLE = 1.5 * 2.0**52
"""Added to a number it leaves whole numbers alone, in the last bits of the sum."""

EXPONENT = 52
"""Where the bits of a number's exponent begin."""

ONE, HALF, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (1 / math.factorial(n) for n in range(1, 13))


def exponentials(numbers: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
    """Return the exponential of each number; none of them may be above 0.

    >>> exponentials(np.array([0.0, -1.0, -1000.0, -np.inf])).round(12).tolist()
    [1.0, 0.367879441171, 0.0, 0.0]
    """
    told = np.empty(numbers.shape)
    if compiles():
        raise_all(told.ravel(), numbers.ravel(), 1.0)
        return told
    kept = np.where(numbers < LEAST, LEAST, numbers)
    halvings = kept * PER_HALVING + WHOLE
    exponent = halvings.view(np.int64) << EXPONENT
    halvings -= WHOLE
    told[...] = _series.plain((kept - halvings * LOG_2) - halvings * LOG_2_REST)
    told.view(np.int64)[...] += exponent
    told[numbers < LEAST] = 0.0
    return told


@Inlined
def _series(rest: Any) -> Any:
    """Return the exponential of numbers between half the logarithm of 2 and its negative, by its power series."""
    total = C12 * rest + C11
    total = total * rest + C10
    total = total * rest + C9
    total = total * rest + C8
    total = total * rest + C7
    total = total * rest + C6
    total = total * rest + C5
    total = total * rest + C4
    total = total * rest + C3
    total = total * rest + HALF
    total = total * rest + ONE
    return total * rest + ONE


@Inlined
def raise_all(told: Float64[np.ndarray, " n"], numbers: Float64[np.ndarray, " n"], factor: float) -> None:
    """Write down the exponential of a factor times each number."""
    bits = told.view(np.int64)
    for n in range(len(numbers)):
        number = factor * numbers[n]
        told[n] = (LEAST if number < LEAST else number) * PER_HALVING + WHOLE
    for n in range(len(numbers)):
        number, halvings, exponent = factor * numbers[n], told[n] - WHOLE, bits[n] << EXPONENT
        kept = LEAST if number < LEAST else number
        told[n] = _series((kept - halvings * LOG_2) - halvings * LOG_2_REST)
        bits[n] += exponent
        told[n] = 0.0 if number < LEAST else told[n]


def shares(leads: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    """Return the probability that each lead in log-odds stands for.

    >>> shares(np.array([-np.inf, -1.0, 0.0, 1.0, np.inf])).round(12).tolist()
    [0.0, 0.26894142137, 0.5, 0.73105857863, 1.0]
    """
    if compiles():
        return _shared_in_turn(leads)
    less = exponentials(-np.abs(leads))
    return np.where(leads < 0, less, 1.0) / (1.0 + less)


@Compiled
def _shared_in_turn(leads: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    less, apart = np.empty(len(leads)), np.abs(leads)
    raise_all(less, apart, -1.0)
    for n in range(len(leads)):
        part = less[n]
        less[n] = (part if leads[n] < 0 else 1.0) / (1.0 + part)
    return less
