"""The first page for an author, done as it says: what it shows is what the kit prints today."""

import re
from pathlib import Path

import pytest

from memproto import cli, spec
from memproto.scaffold import new
from tests.docs import documents
from tests.kit_runs import ROOT, kit, read_report

pytestmark = pytest.mark.once

PAGE = ROOT / "docs" / "ten-minutes.md"
BUG, FIX, SECOND_FIX = documents.blocks(PAGE, "python")
CONSOLE = documents.blocks(PAGE, "console")

#: The code that the bug replaces, and the fix.
RIGHT = """\
            with _reported():
                self._store.add(self._user, "turn", f"{said}\\n{assistant_response}")
"""
STARTED = '        self._user = config.get("user_id")\n'
LOOP = """\
                with _reported():
                    for text in self._waiting:
                        self._store.add(self._user, "turn", text)
                self._waiting.clear()
"""
SHUTDOWN = """\
    def shutdown(self) -> None:
        \"\"\"Every hook wrote before it returned, and nothing is open.\"\"\"
"""
NAME = '    name = "harbour"\n'


@pytest.fixture
def harbour(tmp_path, monkeypatch):
    """A new provider, in which the terminal is as wide as on the page."""
    monkeypatch.setenv("COLUMNS", "80")
    return new("harbour", tmp_path)


def shown(command: str) -> list[list[str]]:
    """Output that the page shows for a command, each time that it is given, without omissions."""
    sessions = "\n".join(CONSOLE).split("$ ")
    found = [text.splitlines() for text in sessions if text.splitlines()[:1] == [command]]
    assert found, command
    return [[line for line in lines[1:] if line and line != "..."] for lines in found]


def missing(lines: list[str], printed: str) -> list[str]:
    """The lines that were not printed in this order."""
    rest = iter([comparable(line) for line in printed.splitlines()])
    return [line for line in lines if comparable(line) not in rest]


def comparable(line: str) -> str:
    """
    A line without what may differ from the page.

    The page shows the counts of the day that it names, and the catalogue grows; how many failed
    does not grow with it. If the package is installed, an entry point leads to it; here its folder.
    """
    line = re.sub(r"\(native, .*?\)", "(native)", line)
    if row := re.fullmatch(r"(harbour/\d\d-[a-z-]+) ([^ ]+) +\[ *\d+/\d+\]", line):
        return f"{row[1]} {row[2].strip('.-?')}"
    line = re.sub(r"(?<=: it hides )\d+", "n", line)
    return re.sub(r"\d+(?= (items|passed|not applicable|not run|untestable)\b)", "n", line)


def edited(folder: Path, *changes: tuple[str, str]) -> None:
    provider = folder / "src" / "harbour" / "provider.py"
    text = provider.read_text("utf-8")
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    provider.write_text(text, "utf-8")


def indented(text: str, by: int) -> str:
    lines = text.replace("\n\n\n", "\n\n").splitlines(keepends=True)
    return "".join(" " * by + line if line.strip() else line for line in lines)


def with_the_bug(folder: Path) -> None:
    bug = (RIGHT, indented(BUG, 12))
    edited(folder, bug, (STARTED, f"{STARTED}        self._waiting = []\n"))


def with_the_first_fix(folder: Path) -> None:
    with_the_bug(folder)
    loop = (LOOP, "                self._write()\n")
    edited(folder, (SHUTDOWN, indented(FIX, 4)), loop)


def narrowed(folder: Path, *areas: str) -> str:
    return kit(folder, "--memproto=harbour", *(f"--memproto-clause={a}" for a in areas)).stdout


def failures(printed: str) -> list[str]:
    return re.findall(r"^(MP-\S+) \(MUST\) is violated", printed, re.MULTILINE)


def test_a_new_provider_is_told_of_as_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "harbour"]) == 0
    printed = capsys.readouterr().out.replace(str(tmp_path), "/home/ines")
    assert printed.splitlines() == shown("memproto new harbour")[0]


def test_a_new_provider_conforms_and_its_own_tests_pass(harbour):
    own = kit(harbour, "tests/test_provider.py", PYTHONPATH=str(harbour / "src"))
    assert missing(shown("pytest")[0], own.stdout) == []
    file = harbour / "report.json"
    done = kit(harbour, "--memproto=harbour", f"--memproto-report={file}")
    assert done.returncode == 0
    assert read_report(file, done)["reports"][0]["verdict"] == "CONFORMANT", done.stdout
    first, _, last = shown("pytest --memproto=harbour")
    assert missing(first, done.stdout) == []
    assert missing(last, done.stdout) == []


@pytest.mark.nightly
@pytest.mark.long
def test_the_bug_of_the_page_is_red_as_it_shows(harbour):
    with_the_bug(harbour)
    own = kit(harbour, "tests/test_provider.py", PYTHONPATH=str(harbour / "src"))
    assert "AttributeError" in own.stdout
    assert "1 failed, 1 passed" in own.stdout
    page = harbour / "red.html"
    done = kit(harbour, "--memproto=harbour", f"--memproto-html={page}")
    assert (
        missing(shown("pytest --memproto=harbour --memproto-html=red.html")[0], done.stdout) == []
    )
    assert failures(done.stdout) == ["MP-TURN-001", "MP-TURN-003"]
    assert "src/harbour/provider.py" in page.read_text("utf-8")


@pytest.mark.nightly
def test_the_first_fix_mends_two_rules_and_breaks_another_as_the_page_shows(harbour):
    with_the_first_fix(harbour)
    [area] = shown("pytest --memproto=harbour --memproto-clause=MP-TURN")
    assert missing(area, narrowed(harbour, "MP-TURN")) == []
    printed = narrowed(harbour, "MP-SHUT")
    _, second, whole = shown("pytest --memproto=harbour")
    row, *block, counts, code = second
    assert " ".join(row.split()[:2]) in printed
    assert missing([*block, code], printed) == [], printed
    assert failures(printed) == ["MP-SHUT-003"]
    # Of the whole run the page shows that this one is all that is not as it was.
    passed = int(whole[0].split()[0])
    assert counts == whole[0].replace(f"{passed} passed", f"{passed - 1} passed, 1 failed")


def test_the_second_fix_mends_it(harbour):
    with_the_first_fix(harbour)
    edited(harbour, (NAME, f"{NAME}\n{indented(SECOND_FIX, 4)}"))
    printed = narrowed(harbour, "MP-TURN", "MP-SHUT")
    assert failures(printed) == []
    judged = len(spec.select(["MP-TURN", "MP-SHUT"], "provider"))
    left = len(spec.select([], "provider")) - judged
    # No hook of it takes the author of a turn, which MP-TURN-005 is about.
    assert f"  {judged - 1} passed, 1 not applicable, {left} not run\n" in printed


def test_what_is_explained_is_what_the_page_shows(capsys):
    assert cli.main(["explain", "MP-TURN-003"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert " ".join(" ".join(shown("memproto explain MP-TURN-003")[0]).split()) in printed


def test_a_line_that_is_not_printed_is_found():
    assert missing(["b", "a"], "a\nb\n") == ["a"]
    assert missing(["a", "b"], "a\nx\nb\n") == []


def test_a_count_may_grow_and_a_failure_may_not():
    assert missing(["  9 passed, 2 failed"], "  10 passed, 2 failed\n") == []
    assert missing(["  9 passed, 2 failed"], "  9 passed, 3 failed\n") != []
    assert missing(["harbour/40-recall .-F [ 1/9]"], "harbour/40-recall ...-F     [ 12/19]\n") == []
    assert missing(["harbour/40-recall ...  [ 1/9]"], "harbour/40-recall .F.  [ 1/9]\n") != []
