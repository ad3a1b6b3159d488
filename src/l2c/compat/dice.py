"""The surface of DiCE over L2C: `from l2c.compat import dice as dice_ml`, and most of what was written for it runs.

Names, arguments and results are those of dice_ml 0.12; the search, the bins and the guarantees are L2C's. What has no
meaning here is refused with what to use instead, and nothing is swallowed. `docs/coming-from-dice.md` is the guide.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from l2c.app.explainer import Explainer
from l2c.app.l2c import L2C
from l2c.compat import dice_arguments as arguments
from l2c.compat.dice_results import CounterfactualExamples, CounterfactualExplanations, as_type, examples_of
from l2c.core.given_numbers import is_whole, whole_number_problems
from l2c.core.schema import Schema
from l2c.core.table import summarise
from l2c.core.types import Label
from l2c.errors import InputError

__all__ = ["CounterfactualExamples", "CounterfactualExplanations", "Data", "Dice", "Model"]

FIT_SEED = 0
"""The explainer is fitted once, and always the same; `random_seed` decides the draws of each call."""


class Data:
    """The rows to learn from, which features are continuous, and the name of the outcome.

    Parameters
    ----------
    dataframe
        The training rows, a pandas frame; it is not changed.
    continuous_features
        The features that are numbers; all others are categories.
    outcome_name
        The column that is predicted.
    permitted_range
        For a feature, what may be proposed: `[low, high]`, or a list of categories.
    data_name
        Accepted; it changes nothing.
    """

    def __init__(
        self,
        *,
        dataframe: Any = None,
        continuous_features: Any = None,
        outcome_name: Any = None,
        permitted_range: Mapping[str, Any] | None = None,
        data_name: str | None = None,
        **others: object,
    ) -> None:
        del data_name
        problems = list(arguments.argument_problems("Data", others, arguments.DATA, arguments.DATA_INSTEAD))
        if isinstance(dataframe, pd.DataFrame):
            problems += arguments.column_problems(dataframe, continuous_features, outcome_name)
        else:
            problems.append(f"dataframe is a pandas DataFrame, not {type(dataframe).__name__}")
        if problems:
            raise InputError(problems)
        self.data_df: pd.DataFrame = dataframe
        self.outcome_name: str = outcome_name
        self.continuous_feature_names: list[str] = list(continuous_features)
        self.feature_names: list[str] = [name for name in dataframe.columns if name != outcome_name]
        self.schema = _schema(dataframe, self.continuous_feature_names, outcome_name)
        self.permitted_range = {} if permitted_range is None else permitted_range
        problems = list(arguments.range_problems(self.permitted_range, self.schema))
        if problems:
            raise InputError(problems)

    @property
    def categorical_feature_names(self) -> list[str]:
        """The features that are categories."""
        return _without(self.feature_names, self.continuous_feature_names)


class Model:
    """The classifier to explain: anything that `l2c.L2C.fit` takes.

    Parameters
    ----------
    model
        A fitted scikit-learn classifier or pipeline, an `l2c.TorchModel`, a function from a frame to probabilities, …
    backend
        `"sklearn"`, or nothing: what a model is shows by itself.
    model_type
        `"classifier"`.
    model_path, func, kw_args
        DiCE's; refused with what to do instead.
    """

    def __init__(
        self,
        model: object = None,
        model_path: str = "",
        backend: object = None,
        model_type: str = "classifier",
        func: object = None,
        kw_args: object = None,
        **others: object,
    ) -> None:
        given = {"func": func, "kw_args": kw_args, "model_path": model_path or None, **others}
        problems = [
            *arguments.argument_problems("Model", given, arguments.MODEL, arguments.MODEL_INSTEAD),
            *arguments.backend_problems(backend),
        ]
        if model_type != "classifier":
            problems.append(f"model_type is 'classifier', not {model_type!r}: classes are explained here, not numbers")
        if model is None and not model_path:
            problems.append("give the classifier as model=")
        if problems:
            raise InputError(problems)
        self.model = model


class Dice:
    """An explainer with DiCE's calls; it is fitted when it is first asked.

    Parameters
    ----------
    data_interface, model_interface
        The `Data` and the `Model`.
    method
        `"random"`, `"genetic"` or `"gradient"`: all the same here.

    Examples
    --------
    >>> Dice(None, None, metod="random")
    Traceback (most recent call last):
    l2c.errors.InputError: 3 problems:
      - Dice has no argument 'metod'; did you mean 'method'?
      - the first argument is a Data of l2c.compat.dice, not NoneType
      - the second argument is a Model of l2c.compat.dice, not NoneType
    """

    def __init__(self, data_interface: Data, model_interface: Model, method: str = "random", **others: object) -> None:
        known = ("data_interface", "model_interface", "method")
        problems = list(arguments.argument_problems("Dice", others, known, {}))
        for place, given, kind in (("first", data_interface, Data), ("second", model_interface, Model)):
            if not isinstance(given, kind):
                told = f"{kind.__name__} of l2c.compat.dice, not {type(given).__name__}"
                problems.append(f"the {place} argument is a {told}")
        problems += arguments.method_problems(method)
        if problems:
            raise InputError(problems)
        self.data_interface, self.model = data_interface, model_interface

    @cached_property
    def explainer(self) -> Explainer:
        """The L2C explainer that answers; asking for it fits it."""
        data = self.data_interface
        return L2C().fit(data.data_df, self.model.model, data.schema, seed=FIT_SEED)

    def generate_counterfactuals(
        self,
        query_instances: Any,
        total_CFs: int,
        desired_class: Any = "opposite",
        desired_range: object = None,
        permitted_range: Mapping[str, Any] | None = None,
        features_to_vary: str | Iterable[str] = "all",
        **settings: Any,
    ) -> CounterfactualExplanations:
        """Return counterfactuals for each row, every one of which the model puts in the desired class.

        Parameters
        ----------
        query_instances
            The rows, a pandas frame, a dictionary or a list of dictionaries; an outcome in it is ignored.
        total_CFs
            How many to find for each row.
        desired_class
            `"opposite"` for two classes, or the label to reach; for labels that are texts, their place will do too.
        permitted_range
            For a feature, what may be proposed: `[low, high]`, or a list of categories. It takes the place of what
            `Data` was given for that feature.
        features_to_vary
            `"all"`, or the features that may change.
        settings
            DiCE's `stopping_threshold` (from 0.5 on, the least probability of the desired class), `random_seed` and
            `verbose` (a sentence for each row), and any argument of `Explainer.explain` that has no name in DiCE, such
            as `plausibility`, `select`, `max_changes` or `where`. A setting of DiCE that means nothing here is an
            error, unless it is None.
        """
        data = self.data_interface
        threshold, seed = settings.get("stopping_threshold"), settings.get("random_seed")
        seed = 0 if seed is None else seed
        permitted = _permitted(data.permitted_range, permitted_range)
        vary = _listed_once(features_to_vary)
        given = {"desired_range": desired_range, **settings}
        problems = [
            *arguments.argument_problems("generate_counterfactuals", given, arguments.CALL, arguments.CALL_INSTEAD),
            *whole_number_problems(("total_CFs", total_CFs, 1), ("random_seed", seed, 0)),
            *arguments.threshold_problems(threshold),
            *arguments.range_problems(permitted, data.schema),
            *arguments.vary_problems(vary, data.feature_names),
        ]
        if problems:
            raise InputError(problems)
        rows = _rows(query_instances, data)
        found = self.explainer.explain(
            rows,
            total_CFs,
            seed=seed,
            desired=_desired(desired_class, self.explainer.classes),
            desired_proba=None if threshold in (None, 0.5) else (threshold, 1.0),
            lock=[] if vary == "all" else _without(data.feature_names, vary),
            permit=arguments.listed(permitted),
            **{name: value for name, value in settings.items() if name in arguments.OWN},
        )
        if settings.get("verbose"):
            for row, outcome in enumerate(found.outcomes):
                sys.stdout.write(f"row {row}: {outcome.sentence}\n")
        examples = examples_of(found, rows, data.data_df, data.outcome_name, desired_class)
        return CounterfactualExplanations(list(examples), found, data.outcome_name)


def _schema(frame: pd.DataFrame, continuous: Sequence[str], outcome: str) -> Schema:
    """Return the schema that DiCE's description stands for: numbers where it says so, categories elsewhere."""
    schema = Schema.infer(frame, target=outcome)
    columns = {column.name: column for column in summarise(frame).columns}
    for feature in schema.features:
        column = columns[feature.name]
        if feature.name in continuous and not feature.numeric:
            schema = schema.edit(feature.name, kind="numeric", levels=(), integer=column.dtype == "integer")
        elif feature.name not in continuous and feature.numeric:
            schema = schema.edit(feature.name, kind="categorical", levels=column.values, integer=False)
    return schema


def _permitted(standing: Any, asked: Any) -> Any:
    """Return the ranges of a call: for a feature that it names, they take the place of the standing one."""
    return {**standing, **asked} if isinstance(asked, Mapping) else standing if asked is None else asked


def _listed_once(names: Any) -> Any:
    """Return names as a list, for what yields them may do so only once; anything else as it is."""
    return list(names) if isinstance(names, Iterable) and not isinstance(names, str) else names


def _without(names: Sequence[str], left_out: Iterable[str]) -> list[str]:
    gone = set(left_out)
    return [name for name in names if name not in gone]


def _desired(wanted: Any, classes: tuple[Label, ...]) -> Any:
    """Return the label to reach, or None for the other one of two."""
    if isinstance(wanted, str) and wanted == "opposite":
        if len(classes) != 2:
            told = ", ".join(map(repr, classes))
            raise InputError(f"desired_class 'opposite' needs two classes; name one of {told}")
        return None
    place = is_whole(wanted) and all(isinstance(label, str) for label in classes)
    return classes[wanted] if place and 0 <= wanted < len(classes) else wanted


def _rows(given: Any, data: Data) -> pd.DataFrame:
    """Return the rows to explain as a frame with the data's types, where that changes no value."""
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, Sequence) and given and all(isinstance(row, Mapping) for row in given):
        given = pd.DataFrame(list(given))
    if not isinstance(given, pd.DataFrame):
        raise InputError(
            "query_instances is a pandas DataFrame, a dictionary or a list of dictionaries, not "
            f"{type(given).__name__}; other kinds of frames go to l2c.L2C directly"
        )
    rows = given.drop(columns=data.outcome_name, errors="ignore").reset_index(drop=True)
    types = {name: data.data_df[name].dtype for name in data.feature_names if name in rows}
    return rows.assign(**{name: as_type(rows[name], dtype) for name, dtype in types.items()})
