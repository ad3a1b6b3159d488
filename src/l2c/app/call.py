"""A call that was checked, with whoever answers it: for one frame, or for one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from l2c.app.answering import Answerer
from l2c.app.explanations import Explanations
from l2c.app.people import People
from l2c.app.progress import Progress
from l2c.app.requests import Request
from l2c.release.policy import Policy


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """What is asked, who answers it, the policy to keep, and what a file notes of it."""

    answerer: Answerer
    request: Request
    policy: Policy | None
    notes: Mapping[str, Any]

    def answer(self, people: People, progress: Progress | None = None) -> Explanations:
        """Return what is found for people."""
        return self.answerer.answer(people, self.request, self.policy, self.notes, progress)
