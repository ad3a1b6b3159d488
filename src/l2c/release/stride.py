"""A stride of a row's walk, compiled: some hundred draws of one row, drawn, sifted, judged and kept together.

Most loops go through the draws of one feature, so that they become vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64

from l2c.core.compiled import Inlined
from l2c.core.method import Dependences, Marginals
from l2c.core.streams import mixed
from l2c.core.tree_twin import EVERY, Lines, left_open
from l2c.core.types import Levels
from l2c.engine.drawing import stream_halves
from l2c.engine.likely import Hand
from l2c.release.bench import Axes, Bench, Counts, Findings, Given, Grounds
from l2c.release.by_level import Grove, Layers, Weights, network_leads, tree_leads
from l2c.release.sift import put

AT_ONCE = 5
"""Levels of a feature, at the most, that are told apart, and what they bring added up, in one pass over the draws."""

ONE, TWO, THREE, FOUR = np.int16(1), np.int16(2), np.int16(3), np.int16(4)
"""The edges that levels themselves reach."""


@Inlined
def note_moving(
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


@Inlined
def fixed_and_own(bench: Bench, r: int, axes: Axes, own: Levels, free: int) -> tuple[Any, Any]:
    """Return the sum behind a row's fingerprints that is the same in all of them, and the fingerprint of itself."""
    whole = mixed(np.uint64(r))
    for i in range(len(axes.words)):
        whole += axes.words[i] * np.uint64(own[r, i] + 1)
    fixed = whole
    for m in range(free):
        i = bench.moving[m]
        fixed -= axes.words[i] * np.uint64(own[r, i] + 1)
    return fixed, max(mixed(whole), np.uint64(1))


@Inlined
def stand_still(
    bench: Bench, r: int, offsets: Int64[np.ndarray, " features"], own: Levels, free: int, layers: Layers, grove: Grove
) -> None:
    """Add up what the features that cannot move bring to the first layer, or what they leave open in trees."""
    for u in range(len(bench.still)):
        bench.still[u] = layers.first_bias[u]
    bench.standing[:] = EVERY
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


@Inlined
def clear(bench: Bench, some: int, key: Any, lead: float) -> None:
    """Begin some draws: all have the row's own fingerprint and lead, and lie in its room."""
    for d in range(some):
        bench.key[d], bench.lead[d], bench.shift[d] = key, lead, 0.0
        bench.inside[d], bench.other[d] = True, False


@Inlined
def draw(
    bench: Bench, n: int, r: int, some: int, padded: int, position: int, begin: int, free: int, watched: bool,
    marginals: Marginals, hand: Hand, given: Given, axes: Axes, grounds: Grounds, weights: Weights,
) -> None:  # fmt: skip
    """Draw a block of proposals feature by feature, or take over what was drawn, and add up what their levels tell."""
    have, levels = -1, bench.levels
    for m in range(free):
        i = bench.moving[m]
        offset, size = axes.offsets[i], axes.sizes[i]
        few = size <= AT_ONCE and not weights.deep and len(given.counts) == 0
        if len(given.counts):
            for d in range(some):
                levels[i, d] = given.levels[n, begin + d, i]
        elif len(hand.many):
            if few:
                _add_few(
                    bench, i, hand.level[i], padded, ONE, TWO, THREE, FOUR, axes.words[i], r, offset, size, weights
                )
            else:
                for d in range(some):
                    levels[i, d] = hand.level[i, d]
        else:
            if i // 2 != have:
                have = i // 2
                at = position * marginals.words_each + have
                stream_halves(bench.lower, bench.upper, padded, marginals.keys[n], at, marginals.words_each)
            half, cdf = bench.lower if i % 2 == 0 else bench.upper, marginals.cdf
            if few:
                _add_few(
                    bench, i, half, padded, _edge(cdf, n, offset, size, 0), _edge(cdf, n, offset, size, 1),
                    _edge(cdf, n, offset, size, 2), _edge(cdf, n, offset, size, 3), axes.words[i], r, offset, size,
                    weights,
                )  # fmt: skip
            else:
                _fall(levels, half, padded, i, cdf, n, offset, size)
        if not few:
            _add_many(bench, i, padded, axes, r, offset, weights)
        if watched:
            # A place that cannot be negative is looked up without being tested for it.
            for d in range(padded):
                bench.inside[d] &= grounds.open[r, np.uint64(offset + levels[i, d])]


@Inlined
def _add_few(
    bench: Bench, i: int, told: np.ndarray, some: int, one: Any, two: Any, three: Any, four: Any, word: Any, r: int,
    offset: int, size: int, weights: Weights,
) -> None:  # fmt: skip
    """Settle the levels of a feature of few, by four edges that what is told may reach, and add up what they bring."""
    # To choose among all that a level may bring takes less than to look it up, and becomes vector instructions.
    levels, key, lead, steps = bench.levels[i], bench.key, bench.lead, weights.steps
    p0, p1, p2, p3, p4 = _places(offset, size)
    s0, s1, s2, s3, s4 = steps[r, p0], steps[r, p1], steps[r, p2], steps[r, p3], steps[r, p4]
    for d in range(some):
        u = told[d]
        level = np.int16(u >= one) + np.int16(u >= two) + np.int16(u >= three) + np.int16(u >= four)
        levels[d] = level
        key[d] += word * np.uint64(level + 1)
        lead[d] += _chosen(u, one, two, three, four, s0, s1, s2, s3, s4)
    if bench.shifting[i]:
        _add_others(bench, told, some, one, two, three, four, r, offset, size, weights)


@Inlined
def _add_others(
    bench: Bench, told: np.ndarray, some: int, one: Any, two: Any, three: Any, four: Any, r: int, offset: int,
    size: int, weights: Weights,
) -> None:  # fmt: skip
    """Add up what the second values of a feature of few levels bring, and note where there are any."""
    shift, other, shifts, differs = bench.shift, bench.other, weights.shifts, weights.differs
    p0, p1, p2, p3, p4 = _places(offset, size)
    s0, s1, s2, s3, s4 = shifts[r, p0], shifts[r, p1], shifts[r, p2], shifts[r, p3], shifts[r, p4]
    for d in range(some):
        shift[d] += _chosen(told[d], one, two, three, four, s0, s1, s2, s3, s4)
    d0, d1, d2, d3, d4 = differs[r, p0], differs[r, p1], differs[r, p2], differs[r, p3], differs[r, p4]
    for d in range(some):
        other[d] |= _chosen(told[d], one, two, three, four, d0, d1, d2, d3, d4)


@Inlined
def _places(offset: int, size: int) -> tuple[int, int, int, int, int]:
    """Return where the levels of a feature of few stand; beyond the last, where the last does."""
    last = offset + size - 1
    return offset, min(offset + 1, last), min(offset + 2, last), min(offset + 3, last), min(offset + 4, last)


@Inlined
def _chosen(u: Any, one: Any, two: Any, three: Any, four: Any, v0: Any, v1: Any, v2: Any, v3: Any, v4: Any) -> Any:
    """Return which of five values goes with what is told: it is the later, the more edges it reaches."""
    value = v1 if u >= one else v0
    value = v2 if u >= two else value
    value = v3 if u >= three else value
    return v4 if u >= four else value


@Inlined
def _add_many(bench: Bench, i: int, some: int, axes: Axes, r: int, offset: int, weights: Weights) -> None:
    """Add up what the levels of a feature bring, looked up one by one."""
    _add_keys(bench.key, bench.levels, i, some, axes.words[i], axes.shifts[i])
    if not weights.deep:
        _add_steps(bench.lead, bench.levels, i, some, weights.steps, r, offset)
    if bench.shifting[i]:
        for d in range(some):
            bench.other[d] |= weights.differs[r, np.uint64(offset + bench.levels[i, d])]
    if bench.shifting[i] and not weights.deep:
        _add_steps(bench.shift, bench.levels, i, some, weights.shifts, r, offset)


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


@Inlined
def sift(bench: Bench, some: int, table: np.ndarray, own_key: Any) -> tuple[int, int, int]:
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


@Inlined
def judge(
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


@Inlined
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


@Inlined
def keep(
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
