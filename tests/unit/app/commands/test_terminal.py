from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from app.commands import cli
from app.commands.terminal import chosen_drafter
from engine import BUILT_IN, data_dir
from engine.errors import DrafterUnusable
from tests.fakes.hub import FakeHub

NAME = "somebody/tiny-llama"


def test_built_in_and_folders_need_no_hub(server: FakeHub, tmp_path: Path) -> None:
    assert chosen_drafter(BUILT_IN, data_dir()) is None
    assert chosen_drafter(str(tmp_path), data_dir()) == tmp_path
    with pytest.raises(DrafterUnusable, match="There is no folder"):
        chosen_drafter(str(tmp_path / "nothing"), data_dir())
    assert server.asked == []


def test_a_name_is_downloaded_once(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    folder = chosen_drafter(NAME, data_dir())
    assert folder == data_dir() / "drafters" / "somebody--tiny-llama"
    server.asked.clear()
    assert chosen_drafter(NAME, data_dir()) == folder
    assert server.asked == []
    assert capsys.readouterr().out == ""


def test_ctrl_c_keeps_what_has_arrived(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    server.cut_after["model.safetensors"] = [1000]
    server.on_cut = lambda: os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(SystemExit) as ended:
        chosen_drafter(NAME, data_dir())
    assert ended.value.code == 130
    assert capsys.readouterr().err == "The download was stopped; started again, it goes on from there.\n"
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
