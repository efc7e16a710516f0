"""Each host whose code a page shows is judged as it stands there."""

import re

import pytest

from tests.kit_runs import ROOT, outcomes, reported

#: Whole runs of the kit, and no Python of its own.
pytestmark = pytest.mark.once

#: Module to the page whose code it is, the host in it, and the verdict on it.
SHOWN = {
    "readme_agent": ("README.md", "MyAgent", "CONFORMANT"),
    "registry_agent": ("docs/registry.md", "MyAgent", "CONFORMANT"),
    # It lacks steps on purpose: the page tells what comes of that.
    "hosts_driver": ("docs/hosts.md", "MyDriver", "INCOMPLETE"),
}


def code_of(page):
    """The only Python of a page."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    return code


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Module to its report."""
    folder = tmp_path_factory.mktemp("shown")
    for module, (page, _, _) in SHOWN.items():
        (folder / f"{module}.py").write_text(code_of(page), "utf-8")
    targets = [f"--memproto-host={module}:{host}" for module, (_, host, _) in SHOWN.items()]
    return dict(zip(SHOWN, reported(folder, *targets, "-n", "2")["reports"], strict=True))


@pytest.mark.parametrize("module", SHOWN)
def test_a_host_that_a_page_shows_has_no_red_line(judged, module):
    found = outcomes(judged[module])
    assert {name for name, outcome in found.items() if outcome in ("fail", "warn")} == set()
    assert judged[module]["verdict"] == SHOWN[module][2]


@pytest.mark.parametrize("rule", ["RECALL-007", "SHOW-001", "SHOW-002", "TURN-008"])
@pytest.mark.parametrize("module", SHOWN)
def test_a_shown_host_was_tried_by_the_rules_of_what_is_shown_and_kept(judged, module, rule):
    assert outcomes(judged[module])[f"MP-HOST-{rule}"] == "pass"


@pytest.mark.parametrize("page", ["README.md", "docs/registry.md", "docs/asyncio.md"])
def test_a_page_that_shows_a_host_names_the_scrubber(page):
    assert "StreamingContextScrubber" in code_of(page)


def test_both_pages_show_the_same_agent():
    assert code_of("README.md") == code_of("docs/registry.md")
