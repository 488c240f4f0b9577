<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_GB">
    <context>
        <name>KeyField</name>
        <message>
            <source>Press keys…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>None</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>LinkRow</name>
        <message>
            <source>Open…</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Notifier</name>
        <message>
            <source>A reply was broken off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A reply is ready</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Slipstream has answered you.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>OptionRow</name>
        <message>
            <source>Reset “{name}” to the usual</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Settings</name>
        <message>
            <source>General</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Appearance</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Shortcuts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open the last chat at start</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Otherwise a new chat begins.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tell me when a long reply is ready</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>With a message of the system, and only while you work in another window.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A reply is long after</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>From your message to the reply's end.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Theme</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>As the system</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Light</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Dark</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Colours of all windows of Slipstream.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Text size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Of the system's own size; code and buttons grow along.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Send messages with</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Shift+Enter breaks the line, and so does Enter where it does not send.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>System prompt for new chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What every new chat tells the model first; chats that have begun keep their own.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Temperature</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How freely the model chooses its words; 0 is always the likeliest one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Top-k</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chooses among so many of the likeliest tokens; 0 switches it off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Top-p</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chooses among the likeliest tokens that together have this probability; 1 switches it off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Min-p</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Leaves out tokens less likely than this share of the likeliest one; 0 switches it off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Repetition penalty</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Above 1 the model avoids words that it has just used; 1 switches it off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Longest reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A reply that reaches it ends there. A token is a word or a piece of one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Context size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Automatic</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How much of a chat the model sees at once; more takes more memory. Automatic: what it was trained for, up to 8,192.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Threads</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How many processor cores a model uses. Automatic: all physical cores, which is usually fastest.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Who guesses ahead of the model, so that replies come faster.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Whether the drafter learns from chats, what it has learned, and how to carry or forget it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>a whole number</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>a number</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose {kind} from {low} to {high}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose {kind}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>, or nothing for “{unset}”</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>SettingsDialog</name>
        <message>
            <source>Settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Search settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Pages</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Load again now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reset all…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Some of this holds from the next loading of a model on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No setting has “{words}” in its name or description.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n setting(s) found</source>
            <translation>
                <numerusform>%n setting found</numerusform>
                <numerusform>%n settings found</numerusform>
            </translation>
        </message>
        <message>
            <source>Reset all settings</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reset all settings and shortcuts to the usual ones? Chats and models stay as they are.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reset all</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ShortcutRow</name>
        <message>
            <source>Press it, and then the keys; Backspace for none, Esc to leave it as it is</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Swap them</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Shortcuts</name>
        <message>
            <source>{keys} is needed for writing; choose other keys, such as Ctrl and a letter.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{keys} already stands for “{action}”.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Send the message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Break the line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In the empty message box: edit the last message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In the list: rename or delete the chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In the list: forget the chat at once</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Scroll the chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The keys of these actions made no sense and are the usual ones now: {names}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ShortcutsDialog</name>
        <message>
            <source>Keyboard shortcuts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Change…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>StoreDialog</name>
        <message>
            <source>Your chats cannot be opened</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Nothing was changed or deleted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Try again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open the folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Quit</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Toast</name>
        <message>
            <source>Copy this message</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Welcome</name>
        <message>
            <source>How rainbows form</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Explain how a rainbow forms, in simple words.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A friendly e-mail</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Write a short, friendly e-mail that moves a meeting to next Tuesday.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Find duplicate files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Write a Python function that finds duplicate files, and explain it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Renting or buying?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Compare renting and buying a flat: list what speaks for each.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The model runs on this computer. Nothing you write leaves it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Welcome to Slipstream</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What can I help you with?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Slipstream lets you chat with language models that run on this computer. Everything stays here: nothing you write leaves this machine. The more you chat, the faster it gets, because it learns to guess what your model will write.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chat with the starter model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It is here and ready at once, but tiny: it makes many mistakes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Find a bigger model…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It answers far better, and is downloaded once.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open a model file…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>If you have one already: a file that ends in .gguf.</source>
            <translation type="unfinished" />
        </message>
    </context>
</TS>
