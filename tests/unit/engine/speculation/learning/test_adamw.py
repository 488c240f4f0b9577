"""The optimizer, beside torch's own."""

from __future__ import annotations

import torch

from engine.speculation.learning.training import AdamW


def test_it_steps_as_torch_does() -> None:
    dice = torch.Generator().manual_seed(0)
    ours = [torch.randn(shape, generator=dice).requires_grad_() for shape in ((5, 3), (4,))]
    theirs = [each.detach().clone().requires_grad_() for each in ours]
    optimizer, other = AdamW(ours, 1e-2), torch.optim.AdamW(theirs, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.01)
    for size in (0.01, 1.0, 10.0):  # the last ones are scaled down
        gradients = [size * torch.randn(each.shape, generator=dice) for each in ours]
        for parameter, gradient in zip(theirs, gradients, strict=True):
            parameter.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        other.step()
        optimizer.step(gradients, 1.0)
        torch.testing.assert_close(ours, theirs)
