"""Widgets take values and emit signals; none of them knows the engine."""
