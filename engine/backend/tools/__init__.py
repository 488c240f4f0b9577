"""Servers of tools, by the Model Context Protocol. A process of its own speaks with them; see `host.py`."""
