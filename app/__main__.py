"""`python -m app` does what `slipstream` does; see `app/commands/cli.py`."""

from app.commands.cli import main

main()
