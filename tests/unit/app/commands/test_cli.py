from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import engine
from app.application import CannotOpenWindow, check_machine
from app.commands import cli
from engine.values.config import SamplingSettings
from engine.values.errors import SettingInvalid
from engine.values.parameters import Scope, parameters


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["slipstream", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("slipstream 0.")


def test_help_teaches(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "chat", "--help") == 0
    help_text = capsys.readouterr().out
    assert 'slipstream chat --target starter --prompt "Write a haiku about the sea."' in " ".join(help_text.split())


def test_chat_has_an_option_for_every_declared_parameter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "chat", "--help") == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"--{each.name.replace('_', '-')}") for each in parameters(SamplingSettings, Scope.COMMAND)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--temperature", "9"), "Temperature is 9; choose a value from 0 to 5."),
        (("--top-p", "nan"), "Top-p is nan; choose a value from 0 to 1."),
        (("--target", "nowhere.gguf"), "There is no model file"),
        (("--target", "x" * 300), "There is no model file"),
        (("--target", "~nosuchuser/x.gguf"), "There is no model file"),
        (("--temperature", "1e-310"), "Temperature is 1e-310; choose 0 or at least 0.0001."),
        (("--stop", ""), "A stop string is empty"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    assert run(monkeypatch, "chat", "--prompt", "Hi", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(sentence)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_what_is_no_command_is_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "--target", "starter", "tiny.gguf") == 2
    assert capsys.readouterr().err == f"There is no file {tmp_path / 'tiny.gguf'}; check its name.\n"
    assert run(monkeypatch, "/nowhere/chat") == 2
    assert "There is no file /nowhere/chat" in capsys.readouterr().err
    assert run(monkeypatch, "open", "chat") == 2
    assert "There is no file" in capsys.readouterr().err
    assert run(monkeypatch, "chta") == 2
    assert "No such command 'chta'" in capsys.readouterr().err


def test_an_empty_prompt_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "chat", "--prompt", "  ") == 2
    assert "There is no prompt" in capsys.readouterr().err


def test_models_list_shows_the_starter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "models", "list") == 0
    assert "starter" in capsys.readouterr().out


def test_without_a_display_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("app.startup.system_libraries.missing_packages", list)
    with pytest.raises(CannotOpenWindow, match="no display"):
        check_machine()


def test_missing_system_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    monkeypatch.setattr("app.startup.system_libraries._WINDOW", {"libnowhere.so.7": "libnowhere7"})
    with pytest.raises(CannotOpenWindow, match=r"sudo apt install libnowhere7$"):
        check_machine()


_SLOW = "torch", "transformers", "llama_cpp", "sqlalchemy", "pygments", "numpy", "mcp", "anyio"


def slow_imports_of(*modules: str) -> list[str]:
    """Which slow libraries a fresh interpreter holds after importing these modules."""
    code = f"import sys, {', '.join(modules)}; print(*(name for name in {(*_SLOW, 'PySide6')} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.split()


def test_the_command_line_starts_without_slow_libraries() -> None:
    """What `slipstream --help` imports: neither Qt nor a model runtime nor the store."""
    assert slow_imports_of("app.commands.cli") == []


def test_servers_of_tools_are_spoken_with_in_a_process_of_its_own() -> None:
    found = slow_imports_of("engine.threads", "engine.backend.chats.chat_service", "engine.backend.tools.host")
    assert {"mcp", "anyio"}.isdisjoint(found)


def test_the_window_is_up_without_a_model_runtime_or_the_store() -> None:
    modules = (
        "app.application",
        "app.main_window",
        "app.features.chat.chat",
        "app.settings.app_settings",
        "app.startup.smoke",
    )
    assert slow_imports_of(*modules) == ["PySide6"]


def test_every_library_qt_links_to_is_in_our_table() -> None:
    """What the real plugin links to, outside of Qt and the C library, is a package we name or comes with one."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux takes Qt's libraries from the system")
    import PySide6

    from app.startup.system_libraries import _ALWAYS, _WINDOW

    plugin = Path(PySide6.__file__).parent / "Qt/plugins/platforms/libqxcb.so"
    result = subprocess.run(["objdump", "-p", str(plugin)], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip("objdump is not installed")
    needed = {line.split()[1] for line in result.stdout.splitlines() if "NEEDED" in line}
    ours = {*_ALWAYS, *_WINDOW}
    basic = ("libQt6", "libc.", "libm.", "libstdc++", "libgcc", "ld-linux", "libpthread", "libdl")
    # These come with every libxcb-dev-less install of libx11 and libxcb-cursor.
    with_others = {"libxcb.so.1", "libxcb-render.so.0", "libxcb-shm.so.0"}
    assert {name for name in needed if not name.startswith(basic)} - ours - with_others == set()


@pytest.mark.parametrize(
    ("arguments", "teaches", "remembers"),
    [
        (("replay",), True, True),
        (("replay", "--no-teaching"), False, True),
        (("replay", "--no-memory"), True, False),
        (("replay", "--no-learning"), False, False),
        (("bench",), False, False),
        (("bench", "--memory", "--no-teaching"), False, True),
    ],
)
def test_teaching_and_memory_are_switched_apart_or_together(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], teaches: bool, remembers: bool
) -> None:
    orders: list[engine.BenchOrder] = []

    def refuse(_config: object, order: engine.BenchOrder, _stop: object) -> None:
        orders.append(order)
        raise SettingInvalid("Nothing is measured here.")

    monkeypatch.setattr(engine, "open_bench", refuse)
    assert run(monkeypatch, *arguments, "--prompts", "prompts.jsonl") == 2
    assert [(order.teaches, order.remembers) for order in orders] == [(teaches, remembers)]
