"""What the engine says to the user can be said in another language: it is made of a template, never of an f-string."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.speculation.model.chat.chat_template import OURS
from engine.speculation.model.chat.tool_format import DESCRIPTION
from engine.values import errors
from engine.values.errors import FileUnusable, MendableError, TargetMissing
from engine.values.sentences import (
    Sentence,
    as_text,
    from_text,
    packed,
    placeholders,
    say,
    shortened,
    together,
    unpacked,
)

ROOT = Path(engine.__file__).parent
TERMINAL = "for the command line, which speaks English"
NOT_TOLD = {
    "lab": TERMINAL,
    "use_cases": TERMINAL,
    "speculation/drafter/export_check.py": TERMINAL,
    "backend/profile/drafter_export.py": TERMINAL,
    "backend/server/": "read by programs",
    "backend/chats/answering.py": "read by programs",
    "backend/chats/calling.py": "read by models",
    "backend/library/tuning/measuring.py": "read by models",
    "speculation/model/chat/families.py": "read by models",
    "speculation/model/llama/passes.py": "read by models",
    "speculation/model/llama/preflight.py": "read by models",
    "storage/migrations": "SQL",
    "__init__.py": "names of what there is",
    "speculation/model/llama/extensions.py": "names of what processors can do",
    "backend/exchange/writing.py": "a file that people keep, in the form in which it can be read again",
}
# Words in a row that nobody is shown, or that are collected from where they are declared.
WORDS_NOT_TOLD = {
    "This was not carried out.": "read by models",
    "The user stopped this before it was done.": "read by models",
    "{} does not offer {} any more.": "read by models",
    "There is no server {}, or it is switched off.": "read by models",
    "[This result is left out, because the context is full.]": "read by models",
    "New chat": "written in the store; the window has its own",
    "failed to load model": "found in what llama.cpp says",
    **dict.fromkeys(("lexer error", "max is", "too many"), "found in what llguidance says"),
    "tool server {} {}": "a name in the keyring",
    "The tool {} of {} has changed; ask for this once more.": "read by models",
    **dict.fromkeys((*OURS, DESCRIPTION), "read by models"),
    "{} switches this off.": "help of the command line",
    "slipstream distill": "a command",
    "{} by counts, {} tokens in passes by rows: {} ({} changes); guesses accepted: {}; {} s of drafting": "for the log",
}
# Say nothing to the user: our own bugs, the log, SQL, and what is declared and collected with its declaration.
SILENT = {
    *("debug", "info", "warning", "error", "exception", "getLogger", "compile", "sub", "text", "exec_driver_sql"),
    *(
        "TypeError",
        "ValueError",
        "IndexError",
        "KeyError",
        "RuntimeError",
        "AssertionError",
        "OSError",
        "NotAFile",
        "AttributeError",
    ),
    *(
        "Parameter",
        "_special",
        "TextParameter",
        "Origin",
        "Unsound",
        "TooLarge",
        "PartUnusable",
        "RemoteProtocolError",
        "_remove",
        "execute",
    ),
    *(
        "ForeignKey",
        "ForeignKeyConstraint",
        "prefix_with",
        "has_complained",
        "fromisoformat",
        "strptime",
        "TargetDescription",
    ),
    *("split",),
}
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, MendableError)}
MARKING = {"say", "template", "Unreadable"} | ERRORS
HELD = ast.Constant | ast.Name | ast.Attribute | ast.Subscript | ast.Call  # a literal, or where one is held
WORDS = re.compile(r"[^\W\d_]{2,}[,;:.]? [^\W\d_]+")
SQL = re.compile(r"\b(?:SELECT|FROM|DELETE|INSERT|PRAGMA|WHERE|WITH|FILTER|BEGIN|AND|OR REPLACE|total\()")


def sources() -> list[str]:
    paths = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    return sorted(path for path in paths if not path.startswith(tuple(NOT_TOLD)))


@pytest.mark.parametrize("source", sources())
def test_whatever_the_engine_says_is_made_of_a_template(source: str) -> None:
    assert not list(untold(ast.parse((ROOT / source).read_text("utf-8")))), f"{source}: put these into say"


@pytest.mark.parametrize(
    "code",
    [
        'raise FileUnusable(f"{name} is damaged.")',
        'raise FileUnusable("{name} is damaged.".format(name=name))',
        'raise FileUnusable("The file " + name)',
        'raise FileUnusable("{name} is damaged.")',
        'say("{name} is damaged.", path=name)',
        'emit(Failed(f"{name} is damaged.", command))',
        'notice = "This model has no chat template."',
    ],
)
def test_words_that_cannot_be_translated_are_found(code: str) -> None:
    assert list(untold(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        'raise FileUnusable("{name} is damaged.", name=path.name)',
        "raise FileUnusable(_TOO_LARGE, name=path.name)",
        "raise FileUnusable(error.sentence)",
        '_TOO_LARGE = template("{name} is too large.")',
        'raise ValueError("this cannot be")',
        '_logger.info("%s was not stored", name)',
        'def f():\n    """Says why it cannot be."""',
    ],
)
def test_all_else_may_stay(code: str) -> None:
    assert not list(untold(ast.parse(code)))


def untold(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and words that are shown in English, whatever the language."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Expr(ast.Constant()) | ast.Assert() | ast.Compare():
                continue
            case ast.Call() if _name(node) in SILENT:
                continue
            case ast.Call() if _name(node) in MARKING and node.args:
                yield from _within_marking(node)
            case ast.Constant(str(words)) if _tells(words):
                yield node.lineno, words
            case ast.JoinedStr():
                words = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
                if _tells(words):
                    yield node.lineno, words
            case _:
                yield from untold(node)


def _within_marking(call: ast.Call) -> Iterator[tuple[int, str]]:
    words, named = call.args[0], {each.arg for each in call.keywords}
    if isinstance(words, ast.Constant):
        wanted = {re.sub(r"[{}]|:.*", "", each).lower() for each in placeholders(str(words.value))}
        is_held = _name(call) in {"template", "Unreadable"}  # filled in elsewhere
        if None not in named and not is_held and wanted != named:
            yield call.lineno, f"{words.value!r}: {sorted(wanted)} are not {sorted(filter(None, named))}"
    elif isinstance(words, ast.IfExp | ast.BoolOp):
        yield from untold(words)
    elif not isinstance(words, HELD) or (isinstance(words, ast.Call) and _name(words) in {"format", "join"}):
        yield call.lineno, ast.unparse(words)
    yield from untold(ast.Tuple([each.value for each in call.keywords]))


def _tells(words: str) -> bool:
    return words not in WORDS_NOT_TOLD and not SQL.search(words) and bool(WORDS.search(words))


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def test_a_sentence_is_a_string() -> None:
    sentence = say(
        "{name} takes {size:.1f} GiB, {share:.0%} of {total:,} MB.", name="a", size=1.25, share=0.5, total=2048
    )
    assert sentence == "a takes 1.2 GiB, 50% of 2,048 MB."
    assert isinstance(sentence, Sentence)
    assert sentence.template.startswith("{name} takes")


def test_plurals_follow_the_number() -> None:
    told = "{number:,} file(s) (was|were) left out."
    assert say(told, number=1) == "1 file was left out."
    assert say(told, number=2000) == "2,000 files were left out."


def test_a_capital_begins_a_value_with_one() -> None:
    assert say("{Drafter} is ready.", drafter=say("the drafter")) == "The drafter is ready."
    assert say("{Drafter} is ready.", drafter="owner/model-1b") == "owner/model-1b is ready."


def test_what_is_no_placeholder_stays() -> None:
    assert say("{name} begins with {, as in {x}.", name="{path}") == "{path} begins with {, as in {x}."


def test_an_error_says_its_sentence_wherever_it_goes() -> None:
    error = TargetMissing("There is no file {path}; choose another.", path=Path("a.gguf"))
    carried = pickle.loads(pickle.dumps(error))  # noqa: S301 (ours)
    for known in (error, carried, copy.deepcopy(error)):
        assert str(known) == "There is no file a.gguf; choose another."
        assert known.sentence.template == "There is no file {path}; choose another."
    again = FileUnusable(str(error))
    assert isinstance(str(again), Sentence)
    assert again.sentence == error.sentence


def test_sentences_one_after_the_other() -> None:
    assert together("", say("One."), "", say("Two."), say("Three.")) == "One. Two. Three."
    assert together("", say("One.")) == "One."
    assert together() == ""


def test_another_process_tells_a_sentence() -> None:
    sentence = say("{name} cannot draft: {reason}", name="a", reason=say("{name} holds {n:,} weights", name="b", n=3))
    again = from_text(as_text(sentence))
    assert isinstance(again, Sentence)
    assert again == sentence
    assert isinstance(again.values["reason"], Sentence)
    assert from_text("llama.cpp ended") == "llama.cpp ended"


@pytest.mark.parametrize("data", [None, 3, [], {"template": 3, "values": {}}, {"template": "a"}, {}])
def test_what_is_no_sentence_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="no sentence"):
        unpacked(data)


def test_what_another_process_tells_is_bounded() -> None:
    deep: object = "x"
    for _ in range(20):
        deep = {"template": "{a}", "values": {"a": deep}}
    with pytest.raises(ValueError, match="no sentence"):
        unpacked(deep)
    assert len(from_text(json.dumps("x" * 100_000))) < 10_000


@given(
    st.recursive(
        st.text() | st.integers() | st.floats(allow_nan=False), lambda inner: st.dictionaries(st.text(), inner)
    )
)
def test_nothing_from_another_process_does_harm(data: object) -> None:
    try:
        unpacked(data)
    except ValueError:
        return


@given(st.text(), st.text(), st.integers())
def test_packing_loses_nothing(template: str, name: str, number: int) -> None:
    sentence = say(template, name=name, number=number)
    again = unpacked(json.loads(json.dumps(packed(sentence))))
    assert isinstance(again, Sentence)
    assert (again, again.template, again.values) == (sentence, sentence.template, sentence.values)


def test_what_is_cut_is_cut_between_words() -> None:
    assert shortened("All of it", 9) == "All of it"
    assert shortened("A key was refused by the server", 20) == "A key was refused…"
    assert shortened("A key was refused by it", 18) == "A key was refused…", "a word that just fits stays"
    assert shortened("x" * 30, 20) == "x" * 19 + "…"
