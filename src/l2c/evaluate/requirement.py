"""A policy that a release is checked against, and a sentence for everything that does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from l2c.core.closeness import TIE
from l2c.errors import InputError, nearest
from l2c.evaluate.attacks import Copies
from l2c.evaluate.audit import Audit, By, Scope

Where = Literal["set", "release"]
Count = Literal["samples", "people"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A policy that a release is checked against.

    Parameters
    ----------
    k, l
        The least size of a class; the least number of different values of each sensitive feature in it.
    t
        The most that a class may differ from its table in a sensitive feature.
    k_map
        The least number of population rows that a class maps to, if it maps to any.
    copies
        The largest share of counterfactuals that may equal a training row by level.
    scope
        Whether it must hold in every set or in the whole release. What holds for k, l and k_map in every set, counted
        by samples, holds in the release.
    count
        Whether k counts samples or people; people are counted in the release.
    by
        Whether classes are formed by level or by value.

    Raises
    ------
    InputError
        With every problem at once, if it cannot be required.
    """

    k: int | None = None
    l: int | None = None  # noqa: E741  # its name in the literature
    t: float | None = None
    k_map: int | None = None
    copies: float | None = None
    scope: Where = "set"
    count: Count = "samples"
    by: By = "levels"

    def __post_init__(self) -> None:
        problems = [*self._problems()]
        if problems:
            raise InputError(problems)

    def _problems(self) -> Iterator[str]:
        for name in _WHOLE:
            value = getattr(self, name)
            if value is not None and value < 1:
                yield f"{name} must be at least 1, not {value}"
        for name in _FRACTIONS:
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                yield f"{name} must be between 0 and 1, not {value:g}"
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                yield f"{name} must be {' or '.join(known)}, not {getattr(self, name)!r}"
        if all(getattr(self, name) is None for name in (*_WHOLE, *_FRACTIONS)):
            yield f"nothing is required: give at least one of {', '.join((*_WHOLE, *_FRACTIONS))}"
        if self.count == "people" and self.scope == "set":
            yield "a set belongs to one person: count=people needs scope=release"


_WHOLE = ("k", "l", "k_map")
_FRACTIONS = ("t", "copies")
_CHOICES: dict[str, tuple[str, ...]] = {"scope": get_args(Where), "count": get_args(Count), "by": get_args(By)}


def parse_requirement(text: str) -> Requirement:
    """Return the policy that a text such as `k=5,l=2,t=0.3,scope=release` asks for.

    Raises
    ------
    InputError
        With every problem at once.

    Examples
    --------
    >>> parse_requirement("k=5, l=2").k
    5
    >>> parse_requirement("kk=5, l=many")
    Traceback (most recent call last):
    l2c.errors.InputError: 2 problems:
      - 'kk=5': there is no requirement 'kk'; did you mean 'k'?
      - 'l=many': 'many' is not a whole number
    """
    problems: list[str] = []
    given: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        try:
            if not equals:
                raise InputError("expected name=value, such as k=5")
            if name in given:
                raise InputError(f"{name} is required twice")
            given[name] = _parsed(name, value)
        except InputError as error:
            problems += [f"{item.strip()!r}: {problem}" for problem in error.problems]
    if problems and not given:
        raise InputError(problems)
    try:
        required = Requirement(**given)
    except InputError as error:
        raise InputError([*problems, *error.problems]) from None
    if problems:
        raise InputError(problems)
    return required


def _parsed(name: str, value: str) -> int | float | str:
    if name in _CHOICES:
        return value
    if name not in (*_WHOLE, *_FRACTIONS):
        known = (*_WHOLE, *_FRACTIONS, *_CHOICES)
        raise InputError(f"there is no requirement {name!r}{nearest(name, known) or '; known are ' + ', '.join(known)}")
    try:
        return int(value) if name in _WHOLE else float(value)
    except ValueError:
        raise InputError(f"{value!r} is not a {'whole ' if name in _WHOLE else ''}number") from None


def violations(figures: Audit, required: Requirement) -> list[str]:
    """Return a sentence for everything that is required and does not hold.

    What cannot be checked does not hold. An empty release breaks nothing.
    """
    view = figures.levels if required.by == "levels" else figures.values
    if view is None:
        return ["by=values: the release holds intervals and no values; require by=levels"]
    scope = view.sets if required.scope == "set" else view.release
    if scope is None:
        return ["scope=set: nothing says whose set a counterfactual is in; name that column, or scope=release"]
    return [*_scope_violations(scope, required), *_copy_violations(figures.copies, required)]


def _scope_violations(scope: Scope, required: Requirement) -> Iterator[str]:
    here = "of a set" if required.scope == "set" else "of the release"
    counted = scope.by_samples if required.count == "samples" else scope.by_people
    if required.k is not None:
        if counted is None:
            yield f"k={required.k}: nothing says whose a counterfactual is; name that column, or count=samples"
        elif counted.k is not None and counted.k < required.k:
            yield f"k={required.k}: the smallest class {here} has {_number(counted.k, required.count)}"
    yield from _sensitive_violations(scope, required, here)
    if required.k_map is not None:
        if scope.population is None:
            yield f"k_map={required.k_map}: there is no population to link with; give one"
        elif scope.population.k is not None and scope.population.k < required.k_map:
            rows = "1 row" if scope.population.k == 1 else f"{scope.population.k} rows"
            yield f"k_map={required.k_map}: a class {here} maps to {rows} of the population"


def _sensitive_violations(scope: Scope, required: Requirement, here: str) -> Iterator[str]:
    asked = [f"{name}={value:g}" for name, value in (("l", required.l), ("t", required.t)) if value is not None]
    if asked and not scope.sensitive:
        yield f"{', '.join(asked)}: no feature has the role 'sensitive', so there is nothing to check"
    for name, figures in scope.sensitive.items():
        if required.l is not None and figures.l is not None and figures.l < required.l:
            values = "1 value" if figures.l == 1 else f"{figures.l} values"
            yield f"l={required.l}: a class {here} has {values} of {name!r}"
        if required.t is not None and figures.t is not None and figures.t > required.t + TIE:
            yield f"t={required.t:g}: a class {here} is {figures.t:.3g} away in {name!r}"


def _copy_violations(found: Copies | None, required: Requirement) -> Iterator[str]:
    if required.copies is None:
        return
    if found is None:
        yield f"copies={required.copies:g}: there are no training rows to compare with; give them"
    elif found.samples is not None and found.samples > required.copies:
        yield f"copies={required.copies:g}: {found.count} counterfactuals equal a training row by level"


def _number(count: int, of: Count) -> str:
    one, many = ("sample", "samples") if of == "samples" else ("person", "people")
    return f"1 {one}" if count == 1 else f"{count} {many}"
