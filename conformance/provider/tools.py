"""Chapter 61: calls of tools."""

import copy
import itertools
import re
from collections.abc import Iterator
from time import monotonic
from typing import Any

from memproto.testing import routes, toolcalls, toolmemory
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.extended import needs_extension
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import BackendAway, HookRaised, Subject
from memproto.testing.toolcalls import Draw, Tool
from memproto.testing.wire import show

#: For tools that ask a service each time, and one that hangs.
_CALLS_S = 300.0

#: So many calls of all tools together: some providers have forty of them.
_MOST_CALLS = 600

#: Half of them are odd texts: all of the fixed list, and some more.
_MOST_OF_ONE = 100

#: What is left of the draws after this long is let be; every tool has had its first by then.
_PATIENCE_S = 12.0

#: More choices than this of one tool are not gone through one by one.
_MOST_CHOICES = 8


def _tools(run: Run, subject: Subject) -> list[Tool]:
    tools = toolcalls.offered(run, subject.tools())
    if not tools:
        raise NotApplicable("the provider offers no tool that can be called")
    return tools


def _needs_tools(run: Run) -> None:
    needs_extension(run, "tools")
    run.needs_hook("call_tool")


class _Caller:
    """Calls tools and keeps what was wrong: the first fault of each tool, in words."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.calls = 0
        self.faults: dict[str, str] = {}
        self.away: BackendAway | None = None
        self._end = monotonic() + _PATIENCE_S

    def try_each(self, tool: Tool, draws: Iterator[Draw]) -> None:
        """Make the calls until one is answered wrongly, or there is no time left."""
        for number, (told, arguments) in enumerate(draws):
            if tool.name in self.faults or (number and monotonic() > self._end):
                return
            self._try(tool, told, arguments)

    def _try(self, tool: Tool, told: str, arguments: dict[str, Any]) -> None:
        self.calls += 1
        try:
            wrong = toolcalls.fault(self.subject.call_tool(tool.name, copy.deepcopy(arguments)))
        except BackendAway as failure:
            self.away = failure
        except HookRaised as failure:
            if toolcalls.is_raised(failure):
                self._note(tool, f"raised {show(failure.error, 120)}", told, arguments)
        else:
            if wrong:
                self._note(tool, f"answered {wrong},", told, arguments)

    def _note(self, tool: Tool, what: str, told: str, arguments: dict[str, Any]) -> None:
        self.faults[tool.name] = f"{tool.name} {what} to {told}: {show(arguments, 200)}"

    def judge(self, run: Run, expected: str, tools: int) -> None:
        """Report the first fault; without one, a backend that never answered leaves all open."""
        if self.faults:
            told = next(iter(self.faults.values()))
            run.violated(expected, f"{told}; {len(self.faults)} of {tools} tools do so")
        if self.away:
            raise self.away


# -- answers ---------------------------------------------------------------------------------------


@check("MP-TOOL-008", budget_s=_CALLS_S)
def a_call_that_the_schema_allows_is_answered_in_json(run: Run) -> None:
    _needs_tools(run)
    with run.session() as subject:
        tools = _tools(run, subject)
        caller = _Caller(subject)
        each = min(_MOST_OF_ONE, _MOST_CALLS // len(tools)) + 2
        for tool in tools:
            draws = toolcalls.allowed(tool, run.context.seed, each, run.examples)
            caller.try_each(tool, draws)
        caller.judge(run, "a str that holds one JSON document, whatever is allowed", len(tools))


@check("MP-TOOL-009", budget_s=_CALLS_S)
def a_call_that_does_not_fit_is_answered_too(run: Run) -> None:
    _needs_tools(run)
    with run.session() as subject:
        tools = _tools(run, subject)
        caller, plain = _Caller(subject), _Caller(subject)
        for tool in tools:
            # One that does not answer a plain call as it is to is for MP-TOOL-008.
            plain.try_each(tool, toolcalls.allowed(tool, run.context.seed, 2))
            if tool.name not in plain.faults:
                caller.try_each(tool, _some(toolcalls.unfit(tool), _MOST_CALLS // len(tools)))
        caller.judge(run, "an error as a JSON document, and no exception", len(tools))


def _some(draws: Iterator[Draw], count: int) -> Iterator[Draw]:
    return itertools.islice(draws, max(8, count))


@check("MP-TOOL-013", budget_s=_CALLS_S)
def a_call_returns_in_time(run: Run) -> None:
    # That one did not is seen by whoever watches the hooks.
    _needs_tools(run)
    with run.session() as subject:
        tools = _tools(run, subject)
        caller = _Caller(subject)
        for tool in tools:
            caller.try_each(tool, toolcalls.allowed(tool, run.context.seed, 1))


@check("MP-TOOL-014")
def an_unknown_tool_is_answered_with_an_error(run: Run) -> None:
    _needs_tools(run)
    expected = "a JSON document with an error in it, for a tool that the provider does not have"
    with run.session() as subject:
        _tools(run, subject)
        try:
            answer = subject.call_tool("harbour_lamp_light", {"lamp": "the green one"})
        except BackendAway:
            raise
        except HookRaised as failure:
            if toolcalls.is_raised(failure):
                run.violated(expected, f"it raised {show(failure.error)}")
            return
    if toolcalls.fault(answer) or not routes.refused(answer):
        run.violated(expected, f"it answered {show(answer, 200)}")


# -- what is required ------------------------------------------------------------------------------


@check("MP-TOOL-010", budget_s=_CALLS_S)
def what_every_call_needs_is_required(run: Run) -> None:
    _needs_tools(run)
    with run.session() as subject:
        tools = _tools(run, subject)
        end = monotonic() + _PATIENCE_S
        for tool in tools:
            for name in set(tool.properties) - set(tool.required):
                if monotonic() < end and (told := _is_always_needed(subject, tool, name)):
                    run.violated(f"{name!r} in the `required` of {tool.name}", told)


def _is_always_needed(subject: Subject, tool: Tool, name: str) -> str:
    """What a tool answers to every call without the argument, where it takes one with it; or ""."""
    without = [_left_out(arguments, name) for arguments in _variants(tool)]
    said = [_complaint(subject, tool, arguments) for arguments in without]
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if not all(words and named.search(words) for words in said):
        return ""
    # One of two that go together is needed only beside the other one.
    if _complaint(subject, tool, _left_out(tool.typical(full=False), name)) == "":
        return ""
    taken = [a for a in _variants(tool) if _complaint(subject, tool, a) == ""]
    # Once more: what was refused is refused still, so that it was the argument.
    if not taken or not _complaint(subject, tool, _left_out(taken[0], name)):
        return ""
    return f"every call without it is refused, as with {(said[0] or '')[:160]}; with it one is not"


def _left_out(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}


def _variants(tool: Tool) -> list[dict[str, Any]]:
    """All arguments, with each value of those that have choices."""
    plain = tool.typical()
    found = [plain]
    for name, item in tool.properties.items():
        found += [{**plain, name: value} for value in toolcalls.choices(item)[:_MOST_CHOICES]]
    return found


def _complaint(subject: Subject, tool: Tool, arguments: dict[str, Any]) -> str | None:
    """What a refusing answer says; "" where the call was served, None where it was not answered."""
    try:
        answer = subject.call_tool(tool.name, copy.deepcopy(arguments))
    except HookRaised as failure:
        toolcalls.is_raised(failure)
        return None
    return toolcalls.complaint(answer) if not toolcalls.fault(answer) else None


# -- forgetting ------------------------------------------------------------------------------------


#: Keys of the configuration by which a host names whom a session is for; None leaves it out.
_Who = dict[str, Any]


@check("MP-TOOL-011", budget_s=120.0)
def what_a_tool_forgot_is_gone(run: Run) -> None:
    _needs_tools(run)
    _is_gone(run, {}, "")
    try:
        _is_gone(run, {"user_id": None}, ", in sessions without a user_id")
    except (NotApplicable, Untestable):
        # A provider of users may refuse to serve nobody, or to store for nobody.
        return
    except HookRaised as failure:
        if failure.ends_process:
            raise


def _is_gone(run: Run, who: _Who, where: str) -> None:
    fact = run.facts.new()
    with run.session(**who) as subject:
        tools = _tools(run, subject)
        finding = toolmemory.finding(tools, fact)
        stored_by, answer = _stored(subject, fact)
        told = [answer, *toolmemory.shown_by_tools(subject, finding).values()]
    call = toolmemory.forgetting(tools, stored_by, fact, told)
    if call is None:
        raise NotApplicable("no tool was recognised that forgets what another one stored")
    shown = _shown(run, fact, finding, who)
    if not shown:
        raise Untestable("what a tool stored came back neither by recall nor by a tool")
    _forget(run, call, who)
    finding = [one for one in finding if one[0] in shown]
    if by := _still_shown(run, fact, finding, shown, who):
        run.violated(
            f"{fact.text!r} gone after {call[0]} answered that it was forgotten{where}",
            f"after a new start {' and '.join(by)} still brings it",
        )


def _stored(subject: Subject, fact: Fact) -> tuple[str, Any]:
    """The tool that stored the fact, and its answer."""
    call = routes.storing_call(subject.tools(), fact.text)
    if call is None:
        raise NotApplicable("no tool was recognised that stores a text")
    answer = subject.call_tool(*call)
    if routes.refused(answer):
        reason = f"the tool {call[0]} refused a plain fact: {show(answer, 120)}"
        raise Untestable(f"{reason}; needs: a `config` under which it does not")
    return call[0], answer


def _shown(run: Run, fact: Fact, finding: list[Any], who: _Who) -> set[str]:
    """By what a new instance shows the fact: tools by their names, recall as ""."""
    with run.session(**who) as again:
        shown = _in_answers(again, fact, finding)
        return shown | ({""} if run.brings_back(again, fact) else set())


def _in_answers(subject: Subject, fact: Fact, finding: list[Any]) -> set[str]:
    answers = toolmemory.shown_by_tools(subject, finding)
    return {name for name, answer in answers.items() if fact.is_in(answer)}


def _forget(run: Run, call: tuple[str, dict[str, Any], str], who: _Who) -> None:
    name, arguments, how = call
    with run.session(**who) as subject:
        answer = subject.call_tool(name, copy.deepcopy(arguments))
    counts_none = how == "text" and toolmemory.counted_none(answer)
    if counts_none or not toolmemory.says_forgotten(answer):
        told = f"{name} did not forget by {show(arguments, 120)}: {show(answer, 120)}"
        raise NotApplicable(told)


def _still_shown(run: Run, fact: Fact, finding: list[Any], shown: set[str], who: _Who) -> list[str]:
    """The hooks and tools by which a new instance shows the fact when it had time to be gone."""
    left: list[set[str]] = []

    def gone() -> bool:
        found = _in_answers(again, fact, finding)
        if "" in shown and fact.is_in(routes.recalled(again, fact.query)):
            found.add("")
        left.append(found)
        return not found

    with run.session(**who) as again:
        run.wait_until(gone, run.freshness_s)
    return sorted(one or run.hook("recall") for one in left[-1])
