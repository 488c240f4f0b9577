"""The drafter's own tokenizer: its tokens as bytes, tokens for any bytes, and a conversation in its chat format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.speculation.drafter.assembly import model_of, tokenizer_of
from engine.speculation.drafter.files import TokenizerFiles, read_json
from engine.speculation.drafter.middle_encoder import MiddleEncoder
from engine.speculation.drafter.pieces import byte_alphabet, names_of, piece_of, spelling_of
from engine.speculation.drafter.prompt_format import PromptFormat
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.model.special_tokens import SpecialTokens
from engine.values.conversations import ChatTurn
from engine.values.errors import DrafterUnusable


class DrafterTokenizer:
    """A drafter's tokenizer, for bytes in the middle of a text and for whole conversations.

    `pieces` holds the bytes of every token by id, b"" for special and added tokens and for ids without a token;
    `special` the ids that no text can produce; `end` the token that ends a turn; `fingerprint` the sha256 of all that
    decides how bytes become tokens.
    """

    def __init__(self, content: dict[str, Any], files: TokenizerFiles, name: str) -> None:
        """`content` is that of the tokenizer.json. Raises DrafterUnusable."""
        spelling = spelling_of(content, name)
        model = model_of(content["model"])
        self._prompts = tokenizer_of(content, model)
        names = names_of(content)
        size = files.config.get("vocab_size")
        self._size = size if isinstance(size, int) else max(names, default=-1) + 1
        if not names or max(names) >= self._size:
            raise DrafterUnusable(
                "The tokenizer of {name} has more tokens than its model; download both in the same version.", name=name
            )
        added = {token["id"]: bool(token.get("special")) for token in content.get("added_tokens") or ()}
        begin = files.token(self._prompts, "bos")
        self.end = files.token(self._prompts, "eos")
        unknown = content["model"].get("unk_id", self._prompts.token_to_id(content["model"].get("unk_token") or ""))
        silent = {token for token in (begin, self.end, unknown) if token is not None}
        self.special = frozenset(silent | {token for token, is_special in added.items() if is_special})
        pieces = [b""] * self._size
        alphabet = byte_alphabet()
        for token, text in names.items():
            if token not in self.special and token not in added:
                pieces[token] = piece_of(text, spelling, alphabet)
        self.pieces = tuple(pieces)
        self._middle = MiddleEncoder(content, model, spelling, self.pieces)
        self._prompt_start = self._start_of_prompt(files, begin)
        self._special = SpecialTokens(
            {token: names[token].encode() for token in self.special if token in names}, self.pieces
        )
        self._format = PromptFormat(files.template, *map(self._text_of, (begin, self.end)))
        digest = self._middle.digest.copy()
        digest.update(repr((self._size, sorted(self.special), sorted(added))).encode())
        self.fingerprint: str = digest.hexdigest()

    @classmethod
    def from_folder(cls, folder: Path) -> DrafterTokenizer:
        """Raises DrafterUnusable when the folder holds no tokenizer, a damaged one, or one of an unknown kind."""
        files = TokenizerFiles.read(folder)
        content = read_json(folder / "tokenizer.json") or _converted(folder)
        try:
            return cls(content, files, folder.name)
        except (DrafterUnusable, KeyboardInterrupt, SystemExit):
            raise
        # The tokenizers library raises a plain Exception for a file it does not understand, or panics, which is none.
        except BaseException as error:
            raise DrafterUnusable(
                "The tokenizer in {folder} is damaged; download the drafter again.", folder=folder
            ) from error

    def __len__(self) -> int:
        """The size of the model's vocabulary, which may be larger than the tokenizer's."""
        return self._size

    def encode(self, data: bytes) -> list[int] | None:
        """Tokens for bytes in the middle of a text, with exactly these bytes; None where there are none."""
        return self._middle.encode(data)

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        return self._middle.encode_many(items)

    def encode_prompt(self, turns: Sequence[ChatTurn]) -> list[int]:
        """The conversation in the drafter's own chat format, up to where the reply begins."""
        text, is_whole = self._format.render(turns)
        return self._encode_prompt(text) if is_whole else self._prompt_start + self._encode_prompt(text)

    def _encode_prompt(self, text: PromptText) -> list[int]:
        return [token for token in self._special.tokens_of(text, self._tokenize) if token < self._size]

    def _tokenize(self, text: str, with_special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")  # text may hold half of a surrogate pair, which is no UTF-8
        if not with_special:
            return self._middle.encode(data) or []
        tokens: list[int] = self._prompts.encode(data.decode(), add_special_tokens=False).ids
        return tokens

    def _start_of_prompt(self, files: TokenizerFiles, begin: int | None) -> list[int]:
        """Tokens that the tokenizer itself puts in front of a text; templates write them, too."""
        wanted = files.tokenizer.get("add_bos_token")
        if isinstance(wanted, bool):
            return [begin] if wanted and begin is not None else []
        bare = self._prompts.encode("a", add_special_tokens=False).ids
        framed = self._prompts.encode("a", add_special_tokens=True).ids
        return framed[: framed.index(bare[0])] if bare and bare[0] in framed else []

    def _text_of(self, token: int | None) -> str:
        text = None if token is None else self._prompts.id_to_token(token)
        return text if isinstance(text, str) else ""


def _converted(folder: Path) -> dict[str, Any]:
    """The tokenizer of a folder that has no tokenizer.json, converted by transformers."""
    # Imported here because that takes two seconds and is seldom needed.
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, use_fast=True, trust_remote_code=False
        )
        content: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    # The error depends on what is missing: files, sentencepiece, an attribute.
    except Exception as error:
        raise DrafterUnusable(
            "{folder} has no usable tokenizer.json; save its tokenizer in that format.", folder=folder
        ) from error
    return content
