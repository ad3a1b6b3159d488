"""What DiCE's calls may be given here, and what to use instead of the rest: every problem at once, in sentences."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from l2c.app.explainer import Explainer
from l2c.core.given_numbers import is_number
from l2c.core.inference import MANY_TEXTS
from l2c.core.limits import Limits
from l2c.core.schema import Schema
from l2c.errors import nearest

METHODS = ("random", "genetic", "gradient")
"""Names of searches, all accepted: L2C has one search of its own."""

DATA = ("dataframe", "continuous_features", "outcome_name", "permitted_range", "data_name")
DATA_INSTEAD = {
    "features": "L2C learns from rows; give dataframe=, continuous_features= and outcome_name=",
    "continuous_features_precision": "numbers are typical values of the data's own, whole where the column is whole",
    "test_size": "hold rows out yourself and give the others as dataframe=",
    "test_split_random_state": "hold rows out yourself and give the others as dataframe=",
}

_STEP = "make the transformation a step of the model: a pipeline, or a function from a data frame"
MODEL = ("model", "backend", "model_type")
MODEL_INSTEAD = {
    "func": _STEP,
    "kw_args": _STEP,
    "model_path": "a model is never read from a file that could run code; load it and give model=",
}
_FUNCTION = "give a function from a data frame to probabilities as model=, without a backend"
BACKENDS_INSTEAD = {
    "PYT": "wrap the module as l2c.TorchModel(module, l2c.OneHotInput.fit(df, schema), classes=...), without a backend",
    "TF1": _FUNCTION,
    "TF2": _FUNCTION,
}

_FEWEST = "select='sparse' prefers the fewest changes, max_changes= bounds them"
_SEARCH = "it is a setting of DiCE's searches; tries= and seconds= bound the one here"
CALL_INSTEAD = {
    "desired_range": "it is for regression; desired_class= names a class, stopping_threshold= its least probability",
    "proximity_weight": _FEWEST,
    "sparsity_weight": _FEWEST,
    "posthoc_sparsity_param": _FEWEST,
    "posthoc_sparsity_algorithm": _FEWEST,
    "diversity_weight": "select='diverse' or plausibility=0 gives the most different answers",
    "categorical_penalty": "a category is always one of the data's",
    "sample_size": "tries= is the most proposals drawn for a row",
    "feature_weights": "costs of features belong in an l2c.Schema, with select='cheap'",
    **dict.fromkeys(
        (
            "limit_steps_ls", "initialization", "algorithm", "yloss_type", "diversity_loss_type", "maxiterations",
            "thresh", "optimizer", "learning_rate", "min_iter", "max_iter", "project_iter", "loss_diff_thres",
            "loss_converge_maxiter", "init_near_query_instance", "tie_random",
        ),
        _SEARCH,
    ),
    # Arguments of `Explainer.explain` that have a name in DiCE.
    "n": "it is total_CFs= here",
    "seed": "it is random_seed= here",
    "desired": "it is desired_class= here",
    "desired_proba": "it is stopping_threshold= here",
    "lock": "name the others in features_to_vary=",
    "permit": "it is permitted_range= here",
}  # fmt: skip

OWN = tuple(
    name
    for name in inspect.signature(Explainer.explain).parameters
    if name not in CALL_INSTEAD and name not in ("self", "frame")
)
"""What a call may name besides DiCE's arguments: the other arguments of `Explainer.explain`."""

CALL = (
    "query_instances", "total_CFs", "desired_class", "permitted_range", "features_to_vary", "stopping_threshold",
    "random_seed", "verbose", *OWN,
)  # fmt: skip


def argument_problems(
    call: str, given: Mapping[str, object], known: Sequence[str], instead: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each argument that a call does not take; one that is None asks for nothing.

    >>> list(argument_problems("Data", {"datafame": 1, "features": {}}, DATA, DATA_INSTEAD))[0]
    "Data has no argument 'datafame'; did you mean 'dataframe'?"
    """
    for name, value in given.items():
        if name in instead:
            if value is not None:
                yield f"{call} takes no {name!r}: {instead[name]}"
        elif name not in known:
            yield f"{call} has no argument {name!r}{nearest(name, [*known, *instead])}"


def column_problems(frame: pd.DataFrame, continuous: Any, outcome: Any) -> Iterator[str]:
    """Yield what is wrong with the roles that columns are given."""
    names = frame.columns.tolist()
    if outcome not in names:
        yield f"outcome_name {outcome!r} is not a column{nearest(outcome, names)}"
    if continuous is None or isinstance(continuous, str) or not isinstance(continuous, Iterable):
        yield f"continuous_features is a list of column names, not {continuous!r}"
        return
    listed = list(continuous)
    for name in listed:
        if name == outcome:
            yield f"{name!r} is the outcome and cannot be a continuous feature too"
        elif name not in names:
            yield f"continuous_features: there is no column {name!r}{nearest(name, names)}"
        elif not _holds_numbers(frame[name]):
            yield f"continuous_features: {name!r} holds no numbers, but {frame[name].dtype}"
    for name in names:
        if name not in listed and name != outcome and _holds_numbers(frame[name]):
            values = frame[name].nunique()
            if values > max(MANY_TEXTS, len(frame) // 2):
                yield (
                    f"{name!r} has {values} different numbers in {len(frame)} rows and is no continuous feature: "
                    "name it in continuous_features, or drop it"
                )


def _holds_numbers(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def backend_problems(backend: object) -> Iterator[str]:
    """Yield what to do without a backend, unless it is the one that needs nothing."""
    if isinstance(backend, str) and backend in BACKENDS_INSTEAD:
        yield f"backend {backend!r}: {BACKENDS_INSTEAD[backend]}"
    elif backend not in (None, "sklearn"):
        known = ("sklearn", *BACKENDS_INSTEAD)
        yield f"backend is 'sklearn', or left out, not {backend!r}{nearest(backend, known)}"


def method_problems(method: object) -> Iterator[str]:
    """Yield what is wrong with the name of a search."""
    if method == "kdtree":
        yield (
            "method 'kdtree' answers with rows of the data, which L2C never does on purpose; "
            "method 'random' with plausibility=1 gives the most likely ones"
        )
    elif method not in METHODS:
        yield f"method is one of {', '.join(METHODS)}, not {method!r}{nearest(method, METHODS)}"


def threshold_problems(threshold: object) -> Iterator[str]:
    """Yield what is wrong with the least probability of the desired class."""
    number = is_number(threshold)
    if threshold is not None and not (number and 0.5 <= threshold <= 1):  # type: ignore[operator]
        yield (
            f"stopping_threshold is a probability from 0.5 to 1, not {threshold!r}: "
            "below, the model itself decides otherwise"
        )


def range_problems(permitted: Any, schema: Schema) -> Iterator[str]:
    """Yield what is wrong with permitted ranges, in DiCE's words."""
    if not isinstance(permitted, Mapping):
        yield f"permitted_range names features with their ranges, not {permitted!r}"
        return
    for problem in Limits(permit=listed(permitted)).problems(schema.features):
        yield problem.replace("permit", "permitted_range", 1)


def listed(permitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return ranges and categories as lists, for arrays and other collections of values will do too."""
    return {
        name: list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else given
        for name, given in permitted.items()
    }


def vary_problems(vary: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the features that may change."""
    if isinstance(vary, str) or not isinstance(vary, Iterable):
        if vary != "all":
            yield f"features_to_vary is 'all' or a list of names, not {vary!r}"
        return
    chosen = list(vary)
    if not chosen:
        yield "features_to_vary is empty: nothing could change"
    for name in chosen:
        if name not in names:
            yield f"features_to_vary: there is no feature {name!r}{nearest(name, names)}"
