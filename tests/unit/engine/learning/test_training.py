"""A tiny drafter learns a tiny language."""

from __future__ import annotations

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM

from engine.chat_template import ChatTemplate
from engine.learning.corpus import Lesson
from engine.learning.progress import TrainingProgress
from engine.learning.training import END_OF_TURN, TrainingSettings, agreement, make_samples, train
from engine.records import ChatTurn, Role

WORDS = ["one", "two", "three", "four", "five", "user", "assistant", "Be", "quiet"]
VOCABULARY = {END_OF_TURN: 0, "?": 1, **{word: place for place, word in enumerate(WORDS, 2)}}
TEMPLATE = ChatTemplate(
    "{% for m in messages %}{{ m['role'] + ' ' + m['content'] + ' <|im_end|> ' }}{% endfor %}assistant", "", ""
)


def tokenizer() -> Tokenizer:
    made = Tokenizer(WordLevel(VOCABULARY, unk_token="?"))
    made.pre_tokenizer = WhitespaceSplit()
    return made


def lesson(reply: str, finished: bool = True, system: str = "") -> Lesson:
    turns = [ChatTurn(Role.SYSTEM, system)] if system else []
    return Lesson((*turns, ChatTurn(Role.USER, "one")), reply, finished)


def test_only_the_reply_is_learned_and_its_end_where_it_has_one() -> None:
    finished, cut = make_samples([lesson("two three"), lesson("two three", False)], tokenizer(), TEMPLATE, frozenset())
    words = ["user", "one", END_OF_TURN, "assistant", "two", "three", END_OF_TURN]
    assert finished.tokens.tolist() == [VOCABULARY[word] for word in words]
    assert finished.weights.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert cut.tokens.tolist() == finished.tokens.tolist()[:-1]


def test_system_prompts_that_a_target_adds_by_itself_are_left_out() -> None:
    (sample,) = make_samples([lesson("two", system="Be quiet")], tokenizer(), TEMPLATE, frozenset({"Be quiet"}))
    assert VOCABULARY["Be"] not in sample.tokens


def test_going_on_with_a_loop_counts_little() -> None:
    loop = " ".join(["two three four five one one two two three three four four"] * 3)
    (sample,) = make_samples([lesson(loop)], tokenizer(), TEMPLATE, frozenset())
    reply = sample.weights[sample.reply_start :]
    assert (reply[:24] == 1).all()
    assert (reply[24:] < 0.2).all()


def test_training_makes_guesses_right() -> None:
    samples = make_samples([lesson("one two three four five")] * 8, tokenizer(), TEMPLATE, frozenset())
    config = LlamaConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2
    )
    model = LlamaForCausalLM(config)
    told: list[TrainingProgress] = []
    train(model, samples, samples[:1], TrainingSettings(seconds=2, learning_rate=2e-2), told.append)
    assert told[-1].agreement is not None
    assert told[-1].agreement > 0.9
    assert agreement(model, samples) > 0.9
    assert np.isfinite(told[0].loss)
