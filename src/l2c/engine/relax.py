"""Soft draws for training: the Concrete relaxations of section 3.4, in torch.

Training draws and proposing draws are different functions: `sample` makes the hard ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from l2c.core.layout import Layout


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """The features' segments of the flat one-hot axis, for sums and softmaxes within each."""

    owner: Int64[Tensor, " width"]
    features: int

    @classmethod
    def of(cls, layout: Layout) -> Segments:
        """Return the segments of a layout."""
        return cls(torch.from_numpy(layout.owner), len(layout.axes))

    def spread(self, per_feature: Float[Tensor, "rows features"]) -> Float[Tensor, "rows width"]:
        """Return each feature's number at all its places of the flat axis."""
        return per_feature[:, self.owner]

    def total(self, flat: Float[Tensor, "rows width"]) -> Float[Tensor, "rows features"]:
        """Return the sum over each feature's places."""
        return flat.new_zeros(len(flat), self.features).index_add(1, self.owner, flat)

    def log_softmax(self, scores: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        """Return the logarithm of the softmax within each feature; −∞ stays −∞."""
        lowest = scores.new_full((len(scores), self.features), -torch.inf)
        top = lowest.scatter_reduce(1, self.owner.expand_as(scores), scores.detach(), "amax")
        shifted = scores - self.spread(top)
        return shifted - self.spread(self.total(shifted.exp()).log())


def gumbel(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Return Gumbel noise, −log(−log u)."""
    tiny = torch.finfo(torch.float32).tiny
    uniform = torch.rand(shape, generator=generator).clamp(min=tiny, max=1 - 2**-24)
    return -(-uniform.log()).log()


def cat_concrete(
    log_p: Float[Tensor, "rows width"],
    noise: Float[Tensor, "rows width"],
    temperature: float,
    segments: Segments,
) -> Float[Tensor, "rows width"]:
    """Return relaxed one-hot draws from Cat(p): softmax((log p + Gumbel) / τ) within each feature."""
    return segments.log_softmax((log_p + noise) / temperature).exp()


def bin_concrete(
    logit: Float[Tensor, "rows features"], noise: Float[Tensor, "2 rows features"], temperature: float
) -> Float[Tensor, "rows features"]:
    """Return relaxed draws from Bernoulli(π), π = sigmoid(logit).

    It is the paper's two-category Gumbel softmax; log π − log(1 − π) is the logit, so it needs one sigmoid.
    """
    return torch.sigmoid((logit + noise[1] - noise[0]) / temperature)


def mix(
    own: Float[Tensor, "rows width"],
    drawn: Float[Tensor, "rows width"],
    selected: Float[Tensor, "rows features"],
    segments: Segments,
) -> Float[Tensor, "rows width"]:
    """Return z̃ = (1 − s) z + s z̃ for every feature."""
    share = segments.spread(selected)
    return (1 - share) * own + share * drawn
