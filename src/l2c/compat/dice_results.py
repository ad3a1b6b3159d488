"""What DiCE's calls return: for each row, itself and its counterfactuals as pandas frames, to look at and to keep."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from l2c.app.explanations import Explanations
from l2c.core.explanation import Outcome
from l2c.core.types import Label

UNCHANGED = "-"


@dataclass(frozen=True, slots=True, eq=False)
class CounterfactualExamples:
    """One row with its counterfactuals.

    Parameters
    ----------
    test_instance_df
        The row, with the model's class for it as the outcome.
    final_cfs_df
        Its counterfactuals, with the class of each as the outcome and the types of the data; None if there are none.
    desired_class, new_outcome
        What was asked, and the class that it stands for.
    outcome
        How the row ended, with a sentence: for one without counterfactuals, why.
    """

    test_instance_df: pd.DataFrame
    final_cfs_df: pd.DataFrame | None
    desired_class: Any
    new_outcome: Label | None
    outcome: Outcome

    @property
    def final_cfs_df_sparse(self) -> pd.DataFrame | None:
        """The same counterfactuals: there is no second pass that would make them sparser."""
        return self.final_cfs_df

    @property
    def test_pred(self) -> Any:
        """The model's class for the row."""
        return self.test_instance_df.iloc[0, -1]

    def only_changes(self) -> pd.DataFrame | None:
        """Return the counterfactuals as texts, with a dash wherever nothing changed."""
        if self.final_cfs_df is None:
            return None
        columns = {}
        for place, name in enumerate(self.final_cfs_df.columns):
            column: pd.Series[Any] = self.final_cfs_df[name]
            own: Any = self.test_instance_df.iloc[0, place]
            same = (column == own) | (column.isna() & pd.isna(own))
            columns[name] = np.where(same, UNCHANGED, column.astype(str))
        return pd.DataFrame(columns, index=self.final_cfs_df.index)

    def visualize_as_dataframe(self, display_sparse_df: bool = True, show_only_changes: bool = False) -> None:
        """Show the row and its counterfactuals: in a notebook as tables, elsewhere as text.

        Parameters
        ----------
        display_sparse_df
            Accepted; there is one set of counterfactuals, and it is shown.
        show_only_changes
            Whether to write a dash for what did not change.
        """
        del display_sparse_df
        _write(f"Query instance (original outcome : {self.test_pred})")
        _show(self.test_instance_df)
        shown = self.only_changes() if show_only_changes else self.final_cfs_df
        _write(self._headline())
        if shown is not None:
            _show(shown)

    def visualize_as_list(self, display_sparse_df: bool = True, show_only_changes: bool = False) -> None:
        """Show the row and its counterfactuals as lists; the arguments are those of `visualize_as_dataframe`."""
        del display_sparse_df
        _write(f"Query instance (original outcome : {self.test_pred})")
        shown = self.only_changes() if show_only_changes else self.final_cfs_df
        lines = [] if shown is None else plain_lines(shown)
        _write("\n".join(map(str, [*plain_lines(self.test_instance_df), self._headline(), *lines])))

    def _headline(self) -> str:
        if self.final_cfs_df is None:
            return f"\nNo counterfactuals found! {self.outcome.sentence}"
        return f"\nDiverse Counterfactual set (new outcome: {self.new_outcome})"


@dataclass(frozen=True, slots=True, eq=False)
class CounterfactualExplanations:
    """Counterfactuals for one or more rows.

    Parameters
    ----------
    cf_examples_list
        For each row, itself and its counterfactuals.
    found
        The same as L2C tells it, with scores, reasons and files.
    outcome_name
        The column of the outcome.
    """

    cf_examples_list: list[CounterfactualExamples]
    found: Explanations
    outcome_name: str

    def visualize_as_dataframe(self, display_sparse_df: bool = True, show_only_changes: bool = False) -> None:
        """Show every row with its counterfactuals; see `CounterfactualExamples.visualize_as_dataframe`."""
        for examples in self.cf_examples_list:
            examples.visualize_as_dataframe(display_sparse_df, show_only_changes)

    def visualize_as_list(self, display_sparse_df: bool = True, show_only_changes: bool = False) -> None:
        """Show every row with its counterfactuals as lists; see `CounterfactualExamples.visualize_as_list`."""
        for examples in self.cf_examples_list:
            examples.visualize_as_list(display_sparse_df, show_only_changes)

    def to_json(self) -> str:
        """Return the counterfactuals in the layout of DiCE's JSON, version 2.0, without importances."""
        first = self.cf_examples_list[0]
        names = first.test_instance_df.columns.tolist()
        data = {
            "test_data": [plain_lines(examples.test_instance_df) for examples in self.cf_examples_list],
            "cfs_list": [
                None if examples.final_cfs_df is None else plain_lines(examples.final_cfs_df)
                for examples in self.cf_examples_list
            ],
            "local_importance": None,
            "summary_importance": None,
            "data_interface": {"outcome_name": self.outcome_name},
            "feature_names": [name for name in names if name != self.outcome_name],
            "feature_names_including_target": names,
            "model_type": "classifier",
            "desired_class": _plain(first.desired_class),
            "desired_range": None,
            "metadata": {"version": "2.0"},
        }
        return json.dumps(data, allow_nan=False)


def examples_of(
    found: Explanations, rows: pd.DataFrame, like: pd.DataFrame, outcome_name: str, desired_class: object
) -> Iterator[CounterfactualExamples]:
    """Yield each row with its counterfactuals.

    Parameters
    ----------
    rows
        The rows as they were explained.
    like
        The data, whose order of columns and whose type of the outcome are taken.
    """
    released, features = found.released, found.features()
    names = [name for name in like.columns if name != outcome_name]
    first = np.searchsorted(released.row, np.arange(len(rows) + 1))

    def told(part: pd.DataFrame, classes: np.ndarray) -> pd.DataFrame:
        labels = pd.Series([None if index < 0 else released.classes[index] for index in classes.tolist()], dtype=object)
        outcome = as_type(labels, like[outcome_name].dtype)
        return part[names].reset_index(drop=True).assign(**{outcome_name: outcome})

    for row, outcome in enumerate(found.outcomes):
        part = slice(int(first[row]), int(first[row + 1]))
        wanted = int(released.desired[row])
        yield CounterfactualExamples(
            told(rows[row : row + 1], released.current[row : row + 1]),
            told(features[part], released.predicted[part]) if part.start < part.stop else None,
            desired_class,
            None if wanted < 0 else released.classes[wanted],
            outcome,
        )


def as_type(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Return a column as another type, or as it is if a value would change.

    >>> as_type(pd.Series([1.0, 2.0]), "int64").tolist(), as_type(pd.Series([1.5, 2.0]), "int64").tolist()
    ([1, 2], [1.5, 2.0])
    """
    try:
        cast = column.astype(dtype)
    except (TypeError, ValueError):
        return column
    same = (cast.astype(object) == column.astype(object)) | (cast.isna() & column.isna())
    return cast if bool(same.all()) else column


def plain_lines(frame: pd.DataFrame) -> list[list[Any]]:
    """Return a frame as lists of plain values, None where one is missing."""
    return [[_plain(value) for value in line] for line in frame.astype(object).to_numpy()]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if pd.isna(value) else value


def _show(frame: pd.DataFrame) -> None:
    """Show a table, in a notebook as one."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(frame)
    else:
        _write(frame.to_string())


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
