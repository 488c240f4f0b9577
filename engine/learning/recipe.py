"""How a drafter is made: cut out of the target, trained on what the target wrote, written as a folder with its card."""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from engine.chat_template import ChatTemplate
from engine.config import DistillSettings
from engine.errors import CorpusUnreadable, DrafterUnusable
from engine.learning.corpus import read_lessons
from engine.learning.cut import Cut, cut_drafter
from engine.learning.progress import TrainingProgress
from engine.learning.training import END_OF_TURN, TrainingSettings, agreement, make_samples, train

# What the starter's template says by itself, where a conversation has no system prompt.
_UNSAID_SYSTEM_PROMPTS = frozenset({"You are a helpful AI assistant named SmolLM, trained by Hugging Face"})
_NUM_HELD_BACK = 256  # conversations that the card's agreement is measured on
_NUM_WATCHED = 64  # of these, while it trains


def make_drafter(
    settings: DistillSettings,
    target: Path,
    pieces: Sequence[bytes],
    folder: Path,
    on_progress: Callable[[TrainingProgress], None],
) -> None:
    """Makes a drafter in `folder`, which gets its name when all of it is written. `pieces` are the tokens of the GGUF
    file `target`.

    Raises TargetUnsupported, CorpusUnreadable, or DrafterUnusable when something stands at `folder` already.
    """
    if folder.exists():
        raise DrafterUnusable(f"{folder} exists already; remove it, or choose another folder.")
    corpus, held_back = (
        list(chain.from_iterable(read_lessons(path, pieces) for path in paths))
        for paths in (settings.corpus, settings.held_back)
    )
    if not corpus or not held_back:
        raise CorpusUnreadable("The corpus holds no conversation; choose another file.")
    cut = cut_drafter(target, settings.layers, settings.vocabulary_size)
    tokenizer = Tokenizer.from_str(json.dumps(cut.tokenizer))
    template = ChatTemplate(cut.chat_template, begin="", end="")
    samples, judges = (
        make_samples(lessons, tokenizer, template, _UNSAID_SYSTEM_PROMPTS)
        for lessons in (corpus, held_back[:_NUM_HELD_BACK])
    )
    last: list[TrainingProgress] = []

    def note(progress: TrainingProgress) -> None:
        last[:] = [progress]
        on_progress(progress)

    training = TrainingSettings(60 * settings.minutes, settings.learning_rate, settings.seed)
    train(cut.model, samples, judges[:_NUM_WATCHED], training, note)
    num_tokens = sum(len(sample.tokens) for sample in samples)
    card = _card(settings, cut, num_tokens, last[0], agreement(cut.model, judges), len(judges))
    write_drafter(folder, cut, card)


def write_drafter(folder: Path, cut: Cut, card: str) -> None:
    """The folder, whole or not at all: config, weights (bf16 safetensors), tokenizer with its chat template, card."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
    try:
        model: Any = cut.model
        model.to("cpu", torch.bfloat16).save_pretrained(unfinished)
        (unfinished / "generation_config.json").unlink(missing_ok=True)
        (unfinished / "tokenizer.json").write_text(json.dumps(cut.tokenizer, ensure_ascii=False), "utf-8")
        about = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END_OF_TURN,
            "chat_template": cut.chat_template,
        }
        (unfinished / "tokenizer_config.json").write_text(json.dumps(about, indent=2), "utf-8")
        (unfinished / "README.md").write_text(card, "utf-8")
        unfinished.chmod(0o755)
        for file in unfinished.iterdir():
            file.chmod(0o644)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _card(
    settings: DistillSettings,
    cut: Cut,
    num_tokens: int,
    progress: TrainingProgress,
    measured: float,
    num_held_back: int,
) -> str:
    size = sum(weight.numel() for weight in cut.model.parameters()) / 1e6
    layers = ",".join(map(str, settings.layers))
    corpus = ", ".join(path.name for path in settings.corpus)
    files = [f"--corpus {path.name}" for path in settings.corpus]
    files += [f"--held-back {path.name}" for path in settings.held_back]
    return f"""---
license: {settings.licence}
---
# A drafter for Slipstream

A small Llama-type model that guesses ahead of a target. It is not meant to be talked to.

| | |
|---|---|
| cut from | {settings.target}: layers {layers}; the first {settings.vocabulary_size:,} tokens (bytes, then merges) |
| size | {size:.1f} million parameters, bf16 |
| data | {num_tokens:,} tokens of conversations that the target wrote whole itself ({corpus}) |
| training | all weights, token loss on replies, loops weighted down; AdamW, {settings.learning_rate:g}, cosine |
| steps | {progress.step:,} in {progress.seconds / 60:.0f} minutes, {progress.epoch:.2f} epochs |
| machine | {platform.machine()}, {torch.get_num_threads()} threads, {next(cut.model.parameters()).device.type} |
| greedy next-token agreement | {measured:.3f} on {num_held_back} conversations held back, in its own tokens |
| licence | {settings.licence}, as the model it was cut from |

Made with:

    slipstream distill --target {settings.target} {" ".join(files)} \\
        --layers {layers} --vocabulary {settings.vocabulary_size} --minutes {settings.minutes:g} --out FOLDER
"""
