"""`slipstream chat` with a model that was not taught to answer, and with a chat template that the user chose."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import engine.use_cases.chat
from engine.opening import open_repository
from engine.speculation.model.chat.families import TEXT
from engine.speculation.model.files.sources import file_source
from engine.values.config import EngineConfig, TargetOptions, data_dir
from tests.fakes.target import FakeTarget, says
from tests.fakes.tiny_models import tiny_llama
from tests.unit.app.commands.test_cli import run

NOTICE = "continues the text instead of answering it"


def chat(monkeypatch: pytest.MonkeyPatch, target: FakeTarget, path: Path) -> int:
    monkeypatch.setattr(engine.use_cases.chat, "load_target", lambda *_arguments: target)
    return run(monkeypatch, "chat", "--no-speculation", "--target", str(path), "--prompt", "Once upon")


def test_a_base_model_is_said_to_continue_the_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tiny_llama(tmp_path / "base.gguf")
    assert chat(monkeypatch, FakeTarget(chat_template=TEXT), path) == 0
    assert NOTICE in capsys.readouterr().err
    assert chat(monkeypatch, FakeTarget(says("Hello.")), path) == 0
    assert NOTICE not in capsys.readouterr().err


def test_the_template_that_was_chosen_in_the_library_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "base.gguf")
    with closing(open_repository(EngineConfig(data_dir()))) as repository:
        repository.add_target(file_source(path))
        repository.change_target_options(path, TargetOptions(chat_template="Q: {{ messages[0].content }} A:"))
    target = FakeTarget(says("Hello."))
    target.description = replace(target.description, path=path)
    assert chat(monkeypatch, target, path) == 0
    assert b"".join(target.vocabulary.pieces[token] for token in target.held).startswith(b"Q: Once upon A:")
