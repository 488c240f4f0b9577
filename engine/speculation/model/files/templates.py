"""The chat template of a model file: what the file says, what is used where it says nothing, and what it makes of a
conversation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.chat.families import FAMILIES, TEXT, family_of
from engine.speculation.model.files.gguf_header import read_model, read_texts
from engine.values.conversations import ChatTurn
from engine.values.errors import NotPossible, TemplateFailed
from engine.values.targets import FamilyTemplate, TemplateFacts

_BEGIN, _END = "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"


def template_facts(path: Path) -> TemplateFacts:
    """Raises TargetMissing or TargetUnusable."""
    header = read_model(path)
    pieces = read_texts(path, header.values.get("tokenizer.ggml.tokens"))
    in_file = header.text("tokenizer.chat_template")
    known = frozenset(pieces)
    names = (path.name, header.text("general.name"), header.text("general.finetune"))
    usual = family_of(known, " ".join(names))

    def text_of(key: str) -> str:
        number = header.values.get(key)
        is_there = isinstance(number, int) and 0 <= number < len(pieces)
        return pieces[number].decode("utf-8", "replace") if is_there and isinstance(number, int) else ""

    families = [
        FamilyTemplate(each.name, each.source, tuple(mark for mark in each.marks if mark.encode() not in known))
        for each in FAMILIES
    ]
    return TemplateFacts(
        in_file,
        in_file or (TEXT if usual is None else usual.source),
        "" if in_file or usual is None else usual.name,
        (*families, FamilyTemplate("", TEXT)),
        text_of(_BEGIN),
        text_of(_END),
    )


def preview(source: str, facts: TemplateFacts, turns: Sequence[ChatTurn]) -> str:
    """The prompt that a template makes of a conversation. Raises NotPossible for one that cannot be used."""
    try:
        return str(ChatTemplate(source, facts.begin, facts.end).render(turns))
    except TemplateFailed as error:
        raise NotPossible("This template cannot be used ({reason}); change it.", reason=error.reason) from error
