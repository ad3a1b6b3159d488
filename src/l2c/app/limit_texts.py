"""Limits as they are typed on a command line: `hours=20:45`, `job=clerk,nurse`, `job:clerk>manager`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from l2c.core.feature import Feature
from l2c.core.limits import ANY
from l2c.core.schema import Schema
from l2c.core.types import Label
from l2c.errors import InputError, L2CError


def parse_permits(texts: Iterable[str], schema: Schema) -> dict[str, Any]:
    """Return what `--permit` texts say, by feature; every problem in them at once.

    A number takes a range, `hours=20:45` or `hours=:45`; any other feature takes levels, `job=clerk,nurse`.
    """
    parsed = _parsed(texts, lambda text: _permit(text, schema))
    return dict(parsed)


def parse_forbids(texts: Iterable[str], schema: Schema) -> dict[str, list[tuple[object, object]]]:
    """Return what `--forbid` texts say, by feature: `job:clerk>manager`, or `job:*>manager`."""
    found: dict[str, list[tuple[object, object]]] = {}
    for name, pair in _parsed(texts, lambda text: _forbid(text, schema)):
        found.setdefault(name, []).append(pair)
    return found


def _parsed(texts: Iterable[str], parse: Callable[[str], tuple[str, Any]]) -> list[tuple[str, Any]]:
    found, problems = [], []
    for text in texts:
        try:
            found.append(parse(text))
        except L2CError as error:
            problems.append(str(error))
    if problems:
        raise InputError(problems)
    return found


def _permit(text: str, schema: Schema) -> tuple[str, Any]:
    name, equals, given = text.partition("=")
    if not equals or not given:
        raise InputError(f"--permit {text!r}: expected hours=20:45 for a number, or job=clerk,nurse for levels")
    feature = schema[name.strip()]
    if not feature.numeric:
        return feature.name, [level_named(part.strip(), feature) for part in given.split(",")]
    low, colon, high = given.partition(":")
    if not colon:
        raise InputError(f"--permit {text!r}: {feature.name!r} is a number and takes a range, as 20:45")
    return feature.name, tuple(_end(part, text) for part in (low, high))


def _forbid(text: str, schema: Schema) -> tuple[str, tuple[object, object]]:
    name, colon, transition = text.partition(":")
    before, arrow, after = transition.partition(">")
    if not colon or not arrow:
        raise InputError(f"--forbid {text!r}: expected job:clerk>manager, with * for any level")
    feature = schema[name.strip()]
    if feature.numeric:
        raise InputError(f"--forbid {text!r}: {feature.name!r} is a number; say what it may become with --permit")
    ends = [part.strip() for part in (before, after)]
    first, second = (ANY if end == ANY else level_named(end, feature) for end in ends)
    return feature.name, (first, second)


def level_named(text: str, feature: Feature) -> Label:
    """Return the level that reads like the text; a text that is no level is kept, to be refused with the others."""
    return next((level for level in feature.levels if str(level) == text), text)


def _end(text: str, whole: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--permit {whole!r}: {text.strip()!r} is not a number") from None
