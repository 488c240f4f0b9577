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
# What a server of a target tells of its own guesses. It has no colour, as nobody tells which characters these were
SERVER = Origin("server", "Guesses of the server", "", "")
