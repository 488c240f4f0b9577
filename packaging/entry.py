"""Where a bundle starts: `slipstream`, with the whole command line."""

from __future__ import annotations

import multiprocessing

if __name__ == "__main__":
    # The first look at a model file happens in a process of its own, which is this program once more.
    multiprocessing.freeze_support()

    from app.cli import main

    main()
