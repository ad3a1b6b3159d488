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
from l2c.release import doubt
from l2c.release.doubt import misjudged
from l2c.release.jury import Jury
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
    """Draws that go through all combinations of levels, again and again, whatever the law."""

    def even_law(self, rows: np.ndarray) -> np.ndarray:
        return np.full((len(rows), 5), 0.5)

    def propose_from(self, law: np.ndarray, rows: np.ndarray, first: np.ndarray, count: int) -> Levels:
        assert len(law) == len(rows) == len(first)
        at = first[:, None] + np.arange(count)
        return np.stack([at % 3, at % 2], axis=2).astype(np.int16)


def wronged(model: Model, rows: list[int], *, twice: bool = True, late: bool = False) -> list[int]:
    jury = Jury(LAYOUT, QUESTION, model, (), TWIN)
    return misjudged(jury, EveryLevel(), 7, np.array(rows), lambda: late, twice=twice).tolist()


def test_a_twin_that_rules_out_what_the_model_does_wrongs_no_row_and_no_change_is_asked_about_twice() -> None:
    model = Model()
    assert wronged(model, [0, 1, 2]) == []
    # Of six combinations each row is one; four of the others have another number than its own, with two values.
    assert model.asked == [3 * (5 + 4)]
    assert wronged(model, [0, 2], twice=False) == []
    assert model.asked[1:] == [2 * 5]


@pytest.mark.parametrize(
    ("apart", "rows"),
    [(DEBT.median[1], [0, 2]), (DEBT.midpoint[1], [0, 2]), (DEBT.midpoint[2], [0, 1]), (14.0, [1]), (13.0, [])],
)
def test_rows_are_wronged_whose_levels_stand_for_a_number_that_the_model_treats_apart(
    apart: float, rows: list[int]
) -> None:
    assert wronged(Model(apart), [0, 1, 2]) == rows
    for row in (0, 1, 2):
        assert wronged(Model(apart), [row]) == [row] * (row in rows)


def test_second_values_count_where_they_are_used() -> None:
    first, second = QUESTION.room.values[0, 1], QUESTION.room.others[0, 1]
    assert {first, second} == {DEBT.median[1], DEBT.midpoint[1]}
    assert wronged(Model(second), [0], twice=False) == []
    assert wronged(Model(first), [0], twice=False) == [0]


def test_many_rows_are_asked_about_in_pieces_and_none_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubt, "PIECE", 10)
    model = Model(14.0)
    assert wronged(model, [0, 1, 2]) == [1]
    assert model.asked == [10, 10, 7]
    assert wronged(model, [0, 1, 2], late=True) == []
    assert model.asked == [10, 10, 7]
