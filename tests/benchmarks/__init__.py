"""Benchmarks are commands. The engine is imported first: it sets how OpenMP waits before anything loads OpenMP."""

import engine  # noqa: F401
