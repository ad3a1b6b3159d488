"""Classes that several people can be in: proposals that follow leads which enough of them can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.identities import identities
from l2c.core.method import Proposer, Question, Source
from l2c.core.types import Levels, Mask
from l2c.release.blocks import InBlocks, Schedule, fewer_changes
from l2c.release.policy import Policy

LEADS = 600
"""Leads that are drawn for each group of people, at least one by each of them."""

FOLLOWED = 4
"""Draws in a row that follow the same lead."""


def in_blocks(proposer: Proposer, question: Question, policy: Policy, pool: int) -> Proposer:
    """Return a proposer whose draws fall into classes as large as a policy wants them."""
    if policy.count == "people":
        return Led(proposer, question, policy.quasi, _ways(proposer, question, policy))
    return InBlocks(proposer, question, policy.quasi, Schedule.of(max(policy.k, policy.l or 1), pool))


@dataclass(frozen=True, slots=True, eq=False)
class Led:
    """A proposer whose draws follow leads: quasi-identifiers that enough people of a group can all have.

    Parameters
    ----------
    proposer, question, quasi
        Whose draws these are, what each row may become, and the quasi-identifying features.
    ways
        The leads that each row follows in turn: rows × leads × quasi; -1 where it has fewer, or none to follow.
    """

    proposer: Proposer
    question: Question
    quasi: Int64[np.ndarray, " quasi"]
    ways: Levels

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        """Return the proposer's draws, each with the quasi-identifying part of a lead."""
        return self._led(rows, first, self.proposer.propose(rows, first, count))

    def sources(self, _: np.ndarray) -> Sequence[Source]:
        """Return none: the features of a class are drawn together."""
        return ()

    def even_law(self, rows: np.ndarray) -> Float64[np.ndarray, "rows width"]:
        """Return the proposer's even law."""
        return self.proposer.even_law(rows)

    def propose_from(
        self, law: Float64[np.ndarray, "rows width"], rows: np.ndarray, first: np.ndarray, count: int
    ) -> Levels:
        """Return such draws from a law that is given for each row."""
        return self._led(rows, first, self.proposer.propose_from(law, rows, first, count))

    def _led(self, rows: np.ndarray, first: np.ndarray, levels: Levels) -> Levels:
        at = first[:, None] + np.arange(levels.shape[1])[None, :]
        many = (self.ways[rows][:, :, 0] >= 0).sum(axis=1)
        lead = self.ways[rows[:, None], (at // FOLLOWED) % np.maximum(many, 1)[:, None]]
        levels[:, :, self.quasi] = np.where((many > 0)[:, None, None], lead, levels[:, :, self.quasi])
        return fewer_changes(self.question, self.quasi, rows, at, levels)


def groups_of(question: Question, policy: Policy) -> Int64[np.ndarray, " rows"]:
    """Return for each row a number that it shares with those who can be in a class with it.

    They have the same quasi-identifiers where these never move, and the same desired class.
    """
    return identities([*question.levels[:, fixed_places(policy)].T, question.desired])


def fixed_places(policy: Policy) -> list[int]:
    """Return the places of the quasi-identifiers that never move."""
    features = policy.layout.schema.features
    return [int(place) for place in policy.quasi if features[place].moves == "never"]


def _ways(proposer: Proposer, question: Question, policy: Policy) -> Levels:
    """Return the leads of each row, those first that suit the people of its group best."""
    rows, quasi = len(question), policy.quasi
    found: list[tuple[np.ndarray, Levels]] = [*_leads(proposer, question, policy)]
    most = max((len(leads) for _, leads in found), default=0)
    ways = np.full((rows, max(most, 1), len(quasi)), -1, dtype=np.int16)
    for members, leads in found:
        reach = _reach(question, policy, members, leads)
        kept = (question.levels[members][:, None, quasi] == leads[None, :, :]).mean(axis=2)
        enough = reach.sum(axis=0) >= policy.k
        order = np.argsort(-(np.where(reach, kept, 0.0)).sum(axis=0), kind="stable")
        order = order[enough[order]]
        open_ = reach[:, order]
        turn = np.argsort(~open_, axis=1, kind="stable")
        own = np.where(np.take_along_axis(open_, turn, axis=1)[:, :, None], leads[order][turn], -1)
        ways[members, : len(order)] = own
    return ways


def _leads(proposer: Proposer, question: Question, policy: Policy) -> Iterator[tuple[np.ndarray, Levels]]:
    """Yield the members of each group of people, with different quasi-identifiers that they draw in turn."""
    group = groups_of(question, policy)
    for one in np.unique(group[~question.already]):
        members = np.flatnonzero((group == one) & ~question.already)
        each = -(-LEADS // len(members))
        drawn = proposer.propose(members, np.zeros(len(members), dtype=np.int64), each)
        leads = np.unique(drawn[:, :, policy.quasi].reshape(-1, len(policy.quasi)), axis=0)
        yield members, leads


def _reach(question: Question, policy: Policy, members: np.ndarray, leads: Levels) -> Mask:
    """Return which members can have the quasi-identifiers of which leads."""
    open_ = question.room.open[members][:, leads + policy.layout.offsets[policy.quasi]]
    own = question.levels[members][:, None, policy.quasi]
    changes = (own != leads[None]).sum(axis=2)
    return np.asarray(open_.all(axis=2) & (changes <= question.room.changes[members][:, None]))
