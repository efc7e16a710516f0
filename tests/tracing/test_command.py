"""`memproto check-trace`: what it prints of good, bad, torn and foreign files, and how it ends."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memproto import cli
from memproto.recording import Recording
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.tracing import judge, read
from tests.tracing.recorded import file, lived
from tests.tracing.trace_lives import calls, early, one, prompts
from tests.tracing.traced import Script

pytestmark = pytest.mark.once

__all__ = ["file"]  # a fixture

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """Runs the command; gives exit code, output and errors."""

    def run(*words: object) -> tuple[int, str, str]:
        code = cli.main(["check-trace", *map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a session of our own host."""
    home = tmp_path_factory.mktemp("recorded")
    with Recording(home / "trace.jsonl") as recording:
        lived(recording.around(BuiltinMemoryProvider()), home, turns=2)
    return (home / "trace.jsonl").read_text().splitlines(keepends=True)


def written(file: Path, script: Script) -> Path:
    file.write_text("".join(script.lines()))
    return file


def test_a_trace_in_order_is_one_line_and_exit_0(check: Check, file: Path) -> None:
    code, told, _ = check(written(file, calls("recall")))
    assert (code, told) == (0, f"{file}: 1 trace, 1 provider instance, 5 calls; in order\n")


def test_a_finding_says_rule_line_what_was_seen_and_what_to_do(check: Check, file: Path) -> None:
    code, told, _ = check(written(file, early("open", "declare", "close", "record")))
    assert code == 1
    assert told.startswith(
        f"{file}:11: MP-HOST-SHUT-001 (host; provider 'harbour')\n  seen      `on"
    )
    labels = [line.split()[0] for line in told.splitlines()[1:-1] if line[2:3].strip()]
    assert labels == ["seen", "expected", "fix", "clause"]
    assert told.endswith("; 1 finding\n")


def test_of_one_rule_ten_findings_are_shown_and_the_others_counted(
    check: Check, file: Path
) -> None:
    late = ["record"] * 25
    code, told, _ = check(written(file, early("open", "declare", "close", *late)))
    assert code == 1
    assert told.count("MP-HOST-SHUT-001 (host") == 10
    assert "15 more findings of MP-HOST-SHUT-001" in told


@pytest.mark.parametrize(("side", "wanted"), [("host", 0), ("provider", 1), ("both", 1)])
def test_a_side_may_be_judged_alone(check: Check, file: Path, side: str, wanted: int) -> None:
    late = written(file, one("recall", took_s=7))
    assert check(late, "--side", side)[0] == wanted


def test_what_is_only_recommended_is_told_as_a_warning(check: Check, file: Path) -> None:
    code, told, _ = check(written(file, prompts("a", "b", binding="hermes")))
    assert code == 0
    assert "warning: MP-PROMPT-006 (provider; provider 'harbour')" in told
    assert told.endswith("; in order, 1 warning\n")


def test_of_several_files_each_is_judged(check: Check, tmp_path: Path) -> None:
    good = written(tmp_path / "good", calls())
    bad = written(tmp_path / "bad", one("recall", "list"))
    code, told, _ = check(bad, good)
    assert code == 1
    assert f"{good}: 1 trace, 1 provider instance, 4 calls; in order" in told


def test_a_trace_without_its_last_line_passes_only_where_the_host_still_runs(
    check: Check, file: Path
) -> None:
    script = early("open", "declare", "recall")
    script.rows.pop()
    code, told, _ = check(written(file, script))
    assert code == 1
    assert f"{file}:1: trace 9b1f6c2e7d504a83 has no last line" in told
    assert check(file, "--still-running")[0] == 0


# -- files that are no whole trace -----------------------------------------------------------------

LINES = calls("recall").lines()
NEWER = [LINES[0].replace('"format": 1', '"format": 2'), *LINES[1:]]

#: Name to the bytes, the line that is named, and a part of the reason.
UNFIT: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 0, "the file is empty"),
    "blank lines": (b"\n\n\n", 0, "the file is empty"),
    "an image": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe" * 40, 1, "no text in UTF-8"),
    "zeros": (bytes(5000), 1, "no JSON"),
    "one endless line": (b"[" * 3_000_000, 1, "no line of a trace is as long"),
    "a log": (b"INFO started\nINFO ended\n", 1, "no JSON; this is no trace"),
    "other JSON lines": (b'{"level": "info"}\n' * 9, 1, "`trace`, `seq` or `kind` is missing"),
    "a list": (b"[1, 2]\n", 1, "no object"),
    "deep JSON": (b"[" * 100_000 + b"\n", 1, "no JSON"),
    "not a number": (b'{"trace": NaN}\n', 1, "no JSON"),
    "a newer format": ("".join(NEWER).encode(), 1, "format 2 is newer than 1"),
    "a torn last line": ("".join(LINES).encode()[:-30], len(LINES), "the last line is torn"),
    "a last line without its end": ("".join(LINES).encode()[:-1], len(LINES), "has no end"),
    "a foreign line in the middle": (
        "".join([*LINES[:4], "hello\n", *LINES[4:]]).encode(),
        5,
        "this is no JSON",
    ),
    "a line twice": ("".join([*LINES[:4], *LINES[3:]]).encode(), 5, "line 3 of the trace stands"),
    "a line after the end": (
        "".join(
            [*LINES, LINES[-1].replace(f'"seq": {len(LINES) - 1}', f'"seq": {len(LINES)}')]
        ).encode(),
        len(LINES) + 1,
        "comes after its last one",
    ),
    "another kind": (
        "".join([LINES[0], LINES[1].replace('"provider", "at', '"song", "at')]).encode(),
        2,
        "'song' is none of format 1",
    ),
    "a call number that is a word": (
        "".join([*LINES[:2], LINES[2].replace('"call": 1', '"call": "one"')]).encode(),
        3,
        "`call` of a line of kind 'begin' is not what it should be",
    ),
    "a time without end": (
        "".join(
            [*LINES[:2], re.sub('"at_s": [0-9.]+', '"at_s": 1' + "0" * 400, LINES[2])]
        ).encode(),
        3,
        "`at_s` of a line of kind 'begin' is not what it should be",
    ),
    "dropped lines": (
        "".join([*LINES[:-1], LINES[-1].replace('"dropped": 0', '"dropped": 3')]).encode(),
        len(LINES),
        "3 lines could not be written",
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_file_that_is_no_whole_trace_is_named_with_line_and_reason(
    check: Check, file: Path, name: str
) -> None:
    content, line, reason = UNFIT[name]
    file.write_bytes(content)
    code, told, errors = check(file)
    place = f"{file}:{line}: " if line else f"{file}: "
    named = [row for row in told.splitlines() if row.startswith(place) and reason in row]
    assert (code, errors) == (1, "")
    assert len(named) == 1, told
    assert told.count("\n") < 30


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_bad_usage(check: Check, tmp_path: Path, name: str) -> None:
    code, told, errors = check(tmp_path / name)
    assert (code, told) == (4, "")
    assert errors.startswith("memproto check-trace: ")
    assert "fix: " in errors


def test_no_file_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["check-trace"])
    assert ended.value.code == 4
    assert "FILE" in capsys.readouterr().err


# -- every line counts -----------------------------------------------------------------------------


def test_a_trace_of_our_own_host_passes(check: Check, file: Path, recorded: list[str]) -> None:
    file.write_text("".join(recorded))
    assert check(file)[0] == 0


def test_whichever_line_is_removed_the_trace_does_not_pass(
    check: Check, file: Path, recorded: list[str]
) -> None:
    kinds = set()
    for number, line in enumerate(recorded):
        file.write_text("".join(recorded[:number] + recorded[number + 1 :]))
        code, told, _ = check(file)
        assert code == 1, f"{line} was not missed"
        kinds.add(json.loads(line)["kind"])
        assert "missing" in told or "no last line" in told
    assert kinds == {"start", "provider", "begin", "end", "stop"}


def without(recorded: list[str], call: int) -> Iterator[str]:
    """The trace without one call, numbered anew, as if the host had not made it."""
    rows = [row for row in map(json.loads, recorded) if row.get("call") != call]
    for number, row in enumerate(rows):
        yield json.dumps(row | {"seq": number}) + "\n"


#: Operations without which the rest of a session is out of order.
NEEDED = {
    "available": "MP-HOST-INIT-001",
    "open": "MP-HOST-LIFE-001",
    "declare": "MP-HOST-LIFE-001",
    "tools": "MP-HOST-LIFE-001",
    "close": "MP-HOST-SHUT-002",
}


def test_a_host_that_leaves_a_needed_call_out_is_found_without_a_gap(
    check: Check, file: Path, recorded: list[str]
) -> None:
    begins = [row for row in map(json.loads, recorded) if row["kind"] == "begin"]
    seen = set()
    for row in begins:
        if row["operation"] in NEEDED:
            file.write_text("".join(without(recorded, row["call"])))
            code, told, _ = check(file)
            assert code == 1
            assert NEEDED[row["operation"]] in told
            seen.add(row["operation"])
    assert seen == set(NEEDED)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 4000), st.sampled_from([b"", b"\n", b"{", b"\xff", b"9", b'"'])),
        max_size=4,
    )
)
def test_whatever_a_file_holds_it_is_read_to_the_end(
    tmp_path: Path, recorded: list[str], changes: list[tuple[int, bytes]]
) -> None:
    content = "".join(recorded).encode()
    for place, new in changes:
        content = content[:place] + new + content[place + 1 :]
    (tmp_path / "changed").write_bytes(content)
    traces, _ = read(tmp_path / "changed")
    for trace in traces:
        judge(trace)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_whatever_a_field_holds_the_trace_is_judged(
    tmp_path: Path, recorded: list[str], data: st.DataObject
) -> None:
    rows = [json.loads(line) for line in recorded]
    for _ in range(3):
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        place = data.draw(
            st.sampled_from([row, *(v for v in row.values() if v and type(v) is dict)])
        )
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    (tmp_path / "changed").write_text("".join(json.dumps(row) + "\n" for row in rows))
    traces, _ = read(tmp_path / "changed")
    for trace in traces:
        judge(trace)
