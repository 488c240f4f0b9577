"""What holds for a target: what the user set for it, and for the rest what holds for all."""

from __future__ import annotations

from dataclasses import fields, replace

from engine import TargetSettings


def effective_settings(for_all: TargetSettings, own: TargetSettings) -> TargetSettings:
    chosen = {field.name: getattr(own, field.name) for field in fields(own)}
    return replace(for_all, **{name: value for name, value in chosen.items() if value is not None})
