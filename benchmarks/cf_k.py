"""Privacy under CF-K, the paper's figure: the raw output of L2C, the same 2-anonymised by removal, and the gate's sets.

    python benchmarks/cf_k.py [--results FILE] [--out FILE]

It draws what `gate.py` measured, at dial 0. Of every set of 100, what shares its quasi-identifiers and predicted class
with no other is removed, as in the paper; what is left is attacked as before, and what is missing counts as lost
validity. Other methods join as tables: `l2c.anonymise_frame` thins any.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import altair as alt
from gate import CF_K, RESULTS
from results import stored

FIGURE = RESULTS.with_name("cf_k.svg")
OUTPUTS = {"ungated": "raw", CF_K: "2-anonymised (CF-K)", "k=2, l=2": "gate, k=2, l=2"}
MEASURES = ("1-anonymity", "1-diversity, 1st", "1-diversity, 2nd", "1-map", "validity")


def shares(row: dict[str, Any]) -> tuple[float, ...]:
    """Return what is measured of one release, in the order of the figure."""
    sets = row["sets"]
    return (sets["one_anonymity"], *sets["one_diversity"], sets["one_map"], row["validity"])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Write the figure: a panel for each data set, three bars for each measure."""
    values = [
        {"data": row["data"], "output": OUTPUTS[row["mode"]], "measure": measure, "share": 100 * share}
        for row in rows
        if row["mode"] in OUTPUTS and row["dial"] == 0
        for measure, share in zip(MEASURES, shares(row), strict=True)
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("measure:N", sort=list(MEASURES), title=None),
            y=alt.Y("mean(share):Q", title="%"),
            xOffset=alt.XOffset("output:N", sort=list(OUTPUTS.values())),
            color=alt.Color("output:N", sort=list(OUTPUTS.values()), title=None),
            column=alt.Column("data:N", title=None),
        )
        .properties(width=280, height=180)
    )
    chart.save(str(path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=FIGURE)
    given = parser.parse_args()
    draw(stored(given.results), given.out)
