"""Small tokenizers of the two great families, trained here on a few sentences."""

from __future__ import annotations

import json
from functools import cache

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and the dog does not mind.",
    "Größe, naïve café — 日本語 🙂🙂 and more text in the middle of the text.",
    "def main(argument): return [argument for argument in range(10)]",
    "The drafter guesses what the target will write in the next round.",
] * 3
SPECIALS = ["<unk>", "<s>", "</s>"]


@cache
def byte_level() -> Tokenizer:
    """As in GPT-2 and Llama 3, with ChatML's special tokens as ids 0 to 2."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def composing_byte_level() -> Tokenizer:
    """One that changes text before it reads it (NFC), and adds a token at both ends."""
    tokenizer = Tokenizer.from_str(byte_level().to_str())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|im_start|> $A <|im_end|>", special_tokens=[("<|im_start|>", 1), ("<|im_end|>", 2)]
    )
    return tokenizer


@cache
def word_marks() -> Tokenizer:
    """As Llama 2's: BPE on characters, ▁ for spaces, one in front of a text, and byte tokens."""
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.Replace(" ", "▁")
    learner.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=200, show_progress=False))
    learned = sorted(learner.get_vocab().items(), key=lambda item: item[1])
    names = list(dict.fromkeys([*SPECIALS, *byte_tokens, *(name for name, _id in learned), "▁"]))
    vocab = {name: token for token, name in enumerate(names)}
    merges = _merges(learner)
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIALS])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def _merges(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    return [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


@cache
def unigram(byte_fallback: bool) -> Tokenizer:
    """As T5's or XLNet's family, with or without byte tokens."""
    learner = Tokenizer(models.Unigram())
    learner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    learner.train_from_iterator(SENTENCES, trainers.UnigramTrainer(vocab_size=150, show_progress=False))
    learned = sorted(learner.get_vocab().items(), key=lambda item: item[1])
    byte_tokens = [(f"<0x{byte:02X}>", 0.0) for byte in range(256)] if byte_fallback else []
    vocab = [(name, 0.0) for name in SPECIALS] + byte_tokens
    vocab += [(name, -5.0 - 0.01 * place) for place, (name, _id) in enumerate(learned)]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=0, byte_fallback=byte_fallback))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in SPECIALS])
    return tokenizer
