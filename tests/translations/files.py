"""The files of translations: one for each language, by contexts, with the English words beside the translated ones."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from app.text.languages import Language
from app.text.translation import TRANSLATIONS, Forms, read_messages
from tests.translations.collecting import Message

Known = dict[tuple[str, str], Forms]  # translations by context and English words


def read(language: Language, folder: Path = TRANSLATIONS) -> Known:
    found = read_messages(language, folder)
    return {(context, source): forms for context, words in found.items() for source, forms in words.items()}


def write(language: Language, known: Mapping[tuple[str, str], Forms], folder: Path = TRANSLATIONS) -> None:
    """Sorted, and one entry on a line, so that a change is read easily."""
    messages: dict[str, dict[str, Forms]] = defaultdict(dict)
    for (context, source), forms in sorted(known.items()):
        messages[context][source] = forms
    blocks = (
        f"    {_json(context)}: {{\n"
        + ",\n".join(f"      {_json(source)}: {_json(forms)}" for source, forms in words.items())
        + "\n    }"
        for context, words in messages.items()
    )
    folder.mkdir(parents=True, exist_ok=True)
    head = f'{{\n  "language": {_json(language.code)},\n  "messages": {{\n'
    body = ",\n".join(blocks)
    (folder / f"{language.code}.json").write_text(f"{head}{body}\n  }}\n}}\n", "utf-8")


def missing(messages: Iterable[Message], known: Mapping[tuple[str, str], Forms]) -> list[Message]:
    """Those without a translation of their own whose words are not translated in another context either."""
    anywhere = {(source, isinstance(forms, list)) for (_, source), forms in known.items() if forms}
    found: dict[tuple[str, bool], Message] = {}
    for each in messages:
        words = (each.source, each.is_plural)
        if words not in anywhere:
            found.setdefault(words, each)
    return list(found.values())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
