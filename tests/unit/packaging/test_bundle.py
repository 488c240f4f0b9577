from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"


def pins(name: str) -> dict[str, str]:
    lines = [line for line in (PACKAGING / name).read_text().splitlines() if line and not line.startswith(("#", " "))]
    return dict(line.removesuffix(" \\").partition(" ;")[0].split("==") for line in lines)


def test_the_recipe_is_python() -> None:
    compile((PACKAGING / "slipstream.spec").read_text(encoding="utf-8"), "slipstream.spec", "exec")


def test_the_version_is_the_projects_own() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        expected = tomllib.load(file)["project"]["version"]
    assert runpy.run_path(str(PACKAGING / "bundle.py"))["version"]() == expected


def test_what_a_bundle_is_made_with_is_pinned_and_agrees_with_what_it_runs_on() -> None:
    running, making = pins("requirements.txt"), pins("requirements-bundle.txt")
    assert {"pyinstaller", "pyinstaller-hooks-contrib"} <= set(making)
    assert {name: making[name] for name in making.keys() & running} == {
        name: running[name] for name in making.keys() & running
    }


@pytest.mark.parametrize("file", sorted(PACKAGING.glob("*.txt")), ids=lambda file: file.name)
def test_nothing_is_installed_without_its_digest(file: Path) -> None:
    entries = re.split(r"\n(?=\S)", file.read_text().strip())
    pinned = [entry for entry in entries if not entry.startswith("#")]
    assert pinned
    whole = re.compile(r"[\w.-]+==[\w.]+( ; sys_platform == '(?:linux|win32)')?( \\\n    --hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in pinned if not whole.fullmatch(entry)] == []


def test_setup_asks_for_all_digests_but_torchs() -> None:
    script = (PACKAGING / "setup.sh").read_text().replace("\\\n", " ")
    installs = re.findall(r"^.*\bpip\b.* (?:install|wheel) .*$", script, re.MULTILINE)
    local = ('"$wheels"/', "-e .")
    trusting = [line for line in installs if "--require-hashes" not in line and not any(here in line for here in local)]
    assert [line.split()[-1] for line in trusting] == ['"$torch"']


def test_licences_are_collected_from_packages(tmp_path: Path) -> None:
    for name, licence in (("alpha", "MIT"), ("slipstream", "none")):
        information = tmp_path / f"_internal/{name}-1.0.dist-info"
        (information / "licenses").mkdir(parents=True)
        (information / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n\nText\n")
        (information / "licenses/LICENSE.txt").write_text(f"terms of {name}")
    runpy.run_path(str(PACKAGING / "licences.py"))["main"](tmp_path)
    text = (tmp_path / "LICENCES.txt").read_text()
    assert "alpha 1.0\nMIT\n\nterms of alpha" in text
    assert "terms of slipstream" not in text
    assert "GNU Lesser General" in text


def test_the_shell_scripts_can_be_read() -> None:
    for script in PACKAGING.glob("*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True)
