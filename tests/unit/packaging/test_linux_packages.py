from __future__ import annotations

import configparser
import gzip
import runpy
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

LINUX = Path(__file__).parents[3] / "packaging" / "linux"
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"
METAINFO = "app.slipstream.Slipstream.metainfo.xml"

needs_debian = pytest.mark.skipif(
    not (shutil.which("dpkg-deb") and shutil.which("objdump")), reason="made with the tools of Debian"
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these packages are for Linux")


@pytest.fixture
def packages() -> dict[str, Any]:
    return runpy.run_path(str(LINUX / "packages.py"))


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, Path]:
    """A folder as PyInstaller makes it, only without a program inside, and the icons."""
    folder, icons = tmp_path / "slipstream", tmp_path / "icons"
    (folder / "_internal").mkdir(parents=True)
    (folder / "slipstream").write_bytes(Path("/bin/true").read_bytes())
    (folder / "slipstream").chmod(0o700)
    (folder / "_internal" / "data").write_text("data")
    (folder / "_internal" / "link").symlink_to("data")
    (folder / "LICENCES.txt").write_text("licences")
    icons.mkdir()
    for size in (16, 512, 1024):
        (icons / f"slipstream-{size}.png").write_bytes(b"picture")
    return folder, icons


def desktop_entry() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(LINUX / "slipstream.desktop", encoding="utf-8")
    return parser["Desktop Entry"]


def test_the_desktop_entry_opens_files() -> None:
    entry = desktop_entry()
    assert entry["Exec"] == "slipstream %F"
    assert entry["Terminal"] == "false"
    assert entry["Icon"] == "slipstream"


@pytest.mark.skipif(not shutil.which("desktop-file-validate"), reason="desktop-file-utils is not installed")
def test_the_desktop_entry_is_valid() -> None:
    result = subprocess.run(
        ["desktop-file-validate", str(LINUX / "slipstream.desktop")], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "")


def test_entry_file_types_and_description_name_the_same_types() -> None:
    known = ET.parse(LINUX / "slipstream.mime.xml").getroot()
    types = {kind.get("type"): [glob.get("pattern") for glob in kind.iter(f"{MIME}glob")] for kind in known}
    assert types == {"application/x-gguf": ["*.gguf"], "application/x-slipstream-profile": ["*.slipstream"]}
    assert set(desktop_entry()["MimeType"].rstrip(";").split(";")) == set(types)
    described = ET.parse(LINUX / METAINFO).getroot()
    assert {kind.text for kind in described.iter("mediatype")} == set(types)
    assert described.findtext("launchable") == "slipstream.desktop"


@needs_debian
def test_what_a_program_asks_for_is_a_package(packages: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(Path("/bin/ls").read_bytes())
    needed = packages["dependencies"](tmp_path)
    assert needed[0].startswith("libc6 (>= 2.")
    assert "libselinux1" in needed
    (tmp_path / "libselinux.so.1").touch()
    assert "libselinux1" not in packages["dependencies"](tmp_path), "it lies in the folder itself"


@needs_debian
def test_the_package_lies_where_it_should(built: tuple[Path, Path], packages: dict[str, Any], tmp_path: Path) -> None:
    folder, icons = built
    packages["main"](folder, icons, tmp_path / "out", "1.2.3")
    deb = next((tmp_path / "out").glob("slipstream_1.2.3_*.deb"))
    root = tmp_path / "unpacked"
    subprocess.run(["dpkg-deb", "-R", str(deb), str(root)], check=True)
    control = (root / "DEBIAN/control").read_text()
    assert "Version: 1.2.3\n" in control
    assert "Depends: libc6 (>= 2." in control
    assert "libwayland-client0" in control
    assert "@" not in control.replace("authors@", "")
    assert (root / "usr/bin/slipstream").readlink() == Path("/opt/slipstream/slipstream")
    assert (root / "opt/slipstream/slipstream").stat().st_mode & 0o777 == 0o755
    assert (root / "opt/slipstream/_internal/data").stat().st_mode & 0o777 == 0o644
    assert (root / "opt/slipstream/_internal/link").is_symlink()
    share = root / "usr/share"
    assert sorted(path.parent.parent.name for path in (share / "icons/hicolor").rglob("slipstream.*")) == [
        "16x16",
        "512x512",
        "scalable",
    ]
    assert '<release version="1.2.3"' in (share / "metainfo" / METAINFO).read_text()
    assert (share / "doc/slipstream/copyright").read_text() == "licences"
    assert gzip.decompress((share / "doc/slipstream/changelog.gz").read_bytes()).startswith(b"# Changelog")
    with tarfile.open(next((tmp_path / "out").glob("*.tar.gz"))) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert members["slipstream-1.2.3/slipstream"].mode & 0o111
    assert members["slipstream-1.2.3/_internal/link"].issym()
    assert {member.uname for member in members.values()} == {"root"}
    assert "slipstream-1.2.3/README.txt" in members


@needs_debian
def test_the_same_folder_makes_the_same_files(
    built: tuple[Path, Path], packages: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = []
    for name in ("one", "two"):
        packages["main"](*built, tmp_path / name, "1.2.3")
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert made[0] == made[1]
