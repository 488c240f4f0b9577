"""The chat template that a GGUF file carries: untrusted jinja2 source that turns messages into the text of a prompt."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
import jinja2.ext
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import TemplateFailed
from engine.records import ChatTurn, Role

# What llama.cpp falls back to as well for models that carry none.
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

_PATIENCE_S = 5.0
_MAX_GROWTH = 64  # characters of prompt per character of message
_MAX_FRAME = 1_000_000  # characters a template may add by itself
_MAX_REPEAT = 100_000  # length of a sequence made by `*`, as the sandbox allows for range()


class _Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, without the arithmetic that makes huge values out of small ones."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or max(_length_of_product(left, right), _length_of_product(right, left)) > _MAX_REPEAT:
            raise SecurityError("it makes a value that is too large")
        return super().call_binop(context, operator, left, right)


def _length_of_product(sequence: Any, times: Any) -> int:
    return len(sequence) * times if hasattr(sequence, "__len__") and isinstance(times, int) else 0


class ChatTemplate:
    """Renders turns the way the target was trained to read them.

    Raises TemplateFailed from the constructor and from `render`, with a sentence about what is wrong.
    """

    def __init__(self, source: str | None, begin: str, end: str) -> None:
        """`begin` and `end` are the texts of the target's own first and last special token ("" where it has none)."""
        environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        environment.filters["tojson"] = _to_json
        self._tokens = {"bos_token": begin, "eos_token": end}
        try:
            self._template = environment.from_string(source or CHATML)
        except (jinja2.TemplateError, RecursionError) as error:
            raise _failed(error) from error

    def render(self, turns: Sequence[ChatTurn]) -> str:
        """The prompt up to where the reply begins."""
        turns = _joined(turns)
        try:
            return self._render(turns)
        except TemplateFailed:
            if not any(turn.role is Role.SYSTEM for turn in turns):
                raise
            return self._render(_system_within_prompt(turns))  # some models know no system role

    def _render(self, turns: Sequence[ChatTurn]) -> str:
        messages = [{"role": turn.role.value, "content": turn.text} for turn in turns]
        limit = _MAX_FRAME + _MAX_GROWTH * sum(len(turn.text) for turn in turns)
        deadline = time.monotonic() + _PATIENCE_S
        pieces: list[str] = []
        length = 0
        try:
            for piece in self._template.generate(
                messages=messages, add_generation_prompt=True, tools=None, documents=None, **self._tokens
            ):
                pieces.append(piece)
                length += len(piece)
                if length > limit or time.monotonic() > deadline:
                    raise SecurityError("it does not come to an end")
        # A template is a program from elsewhere: it can raise whatever Python can.
        except Exception as error:
            raise _failed(error) from error
        return "".join(pieces)


def _joined(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Neighbouring turns of one role as one: many templates insist on alternation, and a prompt may have stayed
    unanswered."""
    joined: list[ChatTurn] = []
    for turn in turns:
        if joined and joined[-1].role is turn.role:
            joined[-1] = ChatTurn(turn.role, f"{joined[-1].text}\n\n{turn.text}")
        else:
            joined.append(turn)
    return joined


def _system_within_prompt(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
    others = [turn for turn in turns if turn.role is not Role.SYSTEM]
    return [ChatTurn(others[0].role, f"{system}\n\n{others[0].text}"), *others[1:]] if others else []


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)  # jinja2's own escapes for HTML


def _failed(error: Exception) -> TemplateFailed:
    reason = str(error).strip().splitlines()
    return TemplateFailed(
        f"The chat template inside this model cannot be used ({reason[0] if reason else type(error).__name__}); "
        "choose another model, or another file of it."
    )
