from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from app.commands import cli
from app.commands.terminal import chosen_drafter
from engine import AUTOMATIC, BUILT_IN, STARTER, STARTER_TORCH, data_dir, drafter_source
from engine.errors import DrafterUnusable
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
