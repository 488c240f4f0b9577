"""A folder of heads: a config.json that says which target they are for, their weights, and a card. Without torch.

The folders in `heads/` of the data folder are found automatically for the target that they were made for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.speculation.drafter.config_file import read_config
from engine.speculation.drafter.files import SAFETENSORS
from engine.speculation.model.files.identity import file_identity
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import DrafterUnusable
from engine.values.sentences import say

FOLDER = "heads"  # in the data folder
WEIGHTS = "model.safetensors"
MOST_HEADS = 8
_KIND = "slipstream-heads"
_FORMAT = 1
_MOST_SCALE = 1e6
_MOST = {"num_heads": MOST_HEADS, "hidden_size": 32_768, "num_outputs": 524_288}  # far beyond any heads


@dataclass(frozen=True, slots=True)
class HeadsConfig:
    target: str  # its identity
    target_name: str
    num_heads: int
    hidden_size: int
    num_outputs: int  # tokens that can be guessed
    scale: float  # of a usual state of the target: the root of its mean square

    @property
    def content(self) -> dict[str, object]:
        return {"model_type": _KIND, "format": _FORMAT, **asdict(self)}

    @property
    def num_bytes(self) -> int:
        """The bytes of the weights in a file, without its header."""
        num_rows = self.num_heads * self.hidden_size
        return 2 * num_rows * self.hidden_size + 8 * num_rows + 4 * self.num_outputs


def is_heads(folder: Path) -> bool:
    """True if the config.json calls itself heads. False if it cannot be read."""
    try:
        return read_config(folder).get("model_type") == _KIND
    except DrafterUnusable:
        return False


def read_heads_config(folder: Path) -> HeadsConfig:
    """Raises DrafterUnusable where it is damaged or of another version."""
    config = read_config(folder)
    if config.get("format") != _FORMAT:
        raise DrafterUnusable(
            "The heads in {folder} were made by another version of Slipstream; make them again.", folder=folder
        )
    scale, texts = config.get("scale"), [config.get(key) for key in ("target", "target_name")]
    num_heads, hidden, num_outputs = (_number(config, key) for key in _MOST)
    is_sound = num_heads and hidden and num_outputs and all(isinstance(text, str) for text in texts)
    if not is_sound or not isinstance(scale, float) or not 0 < scale < _MOST_SCALE:  # nor one that is no number
        raise damaged(folder)
    return HeadsConfig(str(texts[0]), str(texts[1]), num_heads, hidden, num_outputs, scale)


def heads_source(folder: Path) -> DrafterSource:
    """The source of the heads, sound or not: loading says what is wrong."""
    size = sum(file.stat().st_size for file in folder.glob(SAFETENSORS))
    return DrafterSource(
        f"heads:{folder.absolute()}", say("Heads in {folder}", folder=folder.name), DrafterRunner.HEADS, folder, size
    )


def heads_folder(target: str, data_dir: Path) -> Path:
    """The folder in which heads for a target of this name or path are found automatically."""
    return data_dir / FOLDER / Path(target).stem


def find_heads(data_dir: Path, target: Path) -> list[DrafterSource]:
    """The heads that were made for the target in this file."""
    folders = [folder for folder in sorted((data_dir / FOLDER).glob("*")) if is_heads(folder)]
    identity = file_identity(target) if folders else ""
    return [heads_source(folder) for folder in folders if _is_for(folder, identity)]


def check_target(config: HeadsConfig, target: Path, folder: Path) -> None:
    """Raises DrafterUnusable where they were made for another one."""
    if config.target != file_identity(target):
        raise DrafterUnusable(
            "The heads in {folder} were made for {model} as it was then, not for {name}; choose another "
            "drafter, or make heads for this model.",
            folder=folder,
            model=config.target_name,
            name=target.name,
        )


def damaged(folder: Path) -> DrafterUnusable:
    return DrafterUnusable("The heads in {folder} are damaged; make them again.", folder=folder)


def _is_for(folder: Path, identity: str) -> bool:
    try:
        return bool(identity) and read_heads_config(folder).target == identity
    except DrafterUnusable:
        return False


def _number(config: Mapping[str, Any], key: str) -> int:
    """The number under that key; 0 if it makes no sense."""
    value = config.get(key)
    return value if type(value) is int and 0 < value <= _MOST[key] else 0
