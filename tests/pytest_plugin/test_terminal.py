"""The end of a run shows chapters, open results, the next step, and one line of a fixed form."""

import dataclasses
import io
import re

import pytest
from _pytest.terminal import TerminalReporter
from jsonschema import Draft202012Validator

from memproto import spec
from memproto.bindings import HERMES
from memproto.pytest_plugin import summary, terminal
from memproto.report import document, needs, next_step
from memproto.report.verdict_line import verdict_line
from memproto.testing.evidence import Differs
from memproto.testing.needs import (
    Backend,
    Declaration,
    DependsOn,
    Driver,
    Install,
    Machine,
    Setting,
    depends_on,
    from_dict,
    of_row,
)
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Contact, Order

DECLARED = {"isolates": ["user", "profile"], "retention": "derived", "extensions": ["tools"]}

#: As documented in docs/reading-a-failure.md.
FORM = re.compile(
    r"memproto \d+\.\d+ · (?P<target>\S+) · (?P<binding>native|hermes|host)"
    r"(?: · isolates=[\w,-]+)?(?: · retention=\w+)? · kit \S+ · "
    r"(?:CONFORMANT (?:core|durable|shared)(?: with [a-z_]+(?:, [a-z_]+)*)?"
    r"|NON-CONFORMANT|INCOMPLETE|CONFORMANT)"
    r"(?: · (?:core|durable|shared): (?:nothing passed|\d+ (?:violated|waived|open)"
    r"(?: \(\d+ in [a-z_]+(?:, \d+ in [a-z_]+)*\))?(?:, )?)+)*"
)


def built(outcomes=None, declared=DECLARED, **facts):
    """The document of one target that holds everything but `outcomes`."""
    found = {item.id: Result(item.id, Outcome.PASS) for item in spec.select([], "provider")}
    found |= {result.id: result for result in outcomes or []}
    contact = Contact(HERMES, capabilities=declared)
    judged = document.Judged(Order("hermes:mine"), contact, list(found.values()))
    return document.build([judged], document.RunFacts(**facts))


def line(outcomes=None, declared=DECLARED, **facts):
    return verdict_line(built(outcomes, declared, **facts)["reports"][0])


def open_(requirement, reason, *needs):
    return Result(requirement, Outcome.UNTESTABLE, reason=reason, needs=needs)


RED = Result("MP-TOOL-002", Outcome.FAIL, Differs(wanted="a name", seen="none"), "mine.py:3")
#: Of no account to a strict run.
DEFENSIVE = "MP-TEXT-004"
BACKEND = ("nobody answers", Setting("backend"))


@pytest.fixture
def show(monkeypatch, pytestconfig):
    """The text of a summary, on a terminal with so many columns."""

    def shown(found, *, columns=80, verbosity=0, colour=False, isatty=True):
        monkeypatch.setenv("COLUMNS", str(columns))
        file = io.StringIO()
        reporter = TerminalReporter(pytestconfig, file)
        reporter._tw.hasmarkup = colour
        reporter.isatty = isatty
        monkeypatch.setattr(TerminalReporter, "verbosity", verbosity)
        summary.summary(reporter, found)
        return file.getvalue()

    return shown


# -- the verdict -----------------------------------------------------------------------------------


def test_the_verdict_line_names_target_binding_declarations_kit_and_what_holds():
    said = line()
    assert said.startswith("memproto 1.0 · hermes:mine · hermes · isolates=profile,user · ")
    assert " · retention=derived · kit " in said
    assert said.endswith(" · CONFORMANT shared with tools")


@pytest.mark.parametrize(
    ("result", "end"),
    [
        (RED, "NON-CONFORMANT · core: 1 violated (1 in tools)"),
        (Result("MP-TURN-001", Outcome.FAIL), "NON-CONFORMANT · core: 1 violated"),
        (open_("MP-TURN-001", ""), "INCOMPLETE · core: 1 open"),
    ],
)
def test_the_line_ends_on_what_stands_before_the_next_class(result, end):
    assert line([result]).endswith(f" · {end}")
    assert FORM.fullmatch(line([result]))


@pytest.mark.parametrize("declared", [{}, {"isolates": [], "retention": ""}, DECLARED])
def test_every_verdict_line_is_of_the_documented_form(declared):
    assert FORM.fullmatch(line(declared=declared))


def test_what_a_provider_declares_cannot_forge_a_verdict():
    said = line([RED], {"retention": "x · CONFORMANT core\nmemproto"})
    assert "\n" not in said
    assert " · CONFORMANT" not in said
    assert "retention" not in said


def test_a_name_in_a_foreign_report_makes_no_line_or_verdict_of_its_own():
    foreign = built()["reports"][0]
    said = verdict_line({**foreign, "target": "x\n::error::y · CONFORMANT core\x1b[2J"})
    assert "x\\n::error::y CONFORMANT core\\x1b[2J · hermes" in said
    assert said.isprintable()


def test_a_run_that_the_kit_failed_in_has_no_verdict():
    assert line([Result("MP-TURN-001", Outcome.KIT_ERROR)]).endswith(" · KIT ERROR")


# -- the summary -----------------------------------------------------------------------------------


def test_a_chapter_counts_what_passed_failed_and_what_is_needed_where_chapters_are_asked_for(show):
    document = built([open_(f"MP-FAULT-00{n}", *BACKEND) for n in (1, 2, 3)])
    chapters = [row for row in show(document, verbosity=1).splitlines() if "82-faults" in row]
    assert chapters == ["  82-faults         8 passed, 0 failed, 3 need: backend"]
    assert "82-faults" not in show(document)


def test_what_depends_on_a_violated_rule_is_counted_behind_it(show):
    reason = "depends on MP-TURN-002, which is violated: it raised"
    behind = open_("MP-TURN-001", reason, DependsOn("MP-TURN-002", "violated"))
    found = show(built([behind, Result("MP-TURN-002", Outcome.FAIL)]))
    assert "1 more waits for MP-TURN-002" in found
    assert found.count("MP-TURN-001") == 1


def test_what_waits_for_a_violated_rule_is_one_line(show):
    behind = DependsOn("MP-TURN-001", "violated")
    ids = [item.id for item in spec.select(["MP-DATA"], "provider")][:5]
    found = [open_(key, f"{key} is lost", behind) for key in ids]
    document = built([*found, Result("MP-TURN-001", Outcome.FAIL)])
    said = show(document, columns=200)
    assert f"  5 more wait for MP-TURN-001: {', '.join(ids[:4])} and 1 more\n" in said
    assert " 5 behind MP-TURN-001\n" in show(document, columns=200, verbosity=1)
    assert "open:" not in said
    assert "is lost" not in said
    verbose = show(document, columns=200, verbosity=1)
    assert [key for key in ids if f"  {key}: untestable: {key} is lost\n" not in verbose] == []


def test_one_that_waits_for_a_violated_rule_is_told_as_one(show):
    behind = open_("MP-TURN-004", "it is lost", *depends_on("MP-TURN-001"))
    said = show(built([behind, Result("MP-TURN-001", Outcome.FAIL)]))
    assert "  1 more waits for MP-TURN-001: MP-TURN-004\n" in said


def test_chapters_that_say_nothing_are_counted_where_chapters_are_asked_for(show):
    away = [
        Result(i.id, Outcome.NOT_APPLICABLE)
        for i in spec.select(["MP-PREWARM", "MP-BACKUP"], "provider")
    ]
    assert "prewarm" not in show(built(away))
    assert "  62-prewarm        0 passed, 0 failed, 5 not applicable\n" in show(
        built(away), verbosity=1
    )


def test_the_slowest_calls_stand_beside_their_budgets(show):
    hooks = {"recall": [3, 2.5, 3.0], "record": [90, 0.2, 9.0], "name": [1, 0.0, 0.0]}
    found = show(built([called("MP-TURN-001", hooks)]))
    assert "  slowest: prefetch 2.50 s of 5 s, sync_turn 0.20 s of 15 s, name" in found


def test_calls_that_the_kit_slowed_are_none_of_the_slowest(show):
    slowed = called("MP-RES-004", {"record": [3, 14.0, 30.0]})
    found = show(built([slowed, called("MP-TURN-001", {"recall": [3, 2.5, 3.0]})]))
    assert "  slowest: prefetch 2.50 s of 5 s\n" in found


def called(requirement, hooks):
    times = {name: {"8.0": calls} for name, (calls, *_) in hooks.items()}
    return Result(requirement, Outcome.PASS, hooks=hooks, times=times)


@pytest.mark.parametrize("verbosity", [0, 1])
def test_no_line_of_prose_is_longer_than_a_narrow_terminal(show, verbosity):
    hooks = {"recall": [3, 2.5, 3.0], "record": [90, 0.2, 9.0], "mirror": [1, 0.0, 0.0]}
    reasons = [open_(f"MP-FAULT-00{n}", f"{BACKEND[0]}, {n}", *BACKEND[1:]) for n in range(1, 9)]
    said = {"outcome": Outcome.WARN, "evidence": Differs(wanted="a turn " * 9, seen="none " * 9)}
    warned = dataclasses.replace(called("MP-TURN-001", hooks), **said)
    rows = show(built([*reasons, warned]), columns=60, verbosity=verbosity).splitlines()
    assert [
        row for row in rows if len(row) > 60 and not row.startswith(("memproto 1.0", "  next: "))
    ] == []


@pytest.mark.parametrize("isatty", [True, False])
def test_no_text_of_a_target_begins_a_line_of_the_summary(show, isatty):
    forged = "no\nmemproto 1.0 · hermes:mine · hermes · kit 0.1.0 · CONFORMANT core\n"
    found = [open_("MP-FAULT-001", forged, Setting("env", value=forged), Machine(forged))]
    found.append(Result("MP-TURN-001", Outcome.WARN, Differs(wanted=forged, seen=forged)))
    rows = show(built([*found, RED]), isatty=isatty).splitlines()
    assert [row for row in rows if row.startswith("memproto")] == [line([*found, RED])]


def test_what_is_written_to_a_file_is_not_broken(show):
    reason = f"nobody answers {'at all ' * 20}."
    found = open_("MP-FAULT-001", reason, *BACKEND[1:])
    said = show(built([found]), columns=60, isatty=False)
    assert f"  MP-FAULT-001: untestable: {reason}; needs: the setting `backend`\n" in said


def test_a_quiet_run_prints_the_verdict_and_nothing_else(show):
    assert FORM.fullmatch(show(built([RED]), verbosity=-1).strip())


def test_a_quiet_run_names_what_only_warned(show):
    warned = Result("MP-TURN-001", Outcome.WARN, Differs(wanted="a turn", seen="none"))
    said, verdict = show(built([warned]), verbosity=-1).splitlines()
    assert said == "  MP-TURN-001 warns: expected a turn; observed none"
    assert FORM.fullmatch(verdict)


def test_a_quiet_run_says_why_it_is_incomplete_and_what_to_do(show):
    found = open_("MP-FAULT-001", *BACKEND)
    opened, step, verdict = show(built([found]), verbosity=-1).splitlines()
    assert opened == "  open: 1 need: backend"
    assert step.startswith("  next: ")
    assert "INCOMPLETE" in verdict or "open" in verdict


@pytest.mark.parametrize(
    ("result", "colour"), [(None, 32), (RED, 31), (open_("MP-TURN-001", ""), 33)]
)
def test_the_verdict_has_a_colour_of_its_own_where_colours_are_wanted(show, result, colour):
    found = built([result] if result else [])
    assert f"\x1b[{colour}m" in show(found, colour=True).splitlines()[-2]
    assert "\x1b" not in show(found)


# -- what is needed --------------------------------------------------------------------------------


AWAY = "its backend is away"
SET_UP = (Setting("config"), Setting("env"), Setting("service"))
WHERE = (Setting("service", where=AWAY), Setting("env", where=AWAY))


@pytest.mark.parametrize(
    ("found", "said", "words"),
    [
        (BACKEND[1:], "need: backend", "the setting `backend`"),
        (SET_UP, "need: config or env or service", "the settings `config`, `env` or `service`"),
        (
            (*WHERE, Setting("settle"), Declaration("stores", "capabilities")),
            "need: service or env or settle",
            f"`service` or `env` where {AWAY}, the setting `settle`, or `stores` in capabilities()",
        ),
        (
            (Setting("env", value="{A = 1}"), Setting("factory", that="that saves")),
            "need: env or factory",
            "the setting `env = {A = 1}`, or a `factory` that saves",
        ),
        (
            (Setting("config", that="of yours"), Setting("env", that="of yours")),
            "need: config or env",
            "a `config` or `env` of yours",
        ),
        ((Backend(),), "need: service or env or config", None),
        ((Machine("another user"),), "need: another user", "another user"),
        (
            (Install("hermes-agent", "--no-deps"),),
            "need: `pip install --no-deps hermes-agent`",
            "`pip install --no-deps hermes-agent`",
        ),
        ((Install("PyYAML"),), "need: `pip install PyYAML`", "`pip install PyYAML`"),
        ((Driver("turn"),), "need: the step `turn`", "the step `turn`"),
        ((DependsOn("MP-AVAIL-001", "fail"), *SET_UP), "behind MP-AVAIL-001", None),
        ((DependsOn("MP-TURN-001"),), "untestable", None),
        ((), "untestable", None),
    ],
)
def test_what_is_needed_is_told_in_words(found, said, words):
    assert needs.wanted("untestable", found) == said
    assert words is None or needs.words(found) == words


def test_a_reason_tells_the_rules_to_look_at_and_then_what_is_needed():
    found = (*depends_on("MP-TURN-001", "MP-TURN-003"), *BACKEND[1:])
    assert needs.told("it is lost", found) == (
        "it is lost; see MP-TURN-001 and MP-TURN-003; needs: the setting `backend`"
    )
    behind = (DependsOn("MP-TURN-002", "violated"),)
    said = "depends on MP-TURN-002, which is violated: no"
    assert needs.told(said, behind) == said
    assert needs.told("", ()) == ""


@pytest.mark.parametrize(
    "need",
    [
        *SET_UP,
        Setting("env", "of yours", "it is away", "{}"),
        Declaration("stores", "capabilities"),
        DependsOn("MP-TURN-001", "violated"),
        DependsOn("MP-TURN-001"),
        Install("PyYAML"),
        Machine("another user"),
        Backend(),
        Driver("own_tool", "the attribute"),
    ],
)
def test_a_need_crosses_processes_and_stands_in_the_report_as_data(need):
    assert from_dict(need.as_dict()) == need
    result = open_("MP-TURN-001", "no", need)
    assert Result.from_dict(result.as_dict()) == result
    document = built([result])
    (row,) = [row for row in document["reports"][0]["results"] if row["id"] == "MP-TURN-001"]
    assert of_row(row) == (need,)
    assert row["needs"] == [need.as_dict()]
    Draft202012Validator(spec.schema("report")).validate(document)


@pytest.mark.parametrize(
    "data", [{}, {"kind": "wish"}, {"kind": "setting"}, {"kind": "machine", "name": "x"}]
)
def test_what_is_no_need_is_refused(data):
    with pytest.raises(ValueError, match="no need of a result"):
        from_dict(data)


def test_a_report_of_an_earlier_kit_has_no_needs_and_is_read():
    document = built([open_("MP-TURN-001", *BACKEND)])
    for row in document["reports"][0]["results"]:
        del row["needs"]
    del document["reports"][0]["next"], document["reports"][0]["behind"]
    Draft202012Validator(spec.schema("report")).validate(document)
    assert next_step.of(document["reports"][0]) is None


# -- terminals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "no-such-encoding"])
def test_any_terminal_can_take_what_is_written(encoding):
    text = "memproto 1.0 · mine · 'Ł\udc80\n'"
    shown = terminal.writable(text, encoding)
    assert shown.count("\n") == 1
    if encoding != "no-such-encoding":
        shown.encode(encoding)


def test_the_parts_of_a_verdict_stay_apart_where_there_is_no_middle_dot():
    assert terminal.writable("memproto 1.0 · mine", "ascii") == "memproto 1.0 | mine"


def test_only_the_prose_of_a_failure_is_broken_at_the_edge_of_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = f"head\n  fix       {'a repair ' * 20}\n  reproduce pytest {'--memproto=x ' * 9}"
    rows = terminal.fit(text, is_shown=True).split("\n")
    assert max(map(len, rows[:-1])) <= 60
    assert rows[-1] == text.rpartition("\n")[2]
    assert terminal.fit(text, is_shown=False) == text


def test_a_warning_for_which_a_strict_run_is_red_counts_as_failed():
    assert terminal.status(Outcome.WARN, is_red=True)[0] == "failed"
    assert terminal.status(Outcome.WARN, is_red=False)[0] == "warn"
