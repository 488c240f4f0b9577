"""Makes a .deb and a .tar.gz of the folder that PyInstaller made.

    python3 packaging/linux/packages.py FOLDER ICONS OUT VERSION

FOLDER is dist/slipstream, ICONS holds `slipstream-16.png` and so on, OUT is where the packages go. Needs only the
standard library, Debian's own tools and objdump, and no root. The same input makes the same files.
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
# Without any font, Qt draws empty boxes.
FONTS = "fonts-dejavu-core | fonts-noto-core | fonts-liberation"
# With letters of Chinese and Japanese, in which the window and the chats may be.
EASTERN_FONTS = "fonts-noto-cjk | fonts-wqy-microhei"
# Needed only on Wayland, where every desktop has them.
WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}


def main(folder: Path, icons: Path, out: Path, version: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slipstream-deb-", dir=out) as temporary:
        root = Path(temporary) / "root"
        stage(folder, icons, root, version)
        architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
        write_control(root, version, architecture, dependencies(folder))
        deb = out / f"slipstream_{version}_{architecture}.deb"
        # zstd: read by Debian 12 and Ubuntu 22.04 on, and several times as fast to unpack as xz.
        command = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--build", str(root), str(deb)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(made_at())}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        print(deb)
    print(archive(folder, out / f"slipstream-{version}-linux-{platform.machine()}.tar.gz", version))


def made_at() -> int:
    """The date of every file, in seconds since 1970: that of the last commit, unless SOURCE_DATE_EPOCH is set."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    command = ["git", "log", "-1", "--format=%ct"]
    found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    return int(found) if found else int(time.time())


def stage(folder: Path, icons: Path, root: Path, version: str) -> None:
    """Lays out the files as they will be on the user's disk."""
    # Hard links where possible: the folder is large and only read.
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


def dependencies(folder: Path) -> list[str]:
    """The packages with the libraries that files in `folder` need and that are not in it.

    dpkg-shlibdeps will not do: it does not know folders with libraries of their own, and fails at Wayland's.
    """
    inside = {path.name for path in folder.rglob("*.so*")}
    wanted: set[str] = set()
    newest = (0,)
    for path in elf_files(folder):
        dump = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True).stdout
        wanted |= set(re.findall(r"NEEDED\s+(\S+)", dump)) - inside
        newest = max(newest, *(version_of(found) for found in re.findall(r"GLIBC_([\d.]+)", dump)), (0,))
    packages = {package_of(library) for library in wanted - WAYLAND.keys()} - {"libc6"}
    return [f"libc6 (>= {'.'.join(map(str, newest))})", *sorted(packages)]


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def package_of(library: str) -> str:
    command = ["dpkg-query", "--search", f"*/{library}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if not answer:
        raise SystemExit(f"No package here holds {library}, which the bundle needs; install it and try again.")
    return answer.splitlines()[0].split(":")[0]


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
        "DEPENDS": ", ".join([*depends, FONTS]),
        "RECOMMENDS": ", ".join([*WAYLAND.values(), EASTERN_FONTS]),
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
    main(*(Path(name).resolve() for name in sys.argv[1:4]), sys.argv[4])
