"""The dial on one's own data: harmonic mean against plausibility, as a table and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from l2c.errors import MissingExtraError
from l2c.evaluate.scorecard import Scorecard

PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """The metrics at one place of the dial, and the share of proposals that were valid."""

    place: float
    scores: Scorecard
    acceptance: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The metrics along the dial; print it, or `plot()` it."""

    points: tuple[Point, ...]

    def to_dicts(self) -> list[dict[str, object]]:
        """Return a plain dictionary for each place."""
        return [
            {"plausibility_dial": point.place, "acceptance": point.acceptance, **point.scores.to_dict()}
            for point in self.points
        ]

    def table(self) -> Table:
        """Return the table for a terminal; shares are in percent."""
        heads = ("dial", "sparsity", "diversity", "H(N)", "plausibility", "acceptance", "validity")
        table = Table(*heads, box=box.SIMPLE_HEAD)
        for point in self.points:
            scores = point.scores
            shares: Sequence[float | None] = (
                scores.sparsity,
                scores.diversity,
                scores.harmonic_mean,
                scores.plausibility,
                point.acceptance,
                scores.validity,
            )
            table.add_row(f"{point.place:g}", *("–" if share is None else f"{100 * share:.2f}" for share in shares))
        return table

    def __str__(self) -> str:
        console = Console(width=100, record=False)
        with console.capture() as text:
            console.print(self.table())
        return text.get()

    def plot(self) -> Any:
        """Return an Altair chart of the harmonic mean against plausibility; `.save("curve.html")` keeps it."""
        try:
            import altair as library
        except ImportError as error:
            raise MissingExtraError("plotting the curve", "altair", "plot") from error
        altair: Any = library
        values = [
            {"plausibility, %": 100 * p, "H(N), %": 100 * h, "dial": point.place}
            for point in self.points
            if (p := point.scores.plausibility) is not None and (h := point.scores.harmonic_mean) is not None
        ]
        base = altair.Chart(altair.Data(values=values)).encode(
            x=altair.X("plausibility, %:Q").scale(zero=False),
            y=altair.Y("H(N), %:Q").scale(zero=False),
            order="dial:Q",
        )
        named = base.mark_text(dy=-12).encode(text="dial:N")
        return (base.mark_line(point=True) + named).properties(title="The dial: diverse to plausible", width=420)
