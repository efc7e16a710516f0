"""Chapter 85: a host whose providers are programs."""

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from memproto.deadlines import Deadlines
from memproto.testing.clauses import Untestable, Violation, check
from memproto.testing.evidence import Called, Differs, Late, Left, NotReported, Returned
from memproto.testing.host.host import Host, HostLate
from memproto.testing.host.run import HostRun
from memproto.testing.wire import shorten, show
from memproto.wire import codec

#: More than a pipe holds, on any system.
_LONG = "a" * 300_000

#: Seconds that a server has to end behind its input, and again behind SIGTERM.
_END_S = 2.0

#: Seconds within which a request has failed whose server ended: far less than a deadline.
_SOON_S = 8.0

_ANSWER = "The boat is moored in Velbellogren."
_HELD_BACK = "MEMPROTO_KIT_OPERATORS_OWN"
_GIVEN = "MEMPROTO_KIT_GIVEN"


def _assert_recalled(host: Host, wanted: str) -> None:
    found = host.recalled("Where is my boat?")
    if _ANSWER not in found:
        raise Violation(Returned(wanted=wanted, value=show(found)), operation="recall")


def _moves(**moves: Any) -> dict[str, list[dict[str, Any]]]:
    """Moves by method; one for all requests of the method."""
    return {method: move if isinstance(move, list) else [move] for method, move in moves.items()}


# -- what a server writes ------------------------------------------------------------------------


@check("MP-HOST-WIRE-001")
def the_standard_error_is_read(run: HostRun) -> None:
    program = run.program(moves=_moves(recall={"errors": 512, "answer": _ANSWER}))
    host = run.serving_program(program)
    _assert_recalled(host, "the answer of a server that wrote 512 KiB to its standard error first")


@check("MP-HOST-WIRE-002")
def an_answer_is_taken_in_pieces(run: HostRun) -> None:
    # No pipe gives so much at once; and the log comes in one piece with the answer.
    log = {"jsonrpc": "2.0", "method": "log", "params": {"level": "info", "message": "found it"}}
    for wanted, move in {
        "an answer of 300 KB": {"answer": f"{_ANSWER} {_LONG}"},
        "an answer that comes in one piece with a notification": {
            "answer": _ANSWER,
            "before": [json.dumps(log)],
        },
    }.items():
        host = run.serving_program(run.program(moves=_moves(recall=move)))
        _assert_recalled(host, wanted)


@check("MP-HOST-WIRE-003")
def a_line_that_is_no_message_is_skipped(run: HostRun) -> None:
    strays = {
        "a banner": "Acme memory 1.0, ready",
        "half a message": '{"jsonrpc":"2.0","id":',
        "a list": "[]",
        "an empty line": "",
        "an answer with an id that no request has": '{"jsonrpc":"2.0","id":987654,"result":null}',
        "an error without an id": (
            '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"it is no JSON"}}'
        ),
        "a notification of a later release": '{"jsonrpc":"2.0","method":"later","params":{}}',
    }
    for name, line in strays.items():
        program = run.program(moves=_moves(recall={"answer": _ANSWER, "before": [line]}))
        host = run.serving_program(program)
        for _ in range(2):
            _assert_recalled(host, f"the answer behind {name}")


@check("MP-HOST-WIRE-004")
def an_answer_that_comes_late_is_discarded(run: HostRun) -> None:
    def attempt(deadlines: Deadlines) -> None:
        moves = [{"answer": "An old answer.", "is_late": True}, {"answer": _ANSWER}]
        host = run.serving_program(run.program(moves=_moves(recall=moves)), deadlines=deadlines)
        host.recalled("A question that is answered too late?")
        found: list[str] = []

        def is_answered() -> bool:
            # A host may leave the server out until its late call has come back.
            found.append(host.recalled("Where is my boat?"))
            return bool(found[-1])

        if not run.wait_until(is_answered) or _ANSWER not in found[-1]:
            wanted = "the answer to the question that was asked behind a late one"
            run.violated(Returned(wanted=wanted, value=show(found[-1])), operation="recall")

    run.at_some_pace(attempt)


# -- what it is sent -----------------------------------------------------------------------------


@check("MP-HOST-WIRE-005")
def each_line_is_a_message(run: HostRun) -> None:
    program = run.program(moves=_moves(recall={"answer": _ANSWER}))
    host = run.serving_program(program)
    host.recalled("Half a pair \ud83d, and a line\nfeed?")
    host.record("My boat \ud83d is in Velbellogren.")
    host.write("The harbour \ude00 opens at six.")
    host.close()
    wanted = "lines that are messages of the wire, each request with an id of its own"
    seen: set[int] = set()
    for line in program.lines():
        if len(line) > _LONGEST_NOTED:
            continue
        if fault := _fault(line, seen):
            told = f"{fault}: {shorten(repr(line))}"
            run.violated(Differs(wanted=wanted, seen=told), operation="record")
    if not program.heard("recall"):
        raise Untestable("the host asked its server for nothing")


#: Notes end there.
_LONGEST_NOTED = 19_000


def _fault(line: bytes, seen: set[int]) -> str:
    """The thing by which a line is no message of a client; "" if nothing is."""
    try:
        message = codec.decode(line)
    except codec.Malformed as error:
        return str(error)
    if codec.has_halves(line):
        return "a string holds half a surrogate pair"
    if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return "`jsonrpc` or `method` is missing"
    if not isinstance(message.get("params", {}), dict):
        return "`params` is no object"
    number = message.get("id")
    if "id" not in message:
        return ""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        return "the id is no whole number from 1 on"
    if number in seen:
        return "the id is used a second time"
    seen.add(number)
    return ""


@check("MP-HOST-WIRE-006")
def the_greeting_comes_first_and_a_foreign_version_is_refused(run: HostRun) -> None:
    greeted = run.program()
    run.serving_program(greeted).close()
    first = greeted.heard()[:1]
    params = first[0].get("params", {}) if first else {}
    if not first or first[0].get("method") != "initialize" or 1 not in params.get("wire", ()):
        wanted = "`initialize` with the versions of the host first"
        run.violated(Differs(wanted=wanted, seen=shorten(json.dumps(first))), operation="load")
    foreign = run.program(
        moves=_moves(initialize={"answer": {"wire": 2, "name": "from-later", "methods": []}})
    )
    host = run.host()
    if host.register_program(foreign) is None:
        host.open()
    host.close()
    if foreign.heard("open"):
        wanted = "no session with a server that speaks a version which the host did not offer"
        run.violated(Differs(wanted=wanted, seen="`open` was sent"), operation="load")


@check("MP-HOST-WIRE-007")
def the_next_write_waits_for_the_last(run: HostRun) -> None:
    # A host that waits is seen by its silence; the second turn comes when the first is answered.
    program = run.program(moves=_moves(record=[{"until": "go"}, {}]))
    host = run.serving_program(program)
    host.record("The first turn.")
    host.record("The second turn.")
    if not run.wait_until(lambda: bool(program.heard("record"))):
        raise Untestable("the host recorded no turn")
    is_alone = run.stays_silent(lambda: len(program.heard("record")) > 1)
    program.let_go("go")
    if not is_alone:
        wanted = "the second write when the first was answered"
        run.violated(Differs(wanted=wanted, seen="it came before the answer"), operation="record")
    if not run.wait_until(lambda: len(program.heard("record")) == 2):
        times = len(program.heard("record"))
        run.violated(Called(wanted="both writes", hook="record", times=times, due=2))


@check("MP-HOST-WIRE-008")
def a_server_gets_the_variables_that_it_is_to_have(run: HostRun) -> None:
    program = run.program()
    with _variable(_HELD_BACK):
        host = run.serving_program(program, env={_GIVEN: "1"})
    host.close()
    variables = program.notes("started")[0].more["variables"]
    wanted = "the variables that the operator allows, and no others"
    if _HELD_BACK in variables:
        run.violated(Differs(wanted=wanted, seen=f"{_HELD_BACK} is there"), operation="load")
    if _GIVEN not in variables:
        seen = f"{_GIVEN}, which the operator gave, is not there"
        run.violated(Differs(wanted=wanted, seen=seen), operation="load")


@contextlib.contextmanager
def _variable(name: str) -> Iterator[None]:
    """A variable of this process, as an operator's shell has them."""
    os.environ[name] = "hush"
    try:
        yield
    finally:
        del os.environ[name]


# -- deadlines and deaths ------------------------------------------------------------------------


@check("MP-HOST-WIRE-009", budget_s=120.0)
def a_silent_server_holds_no_turn(run: HostRun) -> None:
    def attempt(deadlines: Deadlines) -> None:
        for how, move in {"answers": {"is_silent": True}, "reads": {"is_deaf": True}}.items():
            host = run.serving_program(run.program(moves=_moves(recall=move)), deadlines=deadlines)
            for _ in range(3):
                _assert_returns(host, f"the end of a recall of a server that no longer {how}")

    run.at_some_pace(attempt)


def _assert_returns(host: Host, wanted: str) -> None:
    try:
        host.recalled(_LONG)
    except HostLate as late:
        seen = dataclasses.replace(late.evidence, wanted=wanted)
        raise HostLate(seen, operation="recall") from None


@check("MP-HOST-WIRE-010")
def a_request_that_is_given_up_is_cancelled(run: HostRun) -> None:
    def attempt(deadlines: Deadlines) -> None:
        program = run.program(moves=_moves(recall={"is_silent": True}))
        host = run.serving_program(program, deadlines=deadlines)
        host.recalled("Where is my boat?")
        asked = program.heard("recall")
        if not asked:
            raise Untestable("the host asked its server for nothing")
        number = asked[0].get("id")

        def is_cancelled() -> bool:
            return any(item["params"].get("id") == number for item in program.heard("$/cancel"))

        if not run.wait_until(is_cancelled):
            wanted = "`$/cancel` with the id of the recall that was given up"
            run.violated(Differs(wanted=wanted, seen="it did not come"), operation="recall")

    run.at_some_pace(attempt)


@check("MP-HOST-WIRE-011")
def a_request_fails_when_its_server_ends(run: HostRun) -> None:
    program = run.program(moves=_moves(recall={"exits": 3}))
    host = run.serving_program(program)
    began = time.monotonic()
    host.recalled("Where is my boat?")
    took_s = time.monotonic() - began
    if not program.notes("exits"):
        raise Untestable("the host asked its server for nothing")
    budget_s = _SOON_S * run.scale * run.context.slowdown
    if took_s > budget_s:
        wanted = "the end of a recall whose server ended"
        run.violated(
            Late(wanted=wanted, hook="recall", took_s=took_s, budget_s=budget_s),
            operation="recall",
        )


@check("MP-HOST-WIRE-012")
def a_write_whose_server_ended_is_reported(run: HostRun) -> None:
    program = run.program(moves=_moves(record={"exits": 3}))
    host = run.serving_program(program)
    before = len(host.reports.about(program.name, is_only=True))
    host.record("My boat is in Velbellogren.")
    if not run.wait_until(lambda: bool(program.notes("exits"))):
        raise Untestable("the host recorded no turn")
    if not run.wait_until(lambda: len(host.reports.about(program.name, is_only=True)) > before):
        run.violated(
            NotReported(
                wanted="a report about the write whose server ended before it answered",
                about="the write",
                seen="neither event nor log has it",
            ),
            operation="record",
        )


@check("MP-HOST-WIRE-013")
def a_server_that_ended_is_not_started_again(run: HostRun) -> None:
    program = run.program(moves=_moves(recall={"exits": 3}))
    host = run.serving_program(program)
    for _ in range(5):
        host.recalled("Where is my boat?")
        host.record("My boat is in Velbellogren.")
    host.close()
    times = len(program.notes("started"))
    if times != 1:
        wanted = "one process for each session"
        run.violated(
            Called(wanted=wanted, hook="start of the server", times=times, due=1),
            operation="recall",
        )


# -- the end -------------------------------------------------------------------------------------


@check("MP-HOST-WIRE-014")
def a_server_is_closed_before_its_input_ends(run: HostRun) -> None:
    program = run.program()
    host = run.serving_program(program)
    host.recalled("Where is my boat?")
    host.close()
    wanted = "`close`, and the end of the input behind its answer"
    if not run.wait_until(lambda: not program.alive()):
        seen = "the server still runs"
    elif not program.heard("close"):
        seen = "no `close` came"
    elif not program.notes("input ended"):
        seen = "the server was ended before its input"
    else:
        return
    run.violated(Differs(wanted=wanted, seen=seen), operation="close")


@check("MP-HOST-WIRE-015", budget_s=120.0)
def nothing_of_a_server_is_left(run: HostRun) -> None:
    for name, script in {
        "a server that ends neither with its input nor by SIGTERM": {"stubborn": True},
        "a program that a server started": {"helper": True},
    }.items():
        program = run.program(**script)
        host = run.serving_program(program)
        host.recalled("Where is my boat?")
        host.close()
        within_s = 4 * _END_S
        if not run.wait_until(lambda p=program: not p.alive(), within_s):  # type: ignore[misc]
            count = len(program.alive())
            wanted = f"nothing of the process group {within_s:g} s behind the end"
            run.violated(
                Left(wanted=wanted, kind_of="process", names=(name,), count=count),
                operation="close",
            )
