"""What a walk works on: the grounds of rows, what they have drawn and found, and a bench for draws of one row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int16, Int64, UInt32, UInt64

from l2c.core.compiled import Compiled
from l2c.core.types import Levels
from l2c.engine.drawing import TOGETHER


class Axes(NamedTuple):
    """The features' places on the flat axis, and the words of their fingerprints, where they can as shifts of bits."""

    offsets: Int64[np.ndarray, " features"]
    sizes: Int64[np.ndarray, " features"]
    words: UInt64[np.ndarray, " features"]
    shifts: Int64[np.ndarray, " features"]


class Grounds(NamedTuple):
    """What each row is and may become, by level, and how many combinations that is."""

    own: Levels
    open: Bool[np.ndarray, "rows width"]
    possible: Float64[np.ndarray, " rows"]


class Given(NamedTuple):
    """Draws made elsewhere, for each walking row, and how many of them count; none if rows draw for themselves."""

    levels: Int16[np.ndarray, "some draws features"]
    counts: Int64[np.ndarray, " some"]


class Counts(NamedTuple):
    """What each row has drawn, found valid and so on, so far; walking adds to it."""

    drawn: Int64[np.ndarray, " rows"]
    valid: Int64[np.ndarray, " rows"]
    different: Int64[np.ndarray, " rows"]
    obeying: Int64[np.ndarray, " rows"]
    judged: Int64[np.ndarray, " rows"]
    best: Float64[np.ndarray, " rows"]


class Findings(NamedTuple):
    """Proposals that are valid, and some that only the model can tell of, in the order of rows and of drawing."""

    row: Int64[np.ndarray, " n"]
    levels: Levels
    lead: Float64[np.ndarray, " n"]
    second: Bool[np.ndarray, " n"]
    sure: Bool[np.ndarray, " n"]


class Bench(NamedTuple):
    """Working space, for draws of one row that are worked on together."""

    moving: Int64[np.ndarray, " features"]
    shifting: Bool[np.ndarray, " features"]
    lower: UInt32[np.ndarray, " draws"]
    upper: UInt32[np.ndarray, " draws"]
    levels: Int16[np.ndarray, "features draws"]
    key: UInt64[np.ndarray, " draws"]
    lead: Float64[np.ndarray, " draws"]
    shift: Float64[np.ndarray, " draws"]
    inside: Bool[np.ndarray, " draws"]
    other: Bool[np.ndarray, " draws"]
    asked: Int64[np.ndarray, " draws"]
    again: Int64[np.ndarray, " draws"]
    kept: Int64[np.ndarray, " draws"]
    still: Float32[np.ndarray, " units"]
    standing: UInt64[np.ndarray, " trees"]
    word: UInt64[np.ndarray, " trees"]
    slot: UInt64[np.ndarray, " trees"]
    here: Float32[np.ndarray, "draws units"]
    there: Float32[np.ndarray, "draws units"]
    last: Float32[np.ndarray, " draws"]


@Compiled
def bench_for(features: int, units: int, trees: int) -> Bench:
    """Return working space for rows of so many features, and a model of so many units in a layer, or trees."""
    return Bench(
        np.empty(features, np.int64), np.empty(features, np.bool_), np.empty(TOGETHER, np.uint32),
        np.empty(TOGETHER, np.uint32), np.zeros((features, TOGETHER), np.int16),
        np.empty(TOGETHER, np.uint64), np.empty(TOGETHER, np.float64), np.empty(TOGETHER, np.float64),
        np.empty(TOGETHER, np.bool_), np.empty(TOGETHER, np.bool_), np.empty(TOGETHER, np.int64),
        np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int64), np.empty(units, np.float32),
        np.empty(trees, np.uint64), np.empty(trees, np.uint64), np.empty(trees, np.uint64),
        np.empty((TOGETHER, units), np.float32), np.empty((TOGETHER, units), np.float32),
        np.empty(TOGETHER, np.float32),
    )  # fmt: skip
