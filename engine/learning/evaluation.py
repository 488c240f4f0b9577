"""How well a drafter in training guesses replies that were held back, read along with what the target wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.learning.samples import Sample

DRAFT_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Hits:
    """In the drafter's tokens. A greedy guess stands while it equals what the target wrote, so that everything follows
    from which tokens are the drafter's likeliest ones behind the true text."""

    agreement: float  # share of all tokens
    by_place: tuple[
        float, ...
    ]  # share of the first, second, … guesses of a round that stand, of those that are checked
    accepted_per_round: float  # with drafts of DRAFT_LENGTH tokens


@torch.no_grad()
def count_hits(model: Any, num_outputs: int, samples: Sequence[Sample]) -> Hits:
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    checked, stood = np.zeros(DRAFT_LENGTH, np.int64), np.zeros(DRAFT_LENGTH, np.int64)
    hits = count = num_rounds = 0
    for sample in samples:
        tokens = torch.from_numpy(sample.tokens.astype(np.int64))[None].to(device)
        start = sample.reply_start - 1
        with torch.autocast(device.type, torch.bfloat16):
            states = model.model(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state[0, start:]
            guesses = (states @ model.lm_head.weight[:num_outputs].T).argmax(-1)
        right = (guesses == tokens[0, start + 1 :]).cpu().numpy()
        hits += int(right.sum())
        count += len(right)
        num_rounds += _play(right, checked, stood)
    model.train(was_training)
    return Hits(
        hits / max(1, count),
        tuple(float(share) for share in stood / np.maximum(1, checked)),
        float(stood.sum()) / max(1, num_rounds),
    )


def accepted_per_round(right: npt.NDArray[np.bool_]) -> float:
    """Of one reply, with drafts of DRAFT_LENGTH tokens; `right` says which of its tokens would have been guessed."""
    checked, stood = np.zeros(DRAFT_LENGTH, np.int64), np.zeros(DRAFT_LENGTH, np.int64)
    num_rounds = _play(right, checked, stood)
    return float(stood.sum()) / max(1, num_rounds)


def _play(right: npt.NDArray[np.bool_], checked: npt.NDArray[np.int64], stood: npt.NDArray[np.int64]) -> int:
    """The rounds of one reply: adds to how many guesses of each place were checked and stood; returns their number."""
    place = num_rounds = 0
    while place < len(right):
        num_rounds += 1
        for guess in range(DRAFT_LENGTH):
            if place >= len(right):
                break
            checked[guess] += 1
            place += 1  # the guess, or what the target writes instead
            if not right[place - 1]:
                break
            stood[guess] += 1
        else:
            place += 1  # the bonus token
    return num_rounds
