"""A first description of the features, guessed from a table's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from l2c.core.binning import Binning, EqualFrequency
from l2c.core.feature import Feature, Kind, Moves
from l2c.core.given_numbers import is_whole
from l2c.core.limits import Limits
from l2c.core.rules import Implies
from l2c.core.table import Column, Summary
from l2c.core.types import Label
from l2c.errors import SchemaError, nearest

FEW_VALUES = 10
"""A number with at most this many different values is taken as ordinal, each value a level of its own."""

MANY_TEXTS = 50
"""A text column with more different values than this, and than half its rows, looks like an identifier."""


def names_of(given: object) -> list[str]:
    """Return the names that a caller gave; a single text is one name."""
    return [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []


def argument_problems(
    named: Mapping[str, object], ordinal: object, bins: object, costs: object, rules: Iterable[object], limits: object
) -> Iterator[str]:
    """Yield what is wrong with arguments of `Schema.infer` as such, whatever the table.

    Parameters
    ----------
    named
        Those that take names.
    """
    for name, given in named.items():
        if not isinstance(given, Iterable) or isinstance(given, Mapping):
            yield f"{name} takes the names of features, not {given!r}"
    if not isinstance(ordinal, Mapping):
        yield f"ordinal takes the levels of features by name, in rising order, not {ordinal!r}"
    else:
        for name, levels in ordinal.items():
            if isinstance(levels, str) or not isinstance(levels, Iterable):
                yield f"ordinal {name!r}: expected its levels in rising order, not {levels!r}"
    if not isinstance(bins, Mapping) and not is_whole(bins):
        yield f"bins takes a whole number, or a binning for each numeric feature by name, not {bins!r}"
    if not isinstance(costs, Mapping):
        yield f"costs takes numbers by the name of the feature, not {costs!r}"
    yield from (f"a rule is an l2c.Implies, not {rule!r}" for rule in rules if not isinstance(rule, Implies))
    if not isinstance(limits, Limits):
        yield f"limits takes an l2c.Limits, not {limits!r}"


def features_of(
    summary: Summary,
    *,
    target: str | None,
    moves: Mapping[str, list[str]],
    roles: Mapping[str, list[str]],
    ordinal: Mapping[str, Sequence[Label]],
    bins: int | Mapping[str, Binning | int],
    costs: Mapping[str, float],
) -> tuple[Feature, ...]:
    """Return a feature for every column but the target, or raise with every problem in what was asked."""
    binnings = {} if isinstance(bins, int) else dict(bins)
    default = EqualFrequency(bins) if isinstance(bins, int) else EqualFrequency()
    names = [column.name for column in summary.columns]
    columns = [column for column in summary.columns if column.name != target]
    problems = _naming_problems(names, target, moves, roles, [*ordinal, *costs, *binnings])
    problems += [problem for column in columns for problem in _column_problems(column, summary.rows)]
    if problems:
        raise SchemaError(problems)
    features = []
    for column in columns:
        problems += _order_problems(column, ordinal.get(column.name))
        feature = _feature_of(column, ordinal.get(column.name))
        binning = binnings.get(column.name, default) if feature.numeric else EqualFrequency()
        if column.name in binnings and not feature.numeric:
            problems.append(
                f"bins of {column.name!r}: it looks {feature.kind}, so its values are its levels; leave it out, or "
                "edit it into a numeric feature (kind='numeric', levels=())"
            )
        features.append(
            replace(
                feature,
                moves=_key_of(moves, column.name, feature.moves),
                role=_key_of(roles, column.name, "plain"),
                cost=costs.get(column.name, 1.0),
                binning=EqualFrequency(binning) if isinstance(binning, int) else binning,
            )
        )
    if problems:
        raise SchemaError(problems)
    return tuple(features)


def _naming_problems(
    names: list[str],
    target: str | None,
    moves: Mapping[str, list[str]],
    roles: Mapping[str, list[str]],
    others: Iterable[str],
) -> list[str]:
    """Return the problems with the names given to `Schema.infer`."""
    problems = []
    if target is not None and target not in names:
        problems.append(f"the target {target!r} is not a column{nearest(target, names)}")
    mentioned = [name for group in (*moves.values(), *roles.values()) for name in group] + list(others)
    for name in dict.fromkeys(mentioned):
        if name == target:
            problems.append(f"{name!r} is the target and cannot be a feature too")
        elif name not in names:
            problems.append(f"there is no column {name!r}{nearest(name, names)}")
    for groups in (moves, roles):
        for name in dict.fromkeys(name for group in groups.values() for name in group):
            held = [key for key, group in groups.items() if name in group]
            if len(held) > 1:
                problems.append(f"{name!r} cannot be {' and '.join(held)} at once")
    return problems


def _column_problems(column: Column, rows: int) -> list[str]:
    if not column.values:
        return [f"column {column.name!r} holds no value at all; drop it"]
    if column.dtype == "text" and len(column.values) > max(MANY_TEXTS, rows // 2):
        return [
            f"column {column.name!r} has {len(column.values)} different texts in {rows} rows and looks like an "
            "identifier; drop it, or group its values"
        ]
    return []


def _order_problems(column: Column, order: Sequence[Label] | None) -> list[str]:
    """Return that a given order leaves out values of the column, if it does."""
    absent = [] if order is None else [value for value in column.values if value not in order]
    more = ", …" if len(absent) > 5 else ""
    told = ", ".join(map(repr, absent[:5])) + more
    return [f"ordinal {column.name!r}: its column also holds {told}; name every level"] if absent else []


def _feature_of(column: Column, order: Sequence[Label] | None) -> Feature:
    """Return the feature that a column looks like."""
    moves: Moves = "never" if len(column.values) < 2 else "both"
    if order is not None:
        return Feature(name=column.name, kind="ordinal", levels=tuple(order), missing=column.missing)
    if column.dtype in ("integer", "float") and len(column.values) > FEW_VALUES:
        return Feature(name=column.name, kind="numeric", integer=column.dtype == "integer", missing=column.missing)
    kind: Kind = "binary" if len(column.values) == 2 else "ordinal"
    if column.dtype == "text" and not column.ordered and kind != "binary":
        kind = "categorical"
    return Feature(name=column.name, kind=kind, levels=column.values, moves=moves, missing=column.missing)


def _key_of(groups: Mapping[str, list[str]], name: str, default: str) -> Any:
    return next((key for key, members in groups.items() if name in members), default)
