"""What training minimises (equation 3): cross-entropy to the desired class, few changes, and breadth."""

from __future__ import annotations

from typing import Protocol

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from l2c.engine.relax import Segments


class Differentiable(Protocol):
    """A model through which gradients flow: the original, or an exact twin of it."""

    def logits(
        self, values: Float[Tensor, "rows features"], one_hot: Float[Tensor, "rows width"]
    ) -> Float[Tensor, "rows classes"]:
        """Return class logits for soft rows: numeric features by value, the others by relaxed one-hot."""
        ...


def soft_values(
    mixed: Float[Tensor, "rows width"], values: Float[Tensor, "rows width"], segments: Segments
) -> Float[Tensor, "rows features"]:
    """Return x̃, the relaxed value of each feature (equation 4): Σ_j z̃_ij · value_ij."""
    return segments.total(mixed * values)


def counter_loss(logits: Float[Tensor, "rows classes"], desired: Int64[Tensor, " rows"]) -> Float[Tensor, " rows"]:
    """Return CE(f(x̃), y') of each row."""
    return torch.nn.functional.cross_entropy(logits, desired, reduction="none")


def sparsity_loss(
    selection: Float[Tensor, "rows features"], mutable: Bool[Tensor, " features"]
) -> Float[Tensor, " rows"]:
    """Return ‖π‖₁ of each row, over the mutable features."""
    return selection[:, mutable].sum(dim=1)


def breadth_loss(
    local: Float[Tensor, "rows width"],
    selection: Float[Tensor, "rows features"],
    own: Float[Tensor, "rows width"],
    even: Float[Tensor, "rows width"],
    even_selection: Float[Tensor, "rows features"],
    segments: Segments,
) -> Float[Tensor, " rows"]:
    """Return Σ_i KL(P_i ‖ U_i) of each row: the distance of the proposal's law from one that has learned nothing.

    P_i = (1 − π_i) z_i + π_i p_i is the law of a proposal's feature; U_i is the same with a selection and weights of
    the levels that only costs make uneven.

    Parameters
    ----------
    even
        The weight of each level: 0 where it is not allowed, 1 where it costs no more than another.
    """
    law = mix_law(own, local, segments.spread(selection))
    uniform = even / segments.spread(segments.total(even))
    reference = mix_law(own, uniform, segments.spread(even_selection))
    ratio = law.clamp(min=1e-12).log() - reference.clamp(min=1e-12).log()
    return (torch.where(even > 0, law * ratio, 0.0)).sum(dim=1)


def mix_law(own: Tensor, local: Tensor, share: Tensor) -> Tensor:
    """Return P = (1 − π) z + π p."""
    return (1 - share) * own + share * local
