from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.commands import cli
from app.commands.terminal import MarkedOutput, chosen_drafter, json_line, progress_bar, wide_console
from engine import AUTOMATIC, BUILT_IN, STARTER, STARTER_TORCH, data_dir, drafter_source
from engine.values.errors import DrafterUnusable
from tests.fakes.hub import FakeHub

NAME = "somebody/tiny-llama"


def test_words_and_folders_need_no_hub(server: FakeHub, tmp_path: Path) -> None:
    for choice in (AUTOMATIC, BUILT_IN, STARTER, STARTER_TORCH, str(tmp_path), str(tmp_path / "nothing")):
        assert chosen_drafter(choice, data_dir()) == choice
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        drafter_source(str(tmp_path / "nothing"), data_dir())
    assert server.asked == []


def test_a_name_is_downloaded_once(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen_drafter(NAME, data_dir()) == NAME
    assert drafter_source(NAME, data_dir()).path == data_dir() / "drafters" / "somebody--tiny-llama"
    server.asked.clear()
    assert chosen_drafter(NAME, data_dir()) == NAME
    assert server.asked == []
    assert capsys.readouterr().out == ""


def test_ctrl_c_keeps_what_has_arrived(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    server.cut_after["model.safetensors"] = [1000]
    server.on_cut = lambda: os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(SystemExit) as ended:
        chosen_drafter(NAME, data_dir())
    assert ended.value.code == 130
    assert capsys.readouterr().err == "The download was stopped; start it again to resume it.\n"
    chosen_drafter(NAME, data_dir())
    assert server.ranges("model.safetensors") == ["", "bytes=1000-"]


@pytest.mark.usefixtures("server")
def test_what_the_hub_does_not_have_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["slipstream", "chat", "--prompt", "Hi", "--drafter", "nobody/nothing"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("There is no model nobody/nothing on 127.0.0.1")
    assert captured.err.count("\n") == 1


HOSTILE = "x\x1b]0;owned\x07\x1b[2J\x9b31m\u202ey[/b]:smile:\r"


def is_harmless(text: str) -> bool:
    return not any(sign in text for sign in "\x1b\x07\x9b\u202e\r\x08")


def test_nothing_that_is_written_commands_a_terminal() -> None:
    beneath = io.BytesIO()
    output = MarkedOutput(io.TextIOWrapper(beneath, "utf-8"))
    print("line\ttab\r\nplain é 👩\u200d💻", HOSTILE, file=output)
    for piece in HOSTILE:  # as a reply comes
        output.write(piece)
    told = beneath.getvalue().decode()
    assert is_harmless(told)
    assert told.startswith("line\ttab\nplain é 👩\u200d💻 x‹U+001B›]0;owned‹U+0007 U+001B ×2›[2J‹U+009B›31m‹U+202E›y")
    assert not output.isatty()
    beneath.truncate(beneath.seek(0))
    for piece in ("**کتاب**", " می", "\u200c", "خواهم 👩", "\u200d", "💻", "\n"):
        output.write(piece)
    assert beneath.getvalue().decode() == "**کتاب** می\u200cخواهم 👩\u200d💻\n"


def test_tables_and_bars_show_words_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    table = Table(HOSTILE)
    table.add_row(HOSTILE)
    wide_console().print(table)
    with progress_bar() as bar:
        bar.add_task(HOSTILE)
        drawn = bar.console.render_lines(bar.get_renderable())
    told = capsys.readouterr().out
    assert is_harmless(told + "".join(part.text for line in drawn for part in line))
    assert told.count("y[/b]:smile:") == 2


def test_json_is_exact_and_harmless() -> None:
    line = json_line({"text": HOSTILE, "é": "\U000e0041"})
    assert is_harmless(line)
    assert json.loads(line) == {"text": HOSTILE, "é": "\U000e0041"}


def test_the_whole_command_line_passes_through_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app", "models", "add", str(tmp_path / HOSTILE.replace("/", ""))]
    environment = {**os.environ, "SLIPSTREAM_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=60)
    told = (done.stdout + done.stderr).decode()
    assert "owned" in told
    assert is_harmless(told)
