"""The small files in a drafter's folder: JSON, and the chat template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import DrafterUnusable

SAFETENSORS = "*.safetensors"
_MAX_BYTES = 256 << 20  # the largest tokenizer.json known has 35 million


def read_json(file: Path) -> dict[str, Any] | None:
    """None where there is no such file. Raises DrafterUnusable when it is no JSON object."""
    if not file.exists():
        return None
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise ValueError("too large")
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict):
            raise ValueError("no object")
    except OSError as error:
        raise DrafterUnusable(f"{file} cannot be read ({error.strerror}); check its permissions.") from error
    except (ValueError, RecursionError) as error:
        raise DrafterUnusable(f"{file} is damaged; download the drafter again.") from error
    return content


def no_weights(folder: Path) -> str:
    """Why a folder without safetensors cannot draft, in a sentence."""
    if any(file for pattern in ("*.bin", "*.pt", "*.pth") for file in folder.glob(pattern)):
        return (
            f"The weights in {folder} are in PyTorch's old format, which can run programs when it is read; "
            "convert them to safetensors."
        )
    return f"{folder} holds no model.safetensors; download the drafter again."


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """The files beside a tokenizer.json."""

    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    template_file: str | None

    @classmethod
    def read(cls, folder: Path) -> TokenizerFiles:
        template = folder / "chat_template.jinja"
        try:
            source = template.read_text("utf-8") if template.exists() else None
        except (OSError, UnicodeDecodeError) as error:
            raise DrafterUnusable(f"{template} cannot be read; download the drafter again.") from error
        return cls(
            read_json(folder / "config.json") or {},
            read_json(folder / "generation_config.json") or {},
            # Older checkpoints have a separate file for special tokens.
            (read_json(folder / "special_tokens_map.json") or {}) | (read_json(folder / "tokenizer_config.json") or {}),
            source,
        )

    def text(self, name: str) -> str | None:
        """The text of the "bos" or "eos" token."""
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
