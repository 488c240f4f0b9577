"""All attacks, in the order in which they are run. Each has a module of its name, with `run(plan)`."""

from __future__ import annotations

from tests.attacks.attack import Attack

_ALL = (
    Attack("ordinary", "chats as they should be, for comparison", 3),
    Attack("drafters", "folders and files of drafters that anybody may have made", 60, 1800.0),
    Attack("soak", "short replies with learning, and changes of target meanwhile", 2000, 3600.0),
    Attack("kill", "kill -9 while chatting, learning, importing and forgetting", 200, 7200.0),
    Attack("lock", "another program holds the store's lock, for so many seconds", 60),
    Attack("server", "malformed requests, foreign pages, and 32 programs at once for two minutes", 2000, 1200.0),
    Attack("quoting", "grammars that force what is guessed of a chat: do counts and times tell it", 8, 7200.0),
    Attack("caching", "prompts that begin as a chat does: do counts and times tell the rest", 24, 7200.0),
    Attack("crowd", "32 programs and a chat in the window beside them, for so many seconds", 60, 3600.0),
    Attack("strangers", "programs of another user of this machine, who ask the server (needs root)", 400),
    Attack("bodies", "requests whose few bytes become much memory, and endless replies, beside the window", 60, 3600.0),
    Attack("leavers", "programs that leave while their request is prepared, read or written", 40),
    Attack("starts", "two starts at once: one window, one store, no loss", 50, 3600.0),
    Attack("disk", "a disk that is full or read-only at every write", 150),
    Attack("models", "files of models with damage in header, tensors, vocabulary and template", 1000, 3600.0),
    Attack("templates", "chat templates that take all time or memory, or do what they should not", 200),
    Attack("turns", "forged turns in what is said, under templates of many kinds", 400),
    Attack("archives", "archives and files of chats that are bombs, lies or damaged", 200, 3600.0),
    Attack("documents", "documents and pictures that are bombs, cycles, far too long, locked or damaged", 120),
    Attack("log", "words of every kind in all that can be asked: the log has none of them", 400, 1200.0),
    Attack("files", "presets, keys, servers of tools and settings that are bent, deep, long or damaged", 400),
    Attack("grammars", "grammars and schemas that double, repeat, nest and point at each other", 200, 3600.0),
    Attack("children", "hostile code in the processes that read what strangers made", 40),
    Attack("profiles", "profiles with more than anybody learned, damaged, or lying", 400, 3600.0),
    Attack("messages", "huge and tangled messages in the window", 60, 3600.0),
    Attack("network", "the window and commands, traced: nobody is reached but who was to be asked", 10, 3600.0),
    Attack("tools", "calls of tools, with servers that are killed, hang, flood and ask for more", 100, 1800.0),
    Attack("allowed", "tools whose names collide, that change after they were allowed, and keys of servers", 300),
    Attack("servers", "servers of targets that send bombs, lies, nonsense or no end", 200, 1800.0),
    Attack("tooltips", "words that look like HTML wherever the window shows words: nothing is opened", 20),
)
ATTACKS = {each.name: each for each in _ALL}
