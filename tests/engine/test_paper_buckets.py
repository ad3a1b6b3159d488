"""The buckets of the paper's appendix, fitted on all rows of its four data sets."""

from __future__ import annotations

import numpy as np
import pytest

from l2c.adapters import datasets
from l2c.core.schema import Schema
from l2c.engine.discretise import discretise

BUCKETS = {
    ("german", "duration"): [359, 187, 224, 230],
    ("german", "credit_amount"): [250, 250, 250, 250],
    ("german", "age"): [291, 225, 249, 235],
    ("adult", "age"): [14260, 17727, 10387, 2848],
    ("adult", "capital_gain"): [41432, 3790],
    ("adult", "capital_loss"): [43082, 2140],
    ("adult", "hours_per_week"): [3602, 27843, 13777],
    ("admission", "gre_score"): [189, 148, 163],
    ("admission", "toefl_score"): [176, 175, 149],
    ("admission", "gpa"): [170, 163, 167],
    ("student", "age"): [289, 179, 181],
    ("student", "absences"): [466, 183],
    ("student", "first_grade"): [252, 245, 152],
    ("student", "second_grade"): [228, 269, 152],
}


@pytest.fixture(scope="module")
def counts():
    """The rows in each bucket, by data set and numeric feature."""
    found = {}
    for name in ("german", "adult", "admission", "student"):
        data = datasets.load(name)
        schema = Schema(tuple(feature for feature in data.schema.features if feature.numeric))
        cells = data.frame[list(schema.names)].to_numpy(dtype=np.float64)
        levels = discretise(schema, cells, np.zeros(len(cells), dtype=np.int64)).levels(cells)
        found |= {(name, f): np.bincount(levels[:, i]).tolist() for i, f in enumerate(schema.names)}
    return found


@pytest.mark.parametrize(("dataset", "feature"), BUCKETS)
def test_the_buckets_hold_as_many_rows_as_the_paper_says(counts, dataset, feature):
    assert counts[dataset, feature] == BUCKETS[dataset, feature]


def test_every_numeric_feature_is_in_the_papers_table(counts):
    assert set(counts) == set(BUCKETS)
