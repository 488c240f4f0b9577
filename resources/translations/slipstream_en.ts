<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_GB">
    <context>
        <name>AboutDialog</name>
        <message>
            <source>About Slipstream</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chat with language models on your own computer. Nothing you write leaves it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Copies all of this, for somebody who helps you</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Amounts</name>
        <message>
            <source>{number} TB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} GB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} MB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} kB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number}T</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number}B</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number}M</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number}k</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>January</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>February</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>March</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>April</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>May</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>June</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>July</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>August</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>September</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>October</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>November</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>December</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} bytes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>less than a minute left</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>about {minutes} min left</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>about {hours} h {minutes} min left</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>more than a day left</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{day} {month} {year}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} B</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>AttachedFiles</name>
        <message>
            <source>Show or hide the text of {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Text of {file}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>AttachmentsController</name>
        <message numerus="yes">
            <source>At most %n files go along with a message.</source>
            <translation>
                <numerusform>At most %n files go along with a message.</numerusform>
                <numerusform>At most %n files go along with a message.</numerusform>
            </translation>
        </message>
        <message>
            <source>Attach text files</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>BranchFlipper</name>
        <message>
            <source>Version {number} of {count} is shown</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Show the version before (version {number} of {count} is shown)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Show the next version (version {number} of {count} is shown)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ChatController</name>
        <message>
            <source>Wait for the reply to end, or stop it with Esc.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The model is still loading; try again when it is ready.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>“{title}” was deleted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A message was not sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Copy it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The unfinished reply was not kept.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The oldest message no longer fits into the model's context; it does not see them any more.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>The %n oldest messages no longer fit into the model's context; it does not see them any more.</source>
            <translation>
                <numerusform>The %n oldest messages no longer fit into the model's context; it does not see them any more.</numerusform>
                <numerusform>The %n oldest messages no longer fit into the model's context; it does not see them any more.</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>CodeBlockView</name>
        <message>
            <source>Copy code</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>text</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Compare</name>
        <message>
            <source>Each side answers twice, in the order plain, sped up, sped up, plain, so that a machine that grows slower or faster meanwhile does so for both; reading the prompt is not counted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens written per second, from the end of the prompt to the last token. A round is one pass of the model; without guesses each brings one token.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reply {number} of {total}: plain again, only to measure.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reply {number} of {total}: plain.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reply {number} of {total}: sped up again, only to measure.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reply {number} of {total}: sped up.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{speed} tok/s  ·  {tokens}  ·  {seconds} s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{first} and {second}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} round(s)</source>
            <translation>
                <numerusform>{number} round</numerusform>
                <numerusform>{number} rounds</numerusform>
            </translation>
        </message>
        <message>
            <source>{speeds} tok/s  ·  {tokens} in {rounds}  ·  {seconds} s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stopped before both sides had answered.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The replies are too short to be timed; try another prompt.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>About as fast ({ratio}×); {texts}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{ratio}× as fast; {texts}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{ratio}× as fast: here guessing cost time; {texts}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>With your sampling, words are drawn by chance and the two sides draw differently: their words need not be the same, but they are as likely as each other.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Nothing was guessed: guesses are off for this model, or none promised to pay on this text.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>From reply to reply, it was {least}× to {most}×.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stopped before each side had answered twice, so the ratio is less sure.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The reply is short; a longer one is timed better.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} token(s)</source>
            <translation>
                <numerusform>{number} token</numerusform>
                <numerusform>{number} tokens</numerusform>
            </translation>
        </message>
        <message>
            <source>the words were drawn by chance.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>the texts are the same.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>the texts part after {number} token(s).</source>
            <translation>
                <numerusform>the texts part after {number} token.</numerusform>
                <numerusform>the texts part after {number} tokens.</numerusform>
            </translation>
        </message>
        <message>
            <source>There the plain reply {plain} and the other {sped_up}; how likely both were is not known.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>There plain writing {plain} ({plain_chance}) and the other {sped_up} ({sped_up_chance}): nearly a tie. A pass that checks several guesses rounds a little differently from one that writes a single token, and a tie may then fall the other way. Both texts are the model's own.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>There plain writing {plain} ({plain_chance}) and the other {sped_up} ({sped_up_chance}). That is more than rounding explains; please report it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>went on with “{words}”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>ended</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>CompareController</name>
        <message>
            <source>Waiting for the model: it reads the prompt, or finishes what it writes for you.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Write a Python class for a stack with push, pop and peek, and then the same class with type hints.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>CompareDialog</name>
        <message>
            <source>One prompt is answered without guesses and with them. Nothing of it is kept, remembered or learned from.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The prompt is read as the last one of the open chat, after all that was said before it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Without this the likeliest word is always taken, so that the texts can be compared. With it, words are drawn by chance as in your chats.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How long a reply may become. Four replies of this length are written, two on each side</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Plain and sped up</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Prompt</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A prompt to compare with</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>After what was said in the chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>With my sampling</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Length of a reply</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n token(s)</source>
            <translation>
                <numerusform>%n token</numerusform>
                <numerusform>%n tokens</numerusform>
            </translation>
        </message>
        <message>
            <source>Start</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Plain reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Sped up reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Replies written</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stop</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Plain</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Sped up</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ConversationController</name>
        <message>
            <source>This holds for the chat that you begin next, and for no other.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Settings of the next chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>This holds for the chat “{title}” alone, from its next reply on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Settings of this chat</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ConversationDelegate</name>
        <message>
            <source>Title of the chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Delete</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ConversationDialog</name>
        <message>
            <source>Temperature</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How freely words are chosen: 0 takes the likeliest each time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Top-k</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Only so many of the likeliest tokens are drawn from; 0 for all.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Top-p</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Only the likeliest tokens that together have this probability; 1 for all.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Min-p</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Only tokens at least this share as likely as the likeliest; 0 for all.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Repetition penalty</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Above 1, what was written lately becomes less likely; 1 leaves it as it is.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Seed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The same seed draws the same reply to the same prompt; else it differs.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>another each time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Longest reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens after which a reply ends in any case.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>no limit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>System prompt</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What the model is told before the chat begins</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reset</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>As for all chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Save</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Sampling</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>as for all chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>as for all chats: {value}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ConversationList</name>
        <message>
            <source>New chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Begin a new chat  (Ctrl+N)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Begin a new incognito chat  (Ctrl+Shift+N)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Rename</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Delete</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget at once…</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ConversationsModel</name>
        <message>
            <source>Incognito</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Today</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Yesterday</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Previous 7 days</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Older</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>CopyButton</name>
        <message>
            <source>Copy</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Copied</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>CrashController</name>
        <message>
            <source>Slipstream ended unexpectedly last time.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Something went wrong inside Slipstream.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A report was saved on this machine; nothing was sent.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Save report…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Show folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Save the crash report</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Text (*.txt)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} could not be written: {reason}. Choose another place.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The report was saved. Look through it before you give it away.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>DownloadRow</name>
        <message>
            <source>Pause</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Resume</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Discard</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use it now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Dismiss</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Speed as it was measured lately; the time left is what that speed would take</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Downloading {file}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{action}: {file}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Downloads</name>
        <message>
            <source>{done} of {whole}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Waiting to begin, {whole}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Waiting to go on, {so_far}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{so_far}, {speed} per second, {left}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Pausing, {so_far}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Paused, {so_far}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Downloaded and checked, {whole}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>DrafterController</name>
        <message>
            <source>Asking the hub for {name}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose a folder first.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Downloading {name}: {done} of {total} MB.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} is downloaded and drafts from now on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It is loaded as soon as the model is there and writes nothing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In use: the built-in drafter.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In use: {name}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>DrafterDialog</name>
        <message>
            <source>The drafter guesses the next words, and your model checks them. Another drafter changes how fast replies come, not how good they are.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A small Llama-type model with safetensors. Downloaded once, then kept on this machine.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Drafter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Built-in</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>From the hub</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A model in Hugging Face's format</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Folder of the drafter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Name on the hub, as owner/name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Downloading the drafter</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stop the download</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Folder of a drafter</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Exchange</name>
        <message numerus="yes">
            <source>Imported {number} chat(s)</source>
            <translation>
                <numerusform>Imported {number} chat</numerusform>
                <numerusform>Imported {number} chats</numerusform>
            </translation>
        </message>
        <message>
            <source>Nothing was imported</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n (was|were) left out because (it is|they are) here already</source>
            <translation>
                <numerusform>%n was left out because it is here already</numerusform>
                <numerusform>%n were left out because they are here already</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n (was|were) left out because (it holds|they hold) no messages</source>
            <translation>
                <numerusform>%n was left out because it holds no messages</numerusform>
                <numerusform>%n were left out because they hold no messages</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n (was|were) left out because (it is|they are) damaged</source>
            <translation>
                <numerusform>%n was left out because it is damaged</numerusform>
                <numerusform>%n were left out because they are damaged</numerusform>
            </translation>
        </message>
        <message>
            <source>“{title}”</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{titles} and %n more</source>
            <translation>
                <numerusform>{titles} and %n more</numerusform>
                <numerusform>{titles} and %n more</numerusform>
            </translation>
        </message>
        <message>
            <source>Chats, to be imported again (*.json)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Text to read, in Markdown (*.md)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chat</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ExchangeController</name>
        <message>
            <source>Importing chats from {file}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export this chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chats {date}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export all chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chats (*.json *.jsonl *.zip);;All files (*)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Import chats</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} chat(s) exported to {file}.</source>
            <translation>
                <numerusform>{number} chat exported to {file}.</numerusform>
                <numerusform>{number} chats exported to {file}.</numerusform>
            </translation>
        </message>
        <message>
            <source>Attach it as text</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Facts</name>
        <message>
            <source>reached its length</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>context full</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>stopped</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>broken off by an error</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} token(s)</source>
            <translation>
                <numerusform>{number} token</numerusform>
                <numerusform>{number} tokens</numerusform>
            </translation>
        </message>
        <message>
            <source>{ratio}× of plain</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{tokens} per round</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Prompt: {prompt} tokens, of which {read} were read now and {known} were still known from before</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reading the prompt: {seconds} s</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Writing the reply: {number} token(s) in {seconds} s</source>
            <translation>
                <numerusform>Writing the reply: {number} token in {seconds} s</numerusform>
                <numerusform>Writing the reply: {number} tokens in {seconds} s</numerusform>
            </translation>
        </message>
        <message>
            <source>Context: {used} of {size} tokens</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Drafted ahead: {drafted} tokens, of which {accepted} stood; {number} round(s)</source>
            <translation>
                <numerusform>Drafted ahead: {drafted} tokens, of which {accepted} stood; {number} round</numerusform>
                <numerusform>Drafted ahead: {drafted} tokens, of which {accepted} stood; {number} rounds</numerusform>
            </translation>
        </message>
        <message>
            <source>Without drafts this machine writes about {speed} (± {error}), measured in rounds without one</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>This reply: {ratio} of that</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Not read any more: the oldest message</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Not read any more: the %n oldest messages</source>
            <translation>
                <numerusform>Not read any more: the %n oldest messages</numerusform>
                <numerusform>Not read any more: the %n oldest messages</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>FiguresTable</name>
        <message>
            <source>Figures for each model and kind of text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The model that wrote these replies</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>FileOpening</name>
        <message>
            <source>A model or a profile is opened alone; open these files one after the other.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ForgetController</name>
        <message>
            <source>Forget “{title}” for good?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Its text is removed from this computer now, with what recall and learning keep of it. This cannot be undone.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Adapters that were already learned stay, and so do n-grams: how often pieces of words followed each other, in all chats together.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget at once</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>“{title}” is gone for good.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ForgetPage</name>
        <message>
            <source>Removes adapters, n-grams, the replies kept to learn from and what recall remembers, of all models. Your chats stay.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget what was learned, for good? Adapters, n-grams, the replies kept to learn from and texts that came with profiles go, and are erased from the files too. Your chats, models and settings stay, and recall reads your chats again. What the drafter had learned cannot be made again from them.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Removes all chats as well, with prompts that were not sent. Models and settings stay.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget everything, for good? All chats go, also those you could still bring back, with prompts that were not sent and all that was learned. Their text is erased from the files too. A reply that is being written is stopped. Models, settings, and files you exported stay.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget what was learned…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget what was learned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget everything…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget everything</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Yes, delete all my chats and all that was learned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What was learned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Everything</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>GpuNote</name>
        <message>
            <source>How to use a graphics card…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Computed by {card}, as far as there is room.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No layers go on {card}; the CPU computes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>There is no room for {number} of {every} layers on {card}; choose fewer.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>All {every} layers go on {card}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} of {every} layers go on {card}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>llama.cpp was built for {backends}, but found no graphics card that it can use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>This build of llama.cpp computes on the CPU only.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{card} ({backend}): {free} of {total} of memory are free, as its driver tells</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How to use a graphics card</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models run faster on a graphics card, as far as they fit into its memory. That takes a llama.cpp that was built for it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>For nearly every card:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>For cards by NVIDIA, with its CUDA toolkit installed:</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Run one of these in the folder of Slipstream's source, then start it there with {command}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>An installed Slipstream takes the libraries of such a build from the folder that {variable} names.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>All steps are told in {file} of the source.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>On Macs with an Apple chip, every build of llama.cpp uses it by itself.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>HelpController</name>
        <message>
            <source>There is no log: {folder} cannot be written; make room, or allow it to be written.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Being asked…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Licence</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models run with</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Features in use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Built on</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Everything is kept in</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>HistoryController</name>
        <message>
            <source>{file} could not be written ({reason}); choose another place.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The table was saved as {file}.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>HistoryPage</name>
        <message>
            <source>Speed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Prove it…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Have one prompt answered with guesses and without, side by side</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Kind of text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Points of the plot</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Day by day</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chat by chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export the table…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Save the table, with all digits, as a CSV file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>None of these replies could be compared with writing without guesses.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Of these replies it is not known where the time went.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The figures are being read…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>All models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How many times as fast as without guesses</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Where the time goes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>By model and kind of text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What was learned</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Over the last %n day(s)</source>
            <translation>
                <numerusform>Over the last %n day</numerusform>
                <numerusform>Over the last %n days</numerusform>
            </translation>
        </message>
        <message>
            <source>Since {day}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>At 1, guesses bring nothing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A dashed line: the drafter learned something new.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Checking</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Guessing</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Other</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} {share}, {duration}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Writing replies</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Learning, while nobody waited</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export the table</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>CSV (*.csv)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Hub</name>
        <message>
            <source>fits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>tight</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>too large</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>no room on the disk</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It fits into this machine's memory with room to spare.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It fits into this machine's memory, but leaves little for other programs.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It needs more memory than this machine can give it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>There is not enough room for it on the disk.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>recommended, fits</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>recommended, tight</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} download(s)</source>
            <translation>
                <numerusform>{number} download</numerusform>
                <numerusform>{number} downloads</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} like(s)</source>
            <translation>
                <numerusform>{number} like</numerusform>
                <numerusform>{number} likes</numerusform>
            </translation>
        </message>
        <message>
            <source>updated {day}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n parts</source>
            <translation>
                <numerusform>%n parts</numerusform>
                <numerusform>%n parts</numerusform>
            </translation>
        </message>
        <message>
            <source>Estimated from the size of the file and the memory of this machine.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>HubController</name>
        <message>
            <source>{file} is downloaded and in the library.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use it now</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>HubPage</name>
        <message>
            <source>Search for a model by its name, or press Search without words to see what is used most.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Press a model on the left to see its files.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>This page asks {host}, and only when you press Search, a model, Download or Resume. It learns what you search for and which files you want, and nothing of your chats.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Name of a model, as in “qwen 7b”</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Search the hub for models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Search</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models on the hub</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Files of the model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Download</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Searching…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Nothing was found for “{words}”. Try fewer words.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The hub lists nothing.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Asking for its files…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It has no model files that can be used here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Downloaded or on its way</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Download {size}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>IncognitoBanner</name>
        <message>
            <source>It is held in memory only, and gone when the app is closed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Incognito: nothing of this chat is kept, remembered or learned from.</source>
            <translation type="unfinished" />
        </message>
    </context>
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
        <name>Learned</name>
        <message>
            <source>Figures of replies by {names}, to be read only: they tell of another machine.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Made on {day} with Slipstream {version}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Nothing was learned when it was made.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>All of this was known already.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{adapters} (%n now in use)</source>
            <translation>
                <numerusform>{adapters} (%n now in use)</numerusform>
                <numerusform>{adapters} (%n now in use)</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} text(s) to recall</source>
            <translation>
                <numerusform>{number} text to recall</numerusform>
                <numerusform>{number} texts to recall</numerusform>
            </translation>
        </message>
        <message>
            <source>New: {amounts}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} MB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{number} kB</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A model that was not used here yet</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The drafter in use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Another drafter</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Guesses that stand in each round, before it learned and with this adapter, on {number} repl(y|ies) that it did not learn from.</source>
            <translation>
                <numerusform>Guesses that stand in each round, before it learned and with this adapter, on {number} reply that it did not learn from.</numerusform>
                <numerusform>Guesses that stand in each round, before it learned and with this adapter, on {number} replies that it did not learn from.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>It had learned from {number} repl(y|ies).</source>
            <translation>
                <numerusform>It had learned from {number} reply.</numerusform>
                <numerusform>It had learned from {number} replies.</numerusform>
            </translation>
        </message>
        <message>
            <source>Adapter {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The drafter as it came</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Without anything that it learned.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>From {number} repl(y|ies) the drafter learned to guess {after} tokens right per round; before it learned, {before}.</source>
            <translation>
                <numerusform>From {number} reply the drafter learned to guess {after} tokens right per round; before it learned, {before}.</numerusform>
                <numerusform>From {number} replies the drafter learned to guess {after} tokens right per round; before it learned, {before}.</numerusform>
            </translation>
        </message>
        <message>
            <source>The drafter is used as it came.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The drafter has nothing better to show yet; a first result comes after some tens of replies.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Learning since {day}.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>It remembers about {number} word(s) of your chats, to guess what is said again.</source>
            <translation>
                <numerusform>It remembers about {number} word of your chats, to guess what is said again.</numerusform>
                <numerusform>It remembers about {number} words of your chats, to guess what is said again.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} repl(y|ies) to learn from</source>
            <translation>
                <numerusform>{number} reply to learn from</numerusform>
                <numerusform>{number} replies to learn from</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{adapters} ({before} → {after} right guesses per round, from {number} repl(y|ies))</source>
            <translation>
                <numerusform>{adapters} ({before} → {after} right guesses per round, from {number} reply)</numerusform>
                <numerusform>{adapters} ({before} → {after} right guesses per round, from {number} replies)</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} token(s)</source>
            <translation>
                <numerusform>{number} token</numerusform>
                <numerusform>{number} tokens</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} text(s) to recall, of {tokens}</source>
            <translation>
                <numerusform>{number} text to recall, of {tokens}</numerusform>
                <numerusform>{number} texts to recall, of {tokens}</numerusform>
            </translation>
        </message>
        <message>
            <source>One model is not known here; what was learned for such a model waits until one with its vocabulary is loaded.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n models are not known here; what was learned for such a model waits until one with its vocabulary is loaded.</source>
            <translation>
                <numerusform>%n models are not known here; what was learned for such a model waits until one with its vocabulary is loaded.</numerusform>
                <numerusform>%n models are not known here; what was learned for such a model waits until one with its vocabulary is loaded.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n adapter(s) (was|were) learned by another drafter than the one in use, and can only be used with that one.</source>
            <translation>
                <numerusform>%n adapter was learned by another drafter than the one in use, and can only be used with that one.</numerusform>
                <numerusform>%n adapters were learned by another drafter than the one in use, and can only be used with that one.</numerusform>
            </translation>
        </message>
        <message>
            <source>texts that came with an earlier profile</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>These go, of all models: {amounts}. Your chats stay, with what is recalled of them and the replies that are kept to learn from.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} adapter(s)</source>
            <translation>
                <numerusform>{number} adapter</numerusform>
                <numerusform>{number} adapters</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} n-gram(s)</source>
            <translation>
                <numerusform>{number} n-gram</numerusform>
                <numerusform>{number} n-grams</numerusform>
            </translation>
        </message>
        <message>
            <source>{some} and {last}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>LearnedPage</name>
        <message>
            <source>Nothing is learned yet. Chat for a while: recall remembers what was said at once, and after some tens of replies the drafter guesses better too.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Looking at what is learned…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What is learned cannot be read.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What is learned</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>LearningPage</name>
        <message>
            <source>From your chats the drafter learns to guess what your model writes, so that replies come faster. Everything stays on this machine.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The drafter reads your model's replies again, while nobody waits for one. Switched off, it learns nothing more, and what it has learned stays in use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How much of the time in which no reply is being written. Less keeps the machine cooler and quieter; more learns sooner. A reply never waits for it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Incognito chats teach nothing: they are not kept, remembered or learned from, and are gone when Slipstream is closed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Learning takes power. Without this it pauses until the machine is plugged in.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Learn from my chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>While nobody waits for a reply, learn</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Percent of the time that nobody waits for a reply, for learning</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Also on battery</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>a quarter of the time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>half of the time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>three quarters of the time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>all of the time</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{percent} of the time</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Library</name>
        <message>
            <source>Not enough memory</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} takes about {taken} of memory, and {free} are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} takes about {on_card} on {card}, where there is room for {room}, and {taken} of this machine's memory, of which {free} are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{weights} are its weights, {context} hold the chat. Loaded anyway, it may fail or slow down the whole machine. It helps to close other programs, or to set a shorter context size.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Load anyway</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Remove a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Remove {name} from the library?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Your chats with it stay. It goes on answering until you choose another model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Your chats with it stay.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Also delete the file for good ({size})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The file cannot be deleted while the model is in use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Remove</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Discard a download</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Discard the {size} that have arrived of {file}?</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>To have it later, all of it would have to be downloaded again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Discard</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>About the model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>This model answers now.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>never</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>not told by the file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>in the file</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>none; ChatML is used</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} token(s)</source>
            <translation>
                <numerusform>{number} token</numerusform>
                <numerusform>{number} tokens</numerusform>
            </translation>
        </message>
        <message>
            <source>In use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>no speed-up</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} (starter)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>LibraryController</name>
        <message>
            <source>Add model files</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Add a folder of models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Looking at what is to be added…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{name} is in the library now.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n models were added.</source>
            <translation>
                <numerusform>%n models were added.</numerusform>
                <numerusform>%n models were added.</numerusform>
            </translation>
        </message>
        <message>
            <source>Nothing new was found: all of it is in the library.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>One file was left out: {reason}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n files were left out: {reason}</source>
            <translation>
                <numerusform>%n files were left out: {reason}</numerusform>
                <numerusform>%n files were left out: {reason}</numerusform>
            </translation>
        </message>
        <message>
            <source>Use it now</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>LibraryDialog</name>
        <message>
            <source>Library</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Your models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Find models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>LibraryPage</name>
        <message>
            <source>Search your models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Add…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Add model files, or a folder of them; nothing is copied. They can be dropped here too.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Model files…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>A folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Find models…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Looking through the library…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No model fits “{words}”.</source>
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
        <name>MainWindow</name>
        <message>
            <source>New chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>New incognito chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Search chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Attach a text file…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Import chats…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export all chats…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export this chat…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget this chat at once…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Library…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Find models…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open a model file…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Quit</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stop the reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Write the last reply again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Continue the last reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Settings of this chat…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Rename this chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Delete this chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Bring back the last deleted chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use the starter model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Drafter…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Personalization…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Settings…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Larger text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Smaller text</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Usual text size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Show or hide the sidebar</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Colour by who guessed it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Go to the message box</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Speed…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Compare plain and sped up…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Keyboard shortcuts</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Check for updates now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open the log folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>About Slipstream</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>&amp;Chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>&amp;Model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>&amp;View</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>&amp;Help</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>&amp;File</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open the menu</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Meter</name>
        <message>
            <source>{number} tok/s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>measuring…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>none guessed</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Tokens written per second, over about the last second.
The whole reply so far: {number} token(s) at {speed} per second. Reading the prompt does not count.</source>
            <translation>
                <numerusform>Tokens written per second, over about the last second.
The whole reply so far: {number} token at {speed} per second. Reading the prompt does not count.</numerusform>
                <numerusform>Tokens written per second, over about the last second.
The whole reply so far: {number} tokens at {speed} per second. Reading the prompt does not count.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>Tokens written per second in the last reply of this chat, over all its {number} token(s).
Reading the prompt does not count.</source>
            <translation>
                <numerusform>Tokens written per second in the last reply of this chat, over all its {number} token.
Reading the prompt does not count.</numerusform>
                <numerusform>Tokens written per second in the last reply of this chat, over all its {number} tokens.
Reading the prompt does not count.</numerusform>
            </translation>
        </message>
        <message>
            <source>Nothing was guessed ahead in this reply, so it is written at the model's plain speed.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>This reply is written {ratio} as fast as the model would write it here without guesses:
about {speed} tokens per second (± {error}), measured now and then in rounds without a guess.
The ± says how far off this may well be: two times in three the true value lies within it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How this compares with writing without guesses is still being measured.
It is shown once enough tokens are written, and the time in which the drafter is being loaded does not count.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No comparison with writing without guesses: nobody guesses ahead, the reply is too short, or the plain speed was not measured well enough.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Tokens written in a round. In each round the model checks a guess of several tokens in one pass,
keeps what it would have written itself, and adds one token. Without guesses this is 1.0. {number} round(s).</source>
            <translation>
                <numerusform>Tokens written in a round. In each round the model checks a guess of several tokens in one pass,
keeps what it would have written itself, and adds one token. Without guesses this is 1.0. {number} round.</numerusform>
                <numerusform>Tokens written in a round. In each round the model checks a guess of several tokens in one pass,
keeps what it would have written itself, and adds one token. Without guesses this is 1.0. {number} rounds.</numerusform>
            </translation>
        </message>
        <message>
            <source>No token was guessed ahead in this reply.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Of {number} token(s) that (was|were) guessed ahead, {accepted} were what the model would have written.
The others cost a little time and are never shown.</source>
            <translation>
                <numerusform>Of {number} token that was guessed ahead, {accepted} were what the model would have written.
The others cost a little time and are never shown.</numerusform>
                <numerusform>Of {number} tokens that were guessed ahead, {accepted} were what the model would have written.
The others cost a little time and are never shown.</numerusform>
            </translation>
        </message>
        <message>
            <source>{ratio} of plain</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{tokens} / round</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{share} accepted</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ModelCard</name>
        <message>
            <source>loaded now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What is kept on this machine for models with this vocabulary.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Made</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Right guesses per round</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use this one</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use it</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use for {model}: {adapter}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>From the next reply on. Where learning is on, it goes on from there.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Hide %n adapter(s)</source>
            <translation>
                <numerusform>Hide %n adapter</numerusform>
                <numerusform>Hide %n adapters</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>Show %n adapter(s)</source>
            <translation>
                <numerusform>Show %n adapter</numerusform>
                <numerusform>Show %n adapters</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>NoticeBar</name>
        <message>
            <source>Dismiss</source>
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
        <name>OptionsForm</name>
        <message>
            <source>How many tokens of a chat the model sees at once; a token is about three quarters of a word. More takes more memory. Automatic: what it was trained for, at most 8,192.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Processor cores that compute. Automatic: one per physical core.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Layers of the model that are computed by a graphics card, where there is one. Automatic: as many as there is room for.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Told to the model first, in every new chat with it, instead of what is told in all chats.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source> tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Estimated from the file's header and the context size; free is what programs may take now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>These three hold from the next loading on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Load again now</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Its own system prompt, for new chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>System prompt</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>You are a helpful assistant who answers briefly.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reset to what holds for all</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{memory} ({weights} weights, {context} context, {work} work)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Looking how much memory it takes…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The model in use was loaded with other settings.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Automatic</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Context size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Threads</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>GPU layers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Loading</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How it answers</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>OriginLegend</name>
        <message>
            <source>Drafter {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Recall {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Model itself {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It is not known who guessed what in this reply.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Who thought of the text first, as a share of its characters. The model checks every guess and keeps only what it would have written itself;
the rest it wrote without a guess. Drafter: the small model that runs ahead. Recall: found in this chat or an earlier one.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Who guessed it first: {shares}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>under {share}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PersonalController</name>
        <message>
            <source>Changing the adapter…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Changing the adapter back…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Exporting to {file}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Looking into {file}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Importing {file}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forgetting what was learned…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forgetting everything, as soon as the model is free…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>It holds texts that were typed; give it only to whom you would show your chats.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No text that was typed is in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Exported to {file} ({size}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Imported {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What was learned here was replaced by it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What was learned is forgotten, and erased from the files. Your chats are all there.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Everything is forgotten, and erased from the files: {number} chat(s), and all that was learned.</source>
            <translation>
                <numerusform>Everything is forgotten, and erased from the files: {number} chat, and all that was learned.</numerusform>
                <numerusform>Everything is forgotten, and erased from the files: {number} chats, and all that was learned.</numerusform>
            </translation>
        </message>
        <message>
            <source>The drafter as it came is used from the next reply on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The drafter as it came is used when its model and drafter are loaded.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Adapter {number} is used from the next reply on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Adapter {number} is used when its model and drafter are loaded.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PersonalDialog</name>
        <message>
            <source>Personalization</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What was learned</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Learning</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Profile</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Forget</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Undo</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Close</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ProfilePage</name>
        <message>
            <source>All that was learned, in one file: for another machine of yours, or to come back to. Chats are not in it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>These are texts that you typed, and replies. Give such a file only to whom you would show your chats.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose a file, or drop one here. You see what is inside before anything changes.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Adds what is not known here. An adapter that is in use already stays in use: your own chats judged it.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Include what recall remembers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Import…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What is inside; nothing is imported yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Merge</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Replace…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Puts it in the place of what was learned here.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Replace</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Import</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Export a profile</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Import a profile</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Slipstream profiles (*{suffix})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Replace what was learned here?</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PromptBox</name>
        <message>
            <source>Attach a text file  (Ctrl+Shift+A)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Too long</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Counted as the model reads it; the chat so far and the model's own marks come on top.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>This is more than the model reads at once ({number} token(s)): shorten it.</source>
            <translation>
                <numerusform>This is more than the model reads at once ({number} token): shorten it.</numerusform>
                <numerusform>This is more than the model reads at once ({number} tokens): shorten it.</numerusform>
            </translation>
        </message>
        <message>
            <source>Message {name}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Write a message…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Wait for the reply to end, or stop it with Esc</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The model is still loading</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} token(s)</source>
            <translation>
                <numerusform>{number} token</numerusform>
                <numerusform>{number} tokens</numerusform>
            </translation>
        </message>
        <message>
            <source>Send  ({keys})</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stop  (Esc)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PromptEditor</name>
        <message>
            <source>Message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Control and Enter send, Enter breaks the line</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Enter sends, Shift and Enter break the line</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PromptFooter</name>
        <message>
            <source>Copy this message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Edit this message and ask again</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PromptRevision</name>
        <message>
            <source>Your message, to be changed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Leave it as it was  (Esc)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Send</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Ask it like this; the old version stays beside it  (Enter)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>PromptView</name>
        <message>
            <source>Your message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Show all of it</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Question</name>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>QuestionBox</name>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ReplyFooter</name>
        <message>
            <source>Copy reply</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Write this reply again</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Let this reply go on where it ended</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Continue</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>ReplyView</name>
        <message>
            <source>Reply</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Sampling</name>
        <message>
            <source>Precise</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Balanced</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Creative</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>SamplingFields</name>
        <message>
            <source>As for all chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Own figures</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Sampling</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How freely words are chosen. It holds from the next reply on.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>How freely words are chosen: 0 always takes the likeliest, 1 follows the model.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>off</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Only this many of the likeliest words; 0 is off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Only the likeliest words that together make up this share.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Only words at least this likely, compared with the likeliest; 0 is off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Above 1, words that were written lately become less likely; 1 is off.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Temperature</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Top-k</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Top-p</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Min-p</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Repetition penalty</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>SearchController</name>
        <message>
            <source>These words are in another version of this chat, which is not shown.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>SearchField</name>
        <message>
            <source>Search chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Search titles and messages  (Ctrl+F)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>SearchResults</name>
        <message>
            <source>No chat has these words.</source>
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
            <source>Check for updates</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Once a day, the site of this build is asked for the newest version. Off, nobody is asked.</source>
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
            <source>{file} cannot be read ({reason}); the usual settings are used.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The settings make no sense and are the usual ones now; the file is kept as {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In the settings these make no sense and are the usual ones now: {names}; the file is kept as {file}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The settings could not be saved: {reason}.</source>
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
        <name>Speed</name>
        <message>
            <source>Jan</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Feb</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Mar</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Apr</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>May</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Jun</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Jul</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Aug</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Sep</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Oct</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Nov</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Dec</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{day} {month}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Kind</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What a reply mostly is, told by its text; older replies count as prose</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Replies</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Replies that are kept; those of deleted and incognito chats are not counted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens of the model in these replies</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens/s</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens written per second, from the end of the prompt to the last token; all replies together</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Ratio</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Per round</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Tokens that a pass of the model brought: its own, and the guesses that stood. Without guesses it is 1</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Accepted</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Of the guessed tokens that the model checked, those that it would have written itself</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Who guessed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Of the guesses that stood: whose they were. Of older replies this is not known</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Prose</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Code</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Numbers</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Lists</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No reply has been kept yet. Write a message in a chat; how fast its reply came will be shown here, and how fast it would have come without guesses.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>While a reply is written, some passes are made without guesses; they tell how fast this machine writes without them. The ratio is what the same words would have taken at that speed, divided by what they took. A long reply counts for more than a short one.
± is the standard error: it comes from how far the replies are from one another, and from how well the plain speed is known. Reading the prompt is not counted.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Wall-clock time of writing, from the end of the prompt to the last token. Checking: the model's passes and the choice of words. Guessing: the drafter and recall. Other: everything else.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Time in which the drafter learned, while no reply was being written; of all models and kinds.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{when} no reply could be compared with writing without guesses.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{when} too little was written to tell whether guesses help: {ratio} ({replies}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{when} replies came about as fast as without guesses: {ratio} ({replies}).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{when} replies came {ratio} as fast as without guesses ({replies}); about {duration} saved.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{when} replies came {ratio} as fast as without guesses ({replies}); guessing cost about {duration}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>All kinds</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{seconds} seconds</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>%n second(s)</source>
            <translation>
                <numerusform>%n second</numerusform>
                <numerusform>%n seconds</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>%n minute(s)</source>
            <translation>
                <numerusform>%n minute</numerusform>
                <numerusform>%n minutes</numerusform>
            </translation>
        </message>
        <message>
            <source>{hours} h {minutes} min</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} hour(s)</source>
            <translation>
                <numerusform>{number} hour</numerusform>
                <numerusform>{number} hours</numerusform>
            </translation>
        </message>
        <message>
            <source>{first} to {last}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} chat(s), {when}</source>
            <translation>
                <numerusform>{number} chat, {when}</numerusform>
                <numerusform>{number} chats, {when}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{ratio}, {number} repl(y|ies) compared</source>
            <translation>
                <numerusform>{ratio}, {number} reply compared</numerusform>
                <numerusform>{ratio}, {number} replies compared</numerusform>
            </translation>
        </message>
        <message>
            <source>Each point is one chat.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Each point is %n chats, one after the other.</source>
            <translation>
                <numerusform>Each point is %n chats, one after the other.</numerusform>
                <numerusform>Each point is %n chats, one after the other.</numerusform>
            </translation>
        </message>
        <message>
            <source>Each point is one day.</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>Each point is up to %n days, one after the other.</source>
            <translation>
                <numerusform>Each point is up to %n days, one after the other.</numerusform>
                <numerusform>Each point is up to %n days, one after the other.</numerusform>
            </translation>
        </message>
        <message>
            <source>Learned since {day}: {before} → {after} guesses stand in a round</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Drafter {drafter}, recall {recall}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} n-gram(s) (tells|tell) how words of your models are put together.</source>
            <translation>
                <numerusform>{number} n-gram tells how words of your models are put together.</numerusform>
                <numerusform>{number} n-grams tell how words of your models are put together.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} token(s)</source>
            <translation>
                <numerusform>{number} token</numerusform>
                <numerusform>{number} tokens</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <source>{number} message(s)</source>
            <translation>
                <numerusform>{number} message</numerusform>
                <numerusform>{number} messages</numerusform>
            </translation>
        </message>
        <message>
            <source>{tokens} of {messages} can be recalled when they come up again.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Since {day} the drafter has spent {duration} learning, while nobody waited.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Nothing has been learned yet.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{day} for {models}: after {replies}, {before} → {after} guesses stand in each round.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{day} for {models}: after {replies}, {before} → {after} guesses stand in each round, in use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{day}: after {replies}, {before} → {after} guesses stand in each round.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{day}: after {replies}, {before} → {after} guesses stand in each round, in use.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>{names} and {name}</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{number} repl(y|ies)</source>
            <translation>
                <numerusform>{number} reply</numerusform>
                <numerusform>{number} replies</numerusform>
            </translation>
        </message>
    </context>
    <context>
        <name>SpeedMeter</name>
        <message>
            <source>Speed</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Speed of the reply as it changes</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The speed of this reply from its beginning to now; the dotted line is the speed without guesses.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Context used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The chat takes {used} of the {size} tokens ({share}) that the model can see at once.
Counted by the model's own tokens; when it is full, the oldest messages are left out.</source>
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
        <name>TargetBar</name>
        <message>
            <source>Show or hide the sidebar  (Ctrl+B)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chooses another model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Cancel</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Stops loading the model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Menu</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Loading the model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose a model to begin</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Layers on {card}: {number}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Loading… {share}</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Loads when the reply is finished</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open a model</source>
            <translation type="unfinished" />
        </message>
        <message numerus="yes">
            <source>{size} on disk, {context} tokens of context, %n thread(s)</source>
            <translation>
                <numerusform>{size} on disk, {context} tokens of context, %n thread</numerusform>
                <numerusform>{size} on disk, {context} tokens of context, %n threads</numerusform>
            </translation>
        </message>
        <message>
            <source>Choose another model  (Ctrl+M)</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models (*.gguf)</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>TargetDetailsView</name>
        <message>
            <source>Name</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Architecture</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Parameters</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Quantization</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Trained context</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Vocabulary</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Chat template</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Licence</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Size</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Last used</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Show in folder</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Remove…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>In use</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>The starter belongs to Slipstream and stays.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>File</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>TargetPicker</name>
        <message>
            <source>No models yet besides the starter. Add a file of your own, or find one to download.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No models yet. Add a model file, or find one to download.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Choose a model</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Search your models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Models</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Add a model file…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Add a folder…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Find models…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Library…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Looking through the library…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>No model fits “{words}”.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Takes about {on_card} on {card} ({room} free) and {taken} of other memory ({free} free).</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Takes about {taken} of memory, more than the {free} that are free.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Takes about {taken} of memory; {free} are free.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Toast</name>
        <message>
            <source>Copy this message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Dismiss</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Transcript</name>
        <message>
            <source>Chat</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Scroll to the latest message</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Latest</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Reading the prompt… {share}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>UpdateController</name>
        <message>
            <source>Asking {site}…</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Slipstream {version} is the newest version.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Slipstream {newer} is available; this is {version}.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Open the download page</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Skip this version</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Updates</name>
        <message>
            <source>This build has no address to ask; look for newer versions where you got it from.</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>Once a day, {site} is asked for the number of the newest version. Nothing about you, your chats or this computer is sent but the version of Slipstream; like any site, it sees your internet address. Nothing is downloaded or installed. Off, nobody is asked.</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>Waiting</name>
        <message>
            <source>The reply is being prepared</source>
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
    <context>
        <name>_Body</name>
        <message>
            <source>Code</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>_Chip</name>
        <message>
            <source>Remove {file}</source>
            <translation type="unfinished" />
        </message>
    </context>
    <context>
        <name>_View</name>
        <message>
            <source>Chats</source>
            <translation type="unfinished" />
        </message>
        <message>
            <source>What was found</source>
            <translation type="unfinished" />
        </message>
    </context>
</TS>
