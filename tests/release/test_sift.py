"""Which proposals are new and in their row's room, against a set of all that was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from compiling import uncompiled
from l2c.core.limits import Limits
from l2c.release import sift
from l2c.release.sift import Sieve, fingerprints, words_for
from tables import HOWS, SEEDS, layouts, random_levels, random_question, small_layout

WORLDS = layouts(hows=HOWS)


def rounds(layout, question, rng, sizes=(5, 60, 300)):
    """Return proposals for the rows in several rounds, with many repeats, rows together."""
    for size in sizes:
        row = np.sort(rng.integers(0, len(question), size))
        few = random_levels(layout, (8,), rng)
        yield (
            row,
            np.where(rng.random((size, 1)) < 0.7, few[rng.integers(0, 8, size)], random_levels(layout, (size,), rng)),
        )


def obvious(layout, question, parts):
    seen, room = set(), question.room
    for row, levels in parts:
        good = []
        for r, line in zip(row.tolist(), levels.tolist(), strict=True):
            new = (r, *line) not in seen
            seen.add((r, *line))
            inside = all(room.open[r, start + level] for start, level in zip(layout.offsets, line, strict=True))
            changed = sum(now != was for now, was in zip(line, question.levels[r].tolist(), strict=True))
            good.append(new and inside and changed <= room.changes[r])
        yield good


@pytest.mark.parametrize("compiled", [True, False])
@given(layout=WORLDS, seed=SEEDS)
@settings(max_examples=25)
def test_what_is_worth_asking_is_new_and_in_its_rows_room(compiled, layout, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 4, rng, limits=Limits(max_changes=int(rng.integers(1, 4))))
    parts = list(rounds(layout, question, rng))
    with uncompiled(sift), pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(sift, "compiles", lambda: compiled)
        sieve = Sieve(layout, question)
        for (row, levels), expected in zip(parts, obvious(layout, question, parts), strict=True):
            assert sieve.worth_asking(row, levels.astype(np.int16)).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_compiler_changes_nothing(seed):
    if not sift.compiles():
        pytest.skip("numba is not installed")
    rng = np.random.default_rng(seed)
    layout = small_layout()
    question = random_question(layout, 6, rng)
    parts = list(rounds(layout, question, rng, (500, 3000, 20)))
    sieve = Sieve(layout, question)
    for (row, levels), expected in zip(parts, obvious(layout, question, parts), strict=True):
        assert sieve.worth_asking(row, levels.astype(np.int16)).tolist() == expected
    assert (sieve.filled <= sieve.slots / 2).all()


def test_rows_and_levels_have_fingerprints_of_their_own():
    layout = small_layout()
    levels = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=np.int16)
    question = random_question(layout, 2, np.random.default_rng(0))
    keys = fingerprints(Sieve(layout, question).words, np.array([0, 0, 0, 1]), levels)
    assert len(set(keys.tolist())) == 4
    assert (keys > 0).all()


@pytest.mark.parametrize(("features", "fit"), [(3, True), (32, True), (33, False)])
def test_levels_stand_side_by_side_in_fingerprints_as_far_as_they_fit_in(features, fit):
    rng, (words, shifts) = np.random.default_rng(0), words_for((3,) * features)
    assert (shifts >= 0).all() == fit
    assert (np.uint64(1) << shifts.astype(np.uint64) == words).all() if fit else (shifts == -1).all()
    levels = np.unique(rng.integers(0, 3, (2000, features)).astype(np.int16), axis=0)
    row = np.zeros(len(levels), dtype=np.int64)
    assert len(np.unique(fingerprints(words, row, levels))) == len(levels)
