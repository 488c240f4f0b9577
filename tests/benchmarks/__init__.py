"""Benchmarks are commands. The engine comes first: it tells OpenMP how to wait before anything loads it."""

import engine  # noqa: F401
