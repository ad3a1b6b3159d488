"""What an attacker gains: three kinds of attacker, a population to link with, and training rows that come back.

The risk of a sample is one over the number of candidates that it may belong to. Three attackers are told apart
(El Emam's names):

- the **prosecutor** knows that the person sought is in the release. Candidates are those in the same class of the
  release, so the highest risk is one over the smallest class.
- the **journalist** wants to show that anybody can be found, and looks the release up in a population. Candidates are
  the rows of the population in the same class; the highest risk is one over the smallest class that has a match.
- the **marketer** wants as many as possible. His risk is the share that he expects to get right, that is the mean
  risk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from l2c.core.identities import equal_among
from l2c.core.types import Mask
from l2c.evaluate.linkage import (
    Classes,
    PerClass,
    PerSample,
    Share,
    mean_over_people,
    mean_over_samples,
    share,
    share_of_people,
    smallest,
)

Table = Shaped[np.ndarray, "rows columns"]


@dataclass(frozen=True, slots=True)
class Anonymity:
    """How well a sample hides in its class, by the samples in it or by the people in it.

    Parameters
    ----------
    k
        The size of the smallest class: the table is k-anonymous.
    one
        1-anonymity: how much of the table the classes of size 1 are. The paper's figure is the share of classes.
    prosecutor
        The highest risk when the attacker knows that the person is in the release: one over k.
    marketer
        The share that the attacker expects to get right. By samples it is the mean of one over the size of a sample's
        class; by people the mean over people of one over the smallest class that they are in.
    """

    k: int | None
    one: Share
    prosecutor: float | None
    marketer: float | None


def by_samples(found: Classes) -> Anonymity:
    """Anonymity where the size of a class is the number of its samples, as in the paper."""
    k = smallest(found.sizes)
    expected = mean_over_samples(found, 1 / found.sizes)
    return Anonymity(k, share(found, found.sizes == 1), _one_over(k), expected)


def by_people(found: Classes) -> Anonymity | None:
    """Anonymity where the size of a class is the number of different people in it; None where nobody says.

    A hundred samples of one person do not hide that person, however many share a class.
    """
    if found.people is None:
        return None
    k = smallest(found.people)
    return Anonymity(k, share(found, found.people == 1), _one_over(k), mean_over_people(found, 1 / found.people))


@dataclass(frozen=True, slots=True)
class KMap:
    """How well a sample hides among the rows of a population that have its quasi-identifiers.

    No match is no proof of safety: another population may hold one. Where nothing matches, all but `matched` is not
    applicable, that is None, and not 0.

    Parameters
    ----------
    k
        The number of population rows that the class with the fewest matches maps to, of those with any.
    matched
        How much of the table has a match at all.
    one
        1-map: how much of the table maps to exactly one row of the population. The paper's figure is the share of
        samples.
    one_of_matched
        The same among what has a match.
    journalist
        The highest risk when the population is all that the attacker has: one over k.
    marketer, marketer_people
        The share of samples that the attacker expects to get right, where one without a match is never right; and
        the mean over people of the risk of their most exposed sample.
    """

    k: int | None
    matched: Share
    one: Share
    one_of_matched: Share
    journalist: float | None
    marketer: float | None
    marketer_people: float | None


def k_map(found: Classes, matches: PerClass) -> KMap:
    """The figures of linking with a population, given how many of its rows each class maps to."""
    matched = matches > 0
    if not matched.any():
        nothing = Share(None, None, None)
        return KMap(None, share(found, matched), nothing, nothing, None, None, None)
    k = smallest(matches[matched])
    risk = matched / np.maximum(matches, 1)
    return KMap(
        k=k,
        matched=share(found, matched),
        one=share(found, matches == 1),
        one_of_matched=share(found, matches == 1, matched),
        journalist=_one_over(k),
        marketer=mean_over_samples(found, risk),
        marketer_people=mean_over_people(found, risk),
    )


def _one_over(k: int | None) -> float | None:
    return None if k is None else 1 / k


def matching_rows(rows: Table, population: Table) -> PerSample:
    """The number of population rows that equal each row; missing equals missing.

    Examples
    --------
    >>> matching_rows(np.array([[1.0, np.nan], [2.0, 0.0]]), np.array([[1.0, np.nan], [1.0, np.nan], [1.0, 0.0]]))
    array([2, 0])
    """
    return equal_among([*rows.T], [*population.T])


@dataclass(frozen=True, slots=True)
class Copies:
    """Counterfactuals that are a training row again, in every feature.

    Parameters
    ----------
    count, samples, people
        The number of those that equal one by level, their share, and the share of people who were given one.
    same_values
        The number of those that equal one in every exact value; None where the release holds no values.
    """

    count: int
    samples: float | None
    people: float | None
    same_values: int | None


def copies(found: Classes, equal: Mask, same: Mask | None) -> Copies:
    """The figures of which samples equal a training row by level, and by value."""
    return Copies(
        count=int(equal.sum()),
        samples=float(equal.mean()) if len(equal) else None,
        people=share_of_people(found, equal, np.ones_like(equal)),
        same_values=None if same is None else int(same.sum()),
    )
