"""An audit as a report: to print, to keep as JSON or as a page, and to check against a policy."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from l2c.adapters import frames
from l2c.app.audit_page import as_fragment, as_page, as_tables
from l2c.errors import InputError
from l2c.evaluate.audit import Audit
from l2c.evaluate.requirement import Requirement, parse_requirement, violations

WIDTH = 110


@dataclass(frozen=True, slots=True)
class Removed:
    """What anonymising by removal (CF-K) cost.

    Parameters
    ----------
    before, left
        How many counterfactuals there were and are.
    share
        How much of a set is left, mean over the sets.
    validity_before, validity
        The validity of the release before and after; None of a table that no model of ours has judged.
    """

    k: int
    before: int
    left: int
    share: float | None
    validity_before: float | None = None
    validity: float | None = None

    @property
    def sentence(self) -> str:
        """The same in words."""
        told = f"{self.k}-anonymised by removal: {self.left} of {self.before} counterfactuals are left"
        if self.validity_before is not None and self.validity is not None:
            return f"{told}; validity {100 * self.validity_before:.2f} % to {100 * self.validity:.2f} %"
        return told if self.share is None else f"{told}, {100 * self.share:.2f} % of a set"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit to print, to keep as JSON or as a page, and to check against a policy.

    Parameters
    ----------
    figures
        Every figure, as data.
    removed
        What was removed before, if it is an audit of what is left.
    """

    figures: Audit
    removed: Removed | None = None

    def violations(self, required: str | Requirement) -> list[str]:
        """Return a sentence for everything that a policy such as `"k=5,l=2"` requires and that does not hold."""
        if not isinstance(required, Requirement):
            required = parse_requirement(str(required))
        return violations(self.figures, required)

    def to_dict(self) -> dict[str, Any]:
        """Return every figure as plain data."""
        return self.figures.to_dict() | ({} if self.removed is None else {"cf_k": asdict(self.removed)})

    def tables(self) -> list[Table]:
        """Return the tables for a terminal; shares are in percent."""
        return [*as_tables(self.figures)]

    def page(self, required: str | None = None) -> str:
        """Return one page of HTML that needs nothing from outside, with the verdict on a policy if one is given."""
        return as_page(self.figures, required, [] if required is None else self.violations(required))

    def write(self, path: str | Path, required: str | None = None) -> None:
        """Write the report to a .json or .html file, whole or not at all."""
        path = Path(path)
        if path.suffix not in (".json", ".html"):
            raise InputError(f"file {str(path)!r}: the name of a report must end in .json or .html")
        text = self.page(required) if path.suffix == ".html" else json.dumps(self.to_dict(), indent=1) + "\n"
        with frames.replacing(path) as draft:
            draft.write_text(text, "utf-8")

    def __str__(self) -> str:
        console = Console(width=WIDTH)
        with console.capture() as text:
            console.print(*self.tables())
        return text.get()

    def _repr_html_(self) -> str:
        return as_fragment(self.figures)
