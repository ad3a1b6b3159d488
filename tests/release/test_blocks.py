"""Draws in blocks: what they share, and that nothing but the row's own position decides it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.core.types import Levels
from l2c.release.blocks import InBlocks, Schedule, fewer_changes
from l2c.release.leads import FOLLOWED, Led, groups_of, in_blocks
from l2c.release.policy import Policy
from release.test_policy import LAYOUT
from tables import question_for

QUASI = np.array([0, 1])


def question(rows: int = 6, seed: int = 0, **limits: object) -> Question:
    rng = np.random.default_rng(seed)
    levels = np.stack([rng.integers(0, size, rows) for size in LAYOUT.sizes], axis=1).astype(np.int16)
    cells = LAYOUT.values(levels, "midpoint")
    return question_for(LAYOUT, cells, limits=Limits(**limits) if limits else ())


@dataclass
class Even:
    """A proposer that draws every level alike, by the position in the row's stream."""

    streams: Streams

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        draws = self.streams.take(rows).draws(first, count, each=len(LAYOUT.sizes))
        return (draws % LAYOUT.sizes.astype(np.uint32)).astype(np.int16)

    def even_law(self, rows: np.ndarray) -> np.ndarray:
        return np.full((len(rows), LAYOUT.width), 0.5)

    def propose_from(self, law: np.ndarray, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        assert law.shape == (len(rows), LAYOUT.width)
        return self.propose(rows, first, count)


def slow_start(schedule: Schedule, position: int) -> int:
    begin, length, left = 0, schedule.length, schedule.stretch
    while True:
        if position < begin + length:
            return begin
        begin, left = begin + length, left - length
        if not left:
            length *= 2
            left = schedule.stretch * length // schedule.length


@pytest.mark.parametrize("schedule", [Schedule(2, 4), Schedule(6, 24), Schedule.of(5, 100)])
def test_blocks_begin_where_walking_along_them_ends(schedule):
    positions = np.arange(300)
    assert schedule.start(positions).tolist() == [slow_start(schedule, position) for position in positions]


@given(st.lists(st.integers(0, 60), min_size=6, max_size=6), st.integers(1, 40))
def test_draws_are_the_proposers_but_for_the_quasi_identifiers_of_the_first_of_the_block(first, count):
    asked = question()
    plain = Even(Streams.for_rows(asked.cells, 3))
    blocks = InBlocks(plain, asked, QUASI, Schedule(4, 8))
    rows, first = np.arange(6), np.array(first)
    drawn = blocks.propose(rows, first, count)
    for row in rows:
        for step in range(count):
            position = first[row] + step
            lead = slow_start(blocks.schedule, int(position))
            one, other = (plain.propose(rows[row : row + 1], np.array([at]), 1)[0, 0] for at in (position, lead))
            assert drawn[row, step].tolist() == [*other[:2].tolist(), *one[2:].tolist()]
    law = blocks.even_law(rows)
    assert blocks.propose_from(law, rows, first, count).tolist() == drawn.tolist()


def test_no_more_changes_than_a_row_may_make_are_left_and_the_quasi_identifiers_stay():
    asked = question(max_changes=2)
    rng = np.random.default_rng(1)
    levels = (rng.integers(0, 10**6, (6, 50, 5)) % LAYOUT.sizes).astype(np.int16)
    at = np.broadcast_to(np.arange(50), (6, 50))
    fewer = fewer_changes(asked, QUASI, np.arange(6), at, levels.copy())
    own = asked.levels[:, None, :]
    before, after = ((some != own) for some in (levels, fewer))
    assert (fewer[:, :, :2] == levels[:, :, :2]).all()
    assert ((fewer == levels) | (fewer == own)).all()
    quasi = before[:, :, :2].sum(axis=2)
    assert (after.sum(axis=2) == np.maximum(np.minimum(before.sum(axis=2), 2), quasi)).all()
    assert after[:, :, 2:].any(axis=(0, 1)).all()  # no feature is always the one that gives way


# Leads


POLICY = Policy(LAYOUT, 3, scope="release", count="people")


def test_people_share_a_group_if_what_never_moves_and_their_goal_are_the_same():
    asked = question(40)
    features = tuple(replace(one, moves="never") if one.name == "job" else one for one in LAYOUT.schema.features)
    policy = replace(POLICY, layout=replace(LAYOUT, schema=replace(LAYOUT.schema, features=features)))
    group = groups_of(asked, policy)
    keys = [(int(levels[1]), int(goal)) for levels, goal in zip(asked.levels, asked.desired, strict=True)]
    for one in range(40):
        assert [group[one] == other for other in group] == [keys[one] == key for key in keys]


def test_draws_follow_leads_that_enough_people_can_take():
    asked = question(8, permit={"age": (0, 35)})
    proposer = in_blocks(Even(Streams.for_rows(asked.cells, 3)), asked, POLICY, pool=100)
    assert isinstance(proposer, Led)
    rows = np.flatnonzero(~asked.already)
    drawn = proposer.propose(rows, np.full(len(rows), 5), 400)
    leads = [{tuple(pair) for pair in lines[:, :2].tolist()} for lines in drawn]
    for lines, row in zip(drawn, rows, strict=True):
        assert asked.room.open[row, lines[:, :2] + LAYOUT.offsets[:2]].all()
        blocks = np.arange(5, 405) // FOLLOWED
        assert all(len({tuple(pair) for pair in lines[blocks == one, :2].tolist()}) == 1 for one in np.unique(blocks))
    for some in leads:
        for lead in some:
            assert sum(bool(asked.room.open[row, lead + LAYOUT.offsets[:2]].all()) for row in rows) >= 3
    law = proposer.even_law(rows)
    assert proposer.propose_from(law, rows, np.full(len(rows), 5), 400).tolist() == drawn.tolist()


def test_without_a_lead_that_enough_people_can_take_draws_are_the_proposers():
    asked = question(2)
    plain = Even(Streams.for_rows(asked.cells, 3))
    proposer = in_blocks(plain, asked, POLICY, pool=100)
    rows, first = np.arange(2), np.zeros(2, dtype=np.int64)
    assert proposer.propose(rows, first, 30).tolist() == plain.propose(rows, first, 30).tolist()
