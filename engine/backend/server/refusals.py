"""Why a request is refused: a status of HTTP, and a sentence in the form that its interface has for errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from engine.values.asked import Refusal
from engine.values.sentences import Sentence, Value, say

# By status, the kinds of errors that OpenAI's and Anthropic's interfaces have.
_OPENAI = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
_STATUS = {
    Refusal.INVALID: 400,
    Refusal.TOO_LONG: 400,
    Refusal.NOT_READY: 503,
    Refusal.NOT_OFFERED: 501,
}
TOO_LONG = " The prompt is too long: it exceeds the available context size."  # words by which clients know it
_CODES = {
    Refusal.TOO_LONG: "context_length_exceeded",
    Refusal.NOT_READY: "model_not_ready",
    Refusal.NOT_OFFERED: "not_offered",
}
_FOLDERS = re.compile(r"""(?<![\w:/\\.])(?:~\w*|[A-Za-z]:)?[/\\](?:[^/\\\s“”"']+[/\\])+""")  # of a path within words


@dataclass(eq=False)
class RequestRefused(Exception):
    """A refusal as the program reads it, without any path that a `Sentence` of the engine holds."""

    status: int
    sentence: str
    code: str | None = None
    param: str | None = None  # the field of the request that is at fault
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sentence = without_paths(self.sentence)

    def as_openai(self) -> dict[str, Any]:
        usual = "invalid_request_error" if self.status < 500 else "server_error"
        kind = _OPENAI.get(self.status, usual)
        return {"error": {"message": self.sentence, "type": kind, "param": self.param, "code": self.code}}

    def as_anthropic(self) -> dict[str, Any]:
        usual = "invalid_request_error" if self.status < 500 else "api_error"
        kind = _ANTHROPIC.get(self.status, usual)
        return {"type": "error", "error": {"type": kind, "message": self.sentence}}


def invalid(sentence: str, param: str | None = None) -> RequestRefused:
    return RequestRefused(400, sentence, param=param)


def unread(
    status: int, sentence: str, is_too_long: bool = False, headers: Mapping[str, str] | None = None
) -> RequestRefused:
    """The rest of this request is not read, so nothing else can come on its connection. `is_too_long`: for the model,
    whatever it is."""
    code = _CODES[Refusal.TOO_LONG] if is_too_long else None
    sentence += TOO_LONG if is_too_long else ""
    return RequestRefused(status, sentence, code, headers={"Connection": "close"} | dict(headers or {}))


def refused(refusal: Refusal, sentence: str) -> RequestRefused:
    """What the engine refused."""
    if refusal is Refusal.TOO_LONG:
        sentence = without_paths(sentence) + TOO_LONG
    headers = {"Retry-After": "2"} if refusal is Refusal.NOT_READY else {}
    return RequestRefused(_STATUS[refusal], sentence, _CODES.get(refusal), headers=headers)


def without_paths(sentence: str) -> str:
    """Reduces paths in the sentence to file names: folders are no concern of other programs."""
    if not isinstance(sentence, Sentence):
        return sentence
    return say(sentence.template, **{name: _named(value) for name, value in sentence.values.items()})


def _named(value: Value) -> Value:
    if isinstance(value, Sentence):
        return without_paths(value)
    if not isinstance(value, str):
        return value
    return PurePath(value).name or value if PurePath(value).is_absolute() else _FOLDERS.sub("", value)
