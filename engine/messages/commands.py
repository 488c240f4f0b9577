"""What can be asked of the engine: by a user, or once by the engine itself.

Stopping is no command: posting one returns a signal to stop it with.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.config import LearningSettings, OwnSampling, ReplySettings, TargetOptions, TargetSettings
from engine.messages.conversations import ExportFormat
from engine.messages.learned import NgramRecord
from engine.messages.targets import HubFile


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """`target` is `starter`, the name of a target loaded before, or a path."""

    target: str
    settings: TargetSettings = TargetSettings()  # then what the user set for this target, then `for_all`
    anyway: bool = False  # also where it is going to take more memory than there is
    for_all: TargetSettings = TargetSettings()  # what the user set for no target in particular
    identity: str = ""  # that `target` and `settings` are meant for; empty: whatever is there. Where the file is gone,
    # another one of this identity is loaded; where it has changed, `settings` do not count


@dataclass(frozen=True, slots=True)
class Send:
    """A new turn. Without a conversation a new one begins, titled after the prompt."""

    prompt: str
    conversation_id: int | None
    settings: ReplySettings
    system_prompt: str = ""  # of a new conversation; an old one keeps its own
    incognito: bool = False  # of a new conversation: nothing of it is kept on the disk, remembered or learned from
    sampling: OwnSampling = OwnSampling()  # of a new conversation; an old one keeps its own
    has_own_system_prompt: bool = False  # whether it was written for this conversation; else the target's comes first


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Write a reply of the conversation again, beside the old one; answers a prompt that has no reply yet."""

    conversation_id: int
    settings: ReplySettings
    message_id: int | None = None  # of the reply or the prompt; None: the last of the current branch


@dataclass(frozen=True, slots=True)
class EditPrompt:
    """Ask something else in the place of a prompt: a branch beside it, with a reply of its own."""

    conversation_id: int
    message_id: int  # of the prompt
    prompt: str
    settings: ReplySettings


@dataclass(frozen=True, slots=True)
class ContinueReply:
    """Let the last reply of the current branch go on where its text ends. What comes of it stands beside that reply,
    whose text it begins with."""

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

    anew: bool = False  # older messages have come, too


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
class ShowBranch:
    """Make the branch through this message the current one, down to where it was used last. Answered with
    `ConversationOpened`."""

    conversation_id: int
    message_id: int


@dataclass(frozen=True, slots=True)
class ChangeConversation:
    """From its next reply on. Answered with `ConversationChanged`."""

    conversation_id: int
    system_prompt: str
    sampling: OwnSampling


@dataclass(frozen=True, slots=True)
class KeepDraft:
    """Keep a prompt that was begun and not sent, without an event; also when the app is being closed."""

    conversation_id: int
    text: str


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Answered with `TokensCounted`, unless no target is loaded; does not wait for a reply that is being written."""

    text: str


@dataclass(frozen=True, slots=True)
class ForgetConversation:
    """Removes the conversation for good, at once; deleted or not. Answered with `ConversationForgotten`."""

    conversation_id: int


@dataclass(frozen=True, slots=True)
class SearchConversations:
    """Answered with `ConversationsFound`, unless it is stopped."""

    words: str


@dataclass(frozen=True, slots=True)
class ExportConversations:
    """Writes conversations to a file, whole or not at all. Answered with `ConversationsExported`."""

    path: Path
    conversation_ids: tuple[int, ...] | None  # None: all but incognito ones
    format: ExportFormat
    overwrite: bool = False  # a file that is there already


@dataclass(frozen=True, slots=True)
class ImportConversations:
    """Adds the conversations of a file, all or none. Answered with `ConversationsImported`."""

    path: Path


@dataclass(frozen=True, slots=True)
class ReadTextFile:
    """Answered with `TextFileRead`."""

    path: Path


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
    """Its settings hold from its next loading on, its sampling from the next reply on, and its system prompt in
    conversations that begin afterwards. Answered with `TargetsListed`."""

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
    era: int = 0  # in which they were learned: what was learned in another one is not kept, see `engine.services.era`


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
    """All chats with their unsent prompts, and all that was learned, for good. Waits until no reply is under way;
    imports that were begun before add nothing any more. Answered with `EverythingForgotten` and
    `ConversationsListed`."""


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """Answered with `HistoryRead`."""


@dataclass(frozen=True, slots=True)
class ChatSampling:
    """Where a chat has its own sampling from."""

    conversation_id: int | None = None
    own: OwnSampling = OwnSampling()  # of a chat that is not begun yet


@dataclass(frozen=True, slots=True)
class Compare:
    """Answer a prompt without guesses and with them, by turns, to see what they bring. Nothing of it is kept,
    remembered or learned from. Told with `CompareText` and, also when it is stopped, `CompareFinished`."""

    prompt: str
    conversation_id: int | None  # whose turns before its last prompt come first; None: the prompt alone
    settings: ReplySettings  # its sampling counts; how long, who drafts and who learns is settled here
    num_tokens: int  # of a reply, at most
    system_prompt: str = ""  # without a conversation
    sampled_as: ChatSampling | None = None  # as replies in this chat: what was set for the target, and then for the
    # chat, comes before `settings`; None: `settings` alone


@dataclass(frozen=True, slots=True)
class CheckForUpdate:
    """Ask the site of this build for its newest version. Answered with `UpdateChecked`."""

    by_hand: bool = False  # the user has just asked for it, and waits for the answer


@dataclass(frozen=True, slots=True)
class ReadRuntime:
    """Answered with `RuntimeRead`: what runs the models."""


ReplyCommand = Send | Regenerate | EditPrompt | ContinueReply
ChatCommand = LoadTarget | ReplyCommand | UseDrafter | RememberMore | Compare
StoreCommand = (
    ListConversations
    | OpenConversation
    | RenameConversation
    | DeleteConversation
    | RestoreConversation
    | ShowBranch
    | ChangeConversation
    | KeepDraft
    | ForgetConversation
    | SearchConversations
    | KeepNgrams
    | ReadHistory
)
LibraryCommand = (
    ListTargets | AddTargets | RemoveTarget | ChangeTargetOptions | EstimateMemory | ListDownloads | DiscardDownload
)
SearchCommand = SearchHub | ListHubFiles
HubCommand = FetchDrafter
DownloadCommand = DownloadTarget
LearningCommand = UseLearning
PersonalCommand = (
    ReadLearned | ShowProfile | ExportProfile | ImportProfile | UseAdapter | ForgetLearned | ForgetEverything
)
FileCommand = ExportConversations | ImportConversations | ReadTextFile
Command = (
    ChatCommand
    | StoreCommand
    | LibraryCommand
    | SearchCommand
    | CountTokens
    | HubCommand
    | DownloadCommand
    | LearningCommand
    | FileCommand
    | PersonalCommand
    | CheckForUpdate
    | ReadRuntime
)
