"""Servers that do what they should, and servers that do anything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import tests.fakes.rogue_server
from engine.backend.tools.host import ServerHost
from engine.backend.tools.interface import ServerUnusable, ToolAnswer
from engine.values.errors import Cancelled
from engine.values.events import Event, ToolServerChanged
from engine.values.stop_signal import StopSignal
from engine.values.tools import Outcome, ServerState, Tool, ToolServer

SCRIPT = str(Path(tests.fakes.rogue_server.__file__))
PATIENCE_S = 20.0


def rogue(name: str = "rogue", *arguments: str) -> ToolServer:
    return ToolServer(name, sys.executable, ("-I", SCRIPT, *arguments))


class Desk:
    """A host with short deadlines, and what it told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.host = ServerHost(self.events.append, start_s=PATIENCE_S, call_s=PATIENCE_S)

    def call(self, tool: str, text: str = "hello", server: str = "rogue", stop: StopSignal | None = None) -> ToolAnswer:
        stop = stop or StopSignal()
        offered = [] if stop.is_set() else self._offered(server)
        found = next((each for each in offered if each.name == tool), Tool(server, tool))
        return self.host.call(found, json.dumps({"text": text}), stop)

    def _offered(self, server: str) -> tuple[Tool, ...]:
        try:
            return self.host.tools_of(server, StopSignal())
        except ServerUnusable:
            return ()

    def states(self, server: str = "rogue") -> list[ServerState]:
        return [each.state for each in self.events if isinstance(each, ToolServerChanged) and each.server == server]

    def use(self, *servers: ToolServer) -> None:
        self.host.use(servers)
        self.events.clear()

    def begin(self, *arguments: str) -> None:
        self.use(rogue("rogue", *arguments))
        self.host.tools_of("rogue", StopSignal())


@pytest.fixture(scope="module")
def shared() -> Iterator[Desk]:
    """One process for all tests of this module: it loads its libraries once."""
    desk = Desk()
    yield desk
    desk.host.close()


@pytest.fixture
def desk(shared: Desk) -> Iterator[Desk]:
    shared.host._call_s = shared.host._start_s = PATIENCE_S
    yield shared
    shared.host.use(())


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.01)


def test_a_server_is_started_when_it_is_used_and_not_before(desk: Desk) -> None:
    desk.use(rogue())
    assert desk.states() == []
    tools = desk.host.tools_of("rogue", StopSignal())
    assert desk.states() == [ServerState.STARTING, ServerState.READY]
    assert (tools[0].name, tools[0].server, tools[0].description) == ("echo", "rogue", "Says it again.")
    assert json.loads(tools[0].schema)["required"] == ["text"]
    assert desk.host.tools_of("rogue", StopSignal()) == tools
    assert desk.states() == [ServerState.STARTING, ServerState.READY], "once"


def test_a_call_is_answered(desk: Desk) -> None:
    desk.begin()
    answer = desk.call("echo", "Grüße\n“x”")
    assert (answer.text, answer.outcome) == ("Grüße\n“x”", Outcome.DONE)


def test_what_a_tool_says_of_its_own_failure_is_told(desk: Desk) -> None:
    desk.begin()
    answer = desk.call("wrong", "no such file")
    assert (answer.text, answer.outcome) == ("no such file", Outcome.FAILED)


def test_other_words_on_the_way_are_passed_over(desk: Desk) -> None:
    desk.begin()
    assert desk.call("noise").text == "hello"


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("die", "stopped by itself"),
        ("flood", "sent more than it may"),
        ("flood_line", "sent more than it may"),
        ("deep", "not a message of the protocol"),
        ("garbage", "not a message of the protocol"),
    ],
)
def test_a_server_that_misbehaves_is_ended_and_started_again(desk: Desk, tool: str, words: str) -> None:
    desk.begin()
    answer = desk.call(tool)
    assert answer.outcome is Outcome.FAILED
    assert words in answer.text
    assert desk.call("echo").text == "hello", "it is started again when it is used"


def test_one_that_hangs_is_given_up_and_ended(desk: Desk) -> None:
    desk.begin("--log", os.devnull)
    (process,) = servers_running(desk)
    desk.host._call_s = 0.3
    answer = desk.call("hang")
    assert answer.outcome is Outcome.TIMED_OUT
    assert answer.seconds < PATIENCE_S
    until(lambda: not process.is_running())
    desk.host._call_s = PATIENCE_S
    assert desk.call("echo").text == "hello"


def servers_running(desk: Desk) -> list[psutil.Process]:
    running = desk.host._running
    assert running is not None
    children = psutil.Process(running.process.pid).children(recursive=True)
    return [each for each in children if SCRIPT in each.cmdline()]


def test_a_call_can_be_stopped_at_any_moment(desk: Desk) -> None:
    desk.begin()
    stop = StopSignal()
    threading.Timer(0.1, stop.set).start()
    start = time.monotonic()
    assert desk.call("hang", stop=stop).outcome is Outcome.STOPPED
    assert time.monotonic() - start < 2.0
    assert desk.call("echo").text == "hello", "the one that hangs was ended"


def test_starting_can_be_stopped(desk: Desk) -> None:
    desk.use(rogue("rogue", "--on-start", "hang"))
    stop = StopSignal()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Cancelled):
        desk.host.tools_of("rogue", stop)


def test_one_that_says_nothing_when_it_is_started_is_given_up(desk: Desk) -> None:
    desk.use(rogue("rogue", "--on-start", "hang"))
    desk.host._start_s = 0.5
    with pytest.raises(ServerUnusable, match="did not say what it offers"):
        desk.host.tools_of("rogue", StopSignal())
    assert desk.states() == [ServerState.STARTING, ServerState.FAILED]


@pytest.mark.parametrize(
    ("what", "words"), [("die", "It reported: The key is missing"), ("flood", "sent more than it may")]
)
def test_one_that_fails_at_once_says_why(desk: Desk, what: str, words: str) -> None:
    desk.use(rogue("rogue", "--on-start", what))
    with pytest.raises(ServerUnusable, match=words):
        desk.host.tools_of("rogue", StopSignal())


def test_a_program_that_is_not_there_is_named(desk: Desk) -> None:
    desk.use(ToolServer("rogue", "no-such-program"))
    with pytest.raises(ServerUnusable, match="there is no program no-such-program"):
        desk.host.tools_of("rogue", StopSignal())


@pytest.mark.parametrize("tool", ["sample", "elicit", "roots"])
def test_a_server_gets_neither_the_model_nor_the_user_nor_folders(desk: Desk, tool: str) -> None:
    desk.begin()
    assert desk.call(tool).text == "refused"


def test_a_long_answer_is_cut(desk: Desk) -> None:
    desk.begin()
    answer = desk.call("large")
    assert (len(answer.text), answer.num_left_out) == (200_000, 2_800_000)


def test_words_beside_its_messages_do_not_stop_a_server(desk: Desk) -> None:
    desk.begin()
    assert desk.call("flood_errors").text == "hello"


def test_one_that_dies_while_nobody_calls_is_told_and_started_again(desk: Desk) -> None:
    desk.begin()
    servers_running(desk)[0].kill()
    until(lambda: ServerState.FAILED in desk.states())
    assert desk.call("echo").text == "hello"


def test_one_that_is_changed_or_gone_is_ended_with_all_that_it_started(desk: Desk) -> None:
    desk.begin("--on-start", "child")
    processes = servers_running(desk)
    assert len(processes) == 2
    desk.host.use([rogue("rogue", "--log", os.devnull)])
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes))
    assert ServerState.ENDED in desk.states()


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a mark in the environment is all")


@linux_only
@pytest.mark.parametrize("tool", ["leave", "leave_bare"])
def test_what_it_left_behind_in_a_session_of_its_own_ends_with_it(desk: Desk, tool: str) -> None:
    desk.use(rogue(), rogue("other", "--log", os.devnull))
    own, others = (
        psutil.Process(int(desk.call(tool).text)),
        psutil.Process(int(desk.call("leave", server="other").text)),
    )
    desk.host.end(["rogue"])
    assert not own.is_running()
    assert others.is_running()
    desk.host.end(["other"])
    assert not others.is_running()


_USE_AND_WAIT = """
import sys, time
from engine.values.tools import ToolServer
from engine.values.stop_signal import StopSignal
from engine.backend.tools.host import ServerHost
if __name__ == "__main__":
    host = ServerHost(lambda _event: None)
    host.use([ToolServer("rogue", sys.executable, ("-I", sys.argv[1]))])
    tool = next(each for each in host.tools_of("rogue", StopSignal()) if each.name == "leave_bare")
    print(host.call(tool, '{"text": ""}', StopSignal()).text, flush=True)
    time.sleep(3600)
"""


@linux_only
def test_what_was_left_behind_ends_when_the_app_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(_USE_AND_WAIT)
    root = str(Path(tests.__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": root}
    with subprocess.Popen([sys.executable, script, SCRIPT], stdout=subprocess.PIPE, text=True, env=environment) as app:
        assert app.stdout is not None
        try:
            left = psutil.Process(int(app.stdout.readline()))
            below = psutil.Process(app.pid).children(recursive=True)
        finally:
            app.kill()
    until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in (*below, left)))


def test_a_tool_that_is_not_as_the_user_was_told_does_not_run(desk: Desk, tmp_path: Path) -> None:
    desk.begin("--log", str(tmp_path / "calls.log"))
    told = Tool("rogue", "echo", "Reads the weather.")
    answer = desk.host.call(told, '{"text": "hello"}', StopSignal())
    assert (answer.outcome, "has changed; ask for this once more" in answer.text) == (Outcome.FAILED, True)
    answer = desk.host.call(Tool("rogue", "gone"), "{}", StopSignal())
    assert "does not offer" in answer.text
    assert not (tmp_path / "calls.log").exists()


def test_a_server_that_is_off_is_not_started(desk: Desk) -> None:
    desk.use(ToolServer("rogue", sys.executable, is_on=False))
    with pytest.raises(ServerUnusable):
        desk.host.tools_of("rogue", StopSignal())
    assert desk.call("echo").outcome is Outcome.FAILED


def test_what_harms_one_server_harms_no_other(desk: Desk) -> None:
    desk.use(rogue(), rogue("other", "--log", os.devnull))
    answers: list[ToolAnswer] = []
    thread = threading.Thread(target=lambda: answers.append(desk.call("flood")))
    thread.start()
    assert [desk.call("echo", str(number), "other").text for number in range(20)] == [*map(str, range(20))]
    thread.join()
    assert answers[0].outcome is Outcome.FAILED


def test_when_the_process_itself_dies_everything_is_started_again() -> None:
    desk = Desk()
    try:
        desk.begin()
        running = desk.host._running
        assert running is not None
        left = [] if sys.platform == "win32" else [psutil.Process(int(desk.call("leave").text))]
        processes = [*servers_running(desk), *left]
        threading.Timer(0.1, running.process.kill).start()
        answer = desk.call("hang")
        assert answer.outcome is Outcome.FAILED
        until(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes))
        assert desk.call("echo").text == "hello"
    finally:
        desk.host.close()


def test_closing_ends_all_servers_soon() -> None:
    desk = Desk()
    desk.begin()
    processes = servers_running(desk)
    desk.host.close()
    until(lambda: not any(each.is_running() for each in processes))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-I", SCRIPT, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        process.kill()


def at(address: str, key: str = "sesame") -> ToolServer:
    return ToolServer("rogue", url=address, headers=(("Authorization", f"Bearer {key}"),))


def test_a_server_at_an_address_is_called(desk: Desk, address: str) -> None:
    desk.use(at(address))
    assert len(desk.host.tools_of("rogue", StopSignal())) == 18
    assert desk.call("echo").text == "hello"


def test_one_that_refuses_access_says_so(desk: Desk, address: str) -> None:
    desk.use(at(address, "abracadabra"))
    with pytest.raises(ServerUnusable, match="denies access"):
        desk.host.tools_of("rogue", StopSignal())


def test_one_that_cannot_be_reached_says_so(desk: Desk) -> None:
    desk.use(at("http://127.0.0.1:9/mcp"))
    with pytest.raises(ServerUnusable, match="cannot be reached"):
        desk.host.tools_of("rogue", StopSignal())


def test_one_that_floods_over_http_is_given_up(desk: Desk, address: str) -> None:
    desk.use(at(address))
    desk.host.tools_of("rogue", StopSignal())
    answer = desk.call("flood")
    assert answer.outcome is Outcome.FAILED
    assert "sent more than it may" in answer.text
    assert desk.call("echo").text == "hello"
