"""Words of programmers rather than users: what the log may show of a message."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from types import TracebackType
from typing import Any

from engine.values.sentences import Sentence, filled

LEFT_OUT = "…"
_LANGUAGE = "de"  # any of those with translations: each lists all English texts
_QUOTATION = re.compile(r"""(?<!\w)(["'])(.*?)\1(?!\w)( object\b)?""", re.DOTALL)
_QUOTED_TYPES = frozenset({*vars(builtins), "NoneType"})
_WORD = re.compile(r"[^\W_]+|[^\x20-\x7e]+")
_GAP = re.compile(rf"{LEFT_OUT}(?:[ _.:-]*{LEFT_OUT})+")
_MOST = 300  # characters of a library's message
# Where a library begins to quote a file, a path or a text: nothing after it is looked at.
_BEGINS_TO_QUOTE = re.compile(r"""["'`=<|\[{/\\\n]|[^\x20-\x7e]""")
# What llama.cpp, ggml, Qt and Python's libraries call the things that go wrong. Anything else may be a name.
_OF_LIBRARIES = """
    a abort aborted access active actual address after alloc allocate allocated allocating allocation already an
    and application architecture architectures are argument arguments array as assert at attention attempt
    available backend backends bad batch be because been before between block blocks buffer buffers build but by
    byte bytes cache call called can cannot chat child clip close closed codec color compute computing connection
    context cpu create created creating cuda data dead decode decoding default destroyed device devices different
    dimension dimensions directory disabled display does draw driver duplicate embedding embeddings empty enabled
    encode encoding end engine entry eog eos error errors event exceeds exception exists expected extra fail
    failed failure false file filter fit flash font for format found from full ggml gguf gpu graph group has have
    head header heads icon image in index init initialize initialized input insufficient internal into invalid is
    it item key keys kv larger layer layers layout length less library limit llama load loaded loader loading lock
    logits mapping magic maximum memory merges message metadata metal missing mmap model models module more mtmd
    must name native negative no node nodes not null number object of offset on only open opening operation or out
    output overflow page paint painter parameter parameters parent parse parser parsing parts pixmap platform
    plugin pointer pool position positions print projector property qt quantization quantized range read reading
    refused region requested requires reserve reserved resource returned rope row rows sampler scene schedule
    screen seek self sequence session set setting shape signal size sizes slot smaller special split state status
    stop string style support supported system target tensor tensors the thread threads time timed timer timers to
    token tokenizer tokens too trailing true truncated type types unable unexpected unknown unsupported unused
    update use used using valid value values version view vocab vocabulary vulkan warning wayland weight weights
    were widget window with without work wrong write xcb zero qaccessible qapplication qclipboard qfile
    qfiledevice qfont qfontdatabase qguiapplication qiconloader qimage qiodevice qlayout qlocalserver qlocalsocket
    qmetaobject qobject qpainter qpixmap qprocess qpropertyanimation qsettings qsocketnotifier qsystemtrayicon
    qtextcursor qtextdocument qthread qtimer qwidget qwidgetwindow qwindow begin settransform setgeometry
"""


@cache
def _texts() -> frozenset[str]:
    """All English texts of the program."""
    try:
        content = files("resources").joinpath("translations", f"{_LANGUAGE}.json").read_text("utf-8")
        return frozenset(text for texts in json.loads(content)["messages"].values() for text in texts)
    except (OSError, ValueError, LookupError):
        return frozenset()


@cache
def _known_words() -> frozenset[str]:
    return frozenset(_OF_LIBRARIES.split())


def our_text(text: str) -> str:
    """The text, if the program itself says it; a template may come from a server or another process."""
    return str.__str__(text) if text in _texts() else LEFT_OUT


def template_of(sentence: str) -> str:
    """The template of one of our sentences, and of sentences within it, without any values."""
    if not isinstance(sentence, Sentence):
        return our_text(sentence)
    parts = {name: template_of(each) for name, each in sentence.values.items() if isinstance(each, Sentence)}
    return filled(our_text(sentence.template), parts)


def words_of_library(message: str) -> str:
    """A library's message without quotations and names."""
    found = _BEGINS_TO_QUOTE.search(message)
    head = message[: min(len(message) if found is None else found.start(), _MOST)]
    known = _known_words()
    shown = _WORD.sub(lambda word: word[0] if word[0].lower() in known else LEFT_OUT, head).rstrip()
    shown = _GAP.sub(LEFT_OUT, shown)
    return shown if len(head) == len(message) or shown.endswith(LEFT_OUT) else f"{shown}{LEFT_OUT}"


def words_of_python(error: BaseException) -> str:
    """Python's own message, up to the first name that the code there does not contain."""
    names, message = _names_at(error.__traceback__), str(error)
    for found in _QUOTATION.finditer(message):
        if not (found[3] or found[2] in names or found[2] in _QUOTED_TYPES):
            return f"{message[: found.start()]}{LEFT_OUT}"
    head, *others = re.split(r"[/\\]", message, maxsplit=1)
    return f"{head.rpartition(' ')[0]} {LEFT_OUT}" if others else message


def _names_at(trace: TracebackType | None) -> frozenset[str]:
    if trace is None:
        return frozenset()
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return frozenset({*code.co_names, *code.co_varnames, *code.co_freevars, *_strings(code.co_consts)})


def _strings(constants: Iterable[Any]) -> Iterable[str]:
    for each in constants:
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple):
            yield from _strings(each)
