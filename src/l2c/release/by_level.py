"""What a model makes of levels, for a batch of rows: leads as sums over features, as a network of such, or by trees.

It is made from a twin of the model, and serves walks, which judge proposals as they are drawn. What comes close to the
decision is not decided here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int16, Int64, UInt64

from l2c.core.compiled import Compiled, Inlined
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.tree_twin import Lines, TreeTwin, leaves_added, left_open
from l2c.core.twin import LayerTwin, Twin
from l2c.core.types import Levels

MOST_AT_ONCE = 1 << 18
"""Multiplications of one product of matrices: beyond that a linear algebra library would start threads for them."""

LEAST_TOGETHER = 32
"""Draws that pass through a network together, however wide it is."""


class Weights(NamedTuple):
    """What the model makes of levels: each row's own lead (log-odds of what is desired) and what a level adds to it.

    `shifts` are what the second choice of a level's value adds on top, where it `differs`. Below `low` a lead is surely
    not enough, from `high` on it surely is. If `deep`, leads are no sum, and a network or trees tell them.
    """

    deep: bool

    lead: Float64[np.ndarray, " rows"]
    steps: Float64[np.ndarray, "rows width"]
    shifts: Float64[np.ndarray, "rows width"]
    differs: Bool[np.ndarray, "rows width"]
    low: Float64[np.ndarray, " rows"]
    high: Float64[np.ndarray, " rows"]


class Layers(NamedTuple):
    """A network by level: the inputs at each place for each row, also of the second choice, and its layers.

    The first layer is a sum over places; between layers what is below 0 is cut off. All hidden layers are as wide as
    the widest; `toward` is −1 for rows that want the first class, and `together` how many draws pass through at once.
    """

    inputs: Float32[np.ndarray, "rows width"]
    others: Float32[np.ndarray, "rows width"]
    toward: Float64[np.ndarray, " rows"]
    first: Float32[np.ndarray, "width units"]
    first_bias: Float32[np.ndarray, " units"]
    hidden: Float32[np.ndarray, "layers units units"]
    hidden_bias: Float32[np.ndarray, "layers units"]
    last: Float32[np.ndarray, " units"]
    last_bias: float
    together: int


class Grove(NamedTuple):
    """Trees by level: what each place leaves open for each row, also with its second choice, and what leaves add.

    `toward` is −1 for rows that want the first class.
    """

    lines: Lines
    others: Lines
    toward: Float64[np.ndarray, " rows"]
    value: Float64[np.ndarray, "trees slots"]
    base: float


class Model(NamedTuple):
    """What a walk needs to know of a model; of `layers` and `grove`, one is there if leads are no sum."""

    weights: Weights
    layers: Layers
    grove: Grove


def judge_by_level(layout: Layout, twin: Twin, question: Question, *, twice: bool) -> Model | None:
    """Return what a model makes of the levels of rows, or None where its twin cannot be walked along.

    With `twice`, the second choice of values counts too.
    """
    goal = question.goal
    one_way = goal.accepted.shape[1] == 2 and (goal.accepted[:, 0] != goal.accepted[:, 1]).all()
    if not one_way or (isinstance(twin, LayerTwin) and twin.dense is None):
        return None
    room, second = question.room, goal.accepted[:, 1]
    toward = np.where(second, 1.0, -1.0)
    threshold = 0.5 if goal.threshold is None else goal.threshold
    of_first, of_second = 1 - threshold + goal.margin, threshold + goal.margin
    # A little more than what counts as close: rounding here is not rounding there.
    close = 0.501 * twin.close + 1e-12
    bounds = tuple(np.where(second, _log_odds(of_second + by), _log_odds(of_first + by)) for by in (-close, close))
    nothing, unknown = np.empty((0, 0)), np.zeros(len(question))
    if isinstance(twin, TreeTwin):
        weights = Weights(True, unknown, nothing, nothing, room.two_valued() & twice, *bounds)
        every = twin.inputs(np.concatenate([room.values, room.others]) if twice else room.values)
        lines, others = (Lines(every.words, at) for at in (every.at[: len(question)], every.at[-len(question) :]))
        return Model(weights, NO_LAYERS, Grove(lines, others, toward, twin.value, twin.base))
    assert isinstance(twin, LayerTwin)  # there is no other kind
    if twin.dense:
        weights = Weights(True, unknown, nothing, nothing, room.two_valued() & twice, *bounds)
        inputs, second_inputs = twin.inputs(room.values), twin.inputs(room.others)
        layers = network_of(twin)._replace(inputs=inputs, others=second_inputs, toward=toward)
        return Model(weights, layers, NO_GROVE)
    slopes, bias = twin.log_odds
    sums = _sums(
        room.values, room.others, question.levels, toward, slopes, bias, twin.numeric, twin.mean, twin.scale, twice,
        layout.offsets, layout.sizes,
    )  # fmt: skip
    return Model(Weights(False, *sums, *bounds), NO_LAYERS, NO_GROVE)


@Compiled
def _sums(
    values: Float64[np.ndarray, "rows width"],
    others: Float64[np.ndarray, "rows width"],
    own: Levels,
    toward: Float64[np.ndarray, " rows"],
    weights: Float64[np.ndarray, " width"],
    bias: float,
    numeric: Bool[np.ndarray, " width"],
    mean: Float64[np.ndarray, " width"],
    scale: Float64[np.ndarray, " width"],
    twice: bool,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> tuple[
    Float64[np.ndarray, " rows"], Float64[np.ndarray, "rows width"], Float64[np.ndarray, "rows width"],
    Bool[np.ndarray, "rows width"],
]:  # fmt: skip
    """Return each row's own lead, what a level adds to it, what its second value adds to that, and where there is one.

    A number is standardised; at a place without one the input is 1.
    """
    lead, steps, shifts = toward * bias, np.empty(values.shape), np.empty(values.shape)
    differs = np.empty(values.shape, np.bool_)
    for row in range(len(values)):
        sign = toward[row]
        for place in range(len(weights)):
            worth, value, other = sign * weights[place], values[row, place], others[row, place]
            number, middle, unit = numeric[place], mean[place], scale[place]
            two = twice & (value != other) & ~(np.isnan(value) & np.isnan(other))
            first = (value - middle) / unit if number else 1.0
            second = (other - middle) / unit if number & two else first
            steps[row, place], differs[row, place] = worth * first, two
            shifts[row, place] = worth * second - worth * first
        for i in range(len(sizes)):
            at_own = steps[row, np.uint64(offsets[i] + own[row, i])]
            lead[row] += at_own
            for place in range(offsets[i], offsets[i] + sizes[i]):
                steps[row, np.uint64(place)] -= at_own
    return lead, steps, shifts, differs


@lru_cache(maxsize=8)
def network_of(twin: LayerTwin) -> Layers:
    """Return a network's layers in arrays of one width, for no rows yet."""
    assert twin.dense
    *hidden, (last, last_bias) = twin.dense
    units = max(len(twin.bias), *(weight.shape[1] for weight, _ in hidden)) if hidden else len(twin.bias)
    whole, biases = np.zeros((len(hidden), units, units), np.float32), np.zeros((len(hidden), units), np.float32)
    for layer, (weight, bias) in enumerate(hidden):
        whole[layer, : weight.shape[0], : weight.shape[1]] = weight
        biases[layer, : len(bias)] = bias
    first, first_bias, final = (np.zeros(shape, np.float32) for shape in ((len(twin.weights), units), units, units))
    first[:, : len(twin.bias)], first_bias[: len(twin.bias)] = twin.weights, twin.bias
    # Two outputs count by how far the second is ahead.
    column = last[:, -1] if last.shape[1] == 1 else last[:, 1] - last[:, 0]
    final[: len(column)] = column
    ahead = float(last_bias[-1]) if len(last_bias) == 1 else float(last_bias[1] - last_bias[0])
    together = max(LEAST_TOGETHER, MOST_AT_ONCE // units**2)
    return Layers(_EMPTY, _EMPTY, np.empty(0), first, first_bias, whole, biases, final, ahead, together)


_EMPTY = np.empty((0, 0), np.float32)
NO_LAYERS = Layers(
    _EMPTY, _EMPTY, np.empty(0), _EMPTY, np.empty(0, np.float32), np.empty((0, 0, 0), np.float32), _EMPTY,
    np.empty(0, np.float32), 0.0, 1,
)  # fmt: skip
NO_LINES = Lines(np.empty((0, 0), np.uint64), np.empty((0, 0), np.int64))
NO_GROVE = Grove(NO_LINES, NO_LINES, np.empty(0), np.empty((0, 0)), 0.0)


def _log_odds(share: float) -> float:
    """Return the logarithm of the odds; beyond 0 and 1 it is without bounds."""
    if not 0 < share < 1:
        return -math.inf if share <= 0 else math.inf
    return math.log(share) - math.log1p(-share)


@Inlined
def network_leads(
    leads: Float64[np.ndarray, " draws"],
    which: Int64[np.ndarray, " draws"],
    count: int,
    r: int,
    levels: Int16[np.ndarray, "features draws"],
    moving: Int64[np.ndarray, " features"],
    free: int,
    offsets: Int64[np.ndarray, " features"],
    inputs: Float32[np.ndarray, "rows width"],
    still: Float32[np.ndarray, " units"],
    layers: Layers,
    here: Float32[np.ndarray, "draws units"],
    there: Float32[np.ndarray, "draws units"],
    last: Float32[np.ndarray, " draws"],
) -> None:
    """Work out the leads of some draws of a row.

    Parameters
    ----------
    leads, which, count
        Where to write the leads, of which draws, and how many those are.
    levels, moving, free
        The draws, and the features that can move, so many.
    inputs
        The inputs at each place: of the first values, or of the others.
    still
        What the features that cannot move add up to.
    here, there, last
        Working space.
    """
    units, first = len(still), layers.first
    for q in range(count):
        d, line = which[q], np.uint64(q)
        if free == 0:
            for u in range(units):
                here[line, u] = still[u]
        # Four features at a time: sums are then fetched and put back less often.
        for m in range(0, free, 4):
            a, x = _input(m, free, moving, offsets, levels, d, inputs, r)
            b, y = _input(m + 1, free, moving, offsets, levels, d, inputs, r)
            c, z = _input(m + 2, free, moving, offsets, levels, d, inputs, r)
            e, w = _input(m + 3, free, moving, offsets, levels, d, inputs, r)
            if m == 0:
                for u in range(units):
                    here[line, u] = still[u] + x * first[a, u] + y * first[b, u] + z * first[c, u] + w * first[e, u]
            else:
                for u in range(units):
                    so_far = here[line, u]
                    here[line, u] = so_far + x * first[a, u] + y * first[b, u] + z * first[c, u] + w * first[e, u]
        for u in range(units):
            here[line, u] = _cut_off(here[line, u])
    for begin in range(0, count, layers.together):
        end = min(begin + layers.together, count)
        _through(here[begin:end], there[begin:end], layers, last[begin:end])
    for q in range(count):
        leads[which[q]] = layers.toward[r] * last[q]


@Inlined
def tree_leads(
    leads: Float64[np.ndarray, " draws"],
    which: Int64[np.ndarray, " draws"],
    count: int,
    r: int,
    levels: Int16[np.ndarray, "features draws"],
    moving: Int64[np.ndarray, " features"],
    free: int,
    offsets: Int64[np.ndarray, " features"],
    lines: Lines,
    standing: UInt64[np.ndarray, " trees"],
    grove: Grove,
    word: UInt64[np.ndarray, " trees"],
    slot: UInt64[np.ndarray, " trees"],
) -> None:
    """Work out the leads of some draws of a row, as `network_leads` does.

    `standing` is what the features that cannot move leave open; `word` and `slot` are working space.
    """
    for q in range(count):
        d = which[q]
        for tree in range(len(word)):
            word[tree] = standing[tree]
        for m in range(0, free, 4):
            left_open(
                word, word, lines.words, _line(m, free, moving, offsets, levels, d, lines.at, r),
                _line(m + 1, free, moving, offsets, levels, d, lines.at, r),
                _line(m + 2, free, moving, offsets, levels, d, lines.at, r),
                _line(m + 3, free, moving, offsets, levels, d, lines.at, r),
            )  # fmt: skip
        leads[d] = grove.toward[r] * (grove.base + leaves_added(word, slot, grove.value))


@Inlined
def _line(
    m: int, free: int, moving: np.ndarray, offsets: np.ndarray, levels: np.ndarray, d: int, at: np.ndarray, r: int
) -> int:
    """Return the line at a draw's level of a feature that can move; beyond the last of them, the last one's."""
    moved = moving[min(m, free - 1)]
    return at[r, np.uint64(offsets[moved] + levels[moved, d])]


@Inlined
def _input(
    m: int, free: int, moving: np.ndarray, offsets: np.ndarray, levels: np.ndarray, d: int, inputs: np.ndarray, r: int
) -> tuple[Any, Any]:
    """Return the place of a draw's level of a feature that can move, and the input there; beyond the last of them 0."""
    moved = moving[min(m, free - 1)]
    place = np.uint64(offsets[moved] + levels[moved, d])
    return place, inputs[r, place] if m < free else np.float32(0)


@Inlined
def _cut_off(unit: Any) -> Any:
    """Return a unit, and 0 where it is below that."""
    # To compare would keep loops from becoming vector instructions.
    return np.float32(0.5) * (unit + abs(unit))


@Compiled
def _through(
    here: Float32[np.ndarray, "draws units"],
    there: Float32[np.ndarray, "draws units"],
    layers: Layers,
    last: Float32[np.ndarray, " draws"],
) -> None:
    """Pass the units of some draws through the layers."""
    for layer in range(len(layers.hidden)):
        np.dot(here, layers.hidden[layer], there)
        for q in range(len(here)):
            for u in range(here.shape[1]):
                there[q, u] = _cut_off(there[q, u] + layers.hidden_bias[layer, u])
        here, there = there, here
    np.dot(here, layers.last, last)
    for q in range(len(last)):
        last[q] += layers.last_bias
