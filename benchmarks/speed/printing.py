"""A part's results as a table: on a terminal, or in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table

Columns = Mapping[str, Callable[[dict[str, Any]], str]]
"""From the head of a column to what it says of a result."""


def on_terminal(title: str, columns: Columns, results: Sequence[dict[str, Any]]) -> Table:
    """Return results as a table for a terminal."""
    table = Table(*columns, title=title, title_justify="left")
    for row in results:
        table.add_row(*(tell(row) for tell in columns.values()))
    return table


def in_markdown(title: str, columns: Columns, results: Sequence[dict[str, Any]]) -> str:
    """Return results as a table in Markdown, under its title."""
    lines = [columns, ["---"] * len(columns), *([tell(row) for tell in columns.values()] for row in results)]
    return f"{title[0].upper()}{title[1:]}:\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
