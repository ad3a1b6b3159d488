"""Adam (Kingma and Ba 2015), by itself.

That of torch brings in its compiler when it is first made, which takes longer than all the steps taken here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8
"""How much of the means of gradients and of their squares a step keeps, and what no square root falls below."""


@dataclass(slots=True, eq=False)
class Adam:
    """The state of one descent: the parameters, and for each the running means of its gradient and of its square."""

    parameters: Sequence[Tensor]
    taken: int = 0
    means: list[Tensor] = field(init=False)
    squares: list[Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.means, self.squares = ([torch.zeros_like(one) for one in self.parameters] for _ in range(2))

    def descend(self, loss: Tensor, rate: float) -> None:
        """Take one step down the gradient of a loss."""
        gradients = torch.autograd.grad(loss, self.parameters)
        self.taken += 1
        # Both means begin at nothing, and are made up for it.
        whole = rate / (1 - FIRST_DECAY**self.taken)
        root = math.sqrt(1 - SECOND_DECAY**self.taken)
        with torch.no_grad():
            for one, gradient, mean, square in zip(self.parameters, gradients, self.means, self.squares, strict=True):
                mean.lerp_(gradient, 1 - FIRST_DECAY)
                square.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
                one.addcdiv_(mean, square.sqrt().div_(root).add_(TINY), value=-whole)
