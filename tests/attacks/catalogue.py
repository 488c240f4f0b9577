"""All attacks, by the names of their modules."""

from __future__ import annotations

from importlib import import_module

from tests.attacks.attack import Attack

# In the order in which they are run. Each module has an ATTACK.
NAMES: tuple[str, ...] = (
    "ordinary",
    "drafters",
    "soak",
    "kill",
    "lock",
    "starts",
    "disk",
    "models",
    "templates",
    "turns",
    "archives",
    "profiles",
    "messages",
    "network",
    "tooltips",
)


def attack(name: str) -> Attack:
    found = import_module(f"tests.attacks.{name}").ATTACK
    assert isinstance(found, Attack)
    return found
