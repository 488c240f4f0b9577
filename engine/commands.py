"""What can be asked of the engine: by a user, or once by the engine itself.

Stopping is no command: posting one returns a signal to stop it with.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.config import LearningSettings, ReplySettings, TargetOptions, TargetSettings
from engine.records import HubFile, NgramRecord


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """`target` is `starter`, the name of a target loaded before, or a path."""

    target: str
    settings: TargetSettings = TargetSettings()


@dataclass(frozen=True, slots=True)
class Send:
    """A new turn. Without a conversation a new one begins, titled after the prompt."""

    prompt: str
    conversation_id: int | None
    settings: ReplySettings
    system_prompt: str = ""  # of a new conversation; an old one keeps its own
    incognito: bool = False  # of a new conversation: nothing of it is kept on the disk, remembered or learned from


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Write the last reply of the conversation again, beside the old one; answers a prompt that has no reply yet."""

    conversation_id: int
    settings: ReplySettings


@dataclass(frozen=True, slots=True)
class UseDrafter:
    """Another drafter from now on, also for the target in use: `built-in`, a folder, or a name that was fetched."""

    drafter: str


@dataclass(frozen=True, slots=True)
class RememberMore:
    """Asked by the engine itself, when there is nothing else to do: let recall learn, for a moment, of messages from
    chats with other targets."""


@dataclass(frozen=True, slots=True)
class FetchDrafter:
    """Bring a drafter here from the hub; does nothing when it is here already. Stopping it keeps what has arrived."""

    name: str  # `owner/name`


@dataclass(frozen=True, slots=True)
class UseLearning:
    """From now on the drafter learns like this, or not at all."""

    settings: LearningSettings


@dataclass(frozen=True, slots=True)
class ListConversations:
    pass


@dataclass(frozen=True, slots=True)
class OpenConversation:
    conversation_id: int


@dataclass(frozen=True, slots=True)
class RenameConversation:
    conversation_id: int
    title: str


@dataclass(frozen=True, slots=True)
class DeleteConversation:
    """Hides the conversation; it can be restored until the next start."""

    conversation_id: int


@dataclass(frozen=True, slots=True)
class RestoreConversation:
    conversation_id: int


@dataclass(frozen=True, slots=True)
class ListTargets:
    """Answered with `TargetsListed`."""


@dataclass(frozen=True, slots=True)
class AddTargets:
    """Files, or folders with model files in them. Answered with `TargetsListed`; nothing is copied."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RemoveTarget:
    """Takes a target out of the library. Answered with `TargetsListed`."""

    path: Path
    delete_file: bool = False


@dataclass(frozen=True, slots=True)
class ChangeTargetOptions:
    """From its next loading on. Answered with `TargetsListed`."""

    path: Path
    options: TargetOptions


@dataclass(frozen=True, slots=True)
class EstimateMemory:
    """Answered with `MemoryEstimated`."""

    path: Path
    settings: TargetSettings


@dataclass(frozen=True, slots=True)
class SearchHub:
    """Answered with `HubSearched`; without words, with what is used most."""

    words: str


@dataclass(frozen=True, slots=True)
class ListHubFiles:
    """Answered with `HubFilesListed`."""

    repository: str


@dataclass(frozen=True, slots=True)
class DownloadTarget:
    """Brings a model file into the folder of models and adds it to the library; goes on where an earlier try stopped.
    Stopping it pauses: what has arrived is kept."""

    file: HubFile


@dataclass(frozen=True, slots=True)
class DiscardDownload:
    """Removes what has arrived of a download that is paused. Answered with `DownloadsListed`."""

    file: HubFile


@dataclass(frozen=True, slots=True)
class ListDownloads:
    """Answered with `DownloadsListed`: those that were begun and not finished, also before the last start."""


@dataclass(frozen=True, slots=True)
class KeepNgrams:
    """Asked by the engine itself: keep what it learned about this pair of vocabularies, without an event."""

    target_fingerprint: str
    drafter_fingerprint: str
    changed: tuple[NgramRecord, ...]  # those with count 0 are removed
    era: int = 0  # in which they were learned: what was learned in another one is not kept, see `engine.era`


@dataclass(frozen=True, slots=True)
class ReadLearned:
    """Answered with `LearnedRead`, as are those that change what is learned, after their own event."""


@dataclass(frozen=True, slots=True)
class ShowProfile:
    """Answered with `ProfileShown`; nothing is imported."""

    path: Path


@dataclass(frozen=True, slots=True)
class ExportProfile:
    """Writes over a file that is there. Answered with `ProfileExported`."""

    path: Path
    with_recall: bool = False  # texts to recall hold what was typed


@dataclass(frozen=True, slots=True)
class ImportProfile:
    """Joined with what is learned here, or put in its place; all or nothing. Answered with `ProfileImported`."""

    path: Path
    replace: bool = False


@dataclass(frozen=True, slots=True)
class UseAdapter:
    """Draft with this adapter from the next reply on; None: with the drafter as it came. Learning goes on from there.
    Answered with `AdapterUsed`."""

    target_fingerprint: str
    drafter_fingerprint: str
    number: int | None


@dataclass(frozen=True, slots=True)
class ForgetLearned:
    """All that was learned, for good; chats stay. Answered with `LearnedForgotten`."""


@dataclass(frozen=True, slots=True)
class ForgetEverything:
    """All chats with their unsent prompts, and all that was learned, for good. Waits until no reply is under way.
    Answered with `EverythingForgotten` and `ConversationsListed`."""


ChatCommand = LoadTarget | Send | Regenerate | UseDrafter | RememberMore
StoreCommand = (
    ListConversations | OpenConversation | RenameConversation | DeleteConversation | RestoreConversation | KeepNgrams
)
HubCommand = FetchDrafter
LearningCommand = UseLearning
PersonalCommand = (
    ReadLearned | ShowProfile | ExportProfile | ImportProfile | UseAdapter | ForgetLearned | ForgetEverything
)
Command = ChatCommand | StoreCommand | HubCommand | LearningCommand | PersonalCommand
