"""A row's whole walk along its stream, compiled: draw, leave out what was seen or may not be, judge by level, keep.

It is for models of two classes whose log-odds are a sum over the features, a network of such sums, or a sum over trees,
and for rows that may change all of their features. What it does is what `Search` does stage by stage, but nothing is
written down in between, and a row walks on until it has what it needs: a proposal costs some tens of nanoseconds, and
what network or trees take. What comes close to the decision is handed back, to be judged by the model itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64, UInt64

from l2c.core.compiled import Compiled, Inlined
from l2c.core.method import Dependences, Marginals
from l2c.engine.drawing import LANES, TOGETHER
from l2c.engine.likely import Hand, Known, Tree, draw_along, hand_of, room_for_beliefs, tell_kept, tree_of
from l2c.release.bench import Axes, Bench, Counts, Findings, Given, Grounds, bench_for
from l2c.release.by_level import Model
from l2c.release.exhaust import ENUMERABLE
from l2c.release.refine import HARD_AFTER, HARD_BELOW
from l2c.release.sift import put
from l2c.release.stride import clear, draw, fixed_and_own, judge, keep, note_moving, sift, stand_still

LUCK = 3.0
"""How much longer than it needs a later round of a row is, in square roots of what it needs: so that it is the last."""

LEAST_ROUND = 64
"""Draws that a row may always make in a second round, however few its first were."""


NO_MARGINALS = Marginals(np.empty(0, np.uint64), 0, np.empty((0, 0), np.uint32))
NO_DEPENDENCES = Dependences(
    np.empty(0, np.uint64), 0, np.empty((0, 0), np.uint32), np.empty((0, 0)), np.empty((0, 0), np.int16),
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64),
)  # fmt: skip
NOTHING_GIVEN = Given(np.empty((0, 0, 0), np.int16), np.empty(0, np.int64))


class Need(NamedTuple):
    """How many valid ones a row wants, with how many it is patient no longer, and how many draws it may make."""

    pool: int
    enough: Int64[np.ndarray, " rows"]
    acceptance: float
    tries: int
    patience: int
    refine: bool


class Memory(NamedTuple):
    """The rows' tables of fingerprints, as a `Sieve` keeps them."""

    table: UInt64[np.ndarray, " slots"]
    start: Int64[np.ndarray, " rows"]
    slots: Int64[np.ndarray, " rows"]


class Unfinished(NamedTuple):
    """What was drawn by the rows that still need something else than walking."""

    row: Int64[np.ndarray, " n"]
    keys: UInt64[np.ndarray, " n"]


class Course(NamedTuple):
    """All that rows walk by, and the room to work in."""

    marginals: Marginals
    along: Dependences
    given: Given
    axes: Axes
    grounds: Grounds
    model: Model
    need: Need
    counts: Counts
    tree: Tree
    beliefs: Known
    hand: Hand
    bench: Bench


class Start(NamedTuple):
    """What is the same in all draws of a row.

    How many features can move, and whether to closed levels too; the part that fingerprints have in common, and the
    row's own.
    """

    free: int
    watched: bool
    fixed_key: Any
    own_key: Any


def each_in_its_place(source: Marginals | Dependences | Given) -> tuple[Marginals, Dependences, Given]:
    """Return a source of draws, with nothing in place of the other kinds."""
    match source:
        case Marginals():
            return source, NO_DEPENDENCES, NOTHING_GIVEN
        case Dependences():
            return NO_MARGINALS, source, NOTHING_GIVEN
        case Given():
            return NO_MARGINALS, NO_DEPENDENCES, source


@Compiled
def next_round(drawn: Any, held: Any, pool: Any, acceptance: float, most: Any) -> Any:
    """Return how many more a row should draw, from its own success so far; of one row or of many.

    In all it draws `most` at the most.
    """
    wanted = pool - held
    at_first = np.ceil(wanted / acceptance)
    by_success = wanted * (drawn + 1.0) / (held + 0.5)
    by_success = np.ceil(by_success + LUCK * np.sqrt(by_success)) + 4
    more = at_first * (drawn == 0) + by_success * (drawn > 0)
    at_once = np.maximum(np.maximum(4.0 * drawn, 1.0 * LEAST_ROUND), at_first)
    return np.minimum(np.minimum(more, at_once), most - drawn)


@Compiled
def walked(
    rows: Int64[np.ndarray, " some"],
    marginals: Marginals,
    along: Dependences,
    given: Given,
    axes: Axes,
    grounds: Grounds,
    model: Model,
    need: Need,
    counts: Counts,
    memory: Memory,
) -> tuple[Findings, Unfinished]:
    """Let rows walk until each has its pool, its budget ends, or something else than drawing is needed.

    They draw every feature by itself, or along a tree of dependences. Where draws are given, they walk along these and
    no farther.
    """
    features, alone = len(axes.sizes), len(given.counts) == 0
    tree = tree_of(along, axes.offsets, axes.sizes)
    course = Course(
        marginals, along, given, axes, grounds, model, need, counts, tree, room_for_beliefs(tree, along.coins),
        hand_of(len(along.order), np.empty((0, 0, 0), np.bool_)),  # a constant array would be of another type
        bench_for(features, len(model.layers.last), len(model.grove.value)),
    )  # fmt: skip
    room, kept = max(1024, int(1.2 * need.pool * len(rows)) + 64), 0
    out = _findings(room, features)
    left_row, left_keys, left = np.empty(0, np.int64), np.empty(0, np.uint64), 0
    table = np.zeros(1024, np.uint64)
    # What looks into a record here is inlined: in this function each look would be counted.
    for n in range(len(rows)):
        r = rows[n]
        start = _start(course, n, r)
        slots = _slots(memory, r)
        if len(table) < slots:
            table = np.empty(slots, np.uint64)
        table[:] = 0
        filled, unsure, done, lacking = _taken_over(table, memory, r), 0, False, True
        while True:
            more = _how_many(course, n, r)
            while 2 * (filled + more) > len(table):
                table = _doubled(table)
            while kept + more > room:
                out, room = _enlarged(out), 2 * room
            kept, added, doubtful = _go_on(course, start, n, r, more, table, out, kept)
            filled += added
            unsure += doubtful
            done, other_means, lacking = _halted(course, r)
            if done or other_means or unsure or not alone:
                break
        if lacking and (unsure or not done):
            if left + filled > len(left_row):
                left_row, left_keys = _longer(left_row, left_keys, left + filled)
            left = _handed_over(table, r, left_row, left_keys, left)
    found = Findings(out.row[:kept], out.levels[:kept], out.lead[:kept], out.second[:kept], out.sure[:kept])
    return found, Unfinished(left_row[:left], left_keys[:left])


@Inlined
def _start(course: Course, n: int, r: int) -> Start:
    """Return what a row's walk starts from; what is the same in all of its draws is laid out on the bench."""
    along, axes, own, weights, bench = course.along, course.axes, course.grounds.own, course.model.weights, course.bench
    free, watched = note_moving(
        bench, n, r, course.marginals.cdf, along, course.given, axes, course.grounds, weights.differs
    )
    if len(along.order):
        tell_kept(course.beliefs, course.tree, along.own, n)
    fixed_key, own_key = fixed_and_own(bench, r, axes, own, free)
    if weights.deep:
        stand_still(bench, r, axes.offsets, own, free, course.model.layers, course.model.grove)
    return Start(free, watched, fixed_key, own_key)


@Inlined
def _how_many(course: Course, n: int, r: int) -> int:
    """Return how many draws a row makes at once now: as many as it takes, or as were given."""
    if len(course.given.counts):
        return course.given.counts[n]
    counts, need = course.counts, course.need
    return int(next_round(counts.drawn[r], counts.valid[r], need.pool, need.acceptance, _most(r, counts, need)))


@Inlined
def _go_on(
    course: Course, start: Start, n: int, r: int, more: int, table: np.ndarray, out: Findings, kept: int
) -> tuple[int, int, int]:
    """Let a row make more draws; return how many are kept by now, how many were new, and how many are in doubt."""
    along, bench, counts, hand, weights = course.along, course.bench, course.counts, course.hand, course.model.weights
    added, doubtful, drawn, free = 0, 0, counts.drawn[r], start.free
    for begin in range(0, more, TOGETHER):
        some = min(TOGETHER, more - begin)
        padded = -(-some // LANES) * LANES
        clear(bench, padded, start.fixed_key, weights.lead[r])
        if len(along.order):
            draw_along(hand, course.beliefs, course.tree, along, n, drawn + begin, some, begin)
        draw(
            bench, n, r, some, padded, drawn + begin, begin, free, start.watched, course.marginals, hand, course.given,
            course.axes, course.grounds, weights,
        )  # fmt: skip
        new, different, inside = sift(bench, some, table, start.own_key)
        added += different
        counts.different[r] += inside
        if weights.deep:
            judge(bench, new, r, free, weights.low[r], course.axes.offsets, course.model.layers, course.model.grove)
        kept, unsure = keep(bench, new, r, free, kept, out, course.grounds.own, weights, course.need.pool, counts)
        doubtful += unsure
    counts.drawn[r] = drawn + more
    return kept, added, doubtful


@Compiled
def _findings(room: int, features: int) -> Findings:
    return Findings(
        np.empty(room, np.int64), np.empty((room, features), np.int16), np.empty(room, np.float64),
        np.empty(room, np.bool_), np.empty(room, np.bool_),
    )  # fmt: skip


@Compiled
def _enlarged(out: Findings) -> Findings:
    """Return findings with twice the room."""
    held = len(out.row)
    larger = _findings(2 * held, out.levels.shape[1])
    larger.row[:held], larger.levels[:held], larger.lead[:held] = out.row, out.levels, out.lead
    larger.second[:held], larger.sure[:held] = out.second, out.sure
    return larger


@Inlined
def _slots(memory: Memory, r: int) -> int:
    """Return how large a table a row is known to have."""
    return memory.slots[r]


@Inlined
def _taken_over(table: np.ndarray, memory: Memory, r: int) -> int:
    """Put what a row is known to have drawn in the table, and return how much it is."""
    filled = 0
    for slot in range(memory.start[r], memory.start[r] + memory.slots[r]):
        if memory.table[slot] != np.uint64(0):
            filled += put(table, 0, len(table), memory.table[slot])
    return filled


@Compiled
def _doubled(table: np.ndarray) -> np.ndarray:
    larger = np.zeros(2 * len(table), np.uint64)
    for slot in range(len(table)):
        if table[slot] != np.uint64(0):
            put(larger, 0, len(larger), table[slot])
    return larger


@Inlined
def _handed_over(table: np.ndarray, r: int, row: np.ndarray, keys: np.ndarray, left: int) -> int:
    """Write down what a row has drawn, and return how long the list is."""
    for slot in range(len(table)):
        if table[slot] != np.uint64(0):
            row[left], keys[left] = r, table[slot]
            left += 1
    return left


@Compiled
def _longer(row: np.ndarray, keys: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    longer_row, longer_keys = np.empty(2 * least, np.int64), np.empty(2 * least, np.uint64)
    longer_row[: len(row)], longer_keys[: len(keys)] = row, keys
    return longer_row, longer_keys


@Inlined
def _most(r: int, counts: Counts, need: Need) -> int:
    """Return how many draws a row may make, given what it has."""
    return min(need.patience, need.tries) if counts.valid[r] >= need.enough[r] else need.tries


@Inlined
def _halted(course: Course, r: int) -> tuple[bool, bool, bool]:
    """Return whether a row has ended its walk, if it needs other means than walking on, and if its pool lacks any."""
    counts, need, possible = course.counts, course.need, course.grounds.possible[r]
    drawn, valid = counts.drawn[r], counts.valid[r]
    lacking = valid < need.pool
    small = possible <= min(drawn, ENUMERABLE)
    # What has too few is not given up before all of a small room was tried.
    spent = drawn >= _most(r, counts, need) and not (small and valid < need.enough[r])
    done = not lacking or spent or counts.different[r] >= possible
    hard = need.refine and drawn >= HARD_AFTER and valid < HARD_BELOW * drawn
    return done, not done and (small or hard), lacking
