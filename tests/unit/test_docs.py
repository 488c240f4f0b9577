"""Documents name files, folders and modules of the project as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("app", "docs", "engine", "packaging", "resources", "tests")
ARCHITECTURE = ROOT / "docs" / "architecture.md"
DOCUMENTS = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING"))])
SOURCES = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]

_BEGINS = r"(?<![\w/.-])"
_FROM_ROOT = re.compile(rf"{_BEGINS}(?:{'|'.join(FOLDERS)})/[\w./-]*")
_SOURCE = re.compile(rf"{_BEGINS}[\w/]+\.py\b")
_MODULE = re.compile(r"(?<=-m )(?:tests|engine|app)[\w.]*")
_CAPTION = re.compile(r"^\*[^*\n]+\*.*$", re.MULTILINE)  # of a picture
_LINK = re.compile(r"\]\(([^)#:]+)\)")


def missing_in(document: Path) -> list[str]:
    text = document.read_text(encoding="utf-8")
    missing = [place for place in _FROM_ROOT.findall(text) if not (ROOT / place.rstrip(".")).exists()]
    missing += [name for name in _SOURCE.findall(text) if not any(f"/{path}".endswith(f"/{name}") for path in SOURCES)]
    modules = ((module, ROOT / module.replace(".", "/")) for module in _MODULE.findall(text))
    missing += [module for module, place in modules if not (place.with_suffix(".py").exists() or place.is_dir())]
    return missing + [link for link in _LINK.findall(text) if not (document.parent / link).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_is_there(document: Path) -> None:
    assert missing_in(document) == []


def test_the_readme_is_one_page() -> None:
    text = _CAPTION.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(text.split()) <= 700


def test_a_name_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    names = ["engine/nowhere/", "app/nothing.py", "decoding/nobody.py", "never.py", "tests.benchmarks.none", "gone.md"]
    document.write_text(
        "`{}` `{}` {} {}, `python -m {}` [gone]({}) engine/speculation/decoding/ loop.py".format(*names)
    )
    assert sorted({*missing_in(document)}) == sorted(names)


def test_the_architecture_is_one_page() -> None:
    assert ARCHITECTURE.stat().st_size <= 9_000


def test_the_diagram_has_all_of_the_engine_and_the_app() -> None:
    diagram = ARCHITECTURE.read_text(encoding="utf-8").split("```")[1]
    parts = [part for folder in ("app", "engine") for part in (ROOT / folder).iterdir() if part.name[0].isalpha()]
    assert len(parts) > 15
    drawn = {*re.findall(r"\w+/|\w+\.py", diagram)}
    assert {part.name if part.suffix else f"{part.name}/" for part in parts} <= drawn
