"""What a profile says about itself. pydantic checks every field; what is not named here has no place in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

FORMAT: Literal[1] = 1  # raise it when older versions could not read what is written
MANIFEST = "manifest.json"
STATISTICS = "statistics.json"
MOST_NAMES = 20  # of a vocabulary
MOST_COUNTED = 2**40  # so that later counts always fit into the store

Name = Annotated[str, StringConstraints(max_length=100)]  # of a member; must be one that there is
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{1,200}$")]
Text = Annotated[str, StringConstraints(pattern=r"^\P{Cc}{1,500}$")]  # for a terminal: no control codes
Count = Annotated[int, Field(ge=0, le=MOST_COUNTED)]
Figure = Annotated[float, Field(ge=0, le=1e12)]
Moment = Annotated[AwareDatetime, Field(ge=datetime(1971, 1, 1, tzinfo=UTC), le=datetime(9000, 1, 1, tzinfo=UTC))]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Format(BaseModel):
    """Read first: a newer version may write all else in another way."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    format: Annotated[int, Field(ge=1)]


class Member(_Strict):
    name: Name
    size: Count  # bytes
    sha256: Sha256


class NgramsItem(_Strict):
    target: Fingerprint
    drafter: Fingerprint  # of its vocabulary
    member: Name


class AdapterItem(_Strict):
    target: Fingerprint
    drafter: Fingerprint
    member: Name
    number: Count  # in the store that it comes from
    created_at: Moment
    before: Figure  # tokens accepted per round
    after: Figure
    num_replies: Count
    num_learned: Count
    is_published: bool
    error: Figure = 0.0  # these are missing in profiles of older programs
    num_chats: Count = 0
    num_tokens: Count = 0


class RecallItem(_Strict):
    vocabulary: Fingerprint
    member: Name


class NamesItem(_Strict):
    vocabulary: Fingerprint
    names: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_NAMES)]  # of models that have it


class Manifest(_Strict):
    format: Literal[1]
    program: Text  # the version of Slipstream that wrote it
    created_at: Moment
    members: tuple[Member, ...]  # all but this one
    ngrams: tuple[NgramsItem, ...]
    adapters: tuple[AdapterItem, ...]
    recall: tuple[RecallItem, ...]
    names: tuple[NamesItem, ...] = ()  # missing in profiles of older programs


class TargetItem(_Strict):
    name: Text
    num_replies: Count
    num_tokens: Count
    seconds: Figure
    tokens_per_round: Figure
    speedup: Figure | None


class Statistics(_Strict):
    targets: tuple[TargetItem, ...]
