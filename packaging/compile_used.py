"""Imports all modules of the app, so that Python stores the compiled form of what they use: run in a checkout's root by
the Python of its environment. pip would compile every module of every package, three times as many.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

_NO_MODULES = "__main__", "migrations"  # programs, and what Alembic runs


def main() -> None:
    sys.path.insert(0, "")
    for root in ("app", "engine"):
        for module in pkgutil.walk_packages([root], f"{root}."):
            if not any(part in _NO_MODULES for part in module.name.split(".")):
                importlib.import_module(module.name)


if __name__ == "__main__":
    main()
