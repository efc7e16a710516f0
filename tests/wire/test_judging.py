"""TARGET `wire:...`: verdicts, settings, bad commands, and the boundary."""

import re
import sys

import pytest

from memproto import spec
from memproto.bindings import WIRE
from tests import places
from tests.kit_runs import ROOT, kit, reported, write
from tests.wire import crossing

pytestmark = pytest.mark.once

SERVE = f"{sys.executable} -P -m memproto serve"
MINE = "from memproto.reference_providers.builtin import BuiltinMemoryProvider as Mine\n"
CLAUSES = ("--memproto-clause=MP-RECALL", "--memproto-clause=MP-WRITE", "--memproto-clause=MP-WIRE")


@pytest.mark.long
@pytest.mark.parametrize("target", places.half_nightly(["builtin", "sqlite"]))
def test_a_served_provider_has_the_outcomes_of_the_same_process(tmp_path, target):
    (served,) = reported(tmp_path, f"--memproto=wire:{SERVE} {target}", *CLAUSES)["reports"]
    (here,) = reported(tmp_path, f"--memproto={target}", *CLAUSES)["reports"]
    rows = crossing.crossing(here, served)
    assert {name: pair for name, pair in rows.items() if pair[0] != pair[1]} == {}
    assert ("pass", "pass") in rows.values()
    wire = [row for row in served["results"] if row["id"].startswith("MP-WIRE")]
    assert [row for row in wire if row["outcome"] != "pass"] == []
    assert wire


def test_a_server_may_answer_a_bad_line_behind_a_later_request(tmp_path):
    target = "--memproto=tests.good.wired:AnswersBadLinesLast"
    (report,) = reported(tmp_path, target, "--memproto-clause=MP-WIRE-00")["reports"]
    rows = {row["id"]: row["outcome"] for row in report["results"]}
    assert (rows["MP-WIRE-006"], rows["MP-WIRE-007"]) == ("pass", "pass")


def test_what_cannot_cross_is_not_applicable_and_never_green(tmp_path):
    words = ["--memproto-clause=MP-RECALL-003", "--memproto-clause=MP-ISO-002"]
    document = reported(tmp_path, f"--memproto=wire:{SERVE} builtin", *words)
    rows = {row["id"]: row for row in document["reports"][0]["results"] if row["id"] in words[0]}
    assert rows["MP-RECALL-003"]["outcome"] == "not_applicable"
    assert "copies" in rows["MP-RECALL-003"]["reason"]


def test_a_message_that_does_not_fit_is_a_failure_of_its_own_with_the_message(tmp_path):
    target = "--memproto=tests.broken.provider.wire:PrintsInAHook"
    document = reported(tmp_path, target, "--memproto-clause=MP-RECALL-001")
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == "MP-WIRE-001"
    assert "Recalling..." in red["observed"]


#: A program of Python to the things that the message about it holds.
NO_SERVERS = {
    "it has no program": ("no-such-program", "no program 'no-such-program' is on PATH"),
    "it has no file": ("./no-such-file", "there is no such file"),
    "it is not executable": ("./plain.txt", "it is not executable", "chmod +x ./plain.txt"),
    "it is named as if it were on PATH": (
        "plain.txt",
        "no program 'plain.txt' is on PATH",
        "name the file here as ./plain.txt",
    ),
    "its interpreter is missing": (
        "./missing.sh",
        "its first line, #!/no/such/shell, names a program that is not there",
    ),
    "it says not what runs it": ("./bare.bin", "Exec format error", "#!/usr/bin/env python3"),
    "it is a folder": ("./folder", "it is a directory"),
    "it prints its help": ("ls --help", "which is no message", "exit status 0"),
    "it finds no provider": (f"{SERVE} no.such.module", "there is no module", "exit status 4"),
    "it says why it ends": (
        f"{sys.executable} ends.py",
        "it ended before it answered the greeting",
        "exit status 3",
        "no key | set ACME_KEY",
    ),
    "a signal ends it": (f"{sys.executable} kills.py", "exit status -9"),
    "it needs a terminal": (
        f"{sys.executable} asks.py",
        "exit status 1",
        "the standard input is no terminal",
    ),
    "it speaks MCP": (
        f"{SERVE} builtin --mcp --home mcp",
        "its greeting is none of version 1",
        "protocolVersion",
    ),
    "it frames as LSP does": (f"{sys.executable} frames.py", "'Content-Length: 2", "is no message"),
    "it repeats": ("cat", "it answers with a request"),
    "it refuses the version": (
        f"{sys.executable} later.py",
        "it speaks the versions [2, 3] of the protocol, and this host speaks 1",
    ),
    "it takes another version": (f"{sys.executable} two.py", "its greeting is none of version 1"),
    "the command is empty": ("", "names no command"),
    "the command is no command": ("'", "is no command line"),
}

PROGRAMS = {
    "ends.py": "import sys\nsys.stderr.write('no key\\nset ACME_KEY\\n')\nsys.exit(3)\n",
    "kills.py": "import os\nos.kill(os.getpid(), 9)\n",
    "asks.py": """
import sys
if not sys.stdin.isatty():
    sys.exit("the standard input is no terminal")
""",
    "frames.py": "print('Content-Length: 2\\r\\n\\r\\n{}', flush=True)\ninput()\n",
    "later.py": """
import json
asked = json.loads(input())
data = {"type": "UnsupportedVersion", "wire": [2, 3]}
error = {"code": -32001, "message": "no version in common", "data": data}
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
input()
""",
    "two.py": """
import json
asked = json.loads(input())
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"wire": 2, "name": "two"}}))
input()
""",
}


@pytest.mark.parametrize("fault", places.half_nightly(NO_SERVERS))
def test_a_command_that_gives_no_server_ends_the_run_with_one_message(tmp_path, fault):
    command, *said = NO_SERVERS[fault]
    write(tmp_path, **PROGRAMS, plain__txt="no program")
    (tmp_path / "folder").mkdir()
    for name, text in (("missing.sh", "#!/no/such/shell\n"), ("bare.bin", "no program")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = kit(tmp_path, f"--memproto=wire:{command}")
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"--memproto=wire:{command}" in done.stderr
    assert [text for text in said if text not in done.stderr] == [], done.stderr
    assert "Traceback" not in done.stderr
    # One message: the line with the fault, and the one with the fix.
    (head,) = [line for line in done.stderr.splitlines() if f"--memproto=wire:{command}" in line]
    assert said[0] in head


def test_the_settings_give_a_command_and_its_directory(tmp_path):
    words = f'command = ["{sys.executable}", "-P", "-m", "memproto", "serve", "mine:Mine"]'
    write(
        tmp_path,
        memproto__toml=f'[target."wire:mine"]\n{words}\ncwd = "apart"\n',
    )
    (tmp_path / "apart").mkdir()
    write(tmp_path / "apart", mine__py=MINE)
    done = kit(tmp_path, "--memproto=wire:mine", "--memproto-clause=MP-NAME-001")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_settings_of_a_command_are_for_the_wire(tmp_path):
    write(tmp_path, memproto__toml='command = ["node"]\n')
    done = kit(tmp_path, "--memproto=builtin", "--memproto-clause=MP-NAME-001")
    assert done.returncode == 4
    assert "memproto.toml:1: command: is for a target wire:" in done.stderr


def test_the_page_names_what_is_out_of_reach():
    page = (ROOT / "docs" / "wire.md").read_text("utf-8").partition("## The boundary")[2]
    assert set(re.findall(r"MP-[A-Z]+-\d{3}", page)) == set(WIRE.out_of_reach)
    assert set(WIRE.out_of_reach) <= set(spec.requirements())


def test_a_reason_names_requirements_that_there_are():
    named = {name for why in WIRE.out_of_reach.values() for name in re.findall(r"MP-WIRE-\d+", why)}
    assert named <= set(spec.requirements())
