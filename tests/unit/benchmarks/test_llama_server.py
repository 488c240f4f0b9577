from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.lab.measuring.bench import Bench
from engine.lab.measuring.modes import Mode, WriterMode
from engine.lab.measuring.prompts import ScriptedChat
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.stop_signal import StopSignal
from tests.benchmarks.llama_server import Row, ServerFailed, ServerMode, print_tables, running, spec_types
from tests.fakes import llama_server
from tests.fakes.target import FakeTarget, says

TYPES = ("none", "ngram-simple", "ngram-map-k")


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "llama-server"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{llama_server.__file__}" "$@"\n')
    path.chmod(0o700)
    return path


def test_only_kinds_of_drafting_without_a_file_are_found_plain_first() -> None:
    assert spec_types("x\n--spec-type ngram-mod,draft-mtp,none,ngram-cache\n   comma-separated, none\n") == [
        "none",
        "ngram-mod",
        "ngram-cache",
    ]
    with pytest.raises(ServerFailed, match="take a newer one"):
        spec_types("--draft N")


def test_every_server_is_compared_with_the_plain_one_and_ours_with_ours(
    binary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = FakeTarget(says("abcdefgh"))
    modes: dict[str, Mode] = {"plain": WriterMode(target, ReplySettings(SamplingSettings(temperature=0), 6), None)}
    with ExitStack() as stack:
        for name in TYPES:
            server = stack.enter_context(running(binary, tmp_path / "m.gguf", name, 2, 512, tmp_path / f"{name}.log"))
            modes[name] = ServerMode(server, target, 6)
        outcome = Bench(modes).run(
            [ScriptedChat("a", "", (), ("Hi",)), ScriptedChat("b", "", (), ("Ho", "He"))], StopSignal()
        )
    assert len(outcome.comparisons) == 3
    row = Row.of(outcome.comparisons, "ngram-simple", "none")
    assert (row.median, row.worst, row.num_drafted, row.num_accepted, row.num_same) == (1.25, 1.25, 12, 6, 3)
    assert row.tokens_per_s == pytest.approx(125)
    assert Row.of(outcome.comparisons, "ngram-map-k", "none").worst == 0.5
    print_tables(outcome.comparisons, ["plain"], TYPES)
    assert "1.250" in capsys.readouterr().out


def test_a_server_that_does_not_start_is_told_with_its_last_words(binary: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(ServerFailed, match=r"(?s)draft-simple did not start: .*a file is missing"),
        running(binary, tmp_path / "m.gguf", "draft-simple", 2, 512, tmp_path / "log"),
    ):
        pass
