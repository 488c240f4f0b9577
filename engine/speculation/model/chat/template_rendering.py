"""Renders a chat template with jinja2, set up as transformers sets it up.

The sandbox limits what a template may touch, not the time and memory it takes; a stranger's template is therefore
rendered in a process of its own (`template_apart.py`). The text equals that of transformers, and records which of its
characters were said in a message (`traced_text.py`).
"""

from __future__ import annotations

import json
import signal
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache, partial, wraps
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NoReturn, TypeVar

import jinja2.ext
from jinja2 import Environment, Template, TemplateError, nodes, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import make_attrgetter
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter

from engine.speculation.model.apart.child import take_at_most
from engine.speculation.model.apart.sandbox import confine
from engine.speculation.model.chat.traced_text import (
    TracedText,
    concatenated,
    interleaved,
    is_said,
    made_of,
    traced,
)
from engine.speculation.model.prompt_text import PromptText, from_json, said_in
from engine.values.sentences import packed, say

_NUM_KEPT = 8  # compiled templates
_LONGEST_REASON = 1_000  # characters
TOO_LARGE = say("it makes values that are too large")

T = TypeVar("T")

# The head of an answer: the verdict, the seconds taken, the number of characters. After it come a byte for each
# character, whether it was said, and the text in UTF-8; or the reason of a refusal as JSON.
HEAD = struct.Struct("=cdQ")
RENDERED, REFUSED, EXHAUSTED, ODD = b"+", b"-", b"!", b"?"
GRACE_S = 0.2  # a single call that goes on for this long after its time ends the process


class Refused(Exception):
    """The template is broken, rejects these messages, or takes too much."""

    def __init__(self, reason: str, is_exhausted: bool = False, is_odd: bool = False) -> None:
        """`reason`: part of a sentence, or the template's own words. `is_exhausted`: fewer messages might work.
        `is_odd`: neither jinja2 nor the template raised it on purpose."""
        super().__init__(reason)
        self.reason = reason
        self.is_exhausted = is_exhausted
        self.is_odd = is_odd


def check(source: str) -> None:
    """Compiles a template. Raises Refused if it is not valid."""
    _told(lambda: _compiled(source))


def rendered(source: str, names: Mapping[str, Any], most: int) -> PromptText:
    """Renders a template to at most `most` characters. Raises Refused."""
    text = _told(lambda: _compiled(source).render(traced(names)))
    if len(text) > most:
        raise Refused(say("it writes far more than was said"), is_exhausted=True)
    return PromptText(text, said_in(text))


def _told(work: Callable[[], T]) -> T:
    try:
        return work()
    except RecursionError as error:
        raise Refused(say("it is nested too deeply")) from error
    except MemoryError as error:
        raise Refused(TOO_LARGE, is_exhausted=True) from error
    except Exception as error:  # a template can make jinja2 and Python raise anything
        raise Refused(str.__str__(str(error))[:_LONGEST_REASON], is_odd=not isinstance(error, TemplateError)) from error


@lru_cache(_NUM_KEPT)
def _compiled(source: str) -> Template:
    return _ENVIRONMENT.from_string(source)


class _Code(CodeGenerator):
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """Compiles `~`, for which jinja2's own function returns a plain text."""
        self.write("environment.concat(map(environment.finalize, (")
        for each in node.nodes:
            self.visit(each, frame)
            self.write(", ")
        self.write(")))")


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks replies for training; the text inside is ordinary."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Environment(ImmutableSandboxedEnvironment):
    """jinja2 mostly calls methods of str, which traced texts override. The changes here cover the rest: methods of
    plain texts whose arguments are traced, and filters that build plain texts out of traced ones."""

    code_generator_class = _Code
    concat = staticmethod(concatenated)
    intercepted_binops = frozenset("%")

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_text_of,
            extensions=[jinja2.ext.loopcontrols, _Generation],
        )
        own = {"indent": _indent, "join": _join, "replace": _replace, "tojson": _tojson}
        self.filters = {name: _traced_through(change) for name, change in (self.filters | own).items()}
        self.globals |= {"raise_exception": _raise, "strftime_now": _now}

    def handle_exception(self, source: str | None = None) -> NoReturn:  # noqa: ARG002
        """Passes the exception on: jinja2's own method reads source files, which this process cannot open."""
        raise  # noqa: PLE0704 (jinja2 calls it where it handles one)

    def call(self, context: Context, function: Any, /, *arguments: Any, **named: Any) -> Any:
        owner = getattr(function, "__self__", None)
        if type(owner) is str and is_said((arguments, named)):
            function = getattr(TracedText(owner, bytes(len(owner))), function.__name__)
        return super().call(context, function, *arguments, **named)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return made_of(super().call_binop(context, operator, left, right), left, right)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        wrapped = super().wrap_str_format(value)
        if wrapped is None or value.__name__ != "format":
            return wrapped
        return partial(_filled_in, SandboxedFormatter(self), value.__self__)


def _traced_through(change: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a filter so that a text made of traced texts is traced."""

    @wraps(change)
    def changed(*arguments: Any, **named: Any) -> Any:
        return made_of(change(*arguments, **named), arguments, named)

    return changed


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else made_of(str(value), value)


def _filled_in(formatter: SandboxedFormatter, text: str, /, *arguments: Any, **named: Any) -> str:
    """Carries out `text.format(...)` within the sandbox."""
    pieces: list[str] = []
    num_used = 0
    for literal, field, form, conversion in formatter.parse(text):
        pieces.append(literal)
        if field is None:
            continue
        is_next = field[:1] in ("", ".", "[")
        found, _ = formatter.get_field(f"{num_used}{field}" if is_next else field, arguments, named)
        num_used += is_next
        value = formatter.convert_field(found, conversion)
        if form or not isinstance(value, str):
            value = made_of(format(value, formatter.vformat(form or "", arguments, named)), value)
        pieces.append(value)
    return _text_of(made_of(concatenated(pieces), text))


@pass_environment
def _join(environment: Environment, value: Any, d: str = "", attribute: Any = None) -> str:
    items = value if attribute is None else map(make_attrgetter(environment, attribute), value)
    return interleaved([*map(_text_of, items)], _text_of(d))


def _indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    indention = width if isinstance(width, str) else " " * width
    head, *rest = (s + "\n").splitlines()
    lines = [concatenated((indention, line)) if line or blank else line for line in rest]
    return interleaved([concatenated((indention if first else "", head)), *lines], "\n")


def _replace(s: Any, old: Any, new: Any, count: int | None = None) -> str:
    text, old, new = _text_of(s), _text_of(old), _text_of(new)
    if is_said(new) and not isinstance(text, TracedText):
        text = TracedText(text, bytes(len(text)))
    return text.replace(old, new, -1 if count is None else count)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Writes JSON as transformers does; jinja2's own filter escapes HTML."""
    return TracedText(
        json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    )


def _raise(message: Any) -> NoReturn:
    raise TemplateError(_text_of(message))


def _now(form: str) -> str:
    return datetime.now().strftime(form)


_ENVIRONMENT = _Environment()


class _OutOfTime(BaseException):
    """Not an Exception, because jinja2 catches some."""


def serve(pipe: Connection) -> None:
    """Answers questions until the pipe closes."""
    # Imports what could not be opened later.
    rendered("{{strftime_now('%c')~'\\N{BULLET}'}}", {}, 100)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _end_rendering)
    confine()
    pipe.send_bytes(b"")
    while True:
        source, names, most, seconds = json.loads(pipe.recv_bytes())
        start = time.process_time()
        kind, length, rest = _answered(source, from_json(names), most, seconds)
        pipe.send_bytes(HEAD.pack(kind, time.process_time() - start, length) + rest)


def _answered(source: str, names: Mapping[str, Any] | None, most: int, seconds: float) -> tuple[bytes, int, bytes]:
    try:
        with _at_most(seconds):
            if names is None:
                check(source)
                return RENDERED, 0, b""
            text = rendered(source, names, most)
            return RENDERED, len(text), text.said + text.encode("utf-8", "surrogatepass")
    except _OutOfTime:
        refused = Refused(say("it takes too long"), is_exhausted=True)
    except MemoryError:
        refused = Refused(TOO_LARGE, is_exhausted=True)
    except Refused as error:
        refused = error
    kind = EXHAUSTED if refused.is_exhausted else ODD if refused.is_odd else REFUSED
    return kind, 0, json.dumps(packed(refused.reason)).encode()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Limits the processor time inside: a signal raises _OutOfTime, and a single call that goes on ends the process."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    take_at_most(seconds + GRACE_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        take_at_most(0)


def _end_rendering(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _OutOfTime
