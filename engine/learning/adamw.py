"""AdamW (arXiv 1711.05101) as torch has it, which would import a compiler for it: 76 MB, and two seconds."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class AdamW:
    def __init__(
        self,
        parameters: Sequence[torch.Tensor],
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.99),
        decay: float = 0.01,
        epsilon: float = 1e-8,
    ) -> None:
        self._parameters = list(parameters)
        self._rate, self._betas, self._decay, self._epsilon = learning_rate, betas, decay, epsilon
        self._means = [torch.zeros_like(each) for each in self._parameters]
        self._squares = [torch.zeros_like(each) for each in self._parameters]
        self._num_steps = 0

    @torch.no_grad()
    def step(self, gradients: Sequence[torch.Tensor], most: float) -> None:
        """Gradients of a norm above `most` are scaled down to it."""
        norm = float(torch.stack(torch._foreach_norm(list(gradients))).norm())
        gradients = torch._foreach_mul(list(gradients), min(1.0, most / (norm + 1e-6)))
        self._num_steps += 1
        of_mean, of_square = self._betas
        torch._foreach_mul_(self._parameters, 1 - self._rate * self._decay)
        torch._foreach_lerp_(self._means, gradients, 1 - of_mean)
        torch._foreach_mul_(self._squares, of_square)
        torch._foreach_addcmul_(self._squares, gradients, gradients, 1 - of_square)
        sizes = torch._foreach_sqrt(self._squares)
        torch._foreach_div_(sizes, (1 - of_square**self._num_steps) ** 0.5)
        torch._foreach_add_(sizes, self._epsilon)
        torch._foreach_addcdiv_(self._parameters, self._means, sizes, -self._rate / (1 - of_mean**self._num_steps))
