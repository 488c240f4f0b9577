"""The chat template that a GGUF file carries: untrusted jinja2 source that turns messages into the text of a prompt."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.filters
import jinja2.nodes
import jinja2.parser
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import TemplateFailed
from engine.messages.conversations import ChatTurn, Role

# What llama.cpp falls back to as well for models that carry none.
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

_PATIENCE_S = 2.0
# Looked up at import: later it would wait, holding Python's lock, while the system's loader is busy with torch.
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_MAX_GROWTH = 64  # characters of prompt per character of message
_MAX_FRAME = 1_000_000  # characters a template may add by itself
_MAX_INDENT = 100
_PADDING = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs"})  # methods that make a text of any length
_MAX_REPEAT = 100_000  # length of a sequence made by `*`, as the sandbox allows for range()


class _Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, without the arithmetic that makes huge values out of small ones."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return attr not in _PADDING and super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if (
            operator == "**"
            or (operator == "%" and isinstance(left, str | bytes))
            or max(_length_of_product(left, right), _length_of_product(right, left)) > _MAX_REPEAT
        ):
            raise SecurityError("it makes a value that is too large")
        return super().call_binop(context, operator, left, right)


def _length_of_product(sequence: Any, times: Any) -> int:
    return len(sequence) * times if hasattr(sequence, "__len__") and isinstance(times, int) else 0


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks replies for training; the text inside is ordinary."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _TooSlow(Exception):
    """Raised into a rendering that has gone on for too long."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises _TooSlow in this thread when the block takes longer, even in a loop without any output."""
    thread_id = threading.get_ident()
    lock = threading.Lock()
    over = False

    def interrupt() -> None:
        with lock:
            if not over:
                _raise_in(ctypes.c_ulong(thread_id), ctypes.py_object(_TooSlow))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over = True
        timer.cancel()
        # One raised at the very last moment is withdrawn.
        _raise_in(ctypes.c_ulong(thread_id), None)


class ChatTemplate:
    """Renders turns the way the target was trained to read them. Constructor and `render` raise TemplateFailed."""

    def __init__(self, source: str | None, begin: str, end: str) -> None:
        """`begin` and `end` are the texts of the target's own first and last special token ("" where it has none)."""
        environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, _Generation])
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        environment.filters["tojson"] = _to_json
        environment.filters["indent"] = _indent
        for name in ("center", "wordwrap", "format"):
            environment.filters.pop(name)
        self._tokens = {"bos_token": begin, "eos_token": end}
        try:
            self._template = environment.from_string(source or CHATML)
        except (jinja2.TemplateError, RecursionError) as error:
            raise _failed(str(error)) from error

    def render(self, turns: Sequence[ChatTurn]) -> str:
        """The prompt up to where the reply begins."""
        turns = _joined(turns)
        system = [turn.text for turn in turns if turn.role is Role.SYSTEM]
        if not system:
            return self._render(turns)
        try:
            text = self._render(turns)
        except TemplateFailed:
            text = ""
        # Some models know no system role: their template refuses it, or leaves it out without a word.
        return text if system[0].strip() in text else self._render(_system_within_prompt(turns))

    def _render(self, turns: Sequence[ChatTurn]) -> str:
        messages = [{"role": turn.role.value, "content": turn.text} for turn in turns]
        limit = _MAX_FRAME + _MAX_GROWTH * sum(len(turn.text) for turn in turns)
        pieces: list[str] = []
        length = 0
        try:
            with _time_limit(_PATIENCE_S):
                for piece in self._template.generate(messages=messages, add_generation_prompt=True, **self._tokens):
                    pieces.append(piece)
                    length += len(piece)
                    if length > limit:
                        raise _TooSlow
        except _TooSlow as error:
            raise _failed("it does not come to an end") from error
        # A template is a program from elsewhere: it can raise whatever Python can.
        except Exception as error:
            raise _failed(str(error) or type(error).__name__) from error
        if not length:
            raise _failed("it writes nothing")
        return "".join(pieces)


def _joined(turns: Sequence[ChatTurn]) -> list[ChatTurn]:
    """Joins neighbouring turns of one role: many templates insist on alternation, and a prompt may have no reply."""
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


def _indent(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    if (width if isinstance(width, int) else len(width)) > _MAX_INDENT:
        raise SecurityError("it makes a value that is too large")
    return jinja2.filters.do_indent(text, width, first, blank)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As transformers has it; jinja2's own escapes for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _failed(reason: str) -> TemplateFailed:
    first_line = next(iter(reason.strip().splitlines()), "it does not say why")
    return TemplateFailed(
        f"The chat template inside this model cannot be used ({first_line}); "
        "choose another model, or another file of it."
    )
