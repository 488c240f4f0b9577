"""A target of a few tokens, a drafter of others, and what one wrote for the other to learn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.learning.samples import CorpusLesson, SampleMaker, spellings
from engine.speculation.model.chat.families import CHATML
from engine.speculation.model.interface import Vocabulary
from engine.values.conversations import ChatTurn, Role
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, save
from tests.unit.engine.speculation.drafter.tokenizers_made import byte_level

WORDS = [b"The", b" quick brown", b" fox", b" dog", b"!!"]  # " quick brown" is several tokens of the drafter
END = 256 + len(WORDS)
PIECES = [*(bytes([value]) for value in range(256)), *WORDS, b"<end>"]


def tokenizer(folder: Path) -> DrafterTokenizer:
    byte_level().save(str(folder / "tokenizer.json"))
    about = {"eos_token": "<|im_end|>", "chat_template": CHATML}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    (folder / "config.json").write_text(json.dumps({"vocab_size": 480}))
    return DrafterTokenizer.from_folder(folder)


def drafter_folder(folder: Path) -> Path:
    """A small drafter with random weights, and the tokenizer above."""
    save(random_llama(), folder)
    config = (folder / "config.json").read_text()
    tokenizer(folder)
    (folder / "config.json").write_text(config)
    return folder


TARGET = Vocabulary(tuple(PIECES), frozenset(), frozenset({END}), None, END, begins_prompts=False)


def maker(tokens: DrafterTokenizer, num_outputs: int = 480, systems: frozenset[str] = frozenset()) -> SampleMaker:
    return SampleMaker(TARGET, tokens, spellings(TARGET, tokens, num_outputs), systems)


def ids(text: bytes, finished: bool = True) -> list[int]:
    """The target's tokens, by longest match."""
    found = []
    while text:
        token = max((t for t, piece in enumerate(PIECES[:END]) if text.startswith(piece)), key=lambda t: len(PIECES[t]))
        found.append(token)
        text = text[len(PIECES[token]) :]
    return [*found, END] if finished else found


def lesson(reply: Sequence[int], line: int = 0, system: str = "") -> CorpusLesson:
    turns = [ChatTurn(Role.SYSTEM, system)] if system else []
    return CorpusLesson(line, (*turns, ChatTurn(Role.USER, "Hi")), np.array([1, 2, 3, *reply], np.int32), 3)
