"""What came out: reasons as plain data, and what is counted."""

from __future__ import annotations

import json

import numpy as np

from l2c.core.explanation import Outcome, Reason, Relaxation, Released
from l2c.core.goal import Goal
from tables import small_layout

RELAXATIONS = (
    Relaxation("max_changes", None, 3, "no valid change within 2 features; 3 suffice"),
    Relaxation("permit", "hours", 42.5, "feasible if hours may exceed 40 (42.5 is enough)"),
    Relaxation("where", None, None, "feasible without 'hours < 9'"),
)


def test_a_reason_is_read_back_equal_from_plain_data() -> None:
    for reason in (Reason(True), Reason(False, RELAXATIONS)):
        assert Reason.from_dict(json.loads(json.dumps(reason.to_dict()))) == reason


def test_a_reason_is_plain_data() -> None:
    assert Reason(True, RELAXATIONS[:1]).to_dict() == {
        "proven": True,
        "relaxations": (
            {
                "limit": "max_changes",
                "feature": None,
                "value": 3,
                "sentence": "no valid change within 2 features; 3 suffice",
            },
        ),
    }


def released(*outcomes: Outcome) -> Released:
    layout, rows, nobody = small_layout(), len(outcomes), np.empty(0, dtype=np.int64)
    desired = np.ones(rows, dtype=np.int64)
    return Released(
        layout=layout,
        classes=("no", "yes"),
        asked=4,
        factual=np.zeros((rows, 5)),
        current=np.zeros(rows, dtype=np.int64),
        desired=desired,
        goal=Goal.of_classes(desired, 2),
        outcomes=outcomes,
        row=nobody,
        rank=nobody,
        levels=np.empty((0, 5), dtype=np.int16),
        cells=np.empty((0, 5)),
        chance=np.empty(0),
        predicted=nobody,
        valid=np.empty(0, dtype=bool),
    )


def test_rows_count_if_they_were_explained_or_should_have_been() -> None:
    statuses = ("found", "partial", "already", "none_valid", "infeasible", "withheld", "bad_input")
    kept = released(*(Outcome(status, "", tries=place, valid=1) for place, status in enumerate(statuses)))
    assert [status for status, counts in zip(statuses, kept.answered, strict=True) if counts] == [
        "found",
        "partial",
        "none_valid",
    ]
    assert (kept.tries, kept.pooled) == (21, 7)


def test_an_outcome_has_no_reason_unless_one_was_looked_for() -> None:
    assert Outcome("found", "4 found", found=4).reason is None
