"""Who judges proposals: what is marked, and what is heard ahead."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from l2c.core.goal import Goal
from l2c.release import jury
from l2c.release.jury import Jury
from summing import Summing


def judges(*models: Summing, differ: np.ndarray | None = None) -> Jury:
    layout = SimpleNamespace(offsets=np.array([0, 2, 5]))
    question = SimpleNamespace(goal=Goal.of_classes(np.ones(20, dtype=np.int64), classes=2))
    return Jury(layout, question, models[0], models[1:], None, differ=differ)  # type: ignore[arg-type]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_proposal_has_others_where_one_of_its_levels_is_marked(compiled, monkeypatch):
    monkeypatch.setattr(jury, "compiles", lambda: compiled)
    rng = np.random.default_rng(0)
    marked, row = rng.random((20, 9)) < 0.15, rng.integers(0, 20, 300)
    levels = (rng.random((300, 3)) * np.array([2, 3, 4])).astype(np.int16)
    expected = [
        any(marked[r, start + level] for start, level in zip((0, 2, 5), line, strict=True))
        for r, line in zip(row, levels, strict=True)
    ]
    found = judges(Summing(), differ=marked).has_others(row, levels)
    assert found.tolist() == expected
    assert 0 < sum(expected) < 300


def test_what_was_heard_is_judged_without_another_call_and_then_forgotten():
    rng = np.random.default_rng(1)
    row, levels = rng.integers(0, 20, 40), np.zeros((40, 3), dtype=np.int16)
    values, others = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    models = Summing(), Summing(-0.5)
    asking, hearing = judges(Summing(), Summing(-0.5)), judges(*models)
    hearing.hear(values, others)
    for cells in (values, others[5:20]):
        told = hearing.judge(row[: len(cells)], levels[: len(cells)], cells)
        expected = asking.judge(row[: len(cells)], levels[: len(cells)], cells)
        assert all(np.array_equal(one, other) for one, other in zip(told, expected, strict=True))
    assert [model.asked for model in models] == [[80], [80]]
    hearing.hear()
    hearing.judge(row, levels, values)
    assert [model.asked for model in models] == [[80, 40], [80, 40]]
