"""What a privacy policy leaves of a release, and how that is told to each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from l2c.core.explanation import Outcome, Reason, Released
from l2c.core.method import Question
from l2c.core.types import Levels
from l2c.release.leads import fixed_places, groups_of
from l2c.release.policy import Policy, kept_by_steps
from l2c.release.ranking import only

NO_OTHERS = "; there are no others within the limits"
LATE = "; the time budget ended"


def withheld(policy: Policy, chosen: int, asked: int, plain: Outcome, why: str, end: str = "") -> Outcome:
    """Return how a row ended under a policy that lets some of its valid ones out.

    Parameters
    ----------
    chosen, asked
        How many may leave, and how many were asked for.
    plain
        How it would have ended without a policy.
    why
        What its classes lack, where none may leave.
    end
        Why there are no more.
    """
    if chosen == asked:
        ones = "counterfactual" if asked == 1 else "different counterfactuals"
        return Outcome("found", f"{asked} {ones}", asked, plain.tries, plain.valid)
    found = "1 valid one was found" if plain.valid == 1 else f"{plain.valid} valid ones were found"
    reason = Reason(proven=end == NO_OTHERS)
    if chosen:
        sentence = f"{chosen} of {asked} counterfactuals: {found}, the policy ({policy.words}) lets no more out{end}"
        return Outcome("partial", sentence, chosen, plain.tries, plain.valid, reason)
    return Outcome("withheld", f"{found}, but {why}{end}", 0, plain.tries, plain.valid, reason)


def shortages(
    policy: Policy, row: Int64[np.ndarray, " n"], levels: Levels, label: Int64[np.ndarray, " n"], question: Question
) -> list[str]:
    """Return for each row of a question what its valid ones lack, in words that tell nothing of anyone else.

    Parameters
    ----------
    row, levels, label
        The row of each valid one, its levels, and the class that the model puts it in.
    """
    if policy.scope == "release":
        return _unshared(policy, question)
    found = policy.classes(row, levels, label)
    owner = np.zeros(found.count, dtype=np.int64)
    owner[found.of] = row
    largest = np.zeros(len(question), dtype=np.int64)
    np.maximum.at(largest, owner, np.bincount(found.of, minlength=found.count))
    large = found.large()
    diverse = large & found.diverse()
    whole = diverse & found.unlinked()
    has_large, has_diverse, has_whole = (np.zeros(len(question), dtype=bool) for _ in range(3))
    for held, classes in ((has_large, large), (has_diverse, diverse), (has_whole, whole)):
        held[owner[classes]] = True
    return [
        f"a class of them that keeps the policy ({policy.words}) is larger than the set"
        if kept_
        else f"no class of them matches none or at least {policy.k_map} rows of the population"
        if various
        else f"no class of {policy.k} of them has {policy.l} values of every sensitive feature"
        if many
        else f"no more than {most} of them share their quasi-identifiers: k = {policy.k} needs {policy.k}"
        for most, many, various, kept_ in zip(largest.tolist(), has_large, has_diverse, has_whole, strict=True)
    ]


def _unshared(policy: Policy, question: Question) -> list[str]:
    """Return why no class of a release has room for a row's valid ones."""
    if policy.count == "samples":
        return [f"no class of this release keeps the policy ({policy.words}) with them"] * len(question)
    fixed = [policy.layout.schema.names[place] for place in fixed_places(policy)]
    same = f"the same {', '.join(fixed)}" if fixed else "the same goal"
    _, group, sizes = np.unique(groups_of(question, policy), return_inverse=True, return_counts=True)
    return [
        f"only {_people(size)} of this release {'has' if size == 1 else 'have'} {same}: k = {policy.k} needs {policy.k}"
        if size < policy.k
        else f"fewer than {policy.k} people of this release can share a class with them"
        for size in sizes[group].tolist()
    ]


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def gated(policy: Policy, released: Released) -> Released:
    """Return the release without the classes that break a policy, once the model has taken others of them back."""
    step = np.zeros(len(released.outcomes), dtype=np.int64) if released.coarse is None else released.coarse
    stays = kept_by_steps(policy, step, released.row, released.levels, released.predicted)
    if stays.all():
        return released
    gone = np.bincount(released.row[~stays], minlength=len(released.outcomes))
    outcomes = tuple(
        _taken_along(policy, outcome, int(lost), released.asked) if lost else outcome
        for outcome, lost in zip(released.outcomes, gone, strict=True)
    )
    return only(replace(released, outcomes=outcomes), stays)


def _taken_along(policy: Policy, outcome: Outcome, lost: int, asked: int) -> Outcome:
    """Return how a row ended whose classes were broken by what the model took back."""
    why = f"no class of them keeps the policy ({policy.words}) any more"
    return withheld(policy, outcome.found - lost, asked, outcome, why, " (the model took back others when asked again)")
