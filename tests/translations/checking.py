"""What may be wrong with a translation: a placeholder that is lost or new, tags, commands and keys that changed, and
what a text begins and ends with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.text.languages import Language
from app.text.translation import ENGINE, Forms
from app.widgets.prompt.prompt_filling import CLIPBOARD, pieces
from tests.translations.collecting import Message

_PLACEHOLDER = re.compile(r"\{[A-Za-z_]+(?::[^{}]*)?\}|%L?n|%\d")
_VARIABLES = "PromptExamples"  # the context of prompts whose variables are asked for in the user's language
_NUMBER = re.compile(r"%L?n|\{number(?::[^{}]*)?\}")
_ACCELERATOR = re.compile(r"&(?=\w)(?!\w+;)")
_TAG = re.compile(r"</?[a-z][^<>]*>|&[a-z]+;")
_CODE = re.compile(r"`[^`]+`")
_KEYS = re.compile(r"(?:(?:Ctrl|Shift|Alt)\+)+\w+|\bF\d{1,2}\b")
_NAMES = re.compile(r"Slipstream|llama\.cpp|GGUF|Hugging Face|ChatGPT|LM Studio|ChatML|safetensors|PyTorch|\.gguf\b")
_NAMES_OF_FILES = re.compile(r"\b[\w.-]+\.(?:json|gguf|safetensors)\b|HF_[A-Z_]+|--[a-z]+")
_ENDS = {"…": "…", ".": ".。", ":": ":：", "?": "?？", "!": "!！", ",": ",，、"}
_BREAKS = "\u00a0\u202f"  # blanks that do not break
_ENGLISH_FORMS = re.compile(r"\((?:[^()|]*\|[^()|]*|e?s)\)")


def problems(message: Message, forms: Forms, language: Language) -> list[str]:
    """In sentences; none where nothing is wrong."""
    listed = forms if isinstance(forms, list) else [forms]
    if message.is_plural != isinstance(forms, list):
        return [f"It takes {_taken(message, language)}."]
    if message.is_plural and len(listed) != len(language.forms):
        return [f"It takes {_taken(message, language)}."]
    names = language.forms if message.is_plural else ("",)
    return [
        f"{name}: {problem}" if name else problem
        for name, text in zip(names, listed, strict=True)
        for problem in _of_text(message, text, name, language)
    ]


def _taken(message: Message, language: Language) -> str:
    if not message.is_plural:
        return "one text"
    return f"a list of {len(language.forms)}: {', '.join(language.forms)}"


def _of_text(message: Message, text: str, form: str, language: Language) -> Iterator[str]:
    source = message.source
    if not text.strip():
        yield "Nothing is there."
        return
    if message.context == _VARIABLES:
        yield from _of_variables(source, text)
    else:
        yield from _of_placeholders(message, text, form)
    for kind, what in ((_TAG, "tags"), (_CODE, "what is between ` `"), (_NAMES, "names"), (_NAMES_OF_FILES, "names")):
        if sorted(set(kind.findall(source))) != sorted(set(kind.findall(text))):
            yield f"The {what} must be those of the English text: {' '.join(sorted(set(kind.findall(source)))) or '–'}"
    if len(_ACCELERATOR.findall(source)) != len(_ACCELERATOR.findall(text)):
        yield "There must be one & before the letter by which it is reached, as in the English text."
    if {_local(keys, language) for keys in _KEYS.findall(source)} != set(_local_found(text, language)):
        yield f"The keys are {' '.join(_local(keys, language) for keys in _KEYS.findall(source)) or 'none'}."
    if _ENGLISH_FORMS.search(text) and message.is_plural:
        yield "The plural is not written in brackets: there is a form for each number."
    yield from _of_ends(source, text)


def _of_variables(source: str, text: str) -> Iterator[str]:
    """What is asked for, and what it begins with, is translated: there is as much of it, and what was copied stays."""
    if _asked_for(source) != _asked_for(text):
        yield f"The variables must be as many, of the same kinds: {' '.join(_PLACEHOLDER.findall(source))}"


def _asked_for(text: str) -> list[str]:
    return sorted(CLIPBOARD if each.name == CLIPBOARD else str(each.is_open) for each in pieces(text) if each.name)


def _of_placeholders(message: Message, text: str, form: str) -> Iterator[str]:
    source = message.source
    wanted, found = set(_PLACEHOLDER.findall(source)), set(_PLACEHOLDER.findall(text))
    lost = wanted - found
    if form == "one":  # `eine Datei` needs no number
        lost = {each for each in lost if not _NUMBER.fullmatch(each)}
    if message.context == ENGINE:  # a capital may be needed elsewhere
        lost = {each for each in lost if each.lower() not in {other.lower() for other in found}}
        found = {each for each in found if each.lower() not in {other.lower() for other in wanted}} | (found & wanted)
    if lost:
        yield f"It lacks {', '.join(sorted(lost))}."
    if found - wanted:
        yield f"{', '.join(sorted(found - wanted))} is not in the English text."


def _of_ends(source: str, text: str) -> Iterator[str]:
    for which, cut in (("begin", lambda words: words[: len(words) - len(words.lstrip(" \n"))]), ("end", _blanks_after)):
        if cut(source) != cut(text):
            yield f"It does not {which} with the same blanks as the English text."
    if source.count("\n") != text.count("\n"):
        yield f"It has {text.count(chr(10))} line breaks, the English text {source.count(chr(10))}."
    last = source.strip()[-1:]
    ends = text.strip()[-1:]
    if last in _ENDS and ends not in _ENDS[last]:
        yield f"It does not end with “{last}” as the English text does."
    if last not in _ENDS and ends in _ENDS:
        yield f"It ends with “{ends}”, and the English text does not."


def _blanks_after(words: str) -> str:
    return words[len(words.rstrip(" \n")) :]


def _local(keys: str, language: Language) -> str:
    for name, local in language.keys:
        keys = keys.replace(name, local)
    return keys


def _local_found(text: str, language: Language) -> Iterator[str]:
    names = {"Ctrl", "Shift", "Alt", *(local for _, local in language.keys)}
    keys = re.compile(rf"(?:(?:{'|'.join(sorted(names))})\+)+\w+|\bF\d{{1,2}}\b")
    for found in keys.findall(text):
        yield _local(found, language)
