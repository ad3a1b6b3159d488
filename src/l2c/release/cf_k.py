"""CF-K by removal, as the paper examines it: of every set, what stands in a class of fewer than k is thrown away.

Goethals, Sörensen and Martens (2022) search for a class for each counterfactual; the paper looks at what is left when
those without one are removed. It works on any method's output, and costs as many counterfactuals as stand alone; the
gate draws whole classes instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from l2c.core.explanation import Outcome, Released
from l2c.core.types import Mask
from l2c.release.policy import Policy
from l2c.release.ranking import only


def in_classes_of(k: int, row: Int64[np.ndarray, " n"], key: Int64[np.ndarray, " n"]) -> Mask:
    """Return which counterfactuals share their row and their key with at least k - 1 others.

    >>> in_classes_of(2, row=np.array([0, 0, 0, 1]), key=np.array([7, 7, 9, 7]))
    array([ True,  True, False, False])
    """
    _, code = np.unique(key, return_inverse=True)
    _, of, sizes = np.unique(row * (code.max(initial=0) + 1) + code, return_inverse=True, return_counts=True)
    return np.asarray(sizes[of] >= k)


def share_left(before: Int64[np.ndarray, " n"], left: Int64[np.ndarray, " fewer"]) -> float | None:
    """Return how much of a set is left, mean over the sets, given the set of each that there was and is.

    >>> share_left(before=np.array([0, 0, 0, 1]), left=np.array([0, 0]))
    0.3333333333333333
    """
    sets, sizes = np.unique(before, return_counts=True)
    of_each = np.bincount(np.searchsorted(sets, left), minlength=len(sets))
    return float((of_each / sizes).mean()) if len(sets) else None


def anonymised(released: Released, k: int) -> Released:
    """Return the release k-anonymised by removal, set by set; what is missing then counts as lost validity."""
    classes = Policy(released.layout, k).classes(released.row, released.levels, released.predicted)
    left = in_classes_of(k, released.row, classes.of)
    gone = np.bincount(released.row[~left], minlength=len(released.outcomes))
    outcomes = tuple(
        _thinned(outcome, lost, k) if lost else outcome
        for outcome, lost in zip(released.outcomes, gone.tolist(), strict=True)
    )
    return only(replace(released, outcomes=outcomes), left)


def _thinned(outcome: Outcome, lost: int, k: int) -> Outcome:
    left = outcome.found - lost
    sentence = f"{left} of {outcome.found} counterfactuals are left: {lost} stood in a class of fewer than {k}"
    return replace(outcome, status="partial" if left else "none_valid", sentence=sentence, found=left)
