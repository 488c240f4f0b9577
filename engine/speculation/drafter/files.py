"""The small files in a drafter's folder: JSON, and the chat template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from engine.values.errors import DrafterUnusable
from engine.values.sentences import say
from engine.values.whole_file import NotAFile, plain_file

SAFETENSORS = "*.safetensors"
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
_MAX_BYTES = 4 << 20  # the largest known of the small files is a tokenizer_config.json of 1.2 million
_MAX_CONFIG_BYTES = 1 << 18  # it is parsed in one piece, and that of a Llama-type model has a few thousand
_MAX_TOKENIZER_BYTES = 64 << 20  # the largest tokenizer.json known has 35 million
# A value of JSON takes many times as much memory as its text; 256,000 tokens with their merges are 1.8 million values.
_BYTES_PER_VALUE = 20


def read_json(file: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if there is no such file. Raises DrafterUnusable when it is no JSON object."""
    text = read_text(file)
    if text is None:
        return None
    try:
        if sum(map(text.count, ",[{")) > _most_bytes(file) // _BYTES_PER_VALUE:
            raise ValueError("too much in it")
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError, MemoryError) as error:
        raise _damaged(file) from error
    return content


def read_text(file: Path) -> str | None:
    """The text of a file; None if there is no such file. Raises DrafterUnusable for one that is too large, no UTF-8 or
    a pipe."""
    most = _most_bytes(file)
    try:
        with open_file(file) as opened:
            data = opened.read(most + 1)
        if len(data) > most:
            raise _damaged(file)
        return data.decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DrafterUnusable(
            "{file} cannot be read ({reason}); check its permissions.", file=file, reason=error.strerror
        ) from error
    except UnicodeDecodeError as error:
        raise _damaged(file) from error


def open_file(file: Path) -> BinaryIO:
    """Raises OSError, and DrafterUnusable for a pipe or a device, at which reading would wait or never end."""
    try:
        return plain_file(file)
    except NotAFile as error:
        raise DrafterUnusable("{file} is not a file; download the drafter again.", file=file) from error


def _most_bytes(file: Path) -> int:
    return {TOKENIZER: _MAX_TOKENIZER_BYTES, CONFIG: _MAX_CONFIG_BYTES}.get(file.name, _MAX_BYTES)


def _damaged(file: Path) -> DrafterUnusable:
    return DrafterUnusable("{file} is damaged; download the drafter again.", file=file)


def no_weights(folder: Path) -> str:
    """The sentence for a folder that cannot draft since it has no safetensors."""
    if any(file for pattern in ("*.bin", "*.pt", "*.pth") for file in folder.glob(pattern)):
        return say(
            "The weights in {folder} are in PyTorch's old format, which can run programs when it is read; "
            "convert them to safetensors.",
            folder=folder,
        )
    return say("{folder} holds no model.safetensors; download the drafter again.", folder=folder)


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """The files next to a tokenizer.json."""

    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    template_file: str | None

    @classmethod
    def read(cls, folder: Path) -> TokenizerFiles:
        return cls(
            read_json(folder / "config.json") or {},
            read_json(folder / "generation_config.json") or {},
            # Older checkpoints have a separate file for special tokens.
            (read_json(folder / "special_tokens_map.json") or {}) | (read_json(folder / "tokenizer_config.json") or {}),
            read_text(folder / "chat_template.jinja"),
        )

    def text(self, name: str) -> str | None:
        text = self.tokenizer.get(f"{name}_token")
        if isinstance(text, dict):
            text = text.get("content")
        return text if isinstance(text, str) else None

    def token(self, tokenizer: Any, name: str) -> int | None:
        """The id of "bos" or "eos"; the tokenizer's files know better than the model's which one ends a turn."""
        text = self.text(name)
        named = None if text is None else tokenizer.token_to_id(text)
        if isinstance(named, int):
            return named
        for source in (self.generation, self.config):
            given = source.get(f"{name}_token_id")
            first = given[0] if isinstance(given, list) and given else given
            if isinstance(first, int) and not isinstance(first, bool):
                return first
        return None

    @property
    def template(self) -> str | None:
        if self.template_file is not None:
            return self.template_file
        given = self.tokenizer.get("chat_template")
        if isinstance(given, list):
            named = {item.get("name"): item.get("template") for item in given if isinstance(item, dict)}
            given = named.get("default", next(iter(named.values()), None))
        return given if isinstance(given, str) else None
