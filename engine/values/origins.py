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
# A server's own guesses, as it reports them. It has no colour: the server does not report which characters they were
SERVER = Origin("server", "Guesses of the server", "", "")
