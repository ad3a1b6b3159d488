"""Counterfactuals beside the original, with the changed cells marked: for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from l2c.core.explanation import Released
from l2c.core.layout import Layout
from l2c.core.wording import Wording


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in words, and whether it differs from the original."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """One person and their counterfactuals, a feature a line, as in the paper's tables of examples."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]


def sheets(released: Released, rows: int, ranks: int) -> Iterator[Sheet]:
    """Yield a sheet for each of the first rows that have counterfactuals."""
    for row in np.unique(released.row)[:rows]:
        yield sheet(released, int(row), ranks)


def sheet(released: Released, row: int, ranks: int) -> Sheet:
    """Return one row with its first counterfactuals beside it."""
    chosen = np.flatnonzero(released.row == row)[:ranks]
    layout, wording = released.layout, Wording.of(released)
    cells = np.concatenate([released.factual[row : row + 1], released.cells[chosen]])
    levels = np.concatenate([layout.levels(released.factual[row : row + 1]), released.levels[chosen]])
    lines = []
    for i, feature in enumerate(layout.schema.features):
        if feature.name in wording.words:
            texts = wording.of_levels(feature.name, np.full(len(levels), row), levels[:, i])
            changed = [text != texts[0] for text in texts]
        else:
            texts = [value_text(layout, i, value) for value in cells[:, i]]
            changed = [_differs(value, cells[0, i]) for value in cells[:, i]]
        lines.append((feature.title, tuple(map(Cell, texts, changed))))
    now, wanted = (released.classes[index] for index in (released.current[row], released.desired[row]))
    heads = (f"now: {now}", *(f"{rank}: {wanted}" for rank in range(1, len(chosen) + 1)))
    return Sheet(f"row {row}: {released.outcomes[row].sentence}", heads, tuple(lines))


def value_text(layout: Layout, feature: int, value: float) -> str:
    """Return a cell's value in words: a level's label, or a number without needless digits."""
    described = layout.schema.features[feature]
    if np.isnan(value):
        return "missing"
    if not described.numeric:
        return described.text(int(value))
    digits = max(6, len(str(int(abs(value)))) + 1)
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.{digits}g}"


def _differs(value: float, other: float) -> bool:
    return bool(value != other) and not (np.isnan(value) and np.isnan(other))


def as_table(sheet: Sheet) -> Table:
    """Return a sheet for the terminal; unchanged cells step back, so that changes stand out.

    Words are given as `Text`: square brackets in them are no markup.
    """
    table = Table(title=Text(sheet.title, "table.title"), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("", max_width=28)
    for head in sheet.heads:
        table.add_column(Text(head))
    for title, cells in sheet.lines:
        first, *rest = cells
        marked = [Text(f"▸ {cell.text}", "bold green") if cell.changed else Text("·", "dim") for cell in rest]
        table.add_row(Text(title), Text(first.text), *marked)
    return table


def as_html(sheets: Iterable[Sheet], caption: str) -> str:
    """Return sheets as one piece of HTML that needs nothing from outside."""
    return f"<div><p>{escape(caption)}</p>{''.join(_html_table(sheet) for sheet in sheets)}</div>"


def _html_table(sheet: Sheet) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in ("", *sheet.heads))
    lines = "".join(
        f"<tr><th style='text-align:left'>{escape(title)}</th>{_html_cells(cells)}</tr>" for title, cells in sheet.lines
    )
    return f"<table><caption style='text-align:left'>{escape(sheet.title)}</caption><tr>{head}</tr>{lines}</table>"


def _html_cells(cells: Sequence[Cell]) -> str:
    style = {True: " style='background:#d9f2d9;color:#0b3d0b;font-weight:600'", False: ""}
    return "".join(f"<td{style[cell.changed]}>{escape(cell.text)}</td>" for cell in cells)
