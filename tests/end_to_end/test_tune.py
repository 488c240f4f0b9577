"""The starter's own quantization, decided by measuring it: on the command line, as set-up asks for it, and in the
engine."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from app.commands.cli import application
from engine import Engine, EngineConfig, ReplySettings, SamplingSettings, data_dir, starter_path
from engine.backend.library.tuning.measuring import Extent
from engine.speculation.model.files.sources import StarterQuantization, starter_source
from engine.values.events import ReplyFinished, TargetReady
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue

pytestmark = pytest.mark.starter
BRIEF = Extent(num_turns=1, num_prompts=2, reply_tokens=8)


def told(*arguments: str) -> str:
    return CliRunner().invoke(application, arguments, catch_exceptions=False).stdout


@pytest.mark.timeout(600)
def test_the_starter_decides_its_quantization_and_the_decision_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.backend.library.tuning.tuning_service.QUICK", replace(BRIEF, num_turns=2))
    before = starter_path().stat()
    (figures,) = (json.loads(line) for line in told("models", "tune", "starter", "--quick", "--json").splitlines())
    original, quantization = figures["forms"]
    assert (original["form"], quantization["form"]) == ("Q4_1", "Q8_0")
    assert 0 < quantization["distance"]["mean_kl"] < 0.02
    assert quantization["distance"]["equal_greedy"] > 0.85
    assert quantization["size_bytes"] > original["size_bytes"]

    listed = told("models", "list")
    used = StarterQuantization(data_dir(), starter_source().identity).path
    assert (used is not None) == (figures["advice"]["form"] == "Q8_0")
    assert str(used or starter_path()) in listed
    assert sum(line.startswith("starter") for line in listed.splitlines()) == 1
    assert not [line for line in listed.splitlines()[1:] if not line.startswith("starter")]

    assert "as it was installed" in told("models", "tune", "starter", "--undo")
    assert "was decided before" in told("models", "tune", "starter", "--quick")
    assert str(starter_path()) in told("models", "list")
    assert starter_path().stat() == before


@contextmanager
def making_a_quantization(model: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, while it makes a quantization that takes long to make."""
    model.parent.mkdir()
    shutil.copy(starter_path(), model)
    command = [sys.executable, "-m", "app", "models", "tune", str(model), "--form", "IQ4_NL"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not (unfinished := list(model.parent.glob("*/.*.part"))) or not unfinished[0].stat().st_size:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    model = tmp_path / "mine" / "model.gguf"
    with making_a_quantization(model) as process:
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert output == ""
        assert errors == "Making IQ4_NL of model.gguf was cancelled.\n"
        assert list(model.parent.iterdir()) == [model]
        assert children
        assert not psutil.wait_procs(children, timeout=20)[1], "nobody goes on making it"


def test_nobody_goes_on_making_a_quantization_for_a_program_that_was_killed(tmp_path: Path) -> None:
    with making_a_quantization(tmp_path / "mine" / "model.gguf") as process:
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.kill()
        assert not psutil.wait_procs(children, timeout=20)[1]


def test_a_reply_is_written_while_a_target_is_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.backend.library.tuning.tuning_service.USUAL", BRIEF)
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.ask(engine.target.load, LoadOrder("starter"))
        events.wait_for(TargetReady)
        is_under_way = threading.Event()
        tuning = engine.begin(
            engine.tuning.tune,
            (starter_path(), ("Q8_0",)),
            {},
            progress=lambda _told: is_under_way.set(),
        )
        assert is_under_way.wait(60)
        settings = ReplySettings(SamplingSettings(temperature=0), max_tokens=8)
        engine.ask(engine.chat.answer, Send("Hello", None, settings))
        assert events.wait_for(ReplyFinished).message.text
        report, _ = tuning.result()
        assert [each.quantization for each in report.quantizations] == ["Q8_0"]
        (listed,) = engine.ask(engine.library.list).result()
        assert listed.tuned == report or listed.tuned is not None
        engine.ask(engine.tuning.reset_starter).result()
    finally:
        assert engine.close()


def test_the_starter_writes_in_the_quantization_that_is_used_in_its_place(tmp_path: Path) -> None:
    quantization = StarterQuantization(tmp_path / "data", starter_source().identity)
    made = tmp_path / "data" / "starter-Q8_0.gguf"
    made.parent.mkdir()
    made.write_bytes(starter_path().read_bytes())
    quantization.use(made)
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.ask(engine.target.load, LoadOrder("starter"))
        assert Path(events.wait_for(TargetReady).target.path) == quantization.path
    finally:
        assert engine.close()
