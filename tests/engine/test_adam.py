"""Our steps of Adam beside torch's own."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from l2c.engine.adam import Adam


def test_steps_are_those_of_torchs_own_with_a_rate_that_falls():
    source = torch.Generator().manual_seed(0)
    start = [torch.randn(5, 3, generator=source), torch.randn(5, generator=source)]
    inputs, wanted = torch.randn(40, 3, generator=source), torch.randn(40, 5, generator=source)
    ours, theirs = ([part.clone().requires_grad_() for part in start] for _ in range(2))
    adam, torchs = Adam(ours), torch.optim.Adam(theirs, lr=0.1)

    def loss(parameters: list[torch.Tensor]) -> torch.Tensor:
        return ((torch.tanh(inputs @ parameters[0].T + parameters[1]) - wanted) ** 2).mean()

    first = float(loss(ours).detach())
    for step in range(60):
        rate = 0.1 * (1 - step / 60)
        adam.descend(loss(ours), rate)
        torchs.param_groups[0]["lr"] = rate
        torchs.zero_grad()
        loss(theirs).backward()
        torchs.step()
        for mine, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
    assert float(loss(ours).detach()) < 0.9 * first
    assert adam.taken == 60


@pytest.mark.parametrize("module", ["learn_foresight", "distil"])
def test_learning_does_not_wait_for_torchs_compiler(module):
    code = (
        f"import sys, torch, l2c.engine.{module}; from l2c.engine.adam import Adam; "
        "x = torch.ones(1, requires_grad=True); Adam([x]).descend((x * x).sum(), 0.1); "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
