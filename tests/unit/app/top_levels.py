"""Every window of the app, filled as in real use. A new one is added here and is then looked at by all tests of
`test_accessibility.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from app.features.chat.conversation_dialog import ConversationDialog
from app.features.chat.pictures import PictureDialog
from app.features.chats.folder_dialog import FolderDialog
from app.features.chats.store_notice import StoreDialog
from app.features.drafter.drafter_dialog import DrafterDialog
from app.features.guided.guided_dialog import GuidedDialog
from app.features.guided.steps import Prospect
from app.features.help.guide_dialog import GuideDialog, read_guide
from app.features.help.help import AboutDialog
from app.features.history.page import HistoryPage
from app.features.library.chat_template import ChatTemplateDialog
from app.features.library.library_dialog import LibraryDialog
from app.features.library.quantization_wording import QuantizationRow, quantization_rows
from app.features.library.quantizations_dialog import QuantizationsDialog
from app.features.model_servers.model_servers_dialog import ModelServersDialog
from app.features.personalization.compared_dialog import ComparedDialog
from app.features.personalization.personal_dialog import PersonalDialog
from app.features.presets.presets_dialog import PresetsDialog
from app.features.presets.save_preset_dialog import SavePresetDialog
from app.features.server.server_dialog import ServerChoice, ServerDialog
from app.features.settings.settings_dialog import SettingsDialog
from app.features.speed.compare_dialog import CompareDialog
from app.features.tools.tools_dialog import ToolsDialog
from app.main_window import MainWindow
from app.models.conversation_rows import ChatFilter
from app.models.server_rows import Sighting
from app.settings.app_settings import AppSettings
from app.settings.declaration import SettingsPage, shown_settings
from app.settings.shortcuts import KeyProblem, Shortcuts, fixed_keys
from app.text.learned import model_views
from app.text.learning_progress import ProgressView
from app.text.outlooks import advice_of, best_words, fit_words, machine_facts, outlook_words
from app.text.preset_examples import example_presets, example_prompts
from app.text.presets import ChatValues
from app.text.tool_calls import CallPhase
from app.theme import ThemeKeeper
from app.widgets.meter.meter_text import Readiness
from app.widgets.option_row import LinkRow
from app.widgets.prompt.pictures import picture_words
from app.widgets.shortcuts_dialog import ShortcutsDialog
from app.widgets.target.target_bar import SignButton
from app.widgets.tour import Tour, TourStep
from engine import LearningSettings, OwnSampling, ReplySettings, SamplingSettings, write_tool_servers
from engine.backend.library.suggestions import read_suggestions
from engine.speculation.model.chat.families import CHATML
from engine.values.conversations import ConversationSummary
from engine.values.events import TargetInfo, ToolAsked
from engine.values.order import Folder, TargetChoice
from engine.values.outlook import MachineFigures, Outlook, Span
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.serving import Client
from engine.values.speed import LiveFigures
from engine.values.targets import FamilyTemplate, TemplateFacts
from engine.values.tools import AllowedTool, ServerState, Tool, ToolDefinition, ToolServer
from tests.fakes.pictures import made_picture
from tests.unit.app.drafter_samples import CHOICE
from tests.unit.app.features.history.made import history
from tests.unit.app.learned_made import IN_USE, TINY, benefit, compared, learned
from tests.unit.app.library_samples import QWEN, TARGETS
from tests.unit.app.quantization_samples import OFFERS, REPORT
from tests.unit.app.server_samples import AGREED, DESK, on_server
from tests.unit.app.widgets.calls import FORECAST, call, calling
from tests.unit.app.widgets.calls import conversation as calls
from tests.unit.app.widgets.messages import prompt, reply

SENTENCE = "The store /data/slipstream.sqlite is damaged; put a backup in its place, or move it away."
FIGURES = LiveFigures(214, 31.2, 30.0, 20.0, 0.02, 120, 160, 93, 1204)
_SUN = made_picture(900, 600)
_NAMED_SUN = AttachedPicture("Sun.png", _SUN.digest)
_TEXT = "Words and `code`.\n\n1. One\n2. Two\n\n```python\nprint(1)\n```\n"


def main_window(keeper: ThemeKeeper) -> MainWindow:
    window = MainWindow(keeper, "1.2.3")
    now = datetime.now(UTC)
    window.conversations.set_conversations(tuple(ConversationSummary(n, f"Chat {n}", now) for n in range(3)))
    window.target_bar.set_target(TargetInfo("SmolLM2-135M-Instruct", "/x.gguf", "llama 135M Q4_1", 8192, 10, 2))
    window.prompt_box.set_ready(True)
    window.meter.show_live(FIGURES, 8192, ())
    window.meter.show_learning(True, False, 0.5)
    for sign in window.signs.findChildren(SignButton):
        sign.tell("What goes on")
    return window


def _chat(keeper: ThemeKeeper) -> QWidget:
    window = main_window(keeper)
    window.pictures.add(_SUN)
    window.transcript.show_messages((prompt(0, join_prompt([_NAMED_SUN], "Print one.")), reply(1, _TEXT)))
    window.prompt_box.chips.add(_NAMED_SUN)
    window.toasts.show_error(SENTENCE)
    window.toasts.show_info("“Chat” was deleted.", "Undo")
    return window


def _order(keeper: ThemeKeeper) -> QWidget:
    """Chats in an open folder, several selected, and a filter."""
    window = main_window(keeper)
    sidebar, now = window.conversations, datetime.now(UTC)
    sidebar.set_folders((Folder(1, "Garden club"), Folder(2, "A folder whose name is longer than its row is wide")))
    chats = (ConversationSummary(n, f"Chat {n}", now, folder_id=n % 3 or None, is_pinned=n == 5) for n in range(9))
    sidebar.set_conversations(tuple(replace(each, target_name="SmolLM2-135M-Instruct") for each in chats))
    sidebar.set_filter(ChatFilter(target_name="SmolLM2-135M-Instruct", num_days=30))
    sidebar.view.select((0, 3, 6))
    sidebar.view.selected.emit()
    window.folder_banner.show_words("New chat in the folder “Garden club”, with its system prompt.")
    return window


def _guided(step: int) -> QWidget:
    dialog = GuidedDialog()
    machine = MachineFigures("tiny", "file:1", 98_000_000, {1: 0.01, 2: 0.017, 4: 0.03, 8: 0.05}, 560.0, is_busy=True)
    dialog.machine.finish(machine_facts(machine, 0.011), is_busy=True)
    suggestion = read_suggestions()[0]
    slow = Span(0.97, 1.0, 1.1)
    outlooks = (
        Outlook("tiny", None, Span(95, 100, 105), slow, slow),
        Outlook(suggestion.name, suggestion, Span(3, 4, 5), slow, Span(1.1, 1.3, 1.6)),
    )
    (advice,) = advice_of(outlooks, 16 << 30, 1 << 40)
    notes = "Measured just now: 1.31×.", fit_words(advice)
    prospects = [Prospect(each.name, outlook_words(each), note) for each, note in zip(outlooks, notes, strict=True)]
    dialog.outlook.show_prospects(prospects)
    dialog.outlook.show_best(best_words(advice), f"Look at {suggestion.name}…", suggestion.file)
    dialog.show_step(step)
    return dialog


def _folder(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = FolderDialog()
    folder = Folder(1, "Garden club", "Be kind.", 1, TargetChoice("another", "file:3"))
    presets = [replace(each, id=number) for number, each in enumerate(example_presets(), 1)]
    dialog.show_folder(folder, presets, (TargetChoice("SmolLM2-135M-Instruct", "file:1"),))
    dialog.show_problem("There is already a folder “Garden club”; choose another name.")
    return dialog


def _picture(keeper: ThemeKeeper) -> PictureDialog:  # noqa: ARG001
    return PictureDialog(QImage.fromData(_SUN.data), "Sun.png", picture_words("Sun.png", _SUN))


def _notices(keeper: ThemeKeeper) -> QWidget:
    window = main_window(keeper)
    window.notices.show_notice(
        "crash",
        "Slipstream ended unexpectedly last time. A report was saved on this computer; nothing was sent.",
        (("Show folder", window.close),),
    )
    window.notices.show_notice(
        "update",
        "Slipstream 1.3 is available; this is 1.2.3.",
        (("Open the download page", window.close), ("Skip this version", window.close)),
    )
    return window


def _about(keeper: ThemeKeeper) -> QWidget:
    dialog = AboutDialog(keeper, "1.2.3")
    dialog.show_facts(
        (
            ("Runs models with", "llama-cpp-python 0.3.36"),
            ("Features in use", "CPU, SSE3, SSSE3, AVX, AVX2, F16C, FMA, BMI2, LLAMAFILE, OPENMP, REPACK"),
            ("Built on", "Python 3.11.7, Qt 6.11.3"),
            ("Data folder", "/home/somebody/.local/share/slipstream"),
        )
    )
    return dialog


def _welcome(keeper: ThemeKeeper) -> QWidget:
    window = main_window(keeper)
    window.transcript.welcome.show_introduction(True)
    return window


def _loading(keeper: ThemeKeeper) -> QWidget:
    window = main_window(keeper)
    window.target_bar.show_loading("Tiny", 0.4)
    return window


def _settings(keeper: ThemeKeeper, group: SettingsPage) -> SettingsDialog:
    dialog = SettingsDialog(keeper, shown_settings(AppSettings))
    window = MainWindow(keeper)
    window.setParent(dialog)
    window.hide()
    dialog.add_link(LinkRow(keeper, SettingsPage.MODELS, window.personal_action, "Whether the drafter learns."))
    changed = AppSettings(sampling=SamplingSettings(temperature=0.3), context_size=4096, theme="dark", notify=False)
    dialog.show_values(changed.model_dump())
    dialog.show_shortcuts(Shortcuts(window).shown())
    dialog.show_loading_needed(True)
    dialog.refuse_keys("new", "Ctrl+B", KeyProblem("Ctrl+B is already used for “Show or hide the sidebar”.", "sidebar"))
    dialog.show_page(group)
    return dialog


def _shortcuts(keeper: ThemeKeeper) -> QWidget:
    window = MainWindow(keeper)
    dialog = ShortcutsDialog(Shortcuts(window).shown(), fixed_keys(False))
    window.setParent(dialog)
    window.hide()
    return dialog


def _personalization(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = PersonalDialog(LearningSettings())
    summary = replace(learned(num_models=2), benefits={IN_USE: benefit()})
    progress = ProgressView("12 of about 36 replies until a first result.", "Practice helps.", 1 / 3)
    dialog.learned.show_models(model_views(summary, TINY, progress))
    dialog.show_words("Learned from 12 replies.", can_undo=True)
    return dialog


def _compared_replies(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = ComparedDialog()
    dialog.show_replies("Tiny", compared(50))
    return dialog


def _library(keeper: ThemeKeeper) -> QWidget:
    dialog = LibraryDialog(keeper, SamplingSettings(), "hub.example.org")
    dialog.library.set_targets(TARGETS)
    dialog.library.set_in_use(TARGETS[0].reference, True)
    return dialog


def _speed(keeper: ThemeKeeper) -> QWidget:
    page = HistoryPage(keeper)
    page.show_history(history())
    return page


def _this_chat(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = ConversationDialog()
    dialog.show_values("“Chat”", "This holds for one chat alone.", "", OwnSampling(), ReplySettings(), "")
    return dialog


def _store(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = StoreDialog()
    dialog.show_sentence(SENTENCE)
    return dialog


def _drafter(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = DrafterDialog(("JackFram/llama-68m",))
    dialog.show_state("The starter guesses ahead for qwen2.5-7b.", CHOICE.why)
    dialog.show_choice(CHOICE, "qwen2.5-7b")
    dialog.form.show_models(TARGETS[1:2])
    dialog.form.show_scope("qwen2.5-7b", False)
    dialog.show_words("Downloading somebody/a-model-with-a-long-name: 1.5 of 3.0 MB.")
    dialog.show_downloading(True)
    return dialog


def _chat_template(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    families = FamilyTemplate("ChatML", CHATML), FamilyTemplate("Gemma", "{{ gemma }}", ("<start_of_turn>",))
    dialog = ChatTemplateDialog()
    dialog.show_templates("qwen2.5-7b", TemplateFacts(CHATML, CHATML, "", families, "", "<|im_end|>"), "{{ gemma }}")
    dialog.show_problem("The chat template that you chose cannot be used (it writes nothing); choose another one.")
    return dialog


def _forms(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = QuantizationsDialog()
    dialog.show_model("smol (starter)", "The starter model uses Q8_0, where it writes 1.24 times as fast.", True)
    own = QuantizationRow("Q4_K_M", QWEN.size_bytes, REPORT.original, is_original=True)
    dialog.show_quantizations(quantization_rows(own, OFFERS, REPORT, ()), REPORT, True)
    dialog.show_words("qwen2.5-7b: timing Q4_0.")
    dialog.show_busy(True)
    return dialog


def _presets(keeper: ThemeKeeper, page: int) -> QWidget:
    dialog = PresetsDialog(keeper)
    dialog.presets.set_targets((TargetChoice("SmolLM2-135M-Instruct", "file:1"), TargetChoice("qwen2.5-7b", "file:2")))
    presets = [replace(each, id=number) for number, each in enumerate(example_presets(), 1)]
    dialog.presets.set_presets([replace(presets[0], target=TargetChoice("another", "file:3")), *presets[1:]])
    dialog.prompts.set_prompts([replace(each, id=number) for number, each in enumerate(example_prompts(), 1)])
    dialog.pages.setCurrentIndex(page)
    dialog.show_words("The prompt “Greet” was deleted.", lambda: None)
    return dialog


def _save_preset(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = SavePresetDialog()
    presets = [replace(each, id=number) for number, each in enumerate(example_presets(), 1)]
    values = ChatValues("Be kind.", OwnSampling(temperature=0.3), True, TargetChoice("SmolLM2-135M-Instruct"))
    dialog.ask(values, presets, presets[0].name, "Ctrl+P")
    return dialog


def _tour(keeper: ThemeKeeper) -> QWidget:
    window = main_window(keeper)
    steps = (
        TourStep(lambda: window.prompt_box.frame, "Write here", "Type a message and press Enter. " * 3),
        TourStep(lambda: window.meter, "See how fast it is", "Parts of a reply are guessed and checked."),
    )
    tour = Tour(keeper, window, lambda: steps)
    tour.begin()
    tour.next_button.click()
    return window


def _calls(keeper: ThemeKeeper) -> QWidget:
    window = main_window(keeper)
    asked = call(7, '{"city": "London", "days": 3}')
    window.transcript.show_messages((*calls(), prompt(6, "And in London?")))
    window.transcript.begin_reply()
    window.transcript.finish_reply(calling(7, 6, asked, call(8)))
    window.transcript.calls.set_phase(asked.id, CallPhase.ASKED, ToolAsked(1, 7, asked, FORECAST))
    window.prompt_box.tools.show_servers(("weather", "files"), ("weather",), {}, "")
    return window


def _tools(keeper: ThemeKeeper, page: int = 0) -> QWidget:
    dialog = ToolsDialog(keeper)
    servers = (
        ToolServer("files", "npx", ("-y", "@modelcontextprotocol/server-filesystem", "/home/somebody/notes")),
        ToolServer("weather", url="https://weather.example.org/mcp", is_on=False),
    )
    dialog.servers.show_servers(servers)
    failed = "The server weather cannot be reached; check its address."
    dialog.servers.show_states({"files": (ServerState.READY, ""), "weather": (ServerState.FAILED, failed)})
    dialog.servers.show_tools("files", (Tool("files", "read_file", "Reads a file."), Tool("files", "write_file")))
    dialog.servers.form.show()
    dialog.servers.form.show_problem("“x” must have either a command or a url.")
    dialog.json.show_json(write_tool_servers(servers))
    dialog.json.field.insertPlainText("x")
    dialog.json.check()
    dialog.allowed.show_allowed((AllowedTool("files", "read_file", ToolDefinition("", "", "", "{}")),), ())
    dialog.show_words("files was added.")
    dialog.tabs.setCurrentIndex(page)
    return dialog


def _server(keeper: ThemeKeeper) -> QWidget:  # noqa: ARG001
    dialog = ServerDialog()
    dialog.show_choice(ServerChoice(True, 8642, False, False))
    dialog.show_state("http://127.0.0.1:8642", "")
    dialog.show_clients((Client("my editor", is_remembered=True), Client("phone")))
    dialog.show_key("phone", "slip-" + "Xy9_" * 11)
    dialog.show_problem(SENTENCE)
    return dialog


def _elsewhere(keeper: ThemeKeeper) -> QWidget:
    """A model on a server, with a reply of it."""
    window = main_window(keeper)
    window.target_bar.set_target(on_server(DESK))
    written = replace(reply(1), server=DESK.address, target_name=DESK.models[0].name)
    window.transcript.show_messages((prompt(0, "Why is the sky blue?"), written))
    window.meter.show_readiness(Readiness.ELSEWHERE, "Workstation decides by itself whether to guess ahead.")
    window.meter.show_reply(written.statistics, DESK.host)
    return window


def _model_servers(keeper: ThemeKeeper, has_question: bool = False) -> QWidget:  # noqa: ARG001
    dialog = ModelServersDialog()
    sightings = {DESK.address: Sighting(sentence="192.168.1.5 cannot be reached."), AGREED.address: Sighting(True)}
    dialog.show_servers((AGREED, DESK), sightings)
    dialog.change(AGREED.address)
    dialog.form.show_key_note("")
    if has_question:
        dialog.form.show_untrusted("ab12" * 16, "No authority vouches for the certificate of models.example.org.")
    else:
        dialog.form.show_seen(AGREED, "The connection is not encrypted.")
    dialog.show_words("Example was changed.")
    return dialog


TOP_LEVELS: dict[str, Callable[[ThemeKeeper], QWidget]] = {
    "main window, empty": main_window,
    "main window, chat": _chat,
    "main window, welcome": _welcome,
    "main window, loading": _loading,
    "main window, notices": _notices,
    "main window, tour": _tour,
    "main window, order": _order,
    "folder": _folder,
    "about": _about,
    "drafter": _drafter,
    "forms": _forms,
    "chat template": _chat_template,
    "personalization": _personalization,
    "replies with and without what was learned": _compared_replies,
    "library": _library,
    "this chat": _this_chat,
    "guided start, measured": lambda _keeper: _guided(0),
    "guided start, compared": lambda _keeper: _guided(1),
    "guided start, expected": lambda _keeper: _guided(2),
    "comparison": lambda _keeper: CompareDialog(),
    "picture": _picture,
    "speed": _speed,
    "presets": lambda keeper: _presets(keeper, 0),
    "prompts": lambda keeper: _presets(keeper, 1),
    "save a preset": _save_preset,
    "shortcuts": _shortcuts,
    "server": _server,
    "store": _store,
    "main window, calls": _calls,
    "tools": _tools,
    "tools, as JSON": lambda keeper: _tools(keeper, 1),
    "tools, always allowed": lambda keeper: _tools(keeper, 2),
    "main window, model on a server": _elsewhere,
    "model servers": _model_servers,
    "model servers, certificate": lambda keeper: _model_servers(keeper, True),
    "user guide": lambda keeper: GuideDialog(keeper, read_guide()),
    "settings, chat": lambda keeper: _settings(keeper, SettingsPage.CHAT),
    "settings, shortcuts": lambda keeper: _settings(keeper, SettingsPage.SHORTCUTS),
}
