"""How well a drafter in training guesses replies that were held back, when it drafts along the text of the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.learning.samples import Sample

DRAFT_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Hits:
    """In the drafter's tokens. A greedy draft token is accepted if it equals the target's, so that all figures follow
    from where the drafter's likeliest token is the one in the text."""

    agreement: float  # share of all tokens
    by_place: tuple[float, ...]  # share of the first, second, … tokens of a draft that are accepted if checked
    accepted_per_round: float  # with drafts of DRAFT_LENGTH tokens


@torch.no_grad()
def count_hits(model: Any, num_outputs: int, samples: Sequence[Sample]) -> Hits:
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    hits = [np.zeros(0, np.bool_)]
    rounds: list[tuple[int, int]] = []
    for sample in samples:
        tokens = torch.from_numpy(sample.tokens.astype(np.int64))[None].to(device)
        start = sample.reply_start - 1
        with torch.autocast(device.type, torch.bfloat16):
            states = model.model(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state[0, start:]
            likeliest = (states @ model.lm_head.weight[:num_outputs].T).argmax(-1)
        hits.append((likeliest == tokens[0, start + 1 :]).cpu().numpy())
        rounds += _rounds(hits[-1])
    model.train(was_training)
    all_hits = np.concatenate(hits)
    checked, accepted = np.array(rounds, np.int64).reshape(-1, 2, 1).transpose(1, 0, 2) > np.arange(DRAFT_LENGTH)
    by_place = accepted.sum(0) / np.maximum(1, checked.sum(0))
    return Hits(
        float(all_hits.sum()) / max(1, len(all_hits)),
        tuple(by_place.tolist()),
        float(accepted.sum()) / max(1, len(rounds)),
    )


def accepted_per_round(hits: npt.NDArray[np.bool_]) -> float:
    """In one reply, with drafts of DRAFT_LENGTH tokens; `hits` marks the tokens that the drafter would have guessed."""
    rounds = [*_rounds(hits)]
    return sum(accepted for _, accepted in rounds) / max(1, len(rounds))


def _rounds(hits: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """For each round of a reply, how many tokens of its draft are checked and accepted."""
    place = 0
    while place < len(hits):
        draft = hits[place : place + DRAFT_LENGTH]
        accepted = len(draft) if draft.all() else int(draft.argmin())
        yield min(accepted + 1, len(draft)), accepted
        place += accepted + 1  # with the recovered or bonus token
