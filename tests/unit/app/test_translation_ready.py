"""Whatever the window says can be translated: no words stand in the code but in `tr`, `translate` and their like."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.settings.app_settings import AppSettings
from app.settings.declaration import shown_settings
from app.text.languages import LANGUAGES
from app.theme import THEMES
from engine.values.config import OWN_PARAMETERS, SamplingSettings, TargetSettings
from engine.values.parameters import Scope, parameters
from tests.translations.collecting import declared_words

ROOT = Path(app.__file__).parent
TERMINAL = "for the terminal, which speaks English"
REPORT = "crash reports are read by those who mend the program"
COMMAND = "commands, and words that come from elsewhere"
UNTRANSLATED_FILES = {
    "application.py": "what is said before there is a window goes to the terminal",
    "crash/reports.py": REPORT,
    "crash/our_words.py": REPORT,
    "crash/watch.py": REPORT,
    "startup/instance_lock.py": "read before there is a window",
    "startup/open_request.py": "read before there is a window",
    "startup/single_instance.py": "goes to the terminal, when another window is open already",
    "features/guided/samples.py": "prompts stay English, which is all that the starter model knows; names are marked",
    "text/links.py": "ends of addresses, which are no words",
    "startup/smoke.py": "a check of the machine, whose outcome goes to the terminal",
    "commands/bench.py": TERMINAL,
    "commands/bench_table.py": TERMINAL,
    "commands/cli.py": TERMINAL,
    "commands/distill.py": TERMINAL,
    "commands/drafter.py": TERMINAL,
    "commands/models.py": TERMINAL,
    "commands/profile.py": TERMINAL,
    "commands/chat.py": TERMINAL,
    "commands/options.py": TERMINAL,
    "commands/serve.py": TERMINAL,
    "commands/servers.py": TERMINAL,
    "commands/terminal.py": TERMINAL,
    "commands/tools.py": TERMINAL,
    "commands/tune.py": TERMINAL,
}
UNTRANSLATED_WORDS = {
    "Slipstream": "a name",
    "Slipstream {}": "a name and a number",
    "LM Studio": "a name",
    **dict.fromkeys(("Re Pág", "Av Pág"), "keys of Spanish keyboards"),
    "<code>make run</code>": COMMAND,
    "<p>{}</p><p>{}</p><p>{}<br><code>CMAKE_ARGS=-DGGML_VULKAN=on make -B setup</code></p><p>{}<br><code>CMAKE_ARGS="
    "-DGGML_CUDA=on make -B setup</code></p><p>{}</p><p>{}</p>": COMMAND,
    "<h3>Slipstream {version}</h3><p>{what}<br>{where}</p>": "a name, and words that come from elsewhere",
    "Value error, ": "taken off what pydantic says",
    "No font here has the letters of {language}: install one, such as the package fonts-noto-cjk.": "shown where the "
    "letters of the language cannot be",
    "whole number": "tells kinds of settings apart, and is never shown",
    "usual font": "the name of a property",
}
MARKING = {"tr", "translate", "QT_TRANSLATE_NOOP"}
# What is said to Qt, to the log and to programmers; the first argument of `getLogger` and the like.
SILENT = {
    *("setProperty", "property", "setObjectName", "setStyleSheet", "QKeySequence", "getLogger", "compile", "sub"),
    *("debug", "info", "warning", "error", "exception", "NamedTemporaryFile", "Formatter"),
    *("TypeError", "ValueError", "IndexError", "KeyError", "RuntimeError", "AssertionError", "OSError"),
}
DECLARING = {"Shown", "Parameter"}  # whose words `declared_words` collects
SPEAKING = {
    *("QLabel", "QPushButton", "QToolButton", "QCheckBox", "QRadioButton", "QGroupBox", "QAction", "QListWidgetItem"),
    *("QTableWidgetItem", "QFileDialog", "getOpenFileName", "getOpenFileNames", "getSaveFileName"),
    *("getExistingDirectory", "addAction", "addMenu", "addButton", "addItem", "addRow", "addTab", "drawText"),
    *("setText", "setPlainText", "setInformativeText", "setTitle", "setToolTip", "setStatusTip", "setWhatsThis"),
    *("setWindowTitle", "setPlaceholderText", "setAccessibleName", "setAccessibleDescription", "setSuffix"),
    *("setPrefix", "setSpecialValueText", "setLabelText", "setNameFilters", "setHorizontalHeaderLabels", "showText"),
    # Of the app
    *("words", "button", "set_words", "set_name", "show_words", "show_info", "show_error", "show_notice", "show_note"),
    *(
        "show_result",
        "show_problem",
        "_action",
        "_button",
        "show_hint",
        "_show_hint",
        "CopyButton",
        "RowsView",
        "Question",
    ),
    *("set_up", "ProgressLine", "ListView", "show_hint"),
}
WORD = re.compile(r"[^\W\d_]{2,}")
WORDS = re.compile(r"[^\W\d_]{2,}[,;:.]? [^\W\d_]+")  # two in a row: this is said to somebody
KEY = (
    r"(?:(?:Ctrl|Shift)\+)*(?:Enter|Left|Right|Up|Down|PgUp|PgDown|Del|[^\w\s]|[A-Z0-9])"  # as Qt writes them in files
)
KEYS = re.compile(rf"{KEY}(?:; {KEY})*")
KINDS = set(re.findall(r'kind="([\w-]+)"', (THEMES / "style.qss").read_text("utf-8")))
STYLE = re.compile(r"\s*\w+ \{ [\w-]+:")
MARKUP = re.compile(r"<[^<>]*>?|&\w+;")


def sources() -> list[str]:
    paths = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
    return sorted(path for path in paths if path not in UNTRANSLATED_FILES)


@pytest.mark.parametrize("source", sources())
def test_all_words_are_marked_for_translation(source: str) -> None:
    assert not unmarked(_read(source)), f"{source}: put these into self.tr or translate"


@pytest.mark.parametrize(
    "code",
    [
        'QLabel("Hello")',
        'label.setText(f"{n} files")',
        'label.setText("Yes" if yes else self.tr("No"))',
        'label.setToolTip(self.tr("One") + " two")',
        'menu.addAction("&Open…")',
        'box.addRow("Name", field)',
        'window.show_info(self.tr("Done."), action="Undo")',
        'ABOUT = "This is told somewhere."',
        'words = "<b>" + "Some words</b>"',
        'self.tr(f"{n} files")',
        'self.tr("One" if one else "Two")',
        'self.tr("{n} files".format(n=n))',
        'Here.tr("{what} and more", what="These words")',
    ],
)
def test_words_that_are_not_are_found(code: str) -> None:
    assert unmarked(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        'label.setText(self.tr("{n} files").format(n=n))',
        'label.setText(translate("Here", "Hello"))',
        'def f():\n    """Says hello to somebody."""',
        'widget.setProperty("kind", "some quiet label")',
        'label.setText(f"{a} · {b}")',
        'facts = {QT_TRANSLATE_NOOP("Here", "Last used"): 1}["Last used"]',
        'action.setShortcuts(["Ctrl+Shift+,", "F1"])',
        'raise ValueError("this should not happen")',
        'text = f"<ol start={n}>"',
    ],
)
def test_all_else_may_stay(code: str) -> None:
    assert not unmarked(ast.parse(code))


def test_declared_words_are_collected() -> None:
    """Those of all settings, and of the parameters that only the dialogs of a chat or a target show."""
    collected = declared_words() | {language.own_name for language in LANGUAGES}
    for setting in shown_settings(AppSettings):
        shown = {setting.description, setting.label, setting.group.value, setting.number.unit, setting.number.unset}
        shown |= {words for _, words in setting.choices}
        assert {words for words in shown if words} <= collected, setting.name
    for each in (*OWN_PARAMETERS, *parameters(SamplingSettings, Scope.TARGET), *parameters(TargetSettings)):
        assert {words for words in (each.title, each.explanation, each.unit, each.unset) if words} <= collected, (
            each.name
        )


def test_every_declaration_is_one_of_those_that_are_collected() -> None:
    """Or its words would be marked nowhere."""
    declaring = {source for source in sources() if any(_declares(node) for node in ast.walk(_read(source)))}
    assert declaring == {"settings/app_settings.py", "settings/look.py"}


def _declares(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node) in DECLARING


def unmarked(tree: ast.AST) -> list[tuple[int, str]]:
    """Lines and words."""
    return list(_Search(marked_in(tree)).through(tree))


def marked_in(tree: ast.AST) -> frozenset[str]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) in MARKING)
    words = (argument for call in calls for argument in call.args[_place(call) :][:1])
    return frozenset(str(each.value) for each in words if isinstance(each, ast.Constant))


class _Search:
    def __init__(self, marked: frozenset[str]) -> None:
        self._marked = marked

    def through(self, tree: ast.AST, is_said: bool = False) -> Iterator[tuple[int, str]]:
        """`is_said`: what stands here is shown, also where it is a single word."""
        for node in ast.iter_child_nodes(tree):
            match node:
                case ast.Expr(ast.Constant()) | ast.Assert():
                    continue  # docstrings, and what is said to programmers
                case ast.Call():
                    yield from self._through_call(node, is_said)
                case ast.Constant(str(words)):
                    if self._tells(words, is_said):
                        yield node.lineno, words
                case ast.JoinedStr():
                    words = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
                    if self._tells(words, is_said):
                        yield node.lineno, words
                    for part in node.values:
                        if isinstance(part, ast.FormattedValue):
                            yield from self.through(ast.Tuple([part.value]))
                case ast.Compare() | ast.Subscript() | ast.Lambda():
                    yield from self.through(node)
                case _:
                    yield from self.through(node, is_said)

    def _through_call(self, call: ast.Call, is_said: bool) -> Iterator[tuple[int, str]]:
        name = _name(call)
        if name in MARKING:
            for argument in call.args[_place(call) :][:1]:
                # What collects words sees literals only. Names stand for words that are marked where they are kept.
                if not isinstance(argument, ast.Constant | ast.Name | ast.Attribute | ast.Subscript):
                    yield call.lineno, ast.unparse(argument)
            yield from self.through(ast.Tuple([each.value for each in call.keywords]))
        elif name not in SILENT | DECLARING:
            yield from self.through(ast.Tuple([call.func]), is_said)
            named = [each.value for each in call.keywords]
            yield from self.through(ast.Tuple([*call.args, *named]), name in SPEAKING)

    def _tells(self, words: str, is_said: bool) -> bool:
        if words in UNTRANSLATED_WORDS or words in KINDS or KEYS.fullmatch(words) or STYLE.match(words):
            return False
        if words in self._marked and not is_said:  # what is told of is found by its English name
            return False
        return bool((WORD if is_said else WORDS).search(MARKUP.sub(" ", words)))


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _place(call: ast.Call) -> int:
    """Of the words among the arguments."""
    return 0 if _name(call) == "tr" else 1


def _read(source: str) -> ast.Module:
    return ast.parse((ROOT / source).read_text("utf-8"))
