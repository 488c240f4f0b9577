"""`slipstream drafter export`: what is said of a drafter that was written for another program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engine
from app.commands import cli
from engine.values.errors import DrafterUnusable
from engine.values.exports import DrafterExported, ExportCheck, ExportEngine, ExportOrder
from engine.values.learned import AdapterSummary

Run = Callable[..., tuple[int, str]]
SNAPSHOT = AdapterSummary(12, datetime(2026, 11, 1, tzinfo=UTC), 1.0, 1.2, 30, 1400, True)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["slipstream", "drafter", "export", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    return command


def test_it_says_what_was_written_and_how_to_use_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ExportOrder] = []

    def export(_config: engine.EngineConfig, order: ExportOrder) -> DrafterExported:
        asked.append(order)
        check = ExportCheck(("transformers loads it.",), ("vLLM is not installed here.",))
        return DrafterExported(
            order, "mine", "big", SNAPSHOT, 3 << 20, False, check, "vllm serve MODEL", "MODEL is big."
        )

    monkeypatch.setattr(engine, "export_drafter", export)
    code, output = run("out", "--for", "vllm", "--target", "big", "--drafter", "mine", "--snapshot", "12")
    assert asked == [ExportOrder(ExportEngine.VLLM, "big", Path("out"), "mine", 12)]
    assert code == 0
    assert output == (
        "out: mine for big, 3 MB\n"
        "In it is snapshot 12, learned from 1,400 replies.\n"
        "That comes from your chats: share it only with people who may know how you write.\n"
        "Its vocabulary is not the model's: the program has to translate between them.\n"
        "transformers loads it.\n"
        "vLLM is not installed here.\n"
        "\nvllm serve MODEL\nMODEL is big.\n"
    )


def test_one_that_has_learned_nothing_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(_config: engine.EngineConfig, order: ExportOrder) -> DrafterExported:
        return DrafterExported(order, "mine", "big", None, 3 << 20, True, ExportCheck(), "llama-server")

    monkeypatch.setattr(engine, "export_drafter", export)
    code, output = run("out.gguf", "--bits", "16")
    assert (code, "learned nothing" in output, "your chats" in output) == (0, True, False)


def test_what_cannot_be_done_is_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(_config: engine.EngineConfig, _order: ExportOrder) -> DrafterExported:
        raise DrafterUnusable("It cannot be.")

    monkeypatch.setattr(engine, "export_drafter", export)
    assert run("out.gguf") == (2, "It cannot be.\n")
    code, output = run("out.gguf", "--bits", "4")
    assert (code, "8 or 16" in output) == (2, True)
    code, output = run("out.gguf", "--for", "something")
    assert (code, "llama.cpp" in output) == (2, True)
