"""Hostile chat templates: each is refused in a sentence or writes a bounded text, in bounded time and memory."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil

from engine.speculation.model.chat import template_apart
from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateFailed
from engine.values.targets import LoadOrder
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held
from tests.fakes.tiny_models import tiny_llama

_MOST_S = 2.0  # of the processor: all renderings of one prompt, and the start of another process
_MOST_BYTES = 20 << 20  # here
_MOST_BYTES_APART = 150 << 20  # in the process that renders
_SAMPLES = 3  # against the open window
_MOST_IN_FILE = 1_000_000  # characters

# Each grows a value `s` in every turn of a loop. {n} is a number up to a trillion, {m} one up to a hundred thousand.
_GROWTH = (
    "ns.s + ns.s", "ns.s ~ ns.s", "ns.s * {m}", "[ns.s, ns.s]", "(ns.s, ns.s)", "{{'a': ns.s, 'b': ns.s}}", "[ns.s]",
    "ns.s | string", "ns.s | string + ns.s | string", "ns.s | tojson", "ns.s | tojson(indent=90)", "ns.s | list",
    "ns.s | list + ns.s | list", "ns.s | join(ns.s | string)", "(ns.s | string).join(ns.s | string)",
    "ns.s | string | replace('a', ns.s | string)", "(ns.s | string).replace('', ns.s | string)", "ns.s | upper",
    "(ns.s | string | length) * {n}", "ns.s | map('string') | join('a' * {m})", "ns.s | sort",
    "ns.s | indent(99, true)", "'{{}}{{}}'.format(ns.s, ns.s)", "ns.s[:] + ns.s[::-1]", "messages[0].content * {m}",
    "ns.s ~ messages", "(ns.s | string).split('a')", "ns.s | string | escape", "ns.s | unique | list",
    "range({m}) | list", "ns", "namespace(s=ns.s)", "dict(a=ns.s, b=ns.s)", "ns.s | dictsort",
    "ns.s | string | title", "(ns.s | string).lower()", "ns.s | batch({n}) | list", "ns.s | slice({m}) | list",
    "ns.s | groupby('x')", "ns.s | sum(start=ns.s)", "(ns.s | string).splitlines()", "(ns.s | string).partition('b')",
    "(ns.s | string).rsplit('ab' * {m})",
)  # fmt: skip
_STARTS = ("'a'", "'a' * 99999", "[1]", "('ab',)", "messages", "messages[0].content", "1", "{'a': 1}", "' '")
# Each asks something of a value that has grown.
_QUESTIONS = (
    "ns.s == ns.t", "ns.s in ns.t", "ns.s in [ns.t, ns.t]", "ns.s < ns.t", "ns.s | length", "ns.s", "ns.s | tojson",
    "{{ns.s: 1}}", "{{}}.get(ns.s)", "{{(ns.s, 1): 1}}", "(ns.s | string).rfind('b' ~ ns.t)",
    "(ns.s | string).strip(ns.t | string)", "(ns.s | string).count('ab')", "ns.s is eq ns.t", "ns.s | max",
    "ns.s | sort", "(ns.s | string).index(ns.t | string)", "ns.s is divisibleby 3", "ns.s | unique | list",
    "(ns.s, ns.t) | sort", "[ns.s, ns.t].index(ns.t)", "ns.s is sameas ns.t", "ns.s % 3", "ns.s.format(1)",
    "ns.s is lower", "(ns.s | string).isspace()",
)  # fmt: skip
# Single calls that would take for ever, or all memory.
_CALLS = (
    "'{{:>{n}}}'.format(1)", "'{{:{n}d}}'.format(1)", "'%{n}d' % 1", "'%*d' % ({n}, 1)",
    "'{{0:{{1}}}}'.format(1, {n})", "1 | round({n}, 'ceil')", "2e7 | round({n})", "1.5 | round(-{n}, 'floor')",
    "10 ** {n}", "{n} ** {n} // 7", "'a' * {n}", "[0] * {n}", "{n} * ('a',)", "range({n}) | list | length",
    "range(-{n}, {n}, 1) | sum", "'a'.center({n})", "'a' | center({n})", "'a'.zfill({n})", "'a'.ljust({n}, 'b')",
    "'\\t'.expandtabs({n})", "'a' | indent({n}, true)", "[1, 2] | tojson(indent={n})", "[1] | batch({n}, 'x') | list",
    "[1] | slice({n}) | list", "lipsum({n})", "('9' * 100000) | int", "('9' * 4000) | int * ('9' * 4000) | int",
    "'1e308' | float | int", "1e308 * 1e308", "strftime_now('%{n}Y')", "strftime_now('%c' * {m})",
    "strftime_now('a' * {m})", "'a' | wordwrap(1)", "'a b' | truncate({n})",
    "('a ' * 50000).split() | map('upper') | join('b' * 100000)",
    "('ab' * 50000).replace('a', 'c' * 100000) | length", "(['a' * 100000] * 100000) | join",
    "('x' * 100000) | list | join('y' * 100000) | length", "('a' * 100000).translate({{97: 'b' * 100000}})",
    "''.join(['a' * 100000] * 100000)", "('a' * 99999) | urlize | length", "{n} // 3 * {n} // 7 * {n}", "1 // 0",
    "1 / 0", "{n} % 0", "(-1) ** 0.5", "0 | abs * -{n}", "[[[]]] | tojson(indent='x' * {m})",
    "raise_exception('x' * {m})", "raise_exception({m})", "raise_exception(messages)", "('x' * 100000) | striptags",
    "cycler(1).next()", "joiner(',')()", "''.__class__.__mro__", "messages.append(messages)",
    "messages[0].update(a=1)", "messages | map(attribute='x.' * {m}) | list", "(1).__class__", "self", "loop",
    "caller()", "namespace.__init__.__globals__", "raise_exception.__globals__", "range.__class__",
    "messages.__class__", "('%s' % messages)", "messages | pprint", "messages | random",
    "messages | attr('__class__')", "'a'.encode().hex()", "'a'.maketrans('a', 'b')", "'x'.format_map({{}})",
    "'{{0.__class__}}'.format(1)", "'{{a[b]}}'.format(a=messages)", "dict(messages)", "messages | map('map') | list",
    "messages | select('in', messages) | list",
)  # fmt: skip
_TWO_LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}"
# Whole templates. {n} is a thousand up to a few million: repeated parts.
_SHAPES: tuple[Callable[[int], str], ...] = (
    lambda n: "{{ " + "(" * n + "1" + ")" * n + " }}",
    lambda n: "{{ " + "[" * n + "1" + "]" * n + " }}",
    lambda n: "{{ " + "not " * n + "1 }}",
    lambda n: "{{ " + "-" * n + "1 }}",
    lambda n: "{{ 1" + " + 1" * n + " }}",
    lambda n: "{{ 1" + " if 1 else 1" * n + " }}",
    lambda n: "{{ 'a'" + " ~ 'a'" * n + " }}",
    lambda n: "{{ 1" + " and 1" * n + " }}",
    lambda n: "{{ 1" + " < 2" * n + " }}",
    lambda n: "{{ 'a'" + " | upper" * n + " }}",
    lambda n: "{{ messages" + "[0]" * n + " }}",
    lambda n: "{{ messages" + ".a" * n + " }}",
    lambda n: "{{ range" + "()" * n + " }}",
    lambda n: "{{ {" * n + "}}" * n,
    lambda n: "{% if true %}" * n + "x" + "{% endif %}" * n,
    lambda n: "{% if true %}x{% endif %}" * n,
    lambda n: "{% if false %}" + "{% elif false %}" * n + "x{% endif %}y",
    lambda n: "{% for a in [1] %}" * n + "x" + "{% endfor %}" * n,
    lambda n: "{% for a in [1, 2] %}" * min(n, 60) + "x" + "{% endfor %}" * min(n, 60),
    lambda n: "{% set a = 1 %}" * n + "{{ a }}",
    lambda n: "".join(f"{{% set a{i} = 'aaaa' %}}" for i in range(n)) + "{% for i in range(99999) %}{% endfor %}",
    lambda n: "".join(_doubling_macro(i) for i in range(n)) + "{{ m0() }}",
    lambda n: "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}" + "x" * n,
    lambda n: "{% macro m(a) %}{{ m(a + a) }}{% endmacro %}{{ m('" + "x" * n + "') }}",
    lambda n: "{% block a %}{{ self.a() }}{% endblock %}" * n,
    lambda n: "{% macro m() %}{{ caller() }}{% call m() %}{% endcall %}{% endmacro %}{% call m() %}x{% endcall %}" * n,
    lambda n: "{% include 'a' %}" * n,
    lambda n: "{% import 'a' as a %}" * n,
    lambda n: "{% extends 'a' %}" * n,
    lambda n: "{% from 'a' import b %}" * n,
    lambda n: "{% for a in messages recursive %}{{ loop(messages) }}{% endfor %}" * n,
    lambda n: "x" * n,
    lambda n: "{" * n,
    lambda n: "{#" * n,
    lambda n: "{% raw %}" * n,
    lambda n: "{%" + " " * n + "raw" + " " * n + "%}",
    lambda n: "{{" + " " * n + "1" + " " * n + "}}",
    lambda n: ("\n" * 50 + " " * 50) * (n // 100) + "{{ 1 }}",
    lambda n: "{{ '" + "\\" * n + "' }}",
    lambda n: "{{ " + "1_1" * n + " }}",
    lambda n: "{{ " + "9" * n + " }}",
    lambda n: "{{ 1" + "e1" * n + " }}",
    lambda n: "{{ '" + "\\N{DIGIT ONE}" * n + "' }}",
    lambda n: "{{ a" + "é" * n + " }}",
    lambda n: "{{ f(" + "a, " * n + ") }}",
    lambda n: "{{ dict(" + ", ".join(f"a{i}=1" for i in range(n)) + ") }}",
    lambda n: "{% set " + ", ".join(f"a{i}" for i in range(n)) + " = range(" + str(n) + ") %}x",
    lambda n: "{% filter upper %}" * n + "x" + "{% endfilter %}" * n,
    lambda n: "{% with a=1 %}" * n + "x" + "{% endwith %}" * n,
    lambda n: "{% set a %}" * n + "x" + "{% endset %}" * n,
    lambda n: "{% generation %}" * n + "x" + "{% endgeneration %}" * n,
    lambda n: _TWO_LOOPS + "{% if a == b %}{% endif %}" * n + "{% endfor %}{% endfor %}",
    lambda n: "{% for a in range(99999) %}{{ '" + "x" * n + "' }}{% endfor %}",
    lambda n: _TWO_LOOPS.replace("9) %", "9) if b < 0 %") + "{% endfor %}{% endfor %}" + "x" * n,
    lambda n: "{% for a in range(99999) %}{% set b = '" + "a" * n + "' in '" + "b" * n + "' %}{% endfor %}",
)  # fmt: skip
# Templates that behave until a chat is long, says a word, or a day comes.
_CONDITIONS = (
    "messages | length > 2", "'zebra' in messages[-1].content", "strftime_now('%Y') | int > 2000",
    "messages[0].content | length > 5000", "messages[-1].role == 'user'",
)  # fmt: skip


def _doubling_macro(number: int) -> str:
    next_one = f"{{{{ m{number + 1}() }}}}"
    return f"{{% macro m{number}() %}}{next_one}{next_one}{{% endmacro %}}"


def _hostile(dice: random.Random) -> str:
    body = dice.choice((_growing, _growing, _calling, _calling, _shaped))(dice)
    if dice.random() < 0.3:
        body = f"{{% if {dice.choice(_CONDITIONS)} %}}{body}{{% else %}}{{{{ messages[-1].content }}}}{{% endif %}}"
    if dice.random() < 0.2:
        body = f"{{% macro mm(x) %}}{body}{{% endmacro %}}{{{{ mm(messages) | trim }}}}"
    return body


def _growing(dice: random.Random) -> str:
    start = dice.choice(_STARTS)
    steps = "".join(
        f"{{% set ns.{dice.choice('st')} = {_filled(dice.choice(_GROWTH), dice)} %}}" for _ in range(dice.randint(1, 4))
    )
    asked = "".join(f"{{% set x = {_filled(dice.choice(_QUESTIONS), dice)} %}}" for _ in range(dice.randint(0, 2)))
    times = dice.choice((3, 10, 40, 1000, 99999))
    inner = f"{{% for i in range({times}) %}}{steps}{asked if dice.random() < 0.5 else ''}{{% endfor %}}"
    shown = dice.choice(("{{ ns.s | length }}", "{{ ns.s }}", "{% for x in ns.s %}{{ x }}{% endfor %}", "x"))
    return f"{{% set ns = namespace(s={start}, t={start}) %}}{inner}{asked}{shown}"


def _calling(dice: random.Random) -> str:
    call = _filled(dice.choice(_CALLS), dice)
    times = dice.choice((0, 0, 1000, 99999))
    return f"{{% for i in range({times}) %}}{{% set x = {call} %}}{{% endfor %}}x" if times else f"{{{{ {call} }}}}"


def _shaped(dice: random.Random) -> str:
    return dice.choice(_SHAPES)(int(10 ** dice.uniform(1, 6.5)))


def _filled(text: str, dice: random.Random) -> str:
    return text.format(n=int(10 ** dice.uniform(1, 12)), m=int(10 ** dice.uniform(1, 5)))


def _chats(dice: random.Random) -> list[list[ChatTurn]]:
    word = "".join(dice.choice("ab <|>\n🙂é{%") for _ in range(20_000))
    user, reply = ChatTurn(Role.USER, word), ChatTurn(Role.ASSISTANT, "zebra")
    short = [ChatTurn(Role.USER, "Hello."), ChatTurn(Role.ASSISTANT, "Hi."), ChatTurn(Role.USER, "Bye.")]
    return [short, [ChatTurn(Role.SYSTEM, "Be brief."), *[user, reply] * 10, ChatTurn(Role.USER, "A zebra.")]]


def _processor_s() -> float:
    """The time of this process and its children, those that have ended among them."""
    process = psutil.Process()
    own = process.cpu_times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for child in process.children():
        with suppress(psutil.Error):  # it has just ended
            seconds += sum(child.cpu_times()[:2])
    return seconds


class _Peak:
    """The most memory of the processes that render, looked up again and again, since they may end."""

    def __init__(self) -> None:
        self.most = 0  # bytes

    @contextmanager
    def watched(self) -> Iterator[None]:
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(over,))
        watch.start()
        try:
            yield
        finally:
            over.set()
            watch.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(0.02):
            for child in psutil.Process().children():
                with suppress(OSError, StopIteration):  # it has just ended
                    lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
                    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
                    self.most = max(self.most, peak)


def run(plan: Plan) -> Outcome:
    outcome, most, longest_s, num_refused, peak = Outcome(), Memory(), 0.0, 0, _Peak()
    template_apart.check("x")  # starts the process
    for number in range(plan.count):
        dice, memory = plan.dice(number), Memory()
        source, chats = _hostile(dice), _chats(dice)
        about = f"try {number} ({source[:200]!r})"
        with memory.watched(), peak.watched():
            refusals, seconds = _tried(source, chats, outcome, about)
        outcome.tried += 1
        outcome.check(seconds < _MOST_S, f"{about} took {seconds:.1f} s")
        outcome.check(memory.most < _MOST_BYTES, f"{about}: {memory}")
        outcome.check(peak.most < _MOST_BYTES_APART, f"{about}: {peak.most >> 20} MB apart")
        most.most, longest_s = max(most.most, memory.most), max(longest_s, seconds)
        num_refused += bool(refusals)
    outcome.figures = {
        "refused": str(num_refused),
        "longest": f"{longest_s:.2f} s",
        "memory": str(most),
        "apart": f"{peak.most >> 20} MB",
    }
    _against_window(plan, outcome)
    return outcome


def _against_window(plan: Plan, outcome: Outcome) -> None:
    """Models with such templates are loaded; whether or not one of them can be, a chat with the starter goes on."""
    held = Held()
    with Desk(plan.folder) as desk:
        for number in range(min(plan.count, _SAMPLES)):
            source = _hostile(plan.dice(number))[:_MOST_IN_FILE]
            model = tiny_llama(plan.folder / f"{number}.gguf", chat_template=source)
            with desk.watching() as now:
                for target in (str(model), "starter"):
                    ended: list[object] = []
                    request = desk.bridge.ask(desk.bridge.engine.target.load, LoadOrder(target))
                    request.answered.connect(ended.append)
                    request.failed.connect(ended.append)
                    desk.until(partial(bool, ended))
            held = held.worst(now)
            outcome.check(bool(desk.ask("Name three colours.")), f"after {source[:200]!r} there is no reply")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures["interface"] = str(held)


def _tried(source: str, chats: list[list[ChatTurn]], outcome: Outcome, about: str) -> tuple[list[str], float]:
    """The sentences with which it was refused, and the longest time that one step took."""
    refusals: list[str] = []
    longest = 0.0

    def timed(step: Callable[[], object]) -> object:
        nonlocal longest
        start = _processor_s()
        try:
            return step()
        except TemplateFailed as error:
            refusals.append(str(error))
            outcome.check(len(str(error)) < 400 and "\n" not in str(error), f"{about} says {str(error)[:500]!r}")
            return None
        except Exception as error:
            outcome.check(False, f"{about} raised {error!r}")
            return None
        finally:
            longest = max(longest, _processor_s() - start)

    template = timed(lambda: ChatTemplate(source, "<s>", "</s>"))
    if isinstance(template, ChatTemplate):
        for chat in chats:
            timed(partial(template.render, chat))
    return refusals, longest
