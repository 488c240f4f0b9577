"""What can be checked here of recipes that run elsewhere: that they parse, and that what they name is there."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"
SPEC = (PACKAGING / "slipstream.spec").read_text(encoding="utf-8")
INSTALLER = (PACKAGING / "windows" / "slipstream.iss").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted(PACKAGING.rglob("*.sh"))


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_parse_and_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_python_recipes_compile() -> None:
    for path in [*PACKAGING.rglob("*.py"), PACKAGING / "slipstream.spec"]:
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_files_that_recipes_name_are_there() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*SCRIPTS, *WORKFLOWS, PACKAGING / "bundle.py"]]
    texts.append(INSTALLER.replace("\\", "/"))
    named = {
        name
        for text in texts
        for name in re.findall(r"(?<![\w/$.}])(?:packaging|app|docs|tests)/[\w/.-]+\.[a-z0-9]+", text)
    }
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_guide_in_the_window_travels_with_bundle_and_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert "docs" in project["packages"]["find"]["include"]
    assert project["package-data"]["docs"] == ["guide.md", "pictures/*.png"]
    assert '(str(ROOT / "docs" / "guide.md"), "docs")' in SPEC
    assert '(str(ROOT / "docs" / "pictures"), "docs/pictures")' in SPEC


def test_the_installer_takes_what_the_spec_makes() -> None:
    sources = re.findall(r'^Source: "([^"]+)"', INSTALLER, re.MULTILINE)
    programs = set(re.findall(r'name="([\w-]+)"', SPEC))
    assert sources
    for source in sources:
        folder, made, name = source.split("\\", 2)
        assert (folder, made) == ("dist", "slipstream")
        assert name == "*" or name.removesuffix(".exe") in programs
    assert "build\\icons\\slipstream.ico" in INSTALLER


def test_the_installer_knows_the_app_by_its_own_names() -> None:
    entry = (PACKAGING / "entry.py").read_text(encoding="utf-8")
    mutex = re.search(r"^AppMutex=(.+)$", INSTALLER, re.MULTILINE)
    assert mutex
    assert f'"{mutex[1]}"' in entry
    (identity,) = set(re.findall(r'AppUserModelID: "([^"]+)"', INSTALLER))
    assert f'"{identity}"' in entry
    assert f'bundle_identifier="{identity}"' in SPEC
    assert re.search(r"^AppId=\{\{[0-9A-F-]{36}\}$", INSTALLER, re.MULTILINE), "never to change: upgrades go by it"


def test_tasks_of_the_installer_exist() -> None:
    tasks = set(re.findall(r'^Name: "(\w+)"; Description', INSTALLER, re.MULTILINE))
    assert set(re.findall(r"Tasks: (\w+)", INSTALLER)) == tasks


def test_removing_leaves_what_the_user_has() -> None:
    deleted = re.findall(r'^Type: \w+; Name: "([^"]+)"', INSTALLER, re.MULTILINE)
    assert deleted == ["{app}\\_internal"]
    assert "[UninstallDelete]" not in INSTALLER


def test_property_lists_and_the_manifest_parse() -> None:
    entitlements = plistlib.loads((PACKAGING / "macos" / "entitlements.plist").read_bytes())
    assert all(value is True for value in entitlements.values())
    manifest = ElementTree.parse(PACKAGING / "windows" / "slipstream.manifest")
    told = {element.tag.partition("}")[2]: element.text for element in manifest.iter()}
    assert (told["longPathAware"], told["activeCodePage"]) == ("true", "UTF-8")


def test_the_version_of_windows_programs_is_filled_in() -> None:
    told = (PACKAGING / "windows" / "version_info.txt").read_text(encoding="utf-8")
    assert set(re.findall(r"@\w+@", told)) == {"@VERSION@", "@NUMBERS@"} == set(re.findall(r'"(@\w+@)"', SPEC))
    compile(told.replace("@NUMBERS@", "0, 1, 0, 0"), "version_info.txt", "eval")


def test_both_systems_open_what_the_app_opens() -> None:
    for ending in ("gguf", "slipstream"):
        assert f'"CFBundleTypeExtensions": ["{ending}"]' in SPEC
        assert f"Software\\Classes\\.{ending}" in INSTALLER


def test_there_is_one_openmp_where_two_end_the_process() -> None:
    setup = (PACKAGING / "setup.sh").read_text(encoding="utf-8")
    assert "GGML_OPENMP=OFF" in setup
    assert re.search(r'Darwin-\*\) options="\$options \$no_openmp', setup)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_little_and_pin_what_they_use(workflow: Path) -> None:
    document = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert document["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in document["jobs"].values())
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"])
        else:
            assert "github.event" not in step["run"], "what strangers write is no part of a script"
            assert "secrets." not in step["run"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_steps_of_workflows_parse(workflow: Path) -> None:
    for step in steps(workflow):
        if "run" in step and step.get("shell") != "pwsh":
            script = re.sub(r"\$\{\{.*?\}\}", "value", step["run"])
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_a_release_is_only_drafted_and_only_for_a_tag() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    (draft,) = (step for step in jobs["draft"]["steps"] if "gh release" in step.get("run", ""))
    assert draft["if"] == "github.ref_type == 'tag'"
    assert "--draft" in draft["run"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["draft"]
    assert jobs["draft"]["needs"] == "build"
    assert {row["name"] for row in jobs["build"]["strategy"]["matrix"]["include"]} == {
        "linux-x64",
        "macos-arm64",
        "windows-x64",
    }


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_scripts_are_clean() -> None:
    subprocess.run(["shellcheck", "--severity=error", *SCRIPTS], check=True)
