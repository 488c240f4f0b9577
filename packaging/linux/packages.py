"""Makes a .deb and a .tar.gz of the folder that PyInstaller made.

    python3 packaging/linux/packages.py FOLDER ICONS OUT VERSION

FOLDER is dist/slipstream, ICONS holds `slipstream-16.png` and so on, OUT is where the packages go. Needs only the
standard library and Debian's own tools (dpkg-deb, dpkg-shlibdeps), and no root. The same input makes the same files.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
APP_ID = "app.slipstream.Slipstream"
INSTALLED = Path("opt/slipstream")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_ELF = b"\x7fELF"
# What a window needs besides libraries: letters.
RECOMMENDED = "fonts-dejavu-core | fonts-noto-core | fonts-liberation"
# Loaded by name while the app runs, so that no analysis finds them.
ALSO_NEEDED = ("libegl1", "libgl1", "libfontconfig1", "libfreetype6", "libx11-6")


def main(folder: Path, icons: Path, out: Path, version: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slipstream-deb-", dir=out) as temporary:
        root = Path(temporary) / "root"
        stage(folder, icons, root, version)
        architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
        write_control(root, version, architecture, dependencies(folder, Path(temporary)))
        deb = out / f"slipstream_{version}_{architecture}.deb"
        # zstd: read by Debian 12 and Ubuntu 22.04 on, and several times as fast to unpack as xz.
        command = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--build", str(root), str(deb)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(made_at())}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        print(deb)
    print(archive(folder, out / f"slipstream-{version}-linux-{platform.machine()}.tar.gz", version))


def made_at() -> int:
    """Seconds since 1970 that every file is dated with: of the last commit, unless SOURCE_DATE_EPOCH says otherwise."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    command = ["git", "log", "-1", "--format=%ct"]
    found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    return int(found) if found else int(time.time())


def stage(folder: Path, icons: Path, root: Path, version: str) -> None:
    """Lays out everything as it will lie on the user's disk."""
    # Hard links where possible: the folder is large, and only read.
    shutil.copytree(folder, root / INSTALLED, symlinks=True, copy_function=_link_or_copy)
    launcher = root / "usr/bin/slipstream"
    launcher.parent.mkdir(parents=True)
    launcher.symlink_to(Path("/") / INSTALLED / "slipstream")
    share = root / "usr/share"
    _put(HERE / "slipstream.desktop", share / "applications/slipstream.desktop")
    _put(HERE / "slipstream.mime.xml", share / "mime/packages/slipstream.xml")
    metainfo = (HERE / f"{APP_ID}.metainfo.xml").read_text(encoding="utf-8")
    day = datetime.fromtimestamp(made_at(), UTC).strftime("%Y-%m-%d")
    _write(share / f"metainfo/{APP_ID}.metainfo.xml", metainfo.replace("@VERSION@", version).replace("@DATE@", day))
    for picture in icons.glob("slipstream-*.png"):
        size = picture.stem.rpartition("-")[2]
        if int(size) <= 512:  # no larger folder in the icon theme
            _put(picture, share / f"icons/hicolor/{size}x{size}/apps/slipstream.png")
    svg = HERE.parents[1] / "resources/icons/slipstream.svg"
    _put(svg, share / "icons/hicolor/scalable/apps/slipstream.svg")
    documents = share / "doc/slipstream"
    _put(folder / "LICENCES.txt", documents / "copyright")
    history = (HERE.parents[1] / "CHANGELOG.md").read_bytes()
    (documents / "changelog.gz").write_bytes(gzip.compress(history, mtime=0))
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
            if path.is_dir():
                os.utime(path, (made_at(), made_at()))


def dependencies(folder: Path, scratch: Path) -> list[str]:
    """The packages that hold the libraries which programs and libraries in `folder` want and do not find there."""
    (scratch / "debian").mkdir()
    _write(scratch / "debian/control", "Source: slipstream\n\nPackage: slipstream\nArchitecture: any\n")
    files = sorted(elf_files(folder))
    folders = sorted({str(path.parent) for path in files})
    command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", "--warnings=0", *(f"-l{name}" for name in folders)]
    found: set[str] = set()
    for start in range(0, len(files), 200):  # as many as fit on a command line
        batch = [f"-e{path}" for path in files[start : start + 200]]
        result = subprocess.run([*command, *batch], cwd=scratch, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(result.stderr)
        line = result.stdout.partition("shlibs:Depends=")[2]
        found |= {part.strip() for part in line.split(",") if part.strip()}
    return newest(found | set(ALSO_NEEDED))


def newest(found: set[str]) -> list[str]:
    """One entry for each package: the one that asks for the newest version."""
    best: dict[str, str] = {}
    for entry in sorted(found):
        name = entry.split(" ", 1)[0]
        if name not in best or _wanted_version(entry) > _wanted_version(best[name]):
            best[name] = entry
    return [best[name] for name in sorted(best)]


def _wanted_version(entry: str) -> tuple[int, ...]:
    match = re.search(r"\(>= (?:\d+:)?([\d.]+)", entry)
    return tuple(int(part) for part in match[1].split(".") if part) if match else ()


def elf_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == _ELF:
                    yield path


def write_control(root: Path, version: str, architecture: str, depends: list[str]) -> None:
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    template = (HERE / "control.in").read_text(encoding="utf-8")
    fields = {
        "VERSION": version,
        "ARCHITECTURE": architecture,
        "SIZE": str(size // 1024),
        "DEPENDS": ", ".join(depends),
        "RECOMMENDS": RECOMMENDED,
    }
    _write(root / "DEBIAN/control", re.sub(r"@(\w+)@", lambda match: fields[match[1]], template))
    sums = [
        f"{_md5(path)}  {path.relative_to(root)}\n"
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts
    ]
    _write(root / "DEBIAN/md5sums", "".join(sums))


def archive(folder: Path, path: Path, version: str) -> Path:
    """The folder as it is, with a note on how to start it."""
    date = made_at()

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = date
        return entry

    name = f"slipstream-{version}"
    with (
        path.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=date, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        tar.add(HERE / "README.txt", f"{name}/README.txt", filter=plain)
        for entry in sorted(folder.rglob("*")):
            tar.add(entry, f"{name}/{entry.relative_to(folder)}", recursive=False, filter=plain)
    return path


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), sys.argv[4])
