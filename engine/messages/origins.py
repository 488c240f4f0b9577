"""Where a token of a reply came from: a proposer, or the target itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """One source of tokens: how the engine counts it, how the window names and colours it."""

    key: str
    label: str
    light: str
    dark: str


TARGET = Origin("target", "Model itself", "", "")
