"""`slipstream` as a user runs it. What has to do with the process itself is run in one of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from app.commands.cli import application
from engine import starter_path
from engine.values.errors import MendableError
from tests.projector import width_of, write_projector

pytestmark = pytest.mark.starter


def slipstream(*arguments: str, prompt: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        input=prompt,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def run_here(*arguments: str, prompt: str | None = None) -> Result:
    """In this process, which has the libraries already."""
    return CliRunner().invoke(application, arguments, prompt)


def test_chat_as_json_has_text_counts_and_times() -> None:
    result = slipstream("chat", "--target", "starter", "--temperature", "0", "--json", prompt="Write a haiku.")
    assert result.returncode == 0
    assert result.stderr == "", "llama.cpp's log belongs into the log"
    answer = json.loads(result.stdout.splitlines()[-1])
    assert set(answer) == {
        "text", "target", "prompt_tokens", "reply_tokens", "prompt_s", "reply_s", "tokens_per_s", "stop_reason",
        "rounds", "drafted_tokens", "accepted_tokens", "plain_tokens_per_s", "seed", "thoughts",
    }  # fmt: skip
    assert answer["text"]
    assert answer["stop_reason"] == "end"
    assert answer["reply_tokens"] == pytest.approx(answer["tokens_per_s"] * answer["reply_s"], rel=0.02)


def test_files_and_pictures_come_along(tmp_path: Path) -> None:
    """The starter sees with a projector beside it, whose weights are random here."""
    (tmp_path / "models").mkdir()
    seeing = tmp_path / "models" / "Tiny-Seer-Q4.gguf"
    seeing.symlink_to(starter_path())
    write_projector(tmp_path / "models" / "mmproj-Tiny-Seer.gguf", width_of(seeing))
    Image.new("RGB", (64, 64), "red").save(tmp_path / "red.png")
    (tmp_path / "notes.txt").write_text("The sea is red.")
    options = "--max-tokens", "3", "--no-speculation", "--json", "--prompt", "Which colour?"
    notes, picture = (("--attach", str(tmp_path / name)) for name in ("notes.txt", "red.png"))
    text = json.loads(run_here("chat", *options, *notes).stdout)
    both = run_here("chat", *options, *notes, *picture, "--target", str(seeing))
    assert json.loads(both.stdout)["prompt_tokens"] == text["prompt_tokens"] + 16, "so many cells has the picture"
    blind = run_here("chat", *options, *picture).exception
    assert isinstance(blind, MendableError)
    assert "cannot see pictures; choose a model that can" in str(blind)


def test_chat_streams_text() -> None:
    result = run_here("chat", "--max-tokens", "5", "--temperature", "0", "--no-speculation", prompt="Name a colour.")
    assert result.exit_code == 0
    assert len(result.stdout.split()) >= 1
    assert result.stdout.endswith("\n")


def test_a_prompt_longer_than_the_context_is_one_sentence() -> None:
    error = run_here("chat", "--context", "256", "--no-speculation", prompt="word " * 400).exception
    assert isinstance(error, MendableError)
    assert "can read at most 256 at once" in str(error)


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + b"\x03\x00\x00\x00" + b"\xff" * 100)
    result = slipstream("chat", "--prompt", "Hi", "--target", str(path))
    assert result.returncode == 2
    assert result.stderr.startswith("model.gguf is damaged")
    assert result.stderr.count("\n") == 1


INTERRUPTED_READING = """
import os, signal, sys, time
from app.commands import cli
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget

def interrupted(target, tokens, num_rows, stop):
    if len(tokens) > 100:  # the prompt is being read, for as long as it takes to hear of it
        os.kill(os.getpid(), signal.SIGINT)
        while not stop.is_set():
            time.sleep(0.001)
    return evaluate(target, tokens, num_rows, stop)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs the tests behind it has it ignored
evaluate, LlamaCppTarget.evaluate = LlamaCppTarget.evaluate, interrupted
cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_ends_the_reply_in_good_order() -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_READING, "chat", "--json"],
        input="many words " * 100,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 130, result.stderr
    assert json.loads(result.stdout)["stop_reason"] == "stopped"


INTERRUPTED_IMPORT = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs the tests behind it has it ignored
interrupted = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupting())
from app.commands import cli
cli.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("module", "arguments", "sentence"),
    [
        ("engine.use_cases.chat", ("chat", "--prompt", "Hi"), ""),
        (
            "engine.use_cases.lab",
            ("distill", "--out", "drafter"),
            "Stopped. The same command goes on where this ended.\n",
        ),
    ],
)
def test_ctrl_c_ends_a_command_in_good_order_while_it_imports_slow_libraries(
    module: str, arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (result.returncode, result.stderr) == (130, sentence)


def own_words(err: str) -> str:
    """What a process wrote, without what Qt says it cannot do where there is no display."""
    return "".join(line for line in err.splitlines(keepends=True) if "This plugin does not support" not in line)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_closes_the_window() -> None:
    process = subprocess.Popen([sys.executable, "-m", "app"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    settings = Path(os.environ["SLIPSTREAM_DATA_DIR"]) / "settings.json"
    while not (settings.parent / "slipstream.sqlite3").exists():  # the engine is awake, so the window is up
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, own_words(err)) == (0, "", "")
    assert settings.exists(), "it was closed as a user closes it"


def test_the_smoke_run_takes_a_picture_of_an_answered_chat(tmp_path: Path) -> None:
    picture = tmp_path / "smoke.png"
    result = slipstream("--smoke", str(picture))
    assert (result.returncode, own_words(result.stderr)) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    times = json.loads(result.stdout)
    assert 0 < times["window_s"] < times["model_s"] < times["reply_begins_s"] < times["reply_ends_s"] < 60


def test_a_smoke_run_that_cannot_save_says_so(tmp_path: Path) -> None:
    result = run_here("--smoke", str(tmp_path / "missing" / "smoke.png"))
    assert "could not be written" in str(result.exception)
