"""How a numeric feature becomes levels: the choices, before any data is seen.

The names follow section 5.3 of the paper; `engine.discretise` carries them out on training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from l2c.core.given_numbers import is_number, is_whole


@dataclass(frozen=True, slots=True)
class EqualFrequency:
    """Buckets with the same number of training rows, at most `at_most`; equal cut points merge."""

    at_most: int = 4


@dataclass(frozen=True, slots=True)
class ZeroOrPositive:
    """Two levels, nothing and something, for columns such as capital gain that are mostly zero."""


@dataclass(frozen=True, slots=True)
class MinimalEntropy:
    """Fayyad and Irani's recursive cuts by class entropy, stopped by minimum description length."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The cuts of one CART tree over all numeric features that ask for it, on the model's answers."""

    min_split: int = 30


@dataclass(frozen=True, slots=True)
class Edges:
    """Interior cut points given by a person; `source` says who vouches for them."""

    cuts: tuple[float, ...]
    source: str = ""


Binning = EqualFrequency | ZeroOrPositive | MinimalEntropy | Tree | Edges

BINNINGS: dict[str, type[Binning]] = {
    "equal_frequency": EqualFrequency,
    "zero_or_positive": ZeroOrPositive,
    "minimal_entropy": MinimalEntropy,
    "tree": Tree,
    "edges": Edges,
}


def binning_to_dict(binning: Binning) -> dict[str, object]:
    """Return a binning as plain data with its method's name.

    >>> binning_to_dict(EqualFrequency(3))
    {'method': 'equal_frequency', 'at_most': 3}
    """
    method = _method_of(binning)
    fields = {name: getattr(binning, name) for name in binning.__dataclass_fields__}
    return {"method": method} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }


def _method_of(binning: Binning) -> str:
    return next(name for name, kind in BINNINGS.items() if kind is type(binning))


def binning_from_dict(data: dict[str, object]) -> Binning:
    """Return the binning that `binning_to_dict` wrote; raises ValueError for anything else.

    >>> binning_from_dict({"method": "edges", "cuts": [30, 45, 60]})
    Edges(cuts=(30.0, 45.0, 60.0), source='')
    """
    fields = dict(data)
    method = fields.pop("method", None)
    if not isinstance(method, str) or method not in BINNINGS:
        raise ValueError(f"unknown binning method {method!r}; known: {', '.join(BINNINGS)}")
    kind = BINNINGS[method]
    unknown = set(fields) - set(kind.__dataclass_fields__)
    if unknown:
        raise ValueError(f"binning {method!r} has no setting {', '.join(sorted(unknown))}")
    if kind is Edges:
        cuts = fields.get("cuts")
        if not isinstance(cuts, list | tuple) or not all(type(cut) in (int, float) for cut in cuts):
            raise ValueError("binning 'edges' needs cuts = [numbers]")
        fields["cuts"] = tuple(float(cut) for cut in cuts)
    for name, wanted in (("at_most", int), ("min_split", int), ("source", str)):
        if name in fields and type(fields[name]) is not wanted:
            raise ValueError(f"binning {method!r}: {name} cannot be {fields[name]!r}")
    return kind(**fields)  # type: ignore[arg-type]  # the field names and types were checked above


def binning_problems(binning: object) -> list[str]:
    """Return what is wrong with a binning and its settings, a phrase each."""
    match binning:
        case EqualFrequency(at_most=number) | Tree(min_split=number) if not is_whole(number):
            return [f"{_method_of(binning)} takes a whole number, not {number!r}"]
        case EqualFrequency(at_most=at_most) if at_most < 2:
            return [f"equal_frequency needs at least 2 buckets, not {at_most}"]
        case Tree(min_split=min_split) if min_split < 2:
            return [f"tree needs a minimum split of at least 2, not {min_split}"]
        case Edges(cuts=cuts) if not (isinstance(cuts, tuple | list) and all(map(is_number, cuts))):
            return [f"cut points must be numbers, not {cuts!r}"]
        case Edges(cuts=()):
            return ["edges needs at least one cut point"]
        case Edges(cuts=cuts) if not all(map(isfinite, cuts)):
            return [f"cut points must be finite numbers, not {list(cuts)}"]
        case Edges(cuts=cuts) if any(b <= a for a, b in pairwise(cuts)):
            return [f"cut points must rise, not {list(cuts)}"]
        case EqualFrequency() | ZeroOrPositive() | MinimalEntropy() | Tree() | Edges():
            return []
        case _:
            return [f"a binning is one of {', '.join(kind.__name__ for kind in BINNINGS.values())}, not {binning!r}"]
