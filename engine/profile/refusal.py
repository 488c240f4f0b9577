"""Says in one sentence why a profile cannot be used, and what to do."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ProfileUnusable

_AGAIN = "copy it again from where it came from, or export it again"


def not_used(path: Path, why: str, what_to_do: str = _AGAIN) -> ProfileUnusable:
    """`why` continues the sentence that begins with the path."""
    return ProfileUnusable(f"The profile {path} {why}; {what_to_do}.")


def damaged(path: Path, what: str) -> ProfileUnusable:
    """`what` is wrong with it. Never in words of the file itself, which are anybody's."""
    return not_used(path, f"is damaged or was not written by Slipstream ({what})")


def from_newer_version(path: Path) -> ProfileUnusable:
    return not_used(path, "was written by a newer version of Slipstream", "install that version to import it")


def not_read(path: Path, error: OSError) -> ProfileUnusable:
    if isinstance(error, FileNotFoundError):
        return ProfileUnusable(f"There is no file {path}; name a profile that was exported.")
    return ProfileUnusable(f"The file {path} cannot be read ({error.strerror}); name a profile that you may read.")


def too_much() -> ProfileUnusable:
    return ProfileUnusable(
        "What was learned does not fit into a profile; export it without recall, or forget what was learned."
    )


def not_written(path: Path, error: OSError) -> ProfileUnusable:
    return ProfileUnusable(
        f"The profile cannot be written to {path} ({error.strerror}); name a file in a folder that exists and has room."
    )
