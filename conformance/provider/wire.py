"""Chapter 85: a provider in a process of its own."""

import contextlib
import json
import time
from typing import Any

import psutil

from memproto.testing.clauses import Inconclusive, Lost, Untestable, check
from memproto.testing.evidence import Differs, Late, Left, NotRecalled
from memproto.testing.facts import Fact
from memproto.testing.needs import BETTER_RECALL, NO_REFUSAL, depends_on
from memproto.testing.provider import losses, routes, write_action
from memproto.testing.provider.run import Run
from memproto.testing.provider.server import RawServer, Silent, serving
from memproto.testing.wire import shorten

#: Seconds, by the chapter.
_PING_S, _CANCEL_S, _GREETING_S = 1.0, 1.0, 5.0
_END_S, _INPUT_END_S = 2.0, 15.0

#: Seconds that a check may take, of which it waits for a silent server most of the time.
_CHECK_S = 240.0

#: Bytes of the longest line.
_LONGEST = 16 * 1024 * 1024

#: Requests whose answers fill any pipe.
_MANY = 3_000

#: Requests that fill the pipe behind a server that has read a long part, and waits to answer it.
_UNREAD = 12_000

_QUESTION = {"user_message": "Where do I keep my boat?", "messages": []}

#: The requirements that a server violates whose plain session comes to no end.
_PLAIN = ("MP-WIRE-003", "MP-WIRE-019")


def _serving(run: Run, wanted: str, **how: bool) -> contextlib.AbstractContextManager[RawServer]:
    return serving(run, wanted, behind=_PLAIN, **how)


@check("MP-WIRE-001", budget_s=_CHECK_S)
def the_output_holds_messages_only(run: Run) -> None:
    wanted = "messages of the protocol on the standard output, and nothing else"
    with _serving(run, wanted) as server:
        server.open()
        server.ask("recall", **_QUESTION)
        server.ask("record", user_message=run.facts.new().text, assistant_response="Noted.")
        server.ask("close")
        server.end_input()
        server.ends(_INPUT_END_S)
        server.rest(to_the_end=True)
    if server.stray:
        run.violated(Differs(wanted=wanted, seen=shorten(repr(server.stray[0]))))


@check("MP-WIRE-002", budget_s=_CHECK_S)
def each_request_is_answered_once(run: Run) -> None:
    wanted = "one answer to each request, with its id, and none to a notification"
    with _serving(run, wanted) as server:
        server.open()
        server.notify("ping")
        for _ in range(3):
            server.ask("ping")
            server.ask("recall", **_QUESTION)
        server.ask("close")
        server.end_input()
        server.ends(_INPUT_END_S)
        surplus = server.rest(to_the_end=True)
    if surplus:
        run.violated(Differs(wanted=wanted, seen=f"besides, {shorten(json.dumps(surplus[0]))}"))


@check("MP-WIRE-003", budget_s=_CHECK_S)
def an_answer_is_written_at_once(run: Run) -> None:
    wanted = "the answer before the next request is sent"
    with serving(run, wanted) as server:
        server.open()
        for method, params in (("recall", _QUESTION), ("ping", {})):
            number = server.request(method, **params)
            try:
                server.answer(number, 5.0)
            except Silent:
                for _ in range(_MANY):
                    server.request("ping")
                server.answer(number, 5.0)
                seen = f"the answer to a {method} only behind {_MANY:,} further requests"
                run.violated(Differs(wanted=wanted, seen=seen))


@check("MP-WIRE-004", budget_s=_CHECK_S)
def ping_is_answered_while_a_hook_runs(run: Run) -> None:
    wanted = f"an answer to ping within {_PING_S:g} s while a hook runs"
    with _serving(run, wanted) as server:
        server.open()
        text = " ".join(run.facts.new().text for _ in range(200))
        turn = {"user_message": text, "assistant_response": "Noted."}
        said = [{"role": "user", "content": text}] * 20
        for method, params in (
            ("record", turn),
            ("recall", {"user_message": text, "messages": []}),
            ("compress", {"messages": said, "compression_count": 1}),
        ):
            hook = server.request(method, **params)
            timed = _Timed(server)
            server.ask("ping")
            timed.judge(run, f"ping beside {method}", _PING_S)
            server.answer(hook, 120.0)


@check("MP-WIRE-005", budget_s=_CHECK_S)
def requests_are_read_while_answers_are_not(run: Run) -> None:
    wanted = "requests that are read while nobody reads the answers"
    with _serving(run, wanted, reads=False) as server:
        # The first lines fill the pipe of the answers, and the rest that of the requests.
        pings = [server.request("ping") for _ in range(_UNREAD)]
        server.listen()
        for number in pings:
            server.answer(number)


@check("MP-WIRE-006", budget_s=_CHECK_S)
def long_lines_are_served_and_longer_ones_refused(run: Run) -> None:
    wanted = "a line of 1 MB served, one over 16 MiB refused with TooLarge, and a server that lives"
    with _serving(run, wanted) as server:
        server.open()
        text = "a" * 1_000_000
        answer = server.ask("recall", user_message=text, messages=[])
        if "error" in answer:
            run.violated(Differs(wanted=wanted, seen=_shown("1 MB", answer)))
        number = server.request("recall", user_message="a" * (_LONGEST + 10), messages=[])
        # The server may not have read so far as the id.
        refusal = server.answer(number, 60.0, or_none=True)
        if refusal.get("error", {}).get("code") != -32013:
            run.violated(Differs(wanted=wanted, seen=_shown("16 MiB and more", refusal)))
        server.ask("ping")


@check("MP-WIRE-007", budget_s=_CHECK_S)
def a_line_that_is_no_message_is_answered(run: Run) -> None:
    lines = {
        "no JSON": (b'{"jsonrpc":"2.0","id":', -32700),
        "no UTF-8": (b'{"jsonrpc":"2.0","id":800,"method":"\xff\xfe"}', -32700),
        "a list": (b"[]", -32600),
        "a number": (b"3", -32600),
    }
    for name, (line, code) in lines.items():
        wanted = f"an error {code} for a line that is {name}, and a server that goes on"
        with _serving(run, wanted) as server:
            server.greet()
            server.send(line + b"\n")
            answers = []
            # Answers come in any order: that of the ping may be the first.
            try:
                answers.append(server.answer(None))
            except Silent:
                if server.process.poll() is not None:
                    raise
            server.ask("ping")
            codes = [item.get("error", {}).get("code") for item in answers + server.rest()]
        if codes != [code]:
            run.violated(Differs(wanted=wanted, seen=f"answers with the codes {codes}"))


@check("MP-WIRE-008", budget_s=_CHECK_S)
def half_a_surrogate_pair_is_survived(run: Run) -> None:
    wanted = "an answer to a recall whose question holds half a surrogate pair, and to the next"
    with _serving(run, wanted) as server:
        server.open()
        params = b'{"user_message":"Where is \\ud83d?","messages":[]}'
        server.send(b'{"jsonrpc":"2.0","id":700,"method":"recall","params":%b}\n' % params)
        behind = server.request("ping")
        server.answer(behind)
        server.answer(700)


@check("MP-WIRE-009", budget_s=_CHECK_S)
def unknown_methods_are_refused_and_unknown_keys_ignored(run: Run) -> None:
    wanted = "MethodNotFound for an unknown method; unknown keys and notifications ignored"
    with _serving(run, wanted) as server:
        server.open()
        answer = server.ask("frobnicate")
        if answer.get("error", {}).get("code") != -32601:
            run.violated(Differs(wanted=wanted, seen=_shown("frobnicate", answer)))
        server.notify("frobnicate")
        answer = server.ask("recall", **_QUESTION, later=[1])
        if "error" in answer:
            run.violated(Differs(wanted=wanted, seen=_shown("a recall with a key more", answer)))


@check("MP-WIRE-010", budget_s=_CHECK_S)
def a_foreign_version_is_refused(run: Run) -> None:
    wanted = "UnsupportedVersion, with the server's own versions in data.wire"
    host = {"name": "memproto-kit", "version": "1.0"}
    with _serving(run, wanted) as server:
        params = {"spec_version": "1.0", "host": host, "max_line": _LONGEST}
        answer = server.ask("initialize", wire=[999], **params)
        error = answer.get("error", {})
        versions = error.get("data", {}).get("wire")
        if error.get("code") != -32001 or not isinstance(versions, list) or 999 in versions:
            run.violated(Differs(wanted=wanted, seen=_shown("version 999", answer)))


@check("MP-WIRE-011", budget_s=_CHECK_S)
def a_request_out_of_its_state_is_refused(run: Run) -> None:
    wanted = "NotOpen for a recall before `open`, and behind `close`"
    with _serving(run, wanted) as server:
        server.greet()
        early = server.ask("recall", **_QUESTION)
        if early.get("error", {}).get("code") != -32002:
            run.violated(Differs(wanted=wanted, seen=_shown("a recall before open", early)))
    with _serving(run, wanted) as server:
        server.open()
        server.ask("close")
        late = server.ask("recall", **_QUESTION)
        if late.get("error", {}).get("code") != -32002:
            run.violated(Differs(wanted=wanted, seen=_shown("a recall behind close", late)))


@check("MP-WIRE-012", budget_s=_CHECK_S)
def a_cancelled_request_is_answered(run: Run) -> None:
    wanted = "an answer to a cancelled recall within 1 s, and later calls that work"
    with _serving(run, wanted) as server:
        server.open()
        number = server.request("recall", **_QUESTION)
        server.notify("$/cancel", id=number)
        timed = _Timed(server)
        server.answer(number)
        timed.judge(run, "a cancelled recall", _CANCEL_S)
        behind = server.ask("recall", **_QUESTION)
        if "error" in behind:
            run.violated(Differs(wanted=wanted, seen=_shown("the next recall", behind)))


@check("MP-WIRE-013", budget_s=_CHECK_S, calls_alone=False)
def the_end_of_the_input_closes(run: Run) -> None:
    wanted = f"a server that stores and ends within {_INPUT_END_S:g} s when its input ends"
    route = run.needs_route("turns", "writes")
    fact, closed = run.facts.several(2)
    with _serving(run, wanted) as server:
        _live(run, server, route, fact)
        server.end_input()
        status = server.ends(_INPUT_END_S)
    if status is None:
        state = "had not ended when its input had ended"
        run.violated(Differs(wanted=wanted, seen=f"{state} {_INPUT_END_S:g} s before"))
    if losses.is_stored(run, fact):
        return
    with _serving(run, wanted) as server:
        _live(run, server, route, closed)
        server.ask("close")
        server.end_input()
        server.ends(_INPUT_END_S)
    if not losses.is_stored(run, closed):
        raise Lost("a fact that was stored before `close` does not come back either", BETTER_RECALL)
    run.violated(NotRecalled(wanted=wanted, texts=(fact.text,)))


def _live(run: Run, server: RawServer, route: str, fact: Fact) -> None:
    """A session in which the fact is stored."""
    if route == "writes":
        run.learn_writing()
    server.open()
    if route == "turns":
        params = {"user_message": fact.text, "assistant_response": routes.reply_to(fact)}
        answer = server.ask("record", **params)
    else:
        names = ("action", "target", "content", "old_text")
        given = write_action.arguments(run.writing.first, fact.text)
        answer = server.ask("mirror", **dict(zip(names, given, strict=False)))
    if "error" in answer:
        raise Untestable(f"a plain fact was refused: {_shown(route, answer)}", NO_REFUSAL)


@check("MP-WIRE-014", budget_s=_CHECK_S)
def a_closed_server_ends(run: Run) -> None:
    wanted = f"exit status 0 within {_END_S:g} s after close and the end of the input"
    with _serving(run, wanted) as server:
        server.open()
        server.ask("record", user_message=run.facts.new().text, assistant_response="Noted.")
        server.ask("close")
        timed = _Timed(server)
        server.end_input()
        status = server.ends(_INPUT_END_S)
        timed.judge(run, "the end of the process", _END_S)
        if status:
            run.violated(Differs(wanted=wanted, seen=f"exit status {status}"))


@check("MP-WIRE-015", budget_s=_CHECK_S)
def nothing_outlives_the_host(run: Run) -> None:
    wanted = f"no process {_INPUT_END_S:g} s after the host's end"
    with _serving(run, wanted) as server:
        server.open()
        server.ask("recall", **_QUESTION)
        server.ask("record", user_message=run.facts.new().text, assistant_response="Noted.")
        known = _family(server.process.pid)
        # A host that is killed closes both ends.
        server.end_input()
        assert server.process.stdout is not None
        if server.ends(_INPUT_END_S) is None:
            reason = "the server itself does not end with its input"
            raise Untestable(reason, depends_on("MP-WIRE-013"))
        _, alive = psutil.wait_procs(known, timeout=_END_S * run.context.scale)
        left = [item for item in alive if _runs(item)]
        names = tuple(sorted({_name(item) for item in left}))
        for item in left:
            item.kill()
    if names:
        run.violated(Left(wanted=wanted, kind_of="process", names=names, count=len(left)))


def _family(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return "a process"


@check("MP-WIRE-016", budget_s=_CHECK_S)
def it_works_without_a_reader_of_its_errors(run: Run) -> None:
    wanted = "answers, though nobody reads the standard error"
    with _serving(run, wanted, errors=False) as server:
        server.open()
        for method, params in (
            ("recall", _QUESTION),
            ("record", {"user_message": run.facts.new().text, "assistant_response": "Noted."}),
            ("close", {}),
        ):
            answer = server.ask(method, **params)
            if "error" in answer:
                run.violated(Differs(wanted=wanted, seen=_shown(method, answer)))


@check("MP-WIRE-017", budget_s=_CHECK_S)
def the_greeting_is_answered_soon(run: Run) -> None:
    wanted = f"an answer to the greeting within {_GREETING_S:g} s"
    with _serving(run, wanted) as server:
        timed = _Timed(server)
        server.greet()
        timed.judge(run, "the greeting", _GREETING_S)


@check("MP-WIRE-018")
def messages_fit_their_schema(run: Run) -> None:
    """Each message of a session is looked at by the connection, beside that of every check."""
    with run.session() as subject:
        subject.recall("Where do I keep my boat?")
        subject.record(run.facts.new().text)


@check("MP-WIRE-019")
def a_server_runs_until_its_input_ends(run: Run) -> None:
    with run.session() as subject:
        subject.recall("Where do I keep my boat?")
        subject.record(run.facts.new().text)


# --------------------------------------------------------------------------------------------------


def _shown(to: str, answer: dict[str, Any]) -> str:
    return f"{to} is answered by {shorten(json.dumps({k: answer[k] for k in answer if k != 'id'}))}"


class _Timed:
    """A time of a server, from its construction on; the machine's share in it is told apart."""

    def __init__(self, server: RawServer) -> None:
        self._server = server
        self._before_s = server.busy_s()
        self._began = time.monotonic()

    def judge(self, run: Run, what: str, budget_s: float) -> None:
        """See that no more than the budget has passed, of which the server waited for itself."""
        took_s = time.monotonic() - self._began
        budget_s *= run.context.scale
        if took_s <= budget_s:
            return
        busy_s = self._server.busy_s() - self._before_s
        if took_s - busy_s <= budget_s:
            raise Inconclusive(
                f"{what} took {took_s:.2f} s of {budget_s:g} s, in {busy_s:.2f} s of which the "
                "server computed or got no processor"
            )
        wanted = f"{what} within {budget_s:g} s"
        run.violated(Late(wanted=wanted, hook=what, took_s=took_s, budget_s=budget_s))
