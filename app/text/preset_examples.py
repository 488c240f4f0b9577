"""Presets and prompts to begin with, for those who ask for them."""

from __future__ import annotations

from app.text.translation import translate
from engine import OwnSampling
from engine.values.order import LibraryPrompt, Preset


def example_presets() -> tuple[Preset, ...]:
    return (
        Preset(
            0,
            translate("Presets", "Precise"),
            translate("Presets", "Answer precisely. If you are not sure, say so."),
            OwnSampling(temperature=0.2),
        ),
        Preset(
            0,
            translate("Presets", "Creative"),
            translate("Presets", "You are an imaginative writer. Avoid clichés, and surprise the reader."),
            OwnSampling(temperature=1.1, top_p=1.0, min_p=0.03),
        ),
        Preset(
            0,
            translate("Presets", "Brief"),
            translate("Presets", "Answer in at most three sentences."),
            OwnSampling(max_tokens=256),
        ),
        Preset(
            0,
            translate("Presets", "Programmer"),
            translate("Presets", "You are an experienced programmer. Show the code first, then explain it briefly."),
            OwnSampling(temperature=0.3),
        ),
    )


def example_prompts() -> tuple[LibraryPrompt, ...]:
    """Words in braces are variables; those that ask for input are translated, too."""
    return tuple(
        LibraryPrompt(0, name, text)
        for name, text in (
            (
                translate("Presets", "Summarize"),
                translate("PromptExamples", "Summarize this text in {number:5} sentences:\n\n{text}"),
            ),
            (
                translate("Presets", "Translate"),
                translate(
                    "PromptExamples",
                    "Translate this into {language:English}. Reply with the translation alone.\n\n{text}",
                ),
            ),
            (
                translate("Presets", "Improve my writing"),
                translate(
                    "PromptExamples",
                    "Correct the spelling and grammar of this text. Keep my tone and my words:\n\n{text}",
                ),
            ),
            (
                translate("Presets", "Write an e-mail"),
                translate(
                    "PromptExamples",
                    "Write a {tone:friendly} e-mail to {recipient} about {subject}, in at most {number:150} words.",
                ),
            ),
            (
                translate("Presets", "For and against"),
                translate(
                    "PromptExamples", "List the arguments for and against {idea}. Then say what you would do, and why."
                ),
            ),
            (
                translate("Presets", "Explain code"),
                translate(
                    "PromptExamples", "Explain step by step what this code does, and point out its mistakes:\n\n{code}"
                ),
            ),
            (
                translate("Presets", "Explain what I copied"),
                translate("PromptExamples", "Explain this in simple words:\n\n{clipboard}"),
            ),
        )
    )
