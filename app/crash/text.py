"""What a crash report may say. Nothing a user wrote gets into it: where something could hold such words, they are left
out, and folders of the user's own are shortened.
"""

from __future__ import annotations

import getpass
import importlib.util
import os
import platform
import re
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.settings.app_settings import AppSettings

PACKAGES = (
    "slipstream", "pyside6-essentials", "llama-cpp-python", "torch", "transformers", "huggingface-hub", "numpy",
    "sqlalchemy", "pydantic",
)  # fmt: skip
# Whose words come from code, never from data.
_PLAIN_ERRORS = frozenset(
    {
        AssertionError, AttributeError, FloatingPointError, ImportError, IndexError, MemoryError, ModuleNotFoundError,
        NameError, NotImplementedError, RecursionError, RuntimeError, TypeError, UnboundLocalError, ZeroDivisionError,
    }
)  # fmt: skip
_CPU_FEATURES = re.compile(r"(sse[34]|ssse3|avx|f16c|fma|bmi2|amx|vnni|neon|asimd|sve|i8mm|dotprod|fphp)")
_LOG_LINE = re.compile(r"(?P<when>[\d-]{10} [\d:,]+) (?P<level>[A-Z]+) (?P<name>\S+) (?P<thread>[^:]*): (?P<words>.*)")
_FRAME_LINE = re.compile(r'\s+File "[^"]*", line \d+, in \S+$')
_DETAILS = re.compile(r': |["“/\\]')  # what follows may name a file or a chat
_LLAMA_LOG = "slipstream.llama_cpp"  # tells of files of models and of memory only
_MOST_WORDS = 500  # characters of one line


def error_text(error: BaseException) -> str:
    """An exception with where it came from, and with its own words only where code wrote them."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = "".join(traceback.format_list(traceback.extract_tb(current.__traceback__)))
        parts.append(f"Traceback (most recent call last):\n{frames}{_name(current)}{_words(current)}")
        following = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        parts.append("" if following is None else "\nwhich came from\n")
        current = following
    return without_home("\n".join(filter(None, parts)))


def log_tail(lines: Iterable[str]) -> str:
    """Of the log: when something happened, where, and what in general; neither names nor what was said."""
    kept = (_log_line(line.rstrip("\n")) for line in lines)
    return without_home("\n".join(line for line in kept if line))


def machine_text() -> str:
    """Versions, system, processor and the parts of llama.cpp there are."""
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    lines = [
        ", ".join(versions),
        f"Python {platform.python_version()}, {platform.platform()}, {platform.machine()}"
        + (", bundled" if getattr(sys, "frozen", False) else ""),
        f"Processor: {os.cpu_count()} cores; {_cpu_features() or 'features not known'}",
        f"llama.cpp's libraries: {_llama_libraries() or 'not found'}",
    ]
    return without_home("\n".join(lines))


def settings_text(settings: AppSettings) -> str:
    """Switches, numbers and choices that are not the usual ones; never a text, a path or a name."""
    from app.settings.app_settings import AppSettings
    from app.settings.declaration import Kind, shown_settings  # not before the window is seen: pydantic takes its time

    usual = AppSettings()
    choices = {setting.name for setting in shown_settings(AppSettings) if setting.kind is Kind.CHOICE}
    values = ((name, getattr(settings, name), getattr(usual, name)) for name in AppSettings.model_fields)
    return "\n".join(
        f"{name} = {value}"
        for name, value, default in values
        if value != default and (isinstance(value, bool | int | float) or name in choices)
    )


def without_home(text: str) -> str:
    """The user's folder becomes `~`, and a folder elsewhere that is named for the user loses the name."""
    home = str(Path.home())
    if len(home) > 1:
        text = text.replace(home, "~")
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # one without a name
        return text
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?=[/\\])", "user", text)


def _log_line(line: str) -> str:
    told = _LOG_LINE.match(line)
    if told is None:
        return line if _FRAME_LINE.match(line) else ""  # of a traceback, whose last line may hold anything
    words = told["words"] if told["name"] == _LLAMA_LOG else _DETAILS.split(told["words"])[0]
    return f"{told['when']} {told['level']} {told['name']} {told['thread']}: {words[:_MOST_WORDS]}"


def _name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _words(error: BaseException) -> str:
    if type(error) in _PLAIN_ERRORS:
        return f": {str(error)[:_MOST_WORDS]}" if str(error) else ""
    if isinstance(error, OSError) and error.errno is not None:
        return f": [Errno {error.errno}] {error.strerror}"  # without the file
    return " (its words are left out: they may hold what somebody wrote)" if str(error) else ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _cpu_features() -> str:
    """As Linux names them; elsewhere what Python knows of the processor."""
    try:
        told = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.processor()
    facts = dict(re.findall(r"^(model name|flags|Features)\s*:\s*(.*)$", told, re.MULTILINE))
    features = facts.get("flags") or facts.get("Features") or ""
    named = sorted({feature for feature in features.split() if _CPU_FEATURES.match(feature)})
    return "; ".join(filter(None, (facts.get("model name", ""), " ".join(named))))


def _llama_libraries() -> str:
    """Found beside its package, which is not imported: that might be what ended the app."""
    package = importlib.util.find_spec("llama_cpp")
    folders = [] if package is None else list(package.submodule_search_locations or ())
    names = {file.name.split(".")[0] for folder in folders for file in Path(folder, "lib").glob("*") if file.is_file()}
    return ", ".join(sorted(names))
