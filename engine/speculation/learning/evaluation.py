"""How well a drafter in training guesses replies that it did not learn from, along the text of the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.speculation.learning.adapting import AdaptedModel, Check
from engine.speculation.learning.judge import DRAFT_LENGTH
from engine.speculation.learning.remembered import NOT_COPIED, Remembered
from engine.speculation.learning.samples import LabelTable, Sample
from engine.speculation.numerics.habits import SURE_ALONE


@dataclass(frozen=True, slots=True)
class Hits:
    """Figures in the drafter's tokens. A greedy draft token is accepted if it equals the target's, so that all figures
    follow from where the drafter's likeliest token is the one in the text."""

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
        rounds += rounds_of(hits[-1])
    model.train(was_training)
    all_hits = np.concatenate(hits)
    checked, accepted = np.array(rounds, np.int64).reshape(-1, 2, 1).transpose(1, 0, 2) > np.arange(DRAFT_LENGTH)
    by_place = accepted.sum(0) / np.maximum(1, checked.sum(0))
    return Hits(
        float(all_hits.sum()) / max(1, len(all_hits)),
        tuple(by_place.tolist()),
        float(accepted.sum()) / max(1, len(rounds)),
    )


def chances(
    model: AdaptedModel, sample: Sample, table: LabelTable, remembered: Remembered, temperature: float, check: Check
) -> npt.NDArray[np.float64]:
    """What `chances_from` returns for the model's own states."""
    states = model.states(sample.tokens[:-1].tolist(), check)
    return chances_from(model, states, sample, table, remembered, temperature, check)


@torch.no_grad()
def chances_from(
    model: AdaptedModel,
    states: torch.Tensor,
    sample: Sample,
    table: LabelTable,
    remembered: Remembered,
    temperature: float,
    check: Check,
) -> npt.NDArray[np.float64]:
    """How likely a draft's token would be accepted at each place of a reply, given that those before it were: what
    recall says where it drafts; elsewhere the overlap of the drafter's distribution, blended with what habits expect,
    and the target's at the temperature of the reply. `table` has the target's, at that temperature. Where it has none,
    the token that was written counts as certain; in a greedy reply, all that counts is whether the likeliest token is
    that one. `states` are those after each token of the sample but the last; see `AdaptedModel.states_of`."""
    reply, labels_of = sample.tokens[sample.reply_start :], sample.rows[sample.reply_start :]
    found = np.zeros(len(reply))
    for rows, few in model.logits_by_rows(states[sample.reply_start - 1 :], check):
        logits = _blended(few, remembered.tokens[rows], remembered.masses[rows])
        written = torch.from_numpy(reply[rows].astype(np.int64))[:, None]
        if temperature == 0:
            found[rows] = (logits.argmax(-1, keepdim=True) == written)[:, 0].numpy()
            continue
        drafted = (logits / temperature).softmax(-1)
        guessable = written < logits.shape[1]
        overlap = (drafted.gather(1, written.clamp_max(logits.shape[1] - 1)) * guessable)[:, 0].numpy()
        labels = labels_of[rows]
        known = np.flatnonzero(labels >= 0)
        wanted = torch.from_numpy(table.probabilities[labels[known]].astype(np.float32))
        tokens = torch.from_numpy(table.tokens[labels[known]].astype(np.int64))
        overlap[known] = torch.minimum(drafted[torch.from_numpy(known)].gather(1, tokens), wanted).sum(-1).numpy()
        found[rows] = overlap
    return np.where(remembered.copied == NOT_COPIED, found, remembered.copied)


def _blended(logits: torch.Tensor, tokens: npt.NDArray[np.int64], masses: npt.NDArray[np.float32]) -> torch.Tensor:
    """Rows of logits blended with what is expected there, as far as the drafter can guess it, up to a constant: as
    `proposers.blending` does with one row."""
    drafted, places = logits.softmax(-1), torch.from_numpy(tokens)
    is_mixed = (places < logits.shape[1]) & (drafted.amax(-1, keepdim=True) < SURE_ALONE)
    expected = torch.from_numpy(masses) * is_mixed
    drafted *= 1 - expected.sum(-1, keepdim=True)
    return drafted.scatter_add_(1, torch.where(is_mixed, places, 0), expected).log_()


def rounds_of(hits: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """The numbers of checked and accepted draft tokens of each round of a reply."""
    place = 0
    while place < len(hits):
        draft = hits[place : place + DRAFT_LENGTH]
        accepted = len(draft) if draft.all() else int(draft.argmin())
        yield min(accepted + 1, len(draft)), accepted
        place += accepted + 1  # with the recovered or bonus token
