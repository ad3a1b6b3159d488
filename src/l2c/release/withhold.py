"""What a privacy policy leaves of a release, and how that is told to each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from l2c.core.explanation import Outcome, Reason, Released
from l2c.release.policy import Policy, kept
from l2c.release.ranking import only


def withheld(policy: Policy, chosen: int, asked: int, valid: int, tries: int, *, proven: bool = False) -> Outcome:
    """Return how a row ended under a policy, of which some valid ones were found and so many may leave."""
    if chosen == asked:
        ones = "counterfactual" if asked == 1 else "different counterfactuals"
        return Outcome("found", f"{asked} {ones}", asked, tries, valid)
    end = "; there are no others within the limits" if proven else ""
    found = "1 valid one was found" if valid == 1 else f"{valid} valid ones were found"
    if chosen:
        sentence = (
            f"{chosen} of {asked} counterfactuals: {found}, and the policy ({policy.words}) lets no more out{end}"
        )
        return Outcome("partial", sentence, chosen, tries, valid, Reason(proven))
    sentence = f"{found}, but {shortage(policy)}{end}"
    return Outcome("withheld", sentence, 0, tries, valid, Reason(proven))


def shortage(policy: Policy) -> str:
    """Return what no class of a row's counterfactuals has, in words that tell nothing of anyone else."""
    if policy.count == "people":
        return (
            f"no {policy.k} people of this release share a class with this row: the policy ({policy.words}) forbids it"
        )
    where = "of this set" if policy.scope == "set" else "of this release"
    return f"no class {where} keeps the policy ({policy.words})"


def gated(policy: Policy, released: Released) -> Released:
    """Return the release without the classes that break a policy, once the model has taken others of them back."""
    stays = kept(policy, released.row, released.levels, released.predicted)
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
    ended = withheld(policy, outcome.found - lost, asked, outcome.valid, outcome.tries)
    return replace(ended, sentence=f"{ended.sentence} (the model took back others when asked again)")
