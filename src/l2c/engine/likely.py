"""Draws along the reference law given the kept features, compiled: what `draw_given_kept` makes of the same streams.

In one row, what is believed of a feature with all that hangs on it summed out depends on one thing alone: which of
those features are drawn. So of a feature on which few hang it is worked out once for each such pattern, and remembered;
of others once for each draw. Draws are made many at once, feature by feature, so that loops are long. Every sum
and product is taken in the order in which numpy takes it, so that not even rounding tells them apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int16, Int32, Int64, UInt32

from l2c.core.compiled import Compiled, Inlined
from l2c.core.method import Dependences
from l2c.core.types import Levels
from l2c.engine.conditional import VANISHING
from l2c.engine.drawing import LANES, TOGETHER, stream_halves
from l2c.engine.reference import ReferenceLaw

UNIT = 2.0**-31
"""The step of uniform numbers of 31 bits."""

REMEMBERED = 1 << 14
"""Numbers remembered of one feature at the most: so many stay in a processor's cache."""

MOST_BITS = 20

TOSSED_HERE = np.empty((0, 0, 0), dtype=bool)
"""What draws change was not tossed elsewhere."""


class Tree(NamedTuple):
    """A tree of dependences: parents stand before their children in `order`, −1 is the root's.

    `wide` are the sizes of the parents, 1 for the root; the children of a feature are those of `children` from its own
    place of `ends` to the next. The tables of all features follow one another, each by parent level and level.
    """

    order: Int64[np.ndarray, " features"]
    parent: Int64[np.ndarray, " features"]
    children: Int64[np.ndarray, " features"]
    ends: Int64[np.ndarray, " features_and_one"]
    tables: Float64[np.ndarray, " entries"]
    starts: Int64[np.ndarray, " features"]
    offsets: Int64[np.ndarray, " features"]
    sizes: Int64[np.ndarray, " features"]
    wide: Int64[np.ndarray, " features"]


class Stream(NamedTuple):
    """A row's stream from a position on, each draw so many words on, and what was read of it last."""

    key: int
    position: int
    step: int
    last: Int64[np.ndarray, " one"]
    lower: UInt32[np.ndarray, " draws"]
    upper: UInt32[np.ndarray, " draws"]


class Hand(NamedTuple):
    """Draws of one row that are made together: by feature, whether each draws it, which do, how many, and its level.

    `line` is where each draw finds what is believed: its pattern's line, or one of its own; `cell` is where it finds
    the law of one feature given its parent's level. `lower` and `upper` are the halves of the words that were read of
    a stream, and `last` the place of these. `tossed` tells what draws change where that was settled elsewhere.
    """

    chosen: Bool[np.ndarray, "features draws"]
    which: Int32[np.ndarray, "features draws"]
    many: Int64[np.ndarray, " features"]
    level: Int16[np.ndarray, "features draws"]
    line: Int32[np.ndarray, "features draws"]
    cell: Int32[np.ndarray, " draws"]
    last: Int64[np.ndarray, " one"]
    lower: UInt32[np.ndarray, " draws"]
    upper: UInt32[np.ndarray, " draws"]
    tossed: Bool[np.ndarray, "rows many features"]


class Known(NamedTuple):
    """What is worked out for one row: of some features remembered by pattern, of the others overwritten.

    A feature's pattern is a number whose bits tell which of those that hang on it are drawn; `shift` is the bit at
    which a feature's own begin in its parent's.

    Parameters
    ----------
    few
        Whether a feature has few patterns.
    belief, told, running
        By line, the mass of each level of a feature, and what the feature tells of each level of its parent, first if
        it is kept; by line and level of the parent, the running sums of its law.
    """

    few: Bool[np.ndarray, " features"]
    shift: Int64[np.ndarray, " features"]
    belief: Float64[np.ndarray, " masses"]
    told: Float64[np.ndarray, " masses"]
    running: Float64[np.ndarray, " masses"]
    belief_at: Int64[np.ndarray, " features_and_one"]
    told_at: Int64[np.ndarray, " features_and_one"]
    running_at: Int64[np.ndarray, " features_and_one"]
    line_at: Int64[np.ndarray, " features_and_one"]
    given_at: Int64[np.ndarray, " features_and_one"]
    believed: Int32[np.ndarray, " lines"]
    run: Int32[np.ndarray, " lines"]


@lru_cache(maxsize=16)
def raised(
    law: ReferenceLaw, exponent: float
) -> tuple[Float64[np.ndarray, " entries"], Int64[np.ndarray, " features"]]:
    """Return a law's tables raised to a power, one after the other, and where each begins."""
    tables = np.concatenate([(table**exponent).ravel() for table in law.tables])
    return tables, np.cumsum([0, *(table.size for table in law.tables[:-1])])


@Compiled
def likely_levels(
    along: Dependences,
    first: Int64[np.ndarray, " rows"],
    count: int,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
    tossed: Bool[np.ndarray, "rows draws features"],
) -> Levels:
    """Return `count` draws of each row, from its position `first` on.

    What they change may have been `tossed` elsewhere; an array without rows leaves it to the coins.
    """
    features = len(sizes)
    levels = np.empty((len(along.keys), count, features), np.int16)
    tree = tree_of(along, offsets, sizes)
    known, hand = room_for_beliefs(tree, along.coins), hand_of(features, tossed)
    for row in range(len(along.keys)):
        tell_kept(known, tree, along.own, row)
        for start in range(0, count, TOGETHER):
            some = min(TOGETHER, count - start)
            draw_along(hand, known, tree, along, row, first[row] + start, some, start)
            for i in range(features):
                for d in range(some):
                    levels[row, start + d, i] = hand.level[i, d]
    return levels


@Inlined
def draw_along(
    hand: Hand, known: Known, tree: Tree, along: Dependences, row: int, first: int, some: int, place: int
) -> None:
    """Make some draws of a row from a position on; `place` is where they stand among those tossed elsewhere."""
    position = first * along.words_each
    hand.last[0] = -1
    stream = Stream(along.keys[row], position, along.words_each, hand.last, hand.lower, hand.upper)
    if len(hand.tossed):
        _take_over(hand, known, some, along.own, row, place)
    else:
        _toss(hand, known, stream, some, along.coins, along.own, row)
    _gather(known, tree, hand, some, along.weights, row)
    _let_fall(known, tree, hand, stream, some, row)


@Compiled
def tree_of(along: Dependences, offsets: np.ndarray, sizes: np.ndarray) -> Tree:
    """Return a tree of dependences with each feature's children, to be walked through from either end."""
    order, parent = along.order, along.parent
    features = len(order)
    wide, counts = np.ones(features, np.int64), np.zeros(features, np.int64)
    for i in order[1:]:
        wide[i] = sizes[parent[i]]
        counts[parent[i]] += 1
    ends = _begins(counts)
    children, filled = np.empty(features, np.int64), ends.copy()
    # The last first, as numpy takes them in.
    for i in order[:0:-1]:
        children[filled[parent[i]]] = i
        filled[parent[i]] += 1
    return Tree(order, parent, children, ends, along.tables, along.starts, offsets[:features], sizes[:features], wide)


@Compiled
def hand_of(features: int, tossed: np.ndarray) -> Hand:
    """Return room for the draws that are made together, of which all, or none, were tossed elsewhere."""
    shape = (features, TOGETHER)
    chosen, which, many = np.empty(shape, np.bool_), np.empty(shape, np.int32), np.empty(features, np.int64)
    level, line = np.empty(shape, np.int16), np.empty(shape, np.int32)
    cell, last = np.empty(TOGETHER, np.int32), np.empty(1, np.int64)
    lower, upper = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.uint32)
    return Hand(chosen, which, many, level, line, cell, last, lower, upper, tossed)


@Compiled
def room_for_beliefs(tree: Tree, coins: np.ndarray) -> Known:
    """Return where what is worked out is to be written; a feature that no row draws has no part in any pattern."""
    features, sizes, wide = len(tree.sizes), tree.sizes, tree.wide
    few, shift, bits = np.ones(features, np.bool_), np.zeros(features, np.int64), np.zeros(features, np.int64)
    for i in tree.order[::-1]:
        few[i] = few[i] and bits[i] <= MOST_BITS and (wide[i] * sizes[i]) << bits[i] <= REMEMBERED
        p = tree.parent[i]
        if p >= 0 and coins[:, i].max() > 0:
            few[p] &= few[i]
            shift[i] = bits[p]
            bits[p] = min(bits[p] + bits[i] + 1, MOST_BITS + 1)
    patterns = np.ones(features, np.int64) << bits
    lines, cells = np.where(few, patterns, TOGETHER), np.where(few, patterns, 1) * wide
    belief_at, told_at, running_at = _begins(lines * sizes), _begins((lines + 1) * wide), _begins(cells * sizes)
    line_at, given_at = _begins(lines), _begins(cells)
    return Known(
        few, shift, np.empty(belief_at[-1]), np.empty(told_at[-1]), np.empty(running_at[-1]), belief_at, told_at,
        running_at, line_at, given_at, np.full(line_at[-1], -1, np.int32), np.full(given_at[-1], -1, np.int32),
    )  # fmt: skip


@Compiled
def _begins(counts: np.ndarray) -> np.ndarray:
    """Return where each of several stretches begins, and where the last ends."""
    begins = np.zeros(len(counts) + 1, np.int64)
    begins[1:] = np.cumsum(counts)
    return begins


@Inlined
def tell_kept(known: Known, tree: Tree, own: Levels, row: int) -> None:
    """Write down what each feature tells of its parent's levels if it is kept."""
    for i in tree.order[1:]:
        for k in range(tree.wide[i]):
            known.told[known.told_at[i] + k] = tree.tables[tree.starts[i] + k * tree.sizes[i] + own[row, i]]


@Inlined
def _padded(some: int) -> int:
    """Return how many draws loops go through that vector instructions do."""
    return min(-(-some // LANES) * LANES, TOGETHER)


@Inlined
def _look_up(stream: Stream, some: int, word: int) -> None:
    """Have the uniform integers at hand that are in a word of some draws: two of 31 bits, to choose from."""
    if stream.last[0] != word:
        stream_halves(stream.lower, stream.upper, some, stream.key, stream.position + word, stream.step)
        stream.last[0] = word


@Inlined
def _toss(hand: Hand, known: Known, stream: Stream, some: int, coins: np.ndarray, own: Levels, row: int) -> None:
    """Settle which of some draws change each feature; to begin with all are as they were, and no patterns known."""
    chosen = hand.chosen
    for i in range(len(chosen)):
        coin = coins[row, i]
        _begin(hand, known, some, own, row, i)
        if coin:
            place = len(chosen) + i
            _look_up(stream, some, place // 2)
            uniform = stream.lower if place % 2 == 0 else stream.upper
            for d in range(_padded(some)):
                chosen[i, d] = uniform[d] < coin
            _list_chosen(hand, some, i)


@Inlined
def _take_over(hand: Hand, known: Known, some: int, own: Levels, row: int, place: int) -> None:
    """Do the same by what was tossed elsewhere, from a place on."""
    for i in range(len(hand.chosen)):
        _begin(hand, known, some, own, row, i)
        for d in range(some):
            hand.chosen[i, d] = hand.tossed[row, place + d, i]
        _list_chosen(hand, some, i)


@Inlined
def _begin(hand: Hand, known: Known, some: int, own: Levels, row: int, i: int) -> None:
    """Leave a feature as it was in some draws, and its patterns unknown."""
    level, line, chosen, few = hand.level, hand.line, hand.chosen, known.few[i]
    for d in range(_padded(some)):
        level[i, d] = own[row, i]
        line[i, d] = 0 if few else d
        chosen[i, d] = False
    hand.many[i] = 0


@Inlined
def _list_chosen(hand: Hand, some: int, i: int) -> None:
    """Write down which of some draws change a feature."""
    which, chosen, many = hand.which, hand.chosen, 0
    for d in range(some):
        which[i, many] = d
        many += chosen[i, d]
    hand.many[i] = many


# Places in whole arrays are handed on, and not parts of arrays: each part made would cost as much as its work. They are
# unsigned where it matters: a place that might count from the end is tested for it, which takes a third of the time.


@Inlined
def _gather(known: Known, tree: Tree, hand: Hand, some: int, weights: np.ndarray, row: int) -> None:
    """Work out, from the leaves inwards, what is believed of features and what they tell, where it is not known."""
    chosen, which, lines, told, told_at = hand.chosen, hand.which, hand.line, known.told, known.told_at
    belief, believed, children, tables = known.belief, known.believed, tree.children, tree.tables
    for place in range(len(chosen) - 1, -1, -1):
        i = tree.order[place]
        few, size, wide, p, first = known.few[i], tree.sizes[i], tree.wide[i], tree.parent[i], known.line_at[i]
        # Where there is but one pattern, a single draw knows all.
        single = few and known.line_at[i + 1] - first == 1
        for t in range(min(hand.many[i], 1) if single else hand.many[i]):
            d = np.uint64(which[i, t])
            line = np.int64(lines[i, d])
            if few:
                if believed[np.uint64(first + line)] == row:
                    continue
                believed[np.uint64(first + line)] = row
            at = known.belief_at[i] + line * size
            for j in range(size):
                belief[np.uint64(at + j)] = weights[row, np.uint64(tree.offsets[i] + j)]
            for n in range(tree.ends[i], tree.ends[i + 1]):
                child = np.uint64(children[np.uint64(n)])
                said = (1 + lines[child, d]) if chosen[child, d] else 0
                _take_in(belief, at, size, told, told_at[child] + said * size)
            # What is remembered may serve draws in which the parent is drawn too.
            if p >= 0 and (few or chosen[p, d]):
                _sum_out(told, told_at[i] + (1 + line) * wide, wide, tables, tree.starts[i], belief, at, size)
        if p >= 0 and known.few[p] and hand.many[i]:
            _pass_on(lines, chosen, i, p, known.shift[i], _padded(some))


@Inlined
def _pass_on(line: np.ndarray, chosen: np.ndarray, i: int, parent: int, shift: int, some: int) -> None:
    """Make a feature's pattern part of its parent's, in the draws that change it."""
    for d in range(some):
        pattern = np.int32((2 * line[i, d] + 1) << shift)
        line[parent, d] |= pattern if chosen[i, d] else np.int32(0)


@Inlined
def _sum_out(
    told: np.ndarray, to: int, wide: int, tables: np.ndarray, start: int, belief: np.ndarray, at: int, size: int
) -> None:
    """Work out what a child says of each level of its parent, with all its own levels summed out."""
    for k in range(wide):
        total = 0.0
        for j in range(size):
            total += belief[np.uint64(at + j)] * tables[np.uint64(start + k * size + j)]
        told[np.uint64(to + k)] = total


@Inlined
def _take_in(belief: np.ndarray, at: int, size: int, told: np.ndarray, said: int) -> None:
    """Multiply what is believed of a feature by what a child says, and keep it from vanishing."""
    top = 0.0
    for k in range(size):
        belief[np.uint64(at + k)] *= told[np.uint64(said + k)]
        top = max(top, belief[np.uint64(at + k)])
    if top < VANISHING:
        for k in range(size):
            belief[np.uint64(at + k)] /= top


@Inlined
def _let_fall(known: Known, tree: Tree, hand: Hand, stream: Stream, some: int, row: int) -> None:
    """Draw, from the root outwards, each feature's level given its parent's, in the draws that change it."""
    which, lines, level, run, running = hand.which, hand.line, hand.level, known.run, known.running
    belief, tables, cells = known.belief, tree.tables, hand.cell
    for i in tree.order:
        if not hand.many[i]:
            continue
        few, size, wide, p, start = known.few[i], tree.sizes[i], tree.wide[i], tree.parent[i], tree.starts[i]
        given_at, running_at, belief_at = known.given_at[i], known.running_at[i], known.belief_at[i]
        _look_up(stream, some, i // 2)
        uniform = stream.lower if i % 2 == 0 else stream.upper
        _find_cells(cells, lines, level, i, p, wide if few else 0, _padded(some))
        for t in range(hand.many[i]):
            d = np.uint64(which[i, t])
            cell = np.int64(cells[d])
            at = running_at + cell * size
            if not few or run[np.uint64(given_at + cell)] != row:
                run[np.uint64(given_at + cell)] = row
                line, given = np.int64(lines[i, d]), np.int64(level[p, d]) if p >= 0 else 0
                _run_up(running, at, belief, belief_at + line * size, tables, start + given * size, size)
            level[i, d] = _fallen(running, at, size, uniform[d])


@Inlined
def _find_cells(
    cells: np.ndarray, line: np.ndarray, level: np.ndarray, i: int, parent: int, wide: int, some: int
) -> None:
    """Find out where draws find the law of a feature: by its line, of so many cells each, and its parent's level."""
    each = np.int32(wide)
    for d in range(some):
        cells[d] = line[i, d] * each
    if parent >= 0:
        for d in range(some):
            cells[d] += level[parent, d]


@Inlined
def _run_up(
    running: np.ndarray, to: int, belief: np.ndarray, at: int, tables: np.ndarray, start: int, size: int
) -> None:
    """Work out the running sums of a feature's law."""
    total = 0.0
    for j in range(size):
        total += belief[np.uint64(at + j)] * tables[np.uint64(start + j)]
        running[np.uint64(to + j)] = total


@Inlined
def _fallen(running: np.ndarray, at: int, size: int, uniform: Any) -> int:
    """Return the level that a uniform integer falls on."""
    threshold = uniform * UNIT * running[np.uint64(at + size - 1)]
    level = 0
    for j in range(size - 1):
        level += threshold >= running[np.uint64(at + j)]
    return level
