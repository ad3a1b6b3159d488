"""A row's whole walk along its stream, compiled: draw, leave out what was seen or may not be, judge by level, keep.

It is for models of two classes whose log-odds are a sum over the features, a network of such sums, or a sum over trees,
and for rows that may change all of their features. What it does is what `Search` does stage by stage, but nothing is
written down in between, and a row walks on until it has what it needs: a proposal costs some tens of nanoseconds, and
what network or trees take. What comes close to the decision is handed back, to be judged by the model itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int16, Int64, UInt32, UInt64

from l2c.core.compiled import Compiled, Inlined
from l2c.core.method import Dependences, Marginals
from l2c.core.streams import mixed
from l2c.core.tree_twin import EVERY, Lines, left_open
from l2c.core.types import Levels
from l2c.engine.drawing import LANES, TOGETHER, stream_halves
from l2c.engine.likely import Hand, draw_along, hand_of, room_for_beliefs, tell_kept, tree_of
from l2c.release.by_level import Grove, Layers, Model, Weights, network_leads, tree_leads
from l2c.release.exhaust import ENUMERABLE
from l2c.release.refine import HARD_AFTER, HARD_BELOW
from l2c.release.sift import put

LUCK = 3.0
"""How much longer than it needs a later round of a row is, in square roots of what it needs: so that it is the last."""

LEAST_ROUND = 64
"""Draws that a row may always make in a second round, however few its first were."""


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


class Need(NamedTuple):
    """How many valid ones a row wants, with how many it is patient no longer, and how many draws it may make."""

    pool: int
    enough: Int64[np.ndarray, " rows"]
    acceptance: float
    tries: int
    patience: int
    refine: bool


class Counts(NamedTuple):
    """What each row has drawn, found valid and so on, so far; walking adds to it."""

    drawn: Int64[np.ndarray, " rows"]
    valid: Int64[np.ndarray, " rows"]
    different: Int64[np.ndarray, " rows"]
    obeying: Int64[np.ndarray, " rows"]
    judged: Int64[np.ndarray, " rows"]
    best: Float64[np.ndarray, " rows"]


class Memory(NamedTuple):
    """The rows' tables of fingerprints, as a `Sieve` keeps them."""

    table: UInt64[np.ndarray, " slots"]
    start: Int64[np.ndarray, " rows"]
    slots: Int64[np.ndarray, " rows"]


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


class Unfinished(NamedTuple):
    """What was drawn by the rows that still need something else than walking."""

    row: Int64[np.ndarray, " n"]
    keys: UInt64[np.ndarray, " n"]


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
    weights, layers, grove = model
    tree = tree_of(along, axes.offsets, axes.sizes)
    beliefs, hand = room_for_beliefs(tree, along.coins), hand_of(len(along.order))
    out = _findings(max(1024, int(1.2 * need.pool * len(rows)) + 64), features)
    kept = 0
    left_row, left_keys, left = np.empty(0, np.int64), np.empty(0, np.uint64), 0
    table, bench = np.zeros(1024, np.uint64), _bench(features, len(layers.last), len(grove.value))
    for n in range(len(rows)):
        r = rows[n]
        free, watched = _moving(bench, n, r, marginals.cdf, along, given, axes, grounds, weights.differs)
        if len(along.order):
            tell_kept(beliefs, tree, along.own, n)
        fixed_key, own_key = _keys(bench, r, axes, grounds.own, free)
        if weights.deep:
            _stand_still(bench, r, axes.offsets, grounds.own, free, layers, grove)
        if len(table) < memory.slots[r]:
            table = np.empty(memory.slots[r], np.uint64)
        table[:] = 0
        filled, unsure, done = _taken_over(table, memory, r), 0, False
        while True:
            drawn = counts.drawn[r]
            if alone:
                more = int(next_round(drawn, counts.valid[r], need.pool, need.acceptance, _most(r, counts, need)))
            else:
                more = given.counts[n]
            while 2 * (filled + more) > len(table):
                table = _doubled(table)
            while kept + more > len(out.row):
                out = _enlarged(out)
            for begin in range(0, more, TOGETHER):
                some = min(TOGETHER, more - begin)
                padded = -(-some // LANES) * LANES
                _begin(bench, padded, fixed_key, weights.lead[r])
                if len(along.order):
                    draw_along(hand, beliefs, tree, along, n, drawn + begin, some)
                _draw(bench, n, some, padded, drawn + begin, begin, free, marginals, hand, given, axes)
                _add_up(bench, r, padded, free, watched, axes, grounds, weights)
                new, added, inside = _sift(bench, some, table, own_key)
                filled += added
                counts.different[r] += inside
                if weights.deep:
                    _ask(bench, new, r, free, weights.low[r], axes.offsets, layers, grove)
                kept, doubtful = _decide(bench, new, r, free, kept, out, grounds.own, weights, need.pool, counts)
                unsure += doubtful
            counts.drawn[r] = drawn + more
            done, other_means = _halted(r, counts, need, grounds.possible)
            if done or other_means or unsure or not alone:
                break
        if counts.valid[r] < need.pool and (unsure or not done):
            if left + filled > len(left_row):
                left_row, left_keys = _longer(left_row, left_keys, left + filled)
            left = _handed_over(table, r, left_row, left_keys, left)
    found = Findings(out.row[:kept], out.levels[:kept], out.lead[:kept], out.second[:kept], out.sure[:kept])
    return found, Unfinished(left_row[:left], left_keys[:left])


@Compiled
def _bench(features: int, units: int, trees: int) -> Bench:
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


@Compiled
def _moving(
    bench: Bench, n: int, r: int, cdf: np.ndarray, along: Dependences, given: Given, axes: Axes, grounds: Grounds,
    differs: np.ndarray,
) -> tuple[int, bool]:  # fmt: skip
    """Note which features may be drawn elsewhere than they are, and return how many; and whether to closed levels.

    A feature that stays where it is adds nothing to a lead: its own value is the only one that it has.
    """
    elsewhere = len(given.counts) > 0
    free, watched = 0, elsewhere
    for i in range(len(axes.sizes)):
        before, moves, two = np.uint32(0), elsewhere, False
        if len(along.order):
            moves = along.coins[n, i] > 0
        for j in range(axes.sizes[i]):
            place = axes.offsets[i] + j
            if len(cdf) and cdf[n, place] != before:
                moves |= j != grounds.own[r, i]
                watched |= not grounds.open[r, place]
                before = cdf[n, place]
            if len(along.order) and along.weights[n, place] > 0:
                watched |= not grounds.open[r, place]
            two |= differs[r, place]
        bench.shifting[i] = two
        if moves:
            bench.moving[free] = i
            free += 1
    return free, watched


@Compiled
def _keys(bench: Bench, r: int, axes: Axes, own: Levels, free: int) -> tuple[Any, Any]:
    """Return the sum behind a row's fingerprints that is the same in all of them, and the fingerprint of itself."""
    whole = mixed(np.uint64(r))
    for i in range(len(axes.words)):
        whole += axes.words[i] * np.uint64(own[r, i] + 1)
    fixed = whole
    for m in range(free):
        i = bench.moving[m]
        fixed -= axes.words[i] * np.uint64(own[r, i] + 1)
    return fixed, max(mixed(whole), np.uint64(1))


@Compiled
def _stand_still(
    bench: Bench, r: int, offsets: Int64[np.ndarray, " features"], own: Levels, free: int, layers: Layers, grove: Grove
) -> None:
    """Add up what the features that cannot move bring to the first layer, or what they leave open in trees."""
    bench.still[:], bench.standing[:] = layers.first_bias, EVERY
    m = 0
    for i in range(len(offsets)):
        if m < free and bench.moving[m] == i:
            m += 1
            continue
        place = offsets[i] + own[r, i]
        for u in range(len(bench.still)):
            bench.still[u] += layers.inputs[r, place] * layers.first[place, u]
        if len(bench.standing):
            line = grove.lines.at[r, place]
            left_open(bench.standing, bench.standing, grove.lines.words, line, line, line, line)


@Compiled
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


@Compiled
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


@Compiled
def _begin(bench: Bench, some: int, key: Any, lead: float) -> None:
    for d in range(some):
        bench.key[d], bench.lead[d], bench.shift[d] = key, lead, 0.0
        bench.inside[d], bench.other[d] = True, False


@Compiled
def _draw(
    bench: Bench, n: int, some: int, padded: int, position: int, begin: int, free: int, marginals: Marginals,
    hand: Hand, given: Given, axes: Axes,
) -> None:  # fmt: skip
    """Draw a block of proposals feature by feature, or take over what was drawn."""
    have, levels = -1, bench.levels
    for m in range(free):
        i = bench.moving[m]
        if len(given.counts):
            for d in range(some):
                levels[i, d] = given.levels[n, begin + d, i]
        elif len(hand.many):
            for d in range(some):
                levels[i, d] = hand.level[i, d]
        else:
            if i // 2 != have:
                have = i // 2
                at = position * marginals.words_each + have
                stream_halves(bench.lower, bench.upper, padded, marginals.keys[n], at, marginals.words_each)
            half = bench.lower if i % 2 == 0 else bench.upper
            _fall(bench.levels, half, padded, i, marginals.cdf, n, axes.offsets[i], axes.sizes[i])


@Compiled
def _add_up(
    bench: Bench, r: int, some: int, free: int, watched: bool, axes: Axes, grounds: Grounds, weights: Weights
) -> None:
    """Add up what the levels of a block of proposals tell."""
    # A place that cannot be negative is looked up without being tested for it.
    for m in range(free):
        i = bench.moving[m]
        offset, level = axes.offsets[i], bench.levels[i]
        _add_keys(bench.key, bench.levels, i, some, axes.words[i], axes.shifts[i])
        if not weights.deep:
            _add_steps(bench.lead, bench.levels, i, some, weights.steps, r, offset)
        if bench.shifting[i]:
            for d in range(some):
                bench.other[d] |= weights.differs[r, np.uint64(offset + level[d])]
        if bench.shifting[i] and not weights.deep:
            _add_steps(bench.shift, bench.levels, i, some, weights.shifts, r, offset)
        if watched:
            for d in range(some):
                bench.inside[d] &= grounds.open[r, np.uint64(offset + level[d])]


@Inlined
def _add_keys(key: np.ndarray, levels: np.ndarray, i: int, some: int, word: Any, shift: int) -> None:
    """Add what a feature brings to the fingerprints."""
    if shift >= 0:
        places = np.uint64(shift)
        for d in range(some):
            key[d] += np.uint64(levels[i, d] + 1) << places
    else:
        for d in range(some):
            key[d] += word * np.uint64(levels[i, d] + 1)


@Inlined
def _add_steps(lead: np.ndarray, levels: np.ndarray, i: int, some: int, steps: np.ndarray, r: int, offset: int) -> None:
    """Add what a feature brings to the leads."""
    # A place that cannot be negative is looked up without being tested for it.
    for d in range(some):
        lead[d] += steps[r, np.uint64(offset + levels[i, d])]


@Inlined
def _fall(
    levels: np.ndarray, uniform: np.ndarray, some: int, i: int, cdf: np.ndarray, n: int, offset: int, size: int
) -> None:
    """Let uniform integers fall on the levels of a feature, by four edges at once."""
    for j in range(0, max(size - 1, 1), 4):
        one, two, three, four = (
            _edge(cdf, n, offset, size, j), _edge(cdf, n, offset, size, j + 1), _edge(cdf, n, offset, size, j + 2),
            _edge(cdf, n, offset, size, j + 3),
        )  # fmt: skip
        if j == 0:
            for d in range(some):
                u = uniform[d]
                levels[i, d] = np.int16(u >= one) + np.int16(u >= two) + np.int16(u >= three) + np.int16(u >= four)
        else:
            for d in range(some):
                u = uniform[d]
                levels[i, d] += np.int16(u >= one) + np.int16(u >= two) + np.int16(u >= three) + np.int16(u >= four)


@Inlined
def _edge(cdf: np.ndarray, n: int, offset: int, size: int, j: int) -> Any:
    """Return where a level ends; the last one, and what is beyond it, at no integer."""
    return cdf[n, offset + j] if j < size - 1 else np.uint32(0xFFFFFFFF)


@Compiled
def _sift(bench: Bench, some: int, table: np.ndarray, own_key: Any) -> tuple[int, int, int]:
    """List the draws that are to be judged; return how many they are, how many are new, and of these in the room."""
    new, added, inside = 0, 0, 0
    for d in range(some):
        word = max(mixed(bench.key[d]), np.uint64(1))
        if put(table, 0, len(table), word):
            added += 1
            if bench.inside[d]:
                inside += 1
                bench.asked[np.uint64(new)] = d
                new += word != own_key
    return new, added, inside


@Compiled
def _ask(
    bench: Bench, new: int, r: int, free: int, low: float, offsets: Int64[np.ndarray, " features"], layers: Layers,
    grove: Grove,
) -> None:  # fmt: skip
    """Let the network or the trees tell the leads, and of those not enough what the other values would bring."""
    _tell(bench.lead, bench.asked, new, bench, r, free, offsets, layers, layers.inputs, grove, grove.lines)
    again = 0
    for place in range(new):
        d = bench.asked[place]
        if bench.lead[d] < low and bench.other[d]:
            bench.again[again] = d
            again += 1
    _tell(bench.shift, bench.again, again, bench, r, free, offsets, layers, layers.others, grove, grove.others)
    for place in range(again):
        bench.shift[bench.again[place]] -= bench.lead[bench.again[place]]


@Compiled
def _tell(
    leads: Float64[np.ndarray, " draws"], which: Int64[np.ndarray, " draws"], count: int, bench: Bench, r: int,
    free: int, offsets: Int64[np.ndarray, " features"], layers: Layers, inputs: Float32[np.ndarray, "rows width"],
    grove: Grove, lines: Lines,
) -> None:  # fmt: skip
    """Write down the leads of some draws, by trees if there are any: with their first values, or with the others."""
    if len(grove.value):
        tree_leads(
            leads, which, count, r, bench.levels, bench.moving, free, offsets, lines, bench.standing, grove, bench.word,
            bench.slot,
        )  # fmt: skip
    else:
        network_leads(
            leads, which, count, r, bench.levels, bench.moving, free, offsets, inputs, bench.still, layers, bench.here,
            bench.there, bench.last,
        )  # fmt: skip


@Compiled
def _decide(
    bench: Bench, new: int, r: int, free: int, kept: int, out: Findings, own: Levels, weights: Weights, pool: int,
    counts: Counts,
) -> tuple[int, int]:  # fmt: skip
    """Keep what is valid or may be; return how many are kept by now, and how many of the new ones are in doubt."""
    low, high, before = weights.low[r], weights.high[r], kept
    judged, obeying, best, valid = 0, 0, counts.best[r], counts.valid[r]
    # Chance decides most of what follows: to work all of it out takes less than to guess which of it is needed.
    for place in range(new):
        d, end = np.uint64(bench.asked[np.uint64(place)]), np.uint64(kept)
        first = bench.lead[d]
        again = (first < low) & bench.other[d]
        lead = first + bench.shift[d] if again else first
        sure, bad = lead >= high, lead < low
        clear = sure | bad
        obeying += clear
        judged += clear * (1 + again)
        best = max(best, max(first, lead) if clear else -np.inf)
        keep = (bad ^ True) & ((sure & (valid == pool)) ^ True)
        out.row[end], out.lead[end], out.second[end], out.sure[end] = r, lead, again, sure
        bench.kept[np.uint64(kept - before)] = d
        valid += sure & keep
        kept += keep
    doubtful = new - obeying
    _write_down(out.levels, before, kept, own, r, bench.levels, bench.kept, bench.moving, free)
    counts.obeying[r] += obeying
    counts.judged[r] += judged
    counts.best[r], counts.valid[r] = best, valid
    return kept, doubtful


@Inlined
def _write_down(
    out: np.ndarray, first: int, last: int, own: Levels, r: int, levels: np.ndarray, which: np.ndarray,
    moving: np.ndarray, free: int,
) -> None:  # fmt: skip
    """Write the levels of some draws into their places."""
    # Feature by feature, and by places that cannot be negative: each level is then a single step.
    m = 0
    for i in range(out.shape[1]):
        if m < free and moving[m] == i:
            m += 1
            for k in range(first, last):
                out[np.uint64(k), np.uint64(i)] = levels[i, np.uint64(which[k - first])]
        else:
            for k in range(first, last):
                out[np.uint64(k), np.uint64(i)] = own[r, i]


@Compiled
def _most(r: int, counts: Counts, need: Need) -> int:
    """Return how many draws a row may make, given what it has."""
    return min(need.patience, need.tries) if counts.valid[r] >= need.enough[r] else need.tries


@Compiled
def _halted(r: int, counts: Counts, need: Need, possible: np.ndarray) -> tuple[bool, bool]:
    """Return whether a row has ended its walk, and whether it needs other means than walking on."""
    drawn, valid = counts.drawn[r], counts.valid[r]
    done = valid >= need.pool or drawn >= _most(r, counts, need) or counts.different[r] >= possible[r]
    small = possible[r] <= min(drawn, ENUMERABLE)
    hard = need.refine and drawn >= HARD_AFTER and valid < HARD_BELOW * drawn
    return done, not done and (small or hard)
