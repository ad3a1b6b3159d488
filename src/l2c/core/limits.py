"""What a caller asks of a change beyond the schema: locks, ranges, transitions, conditions, how many, how dear.

The schema holds standing limits; a request adds its own, for the whole call and for single rows. All of them hold
together. They say what may be *proposed*: a value that a person has already may always stay, unless a condition
(`where`) speaks against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from l2c.core.conditions import Condition, parse_condition
from l2c.core.feature import Feature
from l2c.core.types import Label
from l2c.core.where.tokens import Token, tokens_of
from l2c.errors import InputError, nearest

ANY = "*"
"""In a forbidden transition: whatever the value."""

Pairs = tuple[tuple[object, object], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A closed range of numbers or of ordered levels; None is an open end."""

    low: Label | None = None
    high: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a change must keep to.

    Parameters
    ----------
    lock
        Features that must stay as they are.
    permit
        For a feature, what may be proposed: `(low, high)` for a number, a list of levels for the others, or
        `{"from": ..., "to": ...}` for a range of either.
    forbid
        For a feature, transitions `(before, after)` that may not be proposed. Each is a level, a range, or `"*"`.
    where
        Conditions on the released values, and on the person's own as `was.<feature>`.
    max_changes, min_sparsity
        The most features that change; the least share that stays.
    max_cost
        The most that a change may cost in all.

    Examples
    --------
    >>> Limits(lock=["job"], permit={"hours": (20, 45)}, max_changes=3).sentences()
    ['job stays as it is', 'hours may become 20 to 45', 'at most 3 features change']
    """

    lock: tuple[str, ...] = ()
    permit: Mapping[str, object] = field(default_factory=dict)
    forbid: Mapping[str, Pairs] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    max_changes: int | None = None
    min_sparsity: float | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, _settled(name, getattr(self, name)))
        problems = list(_shape_problems(self))
        if problems:
            raise InputError(problems)

    def __bool__(self) -> bool:
        return self is not NO_LIMITS and self != NO_LIMITS

    def problems(self, features: Sequence[Feature]) -> Iterator[str]:
        """Yield what does not fit these features, a sentence each."""
        known = {feature.name: feature for feature in features}
        for role, names in (("lock", self.lock), ("permit", self.permit), ("forbid", self.forbid)):
            for name in names:
                if name not in known:
                    yield f"{role}: there is no feature {name!r}{nearest(name, known)}"
        for name, given in self.permit.items():
            if name in known:
                yield from _permit_problems(known[name], given)
        for name, pairs in self.forbid.items():
            if name in known:
                for end in {repr(end): end for pair in pairs for end in pair if end != ANY}.values():
                    yield from _values_problems(f"forbid {name!r}", known[name], end)
        for text in self.where:
            try:
                parse_condition(text, features)
            except InputError as error:
                yield from error.problems

    def conditions(self, features: Sequence[Feature]) -> tuple[Condition, ...]:
        """Return the conditions, each split into the parts that must all hold."""
        return tuple(part for text in self.where for part in parse_condition(text, features).conjuncts())

    def split(self, features: Sequence[Feature]) -> Limits:
        """Return the same limits with every condition in parts, so that each can be spoken of by itself."""
        return replace(self, where=tuple(part.text for part in self.conditions(features))) if self.where else self

    def most_changes(self, features: int) -> int:
        """Return the most features that may change, of so many.

        >>> Limits(min_sparsity=0.9).most_changes(20)
        2
        """
        most = features if self.max_changes is None else min(features, self.max_changes)
        if self.min_sparsity is not None:
            # 1e-9 undoes rounding: 0.9 of 20 features leaves 2, though 20 · (1 − 0.9) is 1.9999999999999996.
            most = min(most, int(np.floor(features * (1 - self.min_sparsity) + 1e-9)))
        return most

    def sentences(self, features: Sequence[Feature] = ()) -> list[str]:
        """Return the limits in words; the features say whether two numbers are a range or levels."""
        known = {feature.name: feature for feature in features}
        told = [f"{name} stays as it is" for name in self.lock]
        told += [f"{name} may become {in_words(given, known.get(name))}" for name, given in self.permit.items()]
        told += [
            f"{name} may not go from {in_words(before, known.get(name))} to {in_words(after, known.get(name))}"
            for name, pairs in self.forbid.items()
            for before, after in pairs
        ]
        told += [f"always {' '.join(text.split())}" for text in self.where]
        if self.max_changes is not None:
            told.append(f"at most {self.max_changes} feature{'s change' if self.max_changes != 1 else ' changes'}")
        if self.min_sparsity is not None:
            told.append(f"at least {self.min_sparsity:.0%} of the features stay")
        if self.max_cost is not None:
            told.append(f"a change costs at most {self.max_cost:g}")
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain data, without those that are not set."""
        data: dict[str, Any] = {
            "lock": list(self.lock),
            "where": list(self.where),
            "max_changes": self.max_changes,
            "min_sparsity": self.min_sparsity,
            "max_cost": self.max_cost,
            "permit": {name: _plain(given) for name, given in self.permit.items()},
            "forbid": {name: [[_plain(end) for end in pair] for pair in pairs] for name, pairs in self.forbid.items()},
        }
        return {name: value for name, value in data.items() if value not in (None, [], {})}

    def in_one_form(self, features: Sequence[Feature]) -> dict[str, Any]:
        """Return limits that fit these features as plain data that is the same however they were said.

        >>> hours = (Feature(name="hours", kind="numeric"),)
        >>> one, other = Limits(permit={"hours": (20, 45)}), Limits(permit={"hours": {"from": 20, "to": 45}})
        >>> one.in_one_form(hours) == other.in_one_form(hours)
        True
        """
        known = {feature.name: feature for feature in features}
        data = {**self.to_dict(), "lock": sorted(set(self.lock))}
        data["where"] = sorted({repr(list(map(_word, tokens_of(text)))) for text in self.where})
        data["permit"] = {name: _in_one_form(known[name], given) for name, given in self.permit.items()}
        data["forbid"] = {
            name: sorted({repr([_in_one_form(known[name], end) for end in pair]) for pair in pairs})
            for name, pairs in self.forbid.items()
        }
        return {name: value for name, value in data.items() if value not in ([], {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Limits:
        """Return the limits that plain data describes, or raise with every problem in it."""
        unknown = [key for key in data if key not in cls.__dataclass_fields__]
        if unknown:
            raise InputError(f"limits have no {key!r}{nearest(key, cls.__dataclass_fields__)}" for key in unknown)
        return cls(**data)


def chosen_levels(feature: Feature, given: object) -> Span | tuple[Label, ...]:
    """Return what a permitted or forbidden value stands for: a range, or levels.

    >>> chosen_levels(Feature(name="hours", kind="numeric"), [20, 45])
    Span(low=20, high=45)
    """
    if isinstance(given, Span):
        return given
    if isinstance(given, Mapping):
        return Span(given.get("from"), given.get("to"))
    if isinstance(given, Label):
        return Span(given, given) if feature.numeric else (given,)
    ends: tuple[Any, ...] = tuple(given)  # type: ignore[arg-type]
    return Span(*ends) if feature.numeric else ends


def _in_one_form(feature: Feature, given: object) -> list[Any]:
    """Return the levels, or the ends of the range, that a permitted or forbidden value stands for."""
    if given == ANY:
        return [ANY]
    chosen = chosen_levels(feature, given)
    if isinstance(chosen, Span):
        return [int(end) if isinstance(end, float) and end.is_integer() else end for end in (chosen.low, chosen.high)]
    return [feature.levels[place] for place in sorted({feature.levels.index(level) for level in chosen})]


def _word(token: Token) -> tuple[str, object]:
    """Return a token of a condition as what it says, however it is spelt."""
    spelt: dict[str, Callable[[str], object]] = {"number": float, "truth": str.lower}
    return token.kind, spelt.get(token.kind, str)(token.text)


def in_words(given: object, feature: Feature | None = None) -> str:
    """Return a permitted or forbidden value as people would say it; two numbers are levels where the feature has any.

    >>> in_words(["clerk", "nurse"]), in_words((20, None)), in_words({"to": 45}), in_words("*")
    ('clerk or nurse', '20 or more', 'at most 45', 'anything')
    """
    if given == ANY:
        return "anything"
    if isinstance(given, Mapping):
        return in_words(Span(given.get("from"), given.get("to")))
    if isinstance(given, Span):
        low, high = given.low, given.high
        if low is None or high is None:
            return "anything" if low is high else f"at most {high}" if low is None else f"{low} or more"
        return f"{low} to {high}" if low != high else f"{low}"
    if isinstance(given, Label) or not isinstance(given, Iterable):
        return str(given)
    parts: tuple[Any, ...] = tuple(given)
    if _is_range(parts) and (feature is None or feature.numeric):
        return in_words(Span(*parts))
    return " or ".join(map(str, parts))


def _settled(name: str, given: Any) -> Any:
    """Return a limit in the form that equal ones share, walked through once; what has none is left to be told."""
    if isinstance(given, np.generic):
        return given.item()
    if name in ("lock", "where") and isinstance(given, Iterable):
        return (given,) if isinstance(given, str) else tuple(_in_order(given))
    if name == "permit" and isinstance(given, Mapping):
        return {feature: _tidy(chosen) for feature, chosen in given.items()}
    if name == "forbid" and isinstance(given, Mapping):
        return {feature: _transitions(pairs) for feature, pairs in given.items()}
    return given


def _transitions(pairs: object) -> object:
    if isinstance(pairs, str | Mapping) or not isinstance(pairs, Iterable):
        return pairs
    return tuple(tuple(_tidy(end) for end in pair) if _is_pair(pair) else pair for pair in _in_order(pairs))


def _tidy(given: object) -> object:
    """Return levels or a range in the form that equal ones share."""
    if isinstance(given, np.generic):
        return given.item()
    if isinstance(given, Mapping) and given and set(given) <= {"from", "to"}:
        given = Span(given.get("from"), given.get("to"))
    if isinstance(given, Span):
        low, high = (_tidy(end) for end in (given.low, given.high))
        return Span(low, high)  # type: ignore[arg-type]  # what is no end is told later
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        return given
    parts: tuple[Any, ...] = tuple(_tidy(part) for part in _in_order(given))
    # A file has no word for an open end, but a range by name has.
    return Span(*parts) if None in parts and _is_range(parts) else parts


def _in_order(given: Iterable[Any]) -> Iterable[Any]:
    return sorted(given, key=str) if isinstance(given, set | frozenset) else given


def _shape_problems(limits: Limits) -> Iterator[str]:
    """Yield what is wrong with the limits whatever the features are."""
    for name in ("lock", "where"):
        given = getattr(limits, name)
        if not _all_texts(given):
            yield f"{name} takes {'names' if name == 'lock' else 'conditions'}, each a text, not {given!r}"
    for name in ("permit", "forbid"):
        if not isinstance(getattr(limits, name), Mapping):
            yield f"{name} takes a feature's name with what it means for it, not {getattr(limits, name)!r}"
    if isinstance(limits.forbid, Mapping):
        transitions: Mapping[str, Any] = limits.forbid
        for name, pairs in transitions.items():
            if isinstance(pairs, str) or not isinstance(pairs, Iterable) or not all(_is_pair(pair) for pair in pairs):
                yield f"forbid {name!r}: expected transitions, each a pair (before, after), not {pairs!r}"
    most = limits.max_changes
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        yield f"max_changes must be a whole number of at least 1, not {most!r}"
    share = limits.min_sparsity
    if share is not None and not (_is_number(share) and 0 <= share <= 1):
        yield f"min_sparsity is a share from 0 to 1, not {share!r}"
    if limits.max_cost is not None and not (_is_number(limits.max_cost) and limits.max_cost >= 0):
        yield f"max_cost is a number of at least 0, not {limits.max_cost!r}"


def _permit_problems(feature: Feature, given: object) -> Iterator[str]:
    here = f"permit {feature.name!r}"
    wrong = list(_values_problems(here, feature, given))
    yield from wrong
    if wrong:
        return
    chosen = chosen_levels(feature, given)
    if isinstance(chosen, tuple):
        if not chosen:
            yield f"{here}: no level is permitted at all; lock the feature instead"
        return
    low, high = _ends(feature, chosen)
    least, most = _ends(feature, Span(feature.low, feature.high)) if feature.numeric else (low, high)
    if low > high:
        yield f"{here}: the range {in_words(chosen)} is empty"
    elif feature.integer and np.ceil(low) > np.floor(high):
        yield f"{here}: the range {in_words(chosen)} holds no whole number"
    elif low > most or high < least:
        yield f"{here}: {in_words(chosen)} lies outside {in_words((feature.low, feature.high))}, where it is proposed"


def _values_problems(here: str, feature: Feature, given: object) -> Iterator[str]:
    """Yield what is wrong with levels or a range, for this feature."""
    if isinstance(given, Mapping) and not (given and set(given) <= {"from", "to"}):
        yield f"{here}: a range has 'from' and 'to', not {', '.join(map(repr, given)) or 'nothing'}"
        return
    if feature.numeric and not isinstance(given, Label | Mapping | Span) and not _is_pair(given):
        yield f"{here}: expected a range (low, high), not {given!r}"
        return
    if not isinstance(given, Label | Mapping | Span | Sequence | set | frozenset):
        yield f"{here}: expected levels or a range, not {given!r}"
        return
    chosen = chosen_levels(feature, given)
    if isinstance(chosen, Span) and not feature.ordered:
        yield f"{here}: it is categorical and has no order, so it has no range; list its levels"
        return
    if chosen == Span():
        yield f"{here}: a range has 'from', 'to' or both, and this one has neither"
        return
    ends: tuple[object, ...] = (chosen.low, chosen.high) if isinstance(chosen, Span) else chosen
    for end in ends[:1] if isinstance(given, Label) else ends:  # a single number is both ends
        if end is None and isinstance(chosen, Span):
            continue
        if feature.numeric and not _is_number(end):
            yield f"{here}: {end!r} is not a number"
        elif not feature.numeric and end not in feature.levels:
            known = ", ".join(map(repr, feature.levels))
            yield f"{here}: {end!r} is none of its levels, {known}{nearest(end, feature.levels)}"


def _ends(feature: Feature, span: Span) -> tuple[float, float]:
    """Return where the ends of a range stand in the feature's order."""
    low, high = (end if end is None or feature.numeric else feature.levels.index(end) for end in (span.low, span.high))
    return -np.inf if low is None else float(low), np.inf if high is None else float(high)


def _plain(given: object) -> Any:
    if isinstance(given, Span):
        ends = {"from": given.low, "to": given.high}
        return {name: end for name, end in ends.items() if end is not None}
    return list(given) if isinstance(given, tuple) else given


def _all_texts(given: object) -> bool:
    return isinstance(given, Iterable) and all(isinstance(part, str) for part in given)


def _is_pair(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2


def _is_range(parts: tuple[object, ...]) -> bool:
    return len(parts) == 2 and all(part is None or _is_number(part) for part in parts)


def _is_number(given: object) -> bool:
    """Return whether it is a number; NaN, which is not even equal to itself, is none."""
    return isinstance(given, int | float) and not isinstance(given, bool) and given == given


NO_LIMITS = Limits()
