"""Whether a proposal keeps to the schema: what may move, where to, and the rules between features.

It is checked on every proposal, whoever made it, before the model is asked: a constraint is a post-condition.
"""

from __future__ import annotations

import numpy as np

from l2c.core.layout import Layout
from l2c.core.rules import meets_rule
from l2c.core.types import Cells, Levels, Mask


def obeys(layout: Layout, before: Levels, after: Levels, values: Cells) -> Mask:
    """Return which proposals keep to the schema.

    Parameters
    ----------
    before, after
        Levels of the person and of the proposal.
    values
        The proposal's values, for the declared ranges.
    """
    good = np.ones(after.shape[:-1], dtype=bool)
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        was, now = before[..., i], after[..., i]
        kept = was == now
        if feature.moves == "never":
            good &= kept
            continue
        lost = now == axis.known
        unordered = was == axis.known
        if feature.moves == "rises":
            good &= kept | ((now > was) & ~unordered)
        elif feature.moves == "falls":
            good &= kept | ((now < was) & ~unordered)
        good &= kept | ~lost
        if feature.low is not None:
            good &= kept | (values[..., i] >= feature.low)
        if feature.high is not None:
            good &= kept | (values[..., i] <= feature.high)
    for rule in layout.schema.rules:
        good &= meets_rule(rule, layout.schema.names, before, after)
    return good
