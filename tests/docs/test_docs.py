"""The documentation: pages are found, links lead somewhere, commands can be given."""

import ast
import importlib.util
import json
import re
import shlex
import textwrap
import tomllib

import pytest
import yaml

from memproto import cli, pytest_plugin, spec
from tests.docs import documents
from tests.docs.documents import PAGES, name
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

#: Test that runs a command in CI, or why none does; the first pattern that fits counts.
RUN = (
    (r"^pytest --memproto=(mine|shared|model|counted|indexed)\b", "tests/docs/test_settings.py"),
    (r"^pytest --memproto=(remote|cached|plugin|outage|notes)\b", "tests/docs/test_settings.py"),
    (r"^memproto (setup|status) ", "tests/setup/test_command.py"),
    (r"^memproto serve ", "tests/wire/test_server.py"),
    (r"^memproto hook ", "tests/commands/test_hook.py"),
    (r"^claude mcp add ", "stands for the reader's own"),
    (r"^pytest --memproto=openclaw:", "tests/wild/test_openclaw.py"),
    (r"^npm pack ./packages/openclaw$", "tests/openclaw/test_own_plugin.py"),
    (r"^openclaw ", "tests/wild/test_openclaw_host.py"),
    (r"^pytest --memproto=\"?wire:", "stands for the reader's own; parsed"),
    (r"^python -m tests.wire.transcripts ", "tests/wire/test_server.py"),
    (r"^(npm|cargo) ", "tests/languages/test_servers.py"),
    (r"^memproto check-trace", "tests/tracing/test_command.py"),
    (r"^memproto export-hermes", "tests/commands/test_export.py"),
    (r"^memproto new ", "tests/scaffold/test_scaffold.py"),
    (r"^memproto explain ", "tests/commands/test_explain.py"),
    (r"^memproto html ", "tests/report/test_html.py"),
    (r"^memproto sarif ", "tests/report/test_sarif.py"),
    (r"^memproto board ", "tests/report/test_board.py"),
    (r"^memproto measure ", "tests/measure/test_command.py"),
    (r"^sigstore ", "needs a public service"),
    (r"^python -m census stable", "tests/census/test_stability.py"),
    (r"^python -m census ", "tests/census/test_crew.py"),
    (r"^pytest --memproto=(harbour|tide-log|ebb-log)\b|^pytest$",
     "tests/scaffold/test_ten_minutes.py"),
    (r"^pytest --memproto=complete\b", "tests/docs/test_example_verdicts.py"),
    (r"^pytest --memproto=smallest", "tests/docs/test_example_verdicts.py"),
    (r"^pytest --memproto=batches\b", "tests/docs/test_readme.py"),
    (r"^pytest --memproto=pantry\b", "tests/docs/test_first_hour.py"),
    (r"^python examples/agent", "tests/docs/test_example_agent.py"),
    (r"^pytest --memproto-host=(strands|agent-framework)$", "tests/frameworks/test_hosts.py"),
    (r"--memproto-host=driver:ExampleAgent", "tests/docs/test_example_verdicts.py"),
    (r"^pytest --memproto-host=memproto:\w*MemoryProviderRegistry$", "tox.ini"),
    (r"^python -m memproto.reference_providers.sqlite ",
     "tests/reference_providers/sqlite/test_provider.py"),
    (r"^python scripts/site", "tests/docs/test_site.py"),
    (r"^zensical build", "tox.ini"),
    (r"/tox run-parallel --parallel 2$", ".ci/run"),
    (r"^tox run -e mutation\b", "tests/mutation/test_bench.py"),
    (r"^\S*pytest --memproto=builtin$", "tox.ini"),
    (r"^pytest --memproto-catalog=|^git ", "tests/catalog/test_workflow.py"),
    (r"^memproto catalog interface ", "tests/catalog/test_interface.py"),
    (r"^memproto stability ", "tests/report/test_stability.py"),
    (r"^python -P scripts/generate\.py$", "tests/docs/test_generate.py"),
    (r"^python benchmarks/growth\.py ", "measures; needs a quiet machine"),
    (r"^python -P scripts/spec_faults\.py", "tests/spec/test_structure.py"),
    (r"^memproto waive ", "tests/report/test_waive.py"),
    (r"^memproto (verify|diff|merge|summary|badge) ", "tests/docs/test_reports.py"),
    (r"^pytest .*(mypkg|acme_memory|my-provider|some-package|hermes:|wire:COMMAND)",
     "stands for the reader's own; parsed"),
    (r"^pip install|^export |^cd |^cp |^\. |^\S*python3? -m venv|/pip install", "of the machine"),
)  # fmt: skip


def commands_of(page):
    parts = [part.strip() for line in documents.commands(page) for part in line.split("&&")]
    return [part for part in parts if part]


COMMANDS = {name(page): found for page in PAGES if (found := commands_of(page))}


# -- pages and links -------------------------------------------------------------------------------


def test_each_page_is_in_the_navigation_and_each_of_those_is_there():
    navigation = re.findall(
        r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    wanted = {"index.md" if name(page) == "README.md" else name(page) for page in PAGES}
    assert sorted(navigation) == sorted(wanted)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_has_one_title_and_it_comes_first(page):
    text = documents.BLOCK.sub("", page.read_text("utf-8"))
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_link_leads_to_what_is_there(page):
    for link in documents.links(page):
        if link.startswith("https://"):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{link} leads out of the project"
        if anchor:
            assert anchor in documents.anchors(target), f"{link}: no such heading"


# -- code ------------------------------------------------------------------------------------------


def as_python(text):
    plain = re.sub(r"^(\s*)await ", r"\1", textwrap.dedent(text), flags=re.MULTILINE)
    return ast.parse(plain, feature_version=(3, 11))


def as_json(text):
    """One document, or one to a line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


READERS = {
    "python": as_python,
    "toml": tomllib.loads,
    "json": as_json,
    "yaml": yaml.safe_load,
}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_can_be_read_in_the_language_that_it_names(page):
    for language, read in READERS.items():
        for block in documents.blocks(page, language):
            read(block)


# -- commands --------------------------------------------------------------------------------------


def refused_by_pytest(words):
    """Why `pytest` would refuse its arguments; "" if it would not."""
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    known = {name for one in parser.getgroup("memproto").options for name in one.names()}
    given = [word.partition("=") for word in words if word.startswith("--memproto")]
    unknown = [option for option, _, _ in given if option not in known]
    if unknown:
        return f"there is no {unknown[0]}"
    for option, _, value in given:
        if option == "--memproto-clause":
            spec.select([value], "host" if "HOST" in value else "provider")
    try:
        parser.parse_known_args(words)
    except pytest.UsageError as error:
        return str(error)
    return ""


def refused_by_memproto(words):
    """Why `memproto` would refuse its arguments; "" if it would not."""
    if any(word.startswith("[") for word in words):
        return refused_synopsis(words)
    try:
        cli._parser().parse_args(words)
    except SystemExit as end:
        return "" if not end.code else f"memproto {shlex.join(words)} is bad usage"
    return ""


def refused_synopsis(words):
    (commands,) = [a for a in cli._parser()._actions if a.dest == "command"]
    known = commands.choices[words[0]]._option_string_actions
    unknown = [
        option for option in re.findall(r"--[a-z-]+", " ".join(words)) if option not in known
    ]
    return f"{words[0]} has no {unknown}" if unknown else ""


def refused_by_python(words):
    """Why an interpreter would find nothing to run; "" if it would."""
    if words[0] == "-m":
        return "" if importlib.util.find_spec(words[1]) else f"there is no module {words[1]}"
    script = next(word for word in words if not word.startswith("-"))
    return "" if (ROOT / script).exists() else f"there is no {script}"


PARSERS = {
    "pytest": refused_by_pytest,
    "memproto": refused_by_memproto,
    "python": refused_by_python,
    "python3": refused_by_python,
}


def refused(command):
    program, *words = shlex.split(command)
    parser = PARSERS.get(program.rpartition("/")[2])
    return parser(words) if parser else ""


@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_of_a_page_can_be_given(page):
    faults = [fault for command in COMMANDS[page] if (fault := refused(command))]
    assert faults == []


@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_of_a_page_are_run_in_ci_or_listed_with_the_reason(page):
    unnamed = [
        command
        for command in COMMANDS[page]
        if not any(re.search(pattern, command) for pattern, _ in RUN)
    ]
    assert unnamed == [], "name who runs it, in RUN"


def test_who_is_said_to_run_a_command_exists_and_is_needed():
    given = [command for found in COMMANDS.values() for command in found]
    counts = {next((row for row in RUN if re.search(row[0], one)), None) for one in given}
    for pattern, runner in RUN:
        assert (pattern, runner) in counts, pattern
        if "/" in runner or runner == "tox.ini":
            assert (ROOT / runner).is_file(), runner


def test_an_option_and_a_command_that_do_not_exist_are_found():
    assert refused_by_pytest(["--memproto-claus=MP-TURN"]) == "there is no --memproto-claus"
    assert "--memproto-strict: ignored explicit argument" in refused_by_pytest(
        ["--memproto-strict=1"]
    )
    assert "bad usage" in refused_by_memproto(["convict", "mypkg"])
    assert "no ['--nowhere']" in refused_by_memproto(["setup", "[--nowhere]"])
    assert "no module" in refused_by_python(["-m", "memproto_nowhere"])
    assert "there is no examples/none.py" in refused_by_python(["examples/none.py"])
