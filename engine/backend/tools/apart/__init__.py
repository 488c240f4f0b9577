"""Runs in a process of its own, and is the only part that knows the package `mcp`."""
