"""Every error of the engine that reaches a user, drawn in one place.

`MendableError` and its children are what a user can do something about: their message is one finished sentence that
says what to do, shown as it stands in the window and on the command line (exit code 2). Anything else that is raised
is a bug of ours and is logged with its traceback.
"""

from __future__ import annotations


class MendableError(Exception):
    """Something the user can mend. `str(error)` is the sentence shown to them."""


class TargetMissing(MendableError):
    """No file stands where the target should be, or no target has that name."""


class TargetUnreadable(MendableError):
    """The file is not a whole GGUF model: another format, cut short, damaged, or without weights."""


class TargetUnsupported(MendableError):
    """The file is sound, but this build of llama.cpp cannot run it."""


class TargetTooLarge(MendableError):
    """The model or its context does not fit into the memory of this machine."""


class CardsTooSmall(TargetTooLarge):
    """The layers that were to go on graphics cards do not fit there."""


class LoadCancelled(MendableError):
    """The user cancelled the loading of a target."""


class TemplateFailed(MendableError):
    """The chat template inside the model cannot be rendered."""


class PromptTooLong(MendableError):
    """The prompt alone does not fit into the context of the target."""


class NothingToAdd(MendableError):
    """A reply cannot go on, or does not where it could."""


class LogitsBroken(MendableError):
    """The target computed a row of logits that no distribution can be made of."""


class SettingInvalid(MendableError):
    """A setting is outside its range."""


class TargetKept(MendableError):
    """The target cannot be removed from the library, or its file not be deleted."""


class NothingAdded(MendableError):
    """There was nothing to add to the library in what was chosen."""


class NoTarget(MendableError):
    """A reply was asked for while no target is loaded."""


class ConversationMissing(MendableError):
    """The conversation or message is not in the store (any more)."""


class AdapterMissing(MendableError):
    """The store has no adapter of this number for this target and drafter (any more)."""


class StoreUnusable(MendableError):
    """The store cannot be opened or written: damaged, locked, read-only, from a newer version, or the disk is full."""


class DataFolderUnusable(MendableError):
    """The folder that everything is to be kept in cannot be written."""


class ProfileUnusable(MendableError):
    """A profile is missing, damaged, no profile, from a newer version, or cannot be written."""


class ChatsUnreadable(MendableError):
    """A file of conversations to import is missing, damaged, too large, or in another format."""


class ImportCancelled(MendableError):
    """The user cancelled the import of conversations."""


class ChatsNotWritten(MendableError):
    """Conversations could not be written to a file."""


class NotText(MendableError):
    """A file to attach is missing, too large, or no text."""


class CorpusUnreadable(MendableError):
    """A file of conversations to learn from is missing, damaged, or in another format."""


class WorkUnusable(MendableError):
    """A folder that keeps the making of a drafter is another one's, damaged, or cannot be written."""


class PromptsUnreadable(MendableError):
    """A file of prompts or recorded replies to measure with is missing, damaged, or in another format."""


class DrafterUnusable(MendableError):
    """The drafter's folder cannot be read, or holds another kind of model."""


class AdapterUnusable(MendableError):
    """What a drafter has learned is damaged, or was learned by another drafter."""


class FetchFailed(MendableError):
    """The hub could not be asked, or something not be fetched from it: no connection, no such name, no room, damage."""


class DrafterUnavailable(FetchFailed):
    """What was asked for is no name on the hub, or stands for nothing that can draft."""


class UpdateUnknown(MendableError):
    """The newest version could not be learned: no connection, no address to ask, or an answer that makes no sense."""


class FetchCancelled(MendableError):
    """The user cancelled a download; it can go on where it stopped."""
