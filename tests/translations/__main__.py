"""Collects the words of the window, and says what is not translated: `python -m tests.translations`.

python -m tests.translations                     how much is translated, and what is wrong; ends with 1 if not all
python -m tests.translations --missing de        lists what German lacks
python -m tests.translations --export de FOLDER  writes that to files in FOLDER, to be filled in
python -m tests.translations --import FILE …     takes over what is filled in there, if nothing is wrong with it
python -m tests.translations --tidy              removes translations of words that are not said any more
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from app.text.languages import TRANSLATED, Language, language_named
from tests.translations import files
from tests.translations.checking import problems
from tests.translations.collecting import Message, collected

_AT_ONCE = 100  # messages in a file to be filled in


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.translations", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--missing", metavar="LANGUAGE", help="list what this language lacks")
    parser.add_argument("--export", nargs=2, metavar=("LANGUAGE", "FOLDER"), help="write what it lacks to be filled in")
    parser.add_argument("--again", action="store_true", help="with --export: also what is translated")
    parser.add_argument("--context", help="with --export: only what is said by classes whose names begin so")
    parser.add_argument("--import", dest="filled", nargs="+", type=Path, metavar="FILE", help="take over what is there")
    parser.add_argument("--tidy", action="store_true", help="remove translations of words that are not said any more")
    chosen = parser.parse_args()
    if chosen.missing:
        return _list_missing(_language(chosen.missing))
    if chosen.export:
        return _export(_language(chosen.export[0]), Path(chosen.export[1]), chosen.context or "", chosen.again)
    if chosen.filled:
        return 1 if sum(map(_import, chosen.filled)) else 0
    if chosen.tidy:
        for language in TRANSLATED:
            _tidy(language)
    return _report()


def wrong(language: Language, messages: Sequence[Message]) -> list[tuple[Message, str]]:
    """What is wrong with the translations there are."""
    known = files.read(language)
    pairs = ((each, known.get((each.context, each.source))) for each in messages)
    return [(each, problem) for each, forms in pairs if forms for problem in problems(each, forms, language)]


def _report() -> int:
    num_bad = 0
    messages = collected()
    said = {(each.context, each.source) for each in messages}
    for language in TRANSLATED:
        known = files.read(language)
        missing, found = files.missing(messages, known), wrong(language, messages)
        num_texts = len(files.missing(messages, {}))
        print(
            f"{language.code}: {num_texts - len(missing)} of {num_texts} texts translated, {len(missing)} missing, "
            f"{len(found)} wrong, {len(known.keys() - said)} not said any more"
        )
        for message, problem in found:
            print(f"    {message.context}: {message.source!r}: {problem}")
        num_bad += len(missing) + len(found)
    return 1 if num_bad else 0


def _list_missing(language: Language) -> int:
    missing = files.missing(collected(), files.read(language))
    for each in missing:
        print(f"{each.context}: {each.source!r}  ({', '.join(each.places[:3])})")
    print(f"{len(missing)} are not translated into {language.own_name}.")
    return 1 if missing else 0


def _export(language: Language, folder: Path, context: str, with_known: bool) -> int:
    known = files.read(language)
    wanted = files.missing(collected(), {} if with_known else known)
    wanted = [each for each in wanted if each.context.startswith(context)]
    folder.mkdir(parents=True, exist_ok=True)
    for place, start in enumerate(range(0, len(wanted), _AT_ONCE), start=1):
        entries = [_entry(each, known, language) for each in wanted[start : start + _AT_ONCE]]
        content = {"language": language.code, "entries": entries}
        path = folder / f"{language.code}-{place:02}.json"
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")
        print(f"{path}: {len(entries)}")
    return 0


def _entry(message: Message, known: files.Known, language: Language) -> dict[str, Any]:
    empty: str | dict[str, str] = dict.fromkeys(language.forms, "") if message.is_plural else ""
    forms = known.get((message.context, message.source))
    if isinstance(forms, list):
        empty = dict(zip(language.forms, forms, strict=False))
    elif forms:
        empty = forms
    return {
        "id": _id(message),
        "context": message.context,
        "where": ", ".join(message.places[:3]),
        "shown by": message.shown_by,
        "source": message.source,
        "translation": empty,
    }


def _import(path: Path) -> int:
    """How many entries were refused; what is still empty is passed over."""
    content = json.loads(path.read_text("utf-8"))
    language = _language(content["language"])
    by_id = {_id(each): each for each in collected()}
    known, num_taken, num_empty, refused = files.read(language), 0, 0, 0
    for entry in content["entries"]:
        message = by_id.get(entry["id"])
        if message is None or message.source != entry["source"]:
            print(f"{path}: {entry['source']!r} is not said any more, or was changed.")
            refused += 1
            continue
        given = entry["translation"]
        forms = [str(given.get(name, "")) for name in language.forms] if isinstance(given, dict) else given
        if not any(forms):
            num_empty += 1
            continue
        found = problems(message, forms, language)
        for problem in found:
            print(f"{path}: {message.context}: {message.source!r} → {forms!r}: {problem}")
        if found:
            refused += 1
        else:
            known[message.context, message.source] = forms
            num_taken += 1
    files.write(language, known)
    print(f"{path}: {num_taken} taken over, {num_empty} still empty, {refused} refused")
    return refused


def _tidy(language: Language) -> None:
    said = {(each.context, each.source) for each in collected()}
    known = files.read(language)
    kept = {key: forms for key, forms in known.items() if key in said}
    if known:
        files.write(language, kept)


def _id(message: Message) -> str:
    return sha256(f"{message.context}\n{message.source}".encode()).hexdigest()[:12]


def _language(code: str) -> Language:
    language = language_named(code)
    if language not in TRANSLATED:
        sys.exit(f"There is no language {code}; choose one of {', '.join(each.code for each in TRANSLATED)}.")
    assert language is not None
    return language


if __name__ == "__main__":
    sys.exit(main())
