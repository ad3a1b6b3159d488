"""Limits as they are typed: what each text stands for, and what is said of one that stands for nothing."""

from __future__ import annotations

import pytest

from l2c.app.limit_texts import parse_forbids, parse_permits
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.errors import InputError

SCHEMA = Schema(
    (
        Feature(name="hours", kind="numeric"),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook")),
        Feature(name="grade", kind="ordinal", levels=(1, 2, 3)),
    )
)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("hours=20:45", {"hours": (20.0, 45.0)}),
        ("hours=:45", {"hours": (None, 45.0)}),
        (" hours =-5.5: ", {"hours": (-5.5, None)}),
        ("job=clerk,nurse", {"job": ["clerk", "nurse"]}),
        ("job= cook ", {"job": ["cook"]}),
        ("grade=1,3", {"grade": [1, 3]}),  # a level that reads like the text
        ("job=pilot", {"job": ["pilot"]}),  # refused later, with all other problems
    ],
)
def test_a_permitted_range_or_levels(text, meaning):
    assert parse_permits([text], SCHEMA) == meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("job:clerk>cook", {"job": [("clerk", "cook")]}),
        ("job: * > cook", {"job": [("*", "cook")]}),
        ("grade:3>1", {"grade": [(3, 1)]}),
    ],
)
def test_a_forbidden_transition(text, meaning):
    assert parse_forbids([text], SCHEMA) == meaning


def test_several_texts_are_gathered_by_feature():
    assert parse_permits(["hours=20:45", "job=cook"], SCHEMA) == {"hours": (20.0, 45.0), "job": ["cook"]}
    assert parse_forbids(["job:*>cook", "grade:1>3", "job:cook>*"], SCHEMA) == {
        "job": [("*", "cook"), ("cook", "*")],
        "grade": [(1, 3)],
    }
    assert parse_permits([], SCHEMA) == parse_forbids([], SCHEMA) == {}


def test_every_text_that_cannot_be_read_is_told_at_once():
    with pytest.raises(InputError) as permits:
        parse_permits(["hours", "hours=20", "hours=a:3", "hour=1:2", "job="], SCHEMA)
    assert permits.value.problems == (
        "--permit 'hours': expected hours=20:45 for a number, or job=clerk,nurse for levels",
        "--permit 'hours=20': 'hours' is a number and takes a range, as 20:45",
        "--permit 'hours=a:3': 'a' is not a number",
        "there is no feature 'hour'; did you mean 'hours'?",
        "--permit 'job=': expected hours=20:45 for a number, or job=clerk,nurse for levels",
    )
    with pytest.raises(InputError) as forbids:
        parse_forbids(["job", "job:clerk", "hours:1>2", "jobb:a>b"], SCHEMA)
    assert forbids.value.problems == (
        "--forbid 'job': expected job:clerk>manager, with * for any level",
        "--forbid 'job:clerk': expected job:clerk>manager, with * for any level",
        "--forbid 'hours:1>2': 'hours' is a number; say what it may become with --permit",
        "there is no feature 'jobb'; did you mean 'job'?",
    )
