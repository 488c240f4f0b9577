"""Every import contract is broken once on purpose, to see it bite."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUTURE = "from __future__ import annotations"
CONTRACTS = (ROOT / "pyproject.toml").read_text().count("[[tool.importlinter.contracts]]")
VIOLATIONS = [
    ("engine/speculation/decoding/session.py", "import PySide6.QtCore", "The engine knows nothing of the screen"),
    ("engine/speculation/decoding/session.py", "import llama_cpp", "llama.cpp stands behind the files"),
    ("engine/speculation/decoding/session.py", "import torch", "torch and transformers stand behind"),
    ("engine/speculation/decoding/session.py", "import sqlalchemy", "SQLAlchemy stands behind the store"),
    ("engine/values/replies.py", "import engine.speculation.decoding.session", "The houses of the engine"),
    ("engine/speculation/numerics/rules.py", "import engine.speculation.decoding.session", "Rooms of speculation"),
    ("engine/backend/teaching/recall.py", "import engine.backend.chats.chat_service", "Rooms of the backend"),
    (
        "app/settings/app_settings.py",
        "import engine.speculation.decoding.session",
        "The app uses the engine by its public names",
    ),
    ("app/engine_bridge.py", "import engine.threads", "The app uses the engine by its public names"),
    ("app/widgets/toast.py", "import app.engine_bridge", "Widgets know values, not the engine"),
    ("app/widgets/icon_button.py", "import app.features.chat.chat", "Upper lines of the app import lower ones"),
    ("app/main_window.py", "import pyqtgraph", "pyqtgraph stands behind the plots"),
    ("engine/speculation/replies/reply.py", "import llguidance", "llguidance stands behind grammars"),
    ("engine/backend/chats/answering.py", "import starlette", "Starlette and uvicorn stand behind the server"),
    ("engine/backend/tools/host.py", "import mcp", "mcp stands behind the process"),
    ("engine/backend/remote/servers.py", "import keyring", "keyring stands behind the keys"),
    ("engine/backend/documents/reading.py", "import pypdfium2", "PDFium stands behind the reader"),
    ("engine/speculation/model/llama/llama_cpp.py", "import PIL", "Pillow stands behind the reading of pictures"),
    ("app/text/markdown.py", "import mathra", "mathra stands behind the drawing of formulas"),
    ("app/widgets/throttle.py", "import app.main_window", "No circles"),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    # The copy is to be checked, not the installed packages.
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each contract in a copy where all are broken, by name."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("app", "engine"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file, line, _ in VIOLATIONS:
        path = folder / file
        path.write_text(path.read_text().replace(FUTURE, f"{FUTURE}\n{line}", 1))
    result = lint(folder)
    assert result.returncode == 1
    _, _, details = result.stdout.partition("Broken contracts")
    names = [line.split(" BROKEN")[0] for line in result.stdout.splitlines() if " BROKEN" in line]
    starts = sorted((details.index(f"\n{name}\n"), name) for name in names)
    ends = [start for start, _ in starts[1:]] + [len(details)]
    return {name: details[start:end] for (start, name), end in zip(starts, ends, strict=True)}


def test_every_contract_is_tried() -> None:
    assert len({contract for _, _, contract in VIOLATIONS}) == CONTRACTS


@pytest.mark.parametrize(("file", "line", "contract"), VIOLATIONS)
def test_a_contract_bites(broken: dict[str, str], file: str, line: str, contract: str) -> None:
    (said,) = (details for name, details in broken.items() if name.startswith(contract))
    importer = file.removesuffix(".py").replace("/", ".")
    if contract != "No circles":  # of those it tells the packages
        assert f"{importer} -> {line.removeprefix('import ').split('.')[0]}" in said
