"""TARGET `openclaw:PATH`: verdicts of the kit on plugins, good and broken."""

import pytest

from memproto.bindings import OPENCLAW
from memproto.testing import incidents
from tests.kit_runs import kit, outcomes, reported, write
from tests.openclaw.making import PLUGINS, plugin, registering

pytestmark = pytest.mark.once

STORES = ("--memproto-clause=MP-TURN-001", "--memproto-clause=MP-TURN-003")


def settled(directory, name, text):
    """The target of a plugin of ours, with settings of its own."""
    target = f"openclaw:{PLUGINS / name}"
    write(directory, memproto__toml=f'[target."{target}"]\n{text}\n')
    return target


def test_a_good_plugin_passes_and_is_shown_with_its_own_hooks(tmp_path):
    target = settled(tmp_path, "larder", 'declares = {isolates = ["profile", "user"]}')
    words = [f"--memproto={target}", *STORES, "--memproto-clause=MP-TENANT-001"]
    (report,) = reported(tmp_path, *words)["reports"]
    found = outcomes(report)
    assert {found[name] for name in ("MP-TURN-001", "MP-TURN-003", "MP-TENANT-001")} == {"pass"}
    assert not {"fail", "warn", "kit_error"} & {*found.values()}
    assert report["binding"] == "openclaw"
    recall = report["operations"]["recall"]
    assert (recall["hook"], recall["budget_s"]) == ("before_prompt_build", 15.0)


@pytest.mark.parametrize(
    ("name", "settings", "rule", "hook"),
    [
        ("forgetful", "", "MP-TURN-003", "agent_end"),
        (
            "promiscuous",
            'declares = {isolates = ["profile", "user"]}',
            "MP-TENANT-001",
            "before_prompt_build",
        ),
    ],
)
def test_a_broken_plugin_is_red_by_the_rule_that_it_breaks(tmp_path, name, settings, rule, hook):
    target = settled(tmp_path, name, settings)
    document = reported(tmp_path, f"--memproto={target}", f"--memproto-clause={rule}")
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == rule
    assert red["where"] == f"{hook} of openclaw-{name} (index.js)"


def test_a_plugin_that_ends_the_gateway_is_red_as_one_that_ends_its_host(tmp_path):
    target = plugin(tmp_path, registering('api.on("before_prompt_build", () => process.exit(0));'))
    clause = "--memproto-clause=MP-RECALL-001"
    document = reported(tmp_path, f"--memproto={target}", clause)
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == incidents.DIED


SPEAKS = {
    "register": "api.runtime.tts.speak('x');",
    "a tool that is made for a session": "api.registerTool(() => api.runtime.tts.speak('x'));",
    "recall": (
        "api.on('before_prompt_build', () => api.runtime.tts.speak('x'));"
        "api.on('agent_end', async () => {});"
    ),
    "record": "api.on('agent_end', async () => api.runtime.tts.speak('x'));",
    "record, and it catches that": (
        "api.on('agent_end', async () => { try { api.runtime.tts.speak('x'); } catch {} });"
    ),
}


@pytest.mark.parametrize("place", SPEAKS)
def test_a_part_of_openclaw_that_is_not_stood_in_for_leaves_the_verdict_open_by_its_name(
    tmp_path, place
):
    target = plugin(tmp_path, registering(SPEAKS[place]))
    words = [f"--memproto={target}", *STORES, "--memproto-clause=MP-TEXT-001"]
    document = reported(tmp_path, *words)
    (report,) = document["reports"]
    assert [row["id"] for row in report["results"] if row["outcome"] in {"fail", "warn"}] == []
    assert (report["verdict"], document["run"].returncode) == ("INCOMPLETE", 6)
    reasons = [row["reason"] for row in report["results"] if row["outcome"] == "untestable"]
    assert any("api.runtime.tts.speak" in reason for reason in reasons)


SLOW = """
await new Promise((done) => setTimeout(done, 7000));
export default { id: "slow", register(api) {
  const note = { name: "note", description: "Note.", parameters: {}, execute: async () => "x" };
  api.registerTool(note);
  api.on("before_prompt_build", () => undefined);
} };
"""


def test_no_hook_pays_for_the_start_of_a_gateway_that_takes_long(tmp_path):
    target = plugin(tmp_path, SLOW)
    clauses = ("--memproto-clause=MP-TOOL-002", "--memproto-clause=MP-PREWARM-002")
    (report,) = reported(tmp_path, f"--memproto={target}", *clauses)["reports"]
    found = outcomes(report)
    assert (found["MP-TOOL-002"], found["MP-PREWARM-002"]) == ("pass", "not_applicable")


def test_an_error_of_register_ends_the_run_with_its_text(tmp_path):
    target = plugin(tmp_path, registering("throw new Error(`no key in ${api.pluginConfig.file}`);"))
    write(
        tmp_path, memproto__toml=f'[target."{target}".config]\nplugin = {{file = "larder.key"}}\n'
    )
    done = kit(tmp_path, f"--memproto={target}", *STORES)
    assert done.returncode == 4
    assert "register(api) raises Error: no key in larder.key" in done.stderr + done.stdout


def test_a_path_counts_from_where_the_user_stands(tmp_path):
    plugin(tmp_path / "node_modules" / "@acme", registering(""))
    clause = "--memproto-clause=MP-NAME-001"
    document = reported(tmp_path, "--memproto=openclaw:node_modules/@acme/plugin", clause)
    assert outcomes(document["reports"][0])["MP-NAME-001"] == "pass"


def test_its_host_waits_as_long_as_openclaw():
    budget_s = incidents.budget_s("recall", scale=1.0, deaths=0, of_host=OPENCLAW.budgets_s)
    assert (budget_s, incidents.BUDGETS_S["recall"]) == (15.0, 5.0)


@pytest.mark.parametrize("operation", ["end", "switch"])
def test_the_end_of_a_session_which_openclaw_does_not_wait_for_has_longer(operation):
    of_host = OPENCLAW.budgets_s
    budget_s = incidents.budget_s(operation, scale=1.0, deaths=0, of_host=of_host)
    assert budget_s > incidents.budget_s(operation, scale=1.0, deaths=0) == 15.0
