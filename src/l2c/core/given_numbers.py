"""Numbers that a caller gives: what counts as one, and what is said where none was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np


def is_number(given: object) -> TypeGuard[float]:
    """Return whether something is a number, Python's or numpy's; True and False are none."""
    return isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)


def is_whole(given: object) -> TypeGuard[int]:
    """Return whether something is a number of a type that has whole ones alone.

    >>> is_whole(3), is_whole(3.0), is_whole(True), is_whole("3")
    (True, False, False, False)
    """
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def whole_number_problems(*given: tuple[str, object, int]) -> Iterator[str]:
    """Yield what is wrong with whole numbers that the caller gave, each with its name and the least it may be."""
    for name, value, least in given:
        if not is_whole(value):
            yield f"{name} must be a whole number, not {value!r}"
        elif value < least:
            yield f"{name} must be at least {least}, not {value}"
