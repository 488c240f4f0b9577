"""The folder of a chosen drafter: the built-in one, any folder, or one that was fetched from the hub."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

from engine.errors import DrafterUnusable, FetchFailed

BUILT_IN = "built-in"
HUB_EXAMPLES = ("JackFram/llama-68m", "Felladrin/Llama-68M-Chat-v1")
MARKER = "fetched.json"  # is written last, so a folder with it is complete

_PART = r"\w(?:[\w.-]*\w)?"
_HUB_NAME = re.compile(f"{_PART}/{_PART}", re.ASCII)
_MAX_LENGTH = 96  # characters; the hub's own limit


def is_hub_name(text: str) -> bool:
    """Whether it has the form `owner/name`, as the hub allows it; whether it exists, only the hub knows."""
    has_pairs = "--" in text or ".." in text
    return len(text) <= _MAX_LENGTH and _HUB_NAME.fullmatch(text) is not None and not has_pairs


def fetched_folder(name: str, data_dir: Path) -> Path:
    """The folder for a drafter from the hub, whether it is there or not. Raises FetchFailed for what is no name."""
    if not is_hub_name(name):
        raise FetchFailed(
            f"“{name}” is no name on the hub; it must have the form owner/name, as {HUB_EXAMPLES[0]} has."
        )
    return data_dir / "drafters" / name.replace("/", "--")  # the hub allows no name with two hyphens


def is_fetched(folder: Path) -> bool:
    """Whether everything that was fetched is still there."""
    try:
        sizes = json.loads((folder / MARKER).read_text("utf-8"))["files"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def built_in_drafter() -> Path:
    return Path(str(files("resources") / "drafter"))


def hub_name(choice: str) -> str | None:
    """The name to ask the hub for; None when the choice is on this machine, or makes no sense."""
    return choice if choice != BUILT_IN and _folder(choice) is None and is_hub_name(choice) else None


def drafter_folder(choice: str, data_dir: Path) -> Path | None:
    """None for the built-in drafter. Uses no network. Raises DrafterUnusable."""
    if choice == BUILT_IN:
        return None
    folder = _folder(choice)
    if folder is not None:
        return folder
    if not is_hub_name(choice):
        raise DrafterUnusable(
            f"There is no folder {choice}; a drafter is `{BUILT_IN}`, a folder, or a name on the hub such as "
            f"{HUB_EXAMPLES[0]}."
        )
    folder = fetched_folder(choice, data_dir)
    if not is_fetched(folder):
        raise DrafterUnusable(f"The drafter {choice} is not on this machine; choose it again to download it.")
    return folder


def _folder(choice: str) -> Path | None:
    try:
        folder = Path(choice).expanduser()
        return folder if choice and folder.is_dir() else None
    except (OSError, ValueError, RuntimeError):  # a name no folder can have, or a user that does not exist
        return None
