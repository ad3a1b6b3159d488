"""Soft draws for training: the Concrete relaxations of section 3.4, in torch.

Training draws and proposing draws are different functions: `sample` makes the hard ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from l2c.core.layout import Layout
from l2c.core.rules import Bond


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


def bind_softly(
    bonds: tuple[Bond, ...],
    layout: Layout,
    mixed: Float[Tensor, "rows width"],
    own: Float[Tensor, "rows width"],
    allowed: Bool[Tensor, "rows width"],
    log_p: Float[Tensor, "rows width"],
    noise: Float[Tensor, "rows width"],
    temperature: float,
) -> Float[Tensor, "rows width"]:
    """Return relaxed draws in which every effect follows its causes (appendix B).

    A feature has risen if its heaviest place stands above the row's own. Where the causes leave an effect only some
    of its levels, its part is drawn again among those, with the noise it had.
    """
    places = [slice(int(at), int(at) + int(size)) for at, size in zip(layout.offsets, layout.sizes, strict=True)]
    before = torch.stack([own[:, place].argmax(dim=1) for place in places], dim=1)
    parts = [mixed[:, place] for place in places]
    for bond in bonds:
        now = torch.stack([part.detach().argmax(dim=1) for part in parts], dim=1)
        below, same, above = (torch.from_numpy(side) for side in bond.may_go((now > before).numpy()))
        at, place = before[:, bond.effect, None], places[bond.effect]
        level = torch.arange(place.stop - place.start)[None, :]
        fits = torch.where(level < at, below[:, None], torch.where(level == at, same[:, None], above[:, None]))
        fits = fits & allowed[:, place]
        settled = fits.gather(1, now[:, bond.effect, None])[:, 0] | ~fits.any(dim=1)
        scores = torch.where(fits, log_p[:, place], -torch.inf)
        scores = torch.where(fits.any(dim=1, keepdim=True), scores, log_p[:, place])
        again = torch.softmax((scores + noise[:, place]) / temperature, dim=1)
        parts[bond.effect] = torch.where(settled[:, None], parts[bond.effect], again)
    return torch.cat(parts, dim=1)
