"""As long as the repository has no owner by name, nothing that is built or shown links to one."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

from memproto import links
from tests.kit_runs import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ADDRESSES = PYPROJECT["project"]["urls"]

#: `OWNER/memproto` in an address or a step, or the name that stands in its place.
NAMED = re.compile(r"(?:github\.com/|uses: |action-repository: )(?P<owner>[\w.-]+)/memproto\b")


def owners(text):
    return {found["owner"] for found in NAMED.finditer(text)}


def test_one_owner_is_named_everywhere():
    pages = [ROOT / "pyproject.toml", ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {name for page in pages for name in owners(page.read_text("utf-8"))}
    assert len(named) == 1
    assert owners("\n".join(ADDRESSES.values())) == named


def test_each_page_that_names_a_placeholder_says_what_it_stands_for():
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text("utf-8")
        if "OWNER/memproto" in text:
            assert "`OWNER/memproto` stands for the repository" in text, page.name


def test_an_address_leads_somewhere_once_it_has_an_owner():
    assert links.leading({"Homepage": "https://github.com/OWNER/memproto"}) == {}
    real = {"Homepage": "https://github.com/someone/memproto"}
    assert links.leading(real) == real


def test_what_is_installed_has_the_addresses_that_lead_somewhere():
    found = metadata.distribution("memproto")
    shown = dict(line.split(", ", 1) for line in found.metadata.get_all("Project-URL") or [])
    told = json.loads(found.read_text("direct_url.json") or "{}")
    is_here = Path(str(found.locate_file(""))).resolve() == ROOT
    if is_here or told.get("dir_info", {}).get("editable"):
        # A checkout that is followed keeps the metadata of the day on which it was installed.
        assert shown in (links.leading(ADDRESSES), ADDRESSES)
    else:
        assert shown == links.leading(ADDRESSES)
