"""How numbers are to become levels, as settings."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.binning import (
    BINNINGS,
    Edges,
    EqualFrequency,
    MinimalEntropy,
    Tree,
    ZeroOrPositive,
    binning_from_dict,
    binning_problems,
    binning_to_dict,
)

CUTS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5, unique=True).map(sorted).map(tuple)
SOUND = st.one_of(
    st.integers(2, 99).map(EqualFrequency),
    st.just(ZeroOrPositive()),
    st.just(MinimalEntropy()),
    st.integers(2, 99).map(Tree),
    st.builds(Edges, CUTS, st.text(max_size=9)),
)


@given(SOUND)
def test_a_binning_is_equal_after_a_trip_through_json(binning):
    assert binning_from_dict(json.loads(json.dumps(binning_to_dict(binning)))) == binning


@given(SOUND)
def test_a_sound_binning_has_no_problems(binning):
    assert binning_problems(binning) == []


def test_every_method_has_one_name():
    assert [binning_to_dict(kind(()) if kind is Edges else kind())["method"] for kind in BINNINGS.values()] == list(
        BINNINGS
    )


@pytest.mark.parametrize(
    ("binning", "problem"),
    [
        (EqualFrequency(1), "equal_frequency needs at least 2 buckets, not 1"),
        (Tree(1), "tree needs a minimum split of at least 2, not 1"),
        (Edges(()), "edges needs at least one cut point"),
        (Edges((1.0, 1.0)), "cut points must rise, not [1.0, 1.0]"),
        (Edges((2.0, 1.0)), "cut points must rise, not [2.0, 1.0]"),
        (Edges((1.0, math.nan)), "cut points must be finite numbers, not [1.0, nan]"),
        (Edges((1.0, math.inf)), "cut points must be finite numbers, not [1.0, inf]"),
    ],
)
def test_a_setting_out_of_bounds_is_named(binning, problem):
    assert binning_problems(binning) == [problem]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            {"at_most": 3},
            "unknown binning method None; known: equal_frequency, zero_or_positive, minimal_entropy, tree, edges",
        ),
        (
            {"method": "equal_width"},
            "unknown binning method 'equal_width'; known: "
            "equal_frequency, zero_or_positive, minimal_entropy, tree, edges",
        ),
        ({"method": "tree", "zz": 1, "at_most": 3}, "binning 'tree' has no setting at_most, zz"),
        ({"method": "edges"}, "binning 'edges' needs cuts = [numbers]"),
        ({"method": "edges", "cuts": 30}, "binning 'edges' needs cuts = [numbers]"),
        ({"method": "edges", "cuts": [30, "40"]}, "binning 'edges' needs cuts = [numbers]"),
        ({"method": "edges", "cuts": [True]}, "binning 'edges' needs cuts = [numbers]"),
        ({"method": "edges", "cuts": [1], "source": 7}, "binning 'edges': source cannot be 7"),
        ({"method": "equal_frequency", "at_most": "four"}, "binning 'equal_frequency': at_most cannot be 'four'"),
        ({"method": "equal_frequency", "at_most": 2.5}, "binning 'equal_frequency': at_most cannot be 2.5"),
        ({"method": "tree", "min_split": True}, "binning 'tree': min_split cannot be True"),
    ],
)
def test_data_that_describes_no_binning_is_refused_in_words(data, words):
    with pytest.raises(ValueError, match="binning") as caught:
        binning_from_dict(data)
    assert str(caught.value) == words


def test_reading_does_not_change_the_data():
    data = {"method": "edges", "cuts": [30, 45]}
    assert binning_from_dict(data) == Edges((30.0, 45.0))
    assert data == {"method": "edges", "cuts": [30, 45]}
