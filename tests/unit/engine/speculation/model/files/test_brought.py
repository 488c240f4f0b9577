"""Drafters that models bring along: what they are, whom they fit, and what is wrong with those that do not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_cpp import llama_cpp as lib

from engine.loading import load_target
from engine.speculation.model.files.brought import HeadMethod, method_of, misfit, own_layers
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.gguf_header import read_model
from engine.speculation.model.files.sources import file_source
from engine.speculation.model.llama.runtime import last_error
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnsupported
from engine.values.sentences import Sentence
from engine.values.stop_signal import StopSignal
from tests.fakes.gguf import TINY, Value, gguf
from tests.fakes.tiny_heads import tiny_head
from tests.fakes.tiny_models import tiny_bert, tiny_llama, tiny_mamba, tiny_mtp, tiny_qwen2, tiny_qwen3

EAGLE3, DFLASH, DSPARK, MTP = HeadMethod.EAGLE3, HeadMethod.DFLASH, HeadMethod.DSPARK, HeadMethod.MTP
GUESSED = [3, 5, 270]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_qwen3(tmp_path_factory.mktemp("target") / "model-Q8_0.gguf")


def sound_head(path: Path, method: HeadMethod, guesses_few: bool = False) -> Path:
    shapes = {"markov_w2.weight": (len(GUESSED), 8)} if guesses_few and method is DSPARK else None
    return tiny_head(path, method, shapes=shapes, guessed=GUESSED if guesses_few else None)


@pytest.mark.parametrize("guesses_few", [False, True])
@pytest.mark.parametrize("method", [EAGLE3, DFLASH, DSPARK])
def test_a_head_that_llama_cpp_loads_fits_its_model_and_is_none_itself(
    method: HeadMethod, guesses_few: bool, target: Path, tmp_path: Path
) -> None:
    head = sound_head(tmp_path / "head.gguf", method, guesses_few)
    model: Any = lib.llama_model_load_from_file(os.fsencode(head), lib.llama_model_default_params())
    assert model, last_error()
    lib.llama_model_free(model)
    facts = facts_of(head)
    assert (facts.head, misfit(head, target)) == (method, "")
    assert facts.problem.startswith(f"head.gguf is a drafter ({method.value}) made for one model")
    with pytest.raises(TargetUnsupported, match="keep it beside that model"):
        load_target(file_source(head), TargetSettings(), lambda _progress: None, StopSignal())


def test_layers_in_a_file_of_their_own_fit_the_model_they_were_taken_from(tmp_path: Path) -> None:
    model, head = tiny_mtp(tmp_path / "model.gguf"), tiny_head(tmp_path / "mtp-model.gguf", MTP)
    trunk = tiny_mtp(tmp_path / "trunk.gguf", without="blk.1.nextn")
    assert [facts_of(path).own_layers for path in (model, head, trunk)] == [1, 0, 0]
    assert [facts_of(path).head for path in (model, head, trunk)] == [None, MTP, None]
    assert [misfit(head, path) for path in (model, trunk)] == ["", ""]


def speculation_of(path: Path) -> str:
    details = facts_of(path).details
    assert details is not None
    return details.speculation


def test_layers_of_its_own_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    assert speculation_of(tiny_mtp(tmp_path / "model.gguf")) == "Supports speed-up."
    assert speculation_of(tiny_mtp(tmp_path / "trunk.gguf", without="blk.1.nextn")) == "Supports speed-up."
    broken = tiny_mtp(tmp_path / "broken.gguf", without="blk.1.nextn.enorm")
    assert speculation_of(broken).endswith("It comes with its own part for guessing ahead, which cannot be used here.")


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "mtp-gemma.gguf cannot be used: MTP is not supported for the architecture gemma4 yet."),
        ({"expert_used_count": 1}, "contradicts itself (gemma4-assistant.expert_count)"),
        ({"expert_count": 2}, "contradicts itself (gemma4-assistant.expert_count)"),
        ({"expert_count": 4, "expert_used_count": 2, "expert_group_count": 3}, "contradicts itself"),
        ({"nextn_predict_layers": 3}, "contradicts itself (nextn_predict_layers)"),
        ({"nextn_predict_layers": 17}, "contradicts itself (gemma4-assistant.nextn_predict_layers)"),
    ],
)
def test_an_assistant_is_known_and_not_used(changes: dict[str, Value], wanted: str, tmp_path: Path) -> None:
    values = {"block_count": 2, "nextn_predict_layers": 2, "embedding_length": 16, "attention.head_count": 4, **changes}
    named = {f"gemma4-assistant.{name}": value for name, value in values.items()}
    paths = tmp_path / "gemma.gguf", tmp_path / "mtp-gemma.gguf"
    paths[0].write_bytes(gguf({**TINY, "general.architecture": "gemma4", "gemma4.embedding_length": 64}))
    paths[1].write_bytes(gguf({**TINY, "general.architecture": "gemma4-assistant", **named}))
    assert method_of(read_model(paths[1])) is MTP
    assert wanted in misfit(paths[1], paths[0])


@pytest.mark.parametrize(
    "changes",
    [
        {"general.architecture": "llama", "llama.nextn_predict_layers": 1},  # nothing runs them
        {"glm4moe.nextn_predict_layers": 2},  # one is all that llama.cpp can run
        {"glm4moe.nextn_predict_layers": 4_000_000_000},
        {"glm4moe.nextn_predict_layers": "1"},
        {"glm4moe.block_count": 1},
        {"glm4moe.block_count": 4_000_000_000},
        {"glm4moe.embedding_length": 32},
        {"general.architecture": "step35", "step35.block_count": 4_000_000_000, "step35.nextn_predict_layers": 4_000},
    ],
)
def test_own_layers_are_counted_only_where_they_can_be_used(changes: dict[str, Value], tmp_path: Path) -> None:
    values: dict[str, Value] = {"general.architecture": "glm4moe", "glm4moe.block_count": 2}
    values |= {"glm4moe.nextn_predict_layers": 1, "glm4moe.embedding_length": 64}
    shapes = {f"blk.1.nextn.{part}norm.weight": (64,) for part in "eh"} | {"blk.1.nextn.eh_proj.weight": (128, 64)}
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(values, {"blk.0.attn_norm.weight": (64,), **shapes}))
    assert own_layers(read_model(path)) == 1
    path.write_bytes(gguf(values | changes, {"blk.0.attn_norm.weight": (64,), **shapes}))
    assert own_layers(read_model(path)) == 0


Make = Callable[[Path], Path]


def head(method: HeadMethod, *, guessed: list[int] | None = None, **changes: Any) -> Make:
    """`changes`: of values, with `__` for a dot; those of shapes end in `_weight`."""
    named = {name.replace("__", "."): value for name, value in changes.items()}
    shapes = {name.replace("_weight", ".weight"): value for name, value in named.items() if name.endswith("_weight")}
    values = {name: value for name, value in named.items() if not name.endswith("_weight")}
    return lambda path: tiny_head(path, method, values, shapes, guessed)


def cut(make: Make, share: float) -> Make:
    def cut_head(path: Path) -> Path:
        data = make(path).read_bytes()
        path.write_bytes(data[: int(share * len(data))])
        return path

    return cut_head


def raw(data: bytes) -> Make:
    def write(path: Path) -> Path:
        path.write_bytes(data)
        return path

    return write


def overwritten(make: Make, old: bytes, new: bytes) -> Make:
    def write(path: Path) -> Path:
        path.write_bytes(make(path).read_bytes().replace(old, new, 1))
        return path

    return write


TOKENS_AWAY: dict[str, Any] = {"tokenizer__ggml__tokens": ["a", "b"], "tokenizer__ggml__scores": None}
SELF = "contradicts itself"
UNFIT: list[tuple[Make, str]] = [
    # Made for another model
    (head(MTP), "drafts for the architecture glm4moe, and model-Q8_0 has qwen3"),
    (head(EAGLE3, target_hidden_size=128), "128 numbers for each token, and model-Q8_0 has 64"),
    (head(EAGLE3, target_hidden_size=4_000_000), "4,000,000 numbers for each token"),
    (head(EAGLE3, embedding_length=32), "32 numbers for each token"),
    (head(DFLASH, embedding_length=128), "128 numbers for each token"),
    (head(DSPARK, embedding_length=8), "8 numbers for each token"),
    (head(EAGLE3, **TOKENS_AWAY), "other tokens than model-Q8_0; get the drafter made for model-Q8_0"),
    (head(DFLASH, **TOKENS_AWAY), "other tokens"),
    (head(DSPARK, tokenizer__ggml__model="gpt2"), "other tokens"),
    (head(EAGLE3, tokenizer__ggml__tokens=[f"word {number}" for number in range(274)]), "other tokens"),
    (head(EAGLE3, target_layers=[0, 1, 2]), "other layers than model-Q8_0"),  # behind the last: not of a Qwen 3
    (head(EAGLE3, target_layers=[2, 16, 29]), "other layers"),
    (head(DFLASH, target_layers=[1, 2_000_000_000]), "other layers"),
    (overwritten(head(DFLASH), b"<0x01>", b"<0x02>"), "other tokens"),  # one of them twice
    # No such file
    (tiny_llama, "is no drafter made for one model"),
    (tiny_bert, "is no drafter"),
    (raw(gguf(TINY)), "is no drafter"),
    (raw(b""), "is not in the GGUF format"),
    (raw(b"GGUF" + bytes(8)), "in a version of the GGUF format that cannot be read"),
    (raw(os.urandom(4096)), "is not in the GGUF format"),
    (lambda path: path, "There is no file"),
    (lambda path: path.parent, "There is no file"),
    # Cut short or damaged
    (cut(head(EAGLE3), 0.9), "is cut short; download it again"),
    (cut(head(DFLASH), 0.5), "is cut short"),
    (cut(head(DSPARK), 0.01), "is cut short"),
    (overwritten(head(EAGLE3), b"target_hidden_size", b"target_hidden_sizf"), "0 numbers for each token"),
    # What no such file says
    (head(EAGLE3, target_layers=None), f"{SELF} (eagle3.target_layers); download it again"),
    (head(EAGLE3, target_layers=[0, 1]), SELF),
    (head(EAGLE3, target_layers=[0, 1, -1]), SELF),
    (head(DFLASH, target_layers=[0.5, 1.0]), SELF),
    (head(DFLASH, target_layers=[1] * 5000), SELF),
    (head(DFLASH, target_layers=7), SELF),
    (head(DFLASH, block_size=None), SELF),
    (head(DFLASH, block_size=4_000_000_000), SELF),
    (head(DSPARK, block_size=257), SELF),
    (head(DFLASH, tokenizer__ggml__mask_token_id=None), f"{SELF} (tokenizer.ggml.mask_token_id)"),
    (head(DSPARK, tokenizer__ggml__mask_token_id=4_000_000_000), SELF),
    (head(EAGLE3, block_count=2), f"{SELF} (eagle3.block_count)"),
    (head(DFLASH, block_count=4_000_000_000), SELF),
    (head(DFLASH, block_count=513), SELF),
    (head(DFLASH, block_count=-1), SELF),
    (head(EAGLE3, attention__head_count=0), SELF),
    (head(EAGLE3, attention__head_count=5_000), SELF),
    (head(EAGLE3, attention__value_length=17), SELF),
    (head(DFLASH, feed_forward_length=1 << 40), SELF),
    (head(DFLASH, context_length=-5), SELF),
    # Weights that are missing, or of another shape
    (head(EAGLE3, fc_weight=None), f"{SELF} (fc.weight)"),
    (head(EAGLE3, fc_weight=(64, 64)), SELF),
    (head(DFLASH, output_norm_weight=None), f"{SELF} (output_norm.weight)"),
    (head(EAGLE3, output_weight=(7, 64)), f"{SELF} (output.weight)"),
    (head(DFLASH, token_embd_weight=(7, 64)), f"{SELF} (token_embd.weight)"),
    (head(DSPARK, markov_w1_weight=(7, 8)), f"{SELF} (markov_w1.weight)"),
    (head(EAGLE3, guessed=[3, 5, 274]), f"{SELF} (d2t)"),  # a token too many
    (head(EAGLE3, guessed=[3, -1, 5]), SELF),
    (head(EAGLE3, guessed=[1 << 62]), SELF),
    (head(DFLASH, guessed=[3] * 300), SELF),
    (head(DFLASH, guessed=GUESSED, output_weight=None), f"{SELF} (output.weight)"),
]


@pytest.mark.parametrize(("make", "wanted"), UNFIT, ids=map(str, range(len(UNFIT))))
def test_what_does_not_fit_says_why_in_a_sentence(make: Make, wanted: str, target: Path, tmp_path: Path) -> None:
    reason = misfit(make(tmp_path / "head.gguf"), target)
    assert wanted in reason
    assert isinstance(reason, Sentence)  # so it is translated, too


@pytest.mark.parametrize(
    ("make_target", "wanted"),
    [
        (tiny_qwen2, "EAGLE-3 is not supported for the architecture qwen2 yet"),  # llama.cpp would end the process
        (tiny_mamba, "EAGLE-3 is not supported for the architecture mamba yet"),
        (tiny_mtp, "EAGLE-3 is not supported for the architecture glm4moe yet"),
        (tiny_llama, "other layers than model"),
        (raw(b"GGUF"), "model.gguf is cut short"),
    ],
)
def test_a_sound_head_beside_another_model_says_why(make_target: Make, wanted: str, tmp_path: Path) -> None:
    model = make_target(tmp_path / "model.gguf")
    assert wanted in misfit(sound_head(tmp_path / "head.gguf", EAGLE3), model)


def test_a_few_marks_with_other_names_do_not_make_other_tokens(target: Path, tmp_path: Path) -> None:
    """As where someone gave a model a mark of its own."""
    data = sound_head(tmp_path / "head.gguf", DFLASH).read_bytes()
    (tmp_path / "head.gguf").write_bytes(data.replace(b"<unk>", b"<pad>", 1))
    assert misfit(tmp_path / "head.gguf", target) == ""


def test_a_file_that_was_changed_is_read_again(target: Path, tmp_path: Path) -> None:
    path = sound_head(tmp_path / "head.gguf", EAGLE3)
    assert misfit(path, target) == ""
    head(EAGLE3, target_hidden_size=128)(path)
    assert "128 numbers" in misfit(path, target)


def test_a_vocabulary_alone_and_chat_models_are_no_heads(tmp_path: Path) -> None:
    values: dict[str, Value] = {**TINY, "general.architecture": "glm4moe", "glm4moe.nextn_predict_layers": 1}
    (tmp_path / "tokens.gguf").write_bytes(gguf(values, {}))
    assert method_of(read_model(tmp_path / "tokens.gguf")) is None
    assert method_of(read_model(tiny_qwen3(tmp_path / "model.gguf"))) is None
