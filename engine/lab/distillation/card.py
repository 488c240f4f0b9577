"""The card of a drafter: how it was made, and how well it drafts."""

from __future__ import annotations

import platform

import torch

from engine.lab.distillation.cut import Cut
from engine.lab.distillation.progress import Judgement
from engine.lab.distillation.training import Lessons, TrainingState
from engine.speculation.learning.evaluation import count_hits
from engine.values.config import DistillSettings


def write_card(
    settings: DistillSettings,
    cut: Cut,
    lessons: Lessons,
    state: TrainingState,
    judgement: Judgement,
) -> str:
    """The card in Markdown."""
    hits = count_hits(cut.model, cut.num_outputs, lessons.held_back)
    shape = cut.model.config
    num_learned = sum(int((sample.weights > 0).sum()) for sample in lessons.samples)
    labelled = sum(int((sample.rows >= 0).sum()) for sample in lessons.samples) / max(1, num_learned)
    places = ", ".join(f"{share:.3f}" for share in hits.by_place)
    origin = ", ".join(path.name for path in settings.corpus) or f"{settings.conversations:,} that it invented"
    texts = "".join(
        f"| {text.name} | {text.tokens_per_round:.3f} | {', '.join(f'{share:.3f}' for share in text.accepted)} |\n"
        for text in judgement.texts
    )
    return f"""---
license: {settings.licence_name}
---
# A drafter for Slipstream

A small Llama-type model that drafts for a target. It is not meant for chats.

| | |
|---|---|
| {_origin(settings, shape.num_hidden_layers)} |
| shape | {shape.num_hidden_layers} layers, {shape.hidden_size} wide, {shape.intermediate_size} neurons each |
| vocabulary | {_vocabulary(settings, shape.vocab_size, cut.num_outputs)} |
| size | {sum(weight.numel() for weight in cut.model.parameters()) / 1e6:.1f} million weights, int8 |
| data | conversations that the target wrote itself ({origin}): {num_learned:,} reply tokens |
| loss | the target's own distribution where it is known ({labelled:.0%} of the tokens, the \
{lessons.labels.tokens.shape[1]} likeliest each) and the token it wrote; loops weighted down |
| training | {state.step:,} steps in {state.seconds / 60:.0f} minutes, {state.epoch + 1} epochs begun; AdamW, \
{settings.learning_rate:g}, cosine |
| machine | {platform.machine()}, {torch.get_num_threads()} threads, {next(cut.model.parameters()).device.type} |
| greedy agreement | {hits.agreement:.3f} of all tokens of {len(lessons.held_back)} replies held back, \
in its own tokens |
| by place in a draft | {places} of the first, second, … token, if those before it were accepted |
| a draft step | {judgement.step_ms:.2f} ms on that machine |
| licence | {settings.licence_name} |

As it runs, in the target's tokens, drafts of four tokens, greedy:

| replies | tokens per round | draft tokens accepted, 1st, 2nd, … |
|---|---|---|
{texts}
Made with:

    {settings.command}
"""


def _vocabulary(settings: DistillSettings, size: int, outputs: int) -> str:
    if settings.target_vocabulary:
        return f"that of {settings.target}: {size:,} tokens, all of which it can guess"
    return f"{size:,} tokens to read, the {outputs:,} most frequent of them to guess"


def _origin(settings: DistillSettings, num_layers: int) -> str:
    start = "" if settings.start is None else f"the drafter of the folder `{settings.start.name}`"
    if settings.layers is None and start:
        return f"made from | {start}, trained on with {settings.target}"
    layers = "the first and the last" if settings.layers is None else ", ".join(map(str, settings.layers))
    warm = f"; layers and embeddings as {start} had them" if start else ""
    return f"cut from | {settings.target}: {'layer' if num_layers == 1 else 'layers'} {layers}{warm}"
