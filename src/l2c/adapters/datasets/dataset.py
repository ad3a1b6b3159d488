"""What is known of one data set: its rows, its description, its origin and the paper's figures for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

import pandas as pd

from l2c.core.binning import Edges
from l2c.core.schema import Schema
from l2c.core.split import dev_rows


class PaperRow(TypedDict):
    """The paper's own figures for L2C on a data set, as printed; shares in percent, time in seconds."""

    sparsity: float
    diversity: float
    harmonic_mean: float
    validity: float
    coverage: float
    unary: float
    time_s: float
    min_sparsity: float
    blackbox: str
    test_accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A public data set, read into words, split and described.

    Parameters
    ----------
    name, title
        Its name for `load` and its name for people.
    frame, train, test
        All rows in the publisher's order, and the paper's two parts; each with the target column.
    schema
        The paper's description: what may move, the rules, the roles, the bins.
    domain_schema
        The same with numbers cut where a named authority cuts them.
    target, desirable
        The column to predict, and the class that people wish for.
    citation, licence, source
        Whom to cite, on what terms, and where it was published.
    paper
        The paper's figures for L2C, or None where it has none.
    """

    name: str
    title: str
    frame: pd.DataFrame = field(repr=False)
    train: pd.DataFrame = field(repr=False)
    test: pd.DataFrame = field(repr=False)
    schema: Schema = field(repr=False)
    domain_schema: Schema = field(repr=False)
    target: str
    desirable: str
    citation: str = field(repr=False)
    licence: str
    source: str = field(repr=False)
    paper: PaperRow | None = field(repr=False)

    def dev_split(self, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the fit and the dev rows: a fifth of `train` drawn as dev, both in the order of `train`.

        >>> from l2c.adapters import datasets
        >>> fit, dev = datasets.load("german").dev_split(seed=0)
        >>> len(fit), len(dev)
        (640, 160)
        """
        held_out = dev_rows(len(self.train), seed)
        return self.train[~held_out].reset_index(drop=True), self.train[held_out].reset_index(drop=True)


def with_cuts(schema: Schema, cuts: Mapping[str, Edges]) -> Schema:
    """Return the schema with these features cut where a person says."""
    for name, edges in cuts.items():
        schema = schema.edit(name, binning=edges)
    return schema
