"""`python -m app` does what `slipstream` does; see `app/cli.py`."""

from app.cli import main

main()
