"""A second look at rows that got nothing by a twin's judgement."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.twin import LayerTwin
from l2c.core.types import Cells, Levels, Probabilities
from l2c.release.doubt import PROPOSALS, is_borne_out
from tables import numeric_axis, question_for

JOB = Feature(name="job", kind="binary", levels=("clerk", "cook"))
DEBT = numeric_axis((10.0, 20.0), low=0.0, high=40.0)
LAYOUT = Layout(Schema((Feature(name="debt", kind="numeric"), JOB)), (DEBT, categorical_axis(JOB)))
QUESTION = question_for(LAYOUT, np.array([[3.0, 0.0], [14.0, 1.0], [35.0, 0.0]]))

TWIN = LayerTwin(
    LAYOUT, np.array([[0.1], [0.1], [0.1], [0.0], [1.0]]), np.array([True, True, True, False, False]), np.zeros(5),
    np.ones(5), np.array([-9.0]), None, 1e-6,
)  # fmt: skip


@dataclass
class Model:
    """A sum over the features, as the twin has it, but for one number that it treats apart."""

    apart: float = np.nan
    classes: tuple[int, int] = (0, 1)
    asked: list[int] = field(default_factory=list)

    def proba(self, cells: Cells) -> Probabilities:
        self.asked.append(len(cells))
        lead = np.where(cells[:, 0] == self.apart, 5.0, 0.1 * cells[:, 0] + cells[:, 1] - 9.0)
        second = 1 / (1 + np.exp(-lead))
        return np.stack([1 - second, second], axis=1)


class EveryLevel:
    """Proposals that go through all combinations of levels, again and again."""

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        at = np.broadcast_to(first[:, None] + np.arange(count), (len(rows), count))
        return np.stack([at % 3, at % 2], axis=2).astype(np.int16)


def test_a_twin_that_rules_out_what_the_model_does_is_borne_out_by_one_call() -> None:
    model = Model()
    assert is_borne_out(TWIN, model, LAYOUT, QUESTION, EveryLevel())
    assert model.asked == [2 * PROPOSALS * len(QUESTION)]


@pytest.mark.parametrize("apart", [DEBT.median[1], DEBT.midpoint[1], DEBT.midpoint[2], 14.0])
def test_a_number_that_the_model_treats_apart_is_found_among_either_values_and_the_rows_own(apart: float) -> None:
    assert not is_borne_out(TWIN, Model(apart), LAYOUT, QUESTION, EveryLevel())


def test_a_number_that_nothing_stands_for_is_not_asked_about() -> None:
    assert is_borne_out(TWIN, Model(13.0), LAYOUT, QUESTION, EveryLevel())
