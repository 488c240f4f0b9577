"""Every error of the engine that reaches a user.

`MendableError` and its children are what a user can do something about: their message is one finished sentence that
says what to do, shown as it is in the window and on the command line (exit code 2). Anything else that is raised is a
bug of ours and is logged with its traceback. A class of its own is for what is caught somewhere, and for a kind of file
or request that its callers should know of.

    MendableError
        TargetMissing  TargetUnusable (CardsTooSmall)  TargetUnsupported  TargetSuspect  DrafterUnusable
        AdapterUnusable
        TemplateFailed  PromptTooLong  SettingInvalid  NotPossible  ConversationMissing
        FileUnusable  StoreUnusable  FetchFailed  Cancelled
        RemoteFailed (CertificateUntrusted)  ServerNotAgreed
"""

from __future__ import annotations

from engine.values.sentences import Sentence, say


class MendableError(Exception):
    """Something the user can mend. `str(error)` is the sentence shown to them, made of a template and its values."""

    def __init__(self, template: str = "", /, **values: object) -> None:
        self.sentence = say(template, **values)
        super().__init__(self.sentence)

    def __str__(self) -> Sentence:
        return self.sentence


class TargetMissing(MendableError):
    """There is no file where the target should be, or no target has that name."""


class TargetUnusable(MendableError):
    """The file is not a whole GGUF model (another format, cut short, damaged, without weights), it or its context does
    not fit into the memory of this machine, or it computes what no distribution can be made of."""


class CardsTooSmall(TargetUnusable):
    """The layers that were to go on graphics cards do not fit there."""


class TargetUnsupported(MendableError):
    """The file is sound, but this build of llama.cpp cannot run it."""


class TargetSuspect(MendableError):
    """The program crashed while this target was being loaded or wrote its first reply, and the user has not asked for
    it since: it is not opened by itself."""


class DrafterUnusable(MendableError):
    """The drafter's folder cannot be read, or holds another kind of model."""


class AdapterUnusable(MendableError):
    """What a drafter has learned is damaged, was learned by another drafter, or is not in the store (any more)."""


class TemplateFailed(MendableError):
    """The chat template inside the model cannot be rendered."""

    @property
    def reason(self) -> str:
        """Part of a sentence; empty where the sentence says all."""
        return str(self.sentence.values.get("reason", ""))


class TemplateExhausted(TemplateFailed):
    """It takes too much time or memory for these turns, or writes too much; for fewer of them it may not."""


class PromptTooLong(MendableError):
    """The prompt alone does not fit into the context of the target."""


class SettingInvalid(MendableError, ValueError):  # pydantic makes an error of the field of a ValueError
    """A setting is outside its range."""


class NotPossible(MendableError):
    """A request cannot be carried out as things are: no target is loaded, a reply cannot go on, nothing chosen can be
    added to the library, or something cannot be removed from it."""


class ConversationMissing(MendableError):
    """The conversation or message is not in the store (any more)."""


class FileUnusable(MendableError):
    """A file or folder that the user named is missing, damaged, too large, in another format or from a newer version,
    or cannot be written: chats, attachments, profiles, prompts, what drafters are made of, the data folder."""


class StoreUnusable(MendableError):
    """The store cannot be opened or written: damaged, locked, read-only, from a newer version, or the disk is full."""


class FetchFailed(MendableError):
    """Something could not be learned or fetched from the network: no connection, no such name, nothing that can be
    used, no room, damage."""


class Cancelled(MendableError):
    """The user cancelled the loading of a target, a download (which can go on where it stopped), or an import."""


class RemoteFailed(MendableError):
    """The server that a target is on cannot be reached, refuses, or answers what cannot be used."""


class CertificateUntrusted(RemoteFailed):
    """No authority vouches for the certificate of the server, or it is not the one that the user trusts."""


class ServerNotAgreed(MendableError):
    """The user has not agreed yet to send chats to the server that the target is on."""
