"""`memproto spec`, and the links to clauses: to the published text, else to the installed file."""

import tomllib
import urllib.parse
from pathlib import Path

import pytest

from memproto import chapters, cli, links, spec
from memproto.pytest_plugin.guard import Guard
from tests.kit_runs import ROOT

CLAUSE = "spec/v1/50-turns.md#mp-turn-003"


def test_a_requirement_is_shown_as_its_chapter_has_it(capsys):
    assert cli.main(["spec", "MP-TURN-003"]) == 0
    shown = capsys.readouterr().out
    assert shown == spec.section(spec.requirement("MP-TURN-003"))
    assert shown.startswith("**MP-TURN-003** · MUST")
    assert "Batches and background workers" in shown
    assert "MP-TURN-004" not in shown


@pytest.mark.parametrize("name", ["50-turns", "50", "turns", "50-turns.md", CLAUSE])
def test_a_chapter_is_known_by_its_name_its_number_and_its_words(name):
    shown = chapters.shown(name)
    assert shown.startswith("# Turns, mirrored writes and tools\n")
    assert "**MP-TURN-003**" in shown
    assert "<a id" not in shown


def test_every_requirement_and_every_chapter_can_be_read():
    for key in spec.requirements():
        assert key in chapters.shown(key)
    listed = chapters.shown("").splitlines()
    assert len(listed) == len(spec.chapter_names())
    for line in listed:
        assert chapters.shown(line.split()[0]).startswith("# ")


@pytest.mark.parametrize(
    ("typed", "fix"),
    [
        ("50-turn", "memproto spec 50-turns"),
        ("MP-TRUN-003", "memproto spec MP-TURN-003"),
        ("nothing at all", "`memproto spec` lists the chapters"),
    ],
)
def test_a_name_that_is_none_is_told_with_the_one_to_type(typed, fix, capsys):
    assert cli.main(["spec", typed]) == 4
    assert f"fix: {fix}\n" in capsys.readouterr().err


def test_explain_needs_no_repository(capsys):
    assert cli.main(["explain", "MP-TURN-003"]) == 0
    assert f"{CLAUSE}, here: memproto spec MP-TURN-003\n" in capsys.readouterr().out


# -- links -----------------------------------------------------------------------------------------


def test_the_addresses_of_the_project_lead_into_it():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert {"Homepage", "Specification", "Documentation", "Changelog", "Issues"} <= set(urls)
    home = urls["Homepage"]
    for label, url in urls.items():
        assert url.startswith(home), label
        _, sign, path = url.partition("/main/")
        assert not sign or (ROOT / path).exists(), label
    # The action is taken from the same place as the rest.
    assert f"uses: {home.removeprefix('https://github.com/')}@" in (ROOT / "docs/ci.md").read_text()


def test_a_link_leads_to_the_published_clause_else_to_the_installed_file(monkeypatch):
    monkeypatch.setattr(links, "_addresses", dict)
    address = urllib.parse.urlsplit(links.installed(CLAUSE))
    assert (address.scheme, address.fragment) == ("file", "mp-turn-003")
    text = Path(urllib.parse.unquote(address.path)).read_text("utf-8")
    assert '<a id="mp-turn-003"></a>' in text
    assert links.published(CLAUSE) == ""
    named = {"Specification": "https://spec.example/v1"}
    monkeypatch.setattr(links, "_addresses", lambda: named)
    assert links.published(CLAUSE) == "https://spec.example/v1/50-turns.md#mp-turn-003"
    told = links.linked(f"  clause    {CLAUSE}\n")
    address = "https://spec.example/v1/50-turns.md#mp-turn-003"
    assert told == f"  clause    \x1b]8;;{address}\x1b\\{CLAUSE}\x1b]8;;\x1b\\\n"


def test_an_address_without_an_owner_leads_nowhere(monkeypatch):
    class Named:
        def get_all(self, _):
            return ["Specification, https://github.com/OWNER/memproto/x", "Homepage, https://a.b/"]

    monkeypatch.setattr(links.metadata, "metadata", lambda _: Named())
    links._addresses.cache_clear()
    try:
        assert links.published(CLAUSE) == ""
        assert links.home() == "https://a.b/"
    finally:
        links._addresses.cache_clear()


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"VTE_VERSION": "6003"}, True),
        ({"VTE_VERSION": "4600"}, False),
        ({"TERM": "xterm-kitty", "CI": "true"}, False),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
    ],
    ids=str,
)
def test_links_are_written_for_terminals_that_are_known_to_show_them(environment, shown):
    assert links.are_shown(environment) is shown


def test_the_gate_of_a_terminal_links_clauses_and_takes_a_strangers_link_out():
    guard = Guard(str)
    guard._links = True
    shown = guard.shown(f"\x1b]8;;https://evil.example\x1b\\x  clause    {CLAUSE}")
    assert shown.startswith("\\x1b]8;;https://evil.example")
    assert f"\x1b\\{CLAUSE}\x1b]8;;\x1b\\" in shown
    guard._links = False
    assert "\x1b" not in guard.shown(f"  clause    {CLAUSE}")
