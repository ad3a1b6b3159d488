"""One person and their counterfactuals, side by side, for a terminal and for a notebook."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from l2c.app.display import Cell, as_html, as_table, sheet, sheets, value_text
from l2c.core.explanation import Outcome, Released
from l2c.core.feature import Feature
from l2c.core.goal import Goal
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from tables import numeric_axis

FEATURES = (
    Feature(name="age", kind="numeric", label="Age", unit="years", missing=True),
    Feature(name="job", kind="categorical", levels=("c", "n"), labels=("clerk", "nurse"), missing=True),
    Feature(name="grade", kind="ordinal", levels=(1, 2, 3)),
)
LAYOUT = Layout(
    Schema(FEATURES),
    (
        numeric_axis((30.0, 45.0), low=18.0, high=80.0, missing=True),
        *(categorical_axis(feature) for feature in FEATURES[1:]),
    ),
)


def release(factual, found, row):
    """Return the release of given rows, all of which should be paid."""
    factual, cells, row = np.array(factual, dtype=float), np.array(found, dtype=float), np.array(row)
    people = len(factual)
    return Released(
        layout=LAYOUT,
        classes=("refused", "paid"),
        asked=2,
        factual=factual,
        current=np.zeros(people, dtype=np.int64),
        desired=np.ones(people, dtype=np.int64),
        goal=Goal.of_classes(np.ones(people, dtype=np.int64), 2),
        outcomes=tuple(Outcome("found", f"sentence {person}") for person in range(people)),
        row=row,
        rank=np.arange(len(row)) + 1,
        levels=LAYOUT.levels(cells),
        cells=cells,
        chance=np.full(len(row), 0.9),
        predicted=np.ones(len(row), dtype=np.int64),
        valid=np.ones(len(row), dtype=bool),
    )


TWO = release(
    [[30.5, 0, 1], [np.nan, 1, 2], [20, 0, 0]],
    [[30.5, 1, 1], [52, 0, 2], [np.nan, 0, 2], [60, 1, 2]],
    [0, 0, 1, 1],
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.0, "7"),
        (-3.0, "-3"),
        (12345.0, "12,345"),
        (1e9, "1,000,000,000"),
        (0.5, "0.5"),
        (2.0 / 3, "0.666667"),
        (1234.5, "1,234.5"),
        (1234567.5, "1,234,567.5"),
        (-1234567.25, "-1,234,567.2"),
        (1e-7, "1e-07"),
        (np.nan, "missing"),
    ],
)
def test_a_number_is_written_without_needless_digits(value, text):
    assert value_text(LAYOUT, 0, value) == text


def test_a_level_is_written_by_its_label_or_as_it_is():
    assert [value_text(LAYOUT, 1, code) for code in (0.0, 1.0, np.nan)] == ["clerk", "nurse", "missing"]
    assert [value_text(LAYOUT, 2, code) for code in (0.0, 1.0, 2.0)] == ["1", "2", "3"]


def test_a_sheet_has_a_line_for_each_feature_and_marks_what_changed():
    shown = sheet(TWO, 0, ranks=5)
    assert shown.title == "row 0: sentence 0"
    assert shown.heads == ("now: refused", "1: paid", "2: paid")
    assert shown.lines == (
        ("Age (years)", (Cell("30.5"), Cell("30.5"), Cell("52", changed=True))),
        ("job", (Cell("clerk"), Cell("nurse", changed=True), Cell("clerk"))),
        ("grade", (Cell("2"), Cell("2"), Cell("3", changed=True))),
    )


def test_a_missing_value_that_stays_missing_did_not_change():
    assert sheet(TWO, 1, ranks=5).lines[0][1] == (Cell("missing"), Cell("missing"), Cell("60", changed=True))


def test_two_values_that_read_alike_are_still_told_apart():
    close = release([[0.12345678, 0, 1]], [[0.12345679, 0, 1]], [0])
    original, changed = sheet(close, 0, ranks=5).lines[0][1]
    assert original.text == changed.text == "0.123457"
    assert (original.changed, changed.changed) == (False, True)


def test_only_the_first_counterfactuals_of_a_row_are_on_its_sheet():
    assert sheet(TWO, 1, ranks=1).heads == ("now: refused", "1: paid")
    assert [len(cells) for _, cells in sheet(TWO, 1, ranks=1).lines] == [2, 2, 2]


def test_a_row_without_counterfactuals_is_shown_alone_when_asked_for_and_else_left_out():
    assert sheet(TWO, 2, ranks=5).heads == ("now: refused",)
    assert [one.title for one in sheets(TWO, rows=3, ranks=5)] == ["row 0: sentence 0", "row 1: sentence 1"]
    assert [one.title for one in sheets(TWO, rows=1, ranks=5)] == ["row 0: sentence 0"]


def printed(table):
    console = Console(file=StringIO(), width=100)
    console.print(table)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line.strip()]


def test_on_a_terminal_a_change_is_an_arrow_and_the_rest_a_dot():
    lines = printed(as_table(sheet(TWO, 0, ranks=5)))
    assert lines[:2] == ["row 0: sentence 0", "now: refused 1: paid 2: paid"]
    assert lines[3:] == ["Age (years) 30.5 · ▸ 52", "job clerk ▸ nurse ·", "grade 2 · ▸ 3"]


def test_square_brackets_in_words_are_not_markup():
    words = Feature(name="job", kind="binary", levels=("[red]a[/red]", "[b]"), label="[bold]job")
    layout = Layout(Schema((words,)), (categorical_axis(words),))
    one = release([[0, 0, 0]], [[0, 0, 0]], [0])
    shown = Released(**{name: getattr(one, name) for name in one.__dataclass_fields__} | {"layout": layout})
    assert printed(as_table(sheet(shown, 0, ranks=2)))[-1] == "[bold]job [red]a[/red] ·"


def test_html_holds_the_caption_the_heads_and_every_cell():
    html = as_html([sheet(TWO, 0, ranks=1)], "a <caption>")
    mark = "<td style='background:#d9f2d9;color:#0b3d0b;font-weight:600'>"
    assert html == (
        "<div><p>a &lt;caption&gt;</p><table><caption style='text-align:left'>row 0: sentence 0</caption>"
        "<tr><th></th><th>now: refused</th><th>1: paid</th></tr>"
        "<tr><th style='text-align:left'>Age (years)</th><td>30.5</td><td>30.5</td></tr>"
        f"<tr><th style='text-align:left'>job</th><td>clerk</td>{mark}nurse</td></tr>"
        "<tr><th style='text-align:left'>grade</th><td>2</td><td>2</td></tr>"
        "</table></div>"
    )
