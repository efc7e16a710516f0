"""Each setting on a small provider that needs it, and what a setting that does not work does."""

from pathlib import Path

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.errors import InvalidSettings
from memproto.report import needs
from memproto.testing.judging import children
from memproto.testing.judging.judge import Judge, judge
from memproto.testing.outcomes import Outcome
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.caches import Caches
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings
from tests.kit_runs import ROOT, kit, write

pytestmark = pytest.mark.once

CASES = "tests.settings_cases"


def order(target, scale=1.0, **settings):
    """An order for one of the small providers."""
    places = {key: f"memproto.toml:1: {key}" for key in settings}
    named = {
        key: f"{CASES}.{value}" if isinstance(value, str) else value
        for key, value in settings.items()
    }
    return Order(
        f"{CASES}.{target}",
        settings=Settings(**named, places=places),
        directory=ROOT,
        scale=scale,
    )


def judged(asked, *ids):
    """The first result of each requirement, and all of them."""
    results = judge(asked, [spec.requirement(item) for item in ids])
    return {item: next(r for r in results if r.id == item).outcome for item in ids}, results


# -- the settings on providers that need them -----------------------------------------------------


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_model_that_loads_for_3_s_costs_no_recall_its_time(is_warm):
    settings = {"warm": "model:model"} if is_warm else {}
    # Far beyond the bound, so that no busy machine excuses it.
    found, _ = judged(order("model:Modelled", 0.06, **settings), "MP-RECALL-002")
    assert (found["MP-RECALL-002"] is Outcome.PASS) is is_warm


def test_a_slow_index_is_settled_once_and_not_for_each_fact(tmp_path):
    log = tmp_path / "log"
    asked = order("stores:Slow", settle="stores:index", env={"LOG": str(log)})
    found, _ = judged(asked, "MP-WRITE-001")
    assert found["MP-WRITE-001"] is Outcome.PASS
    # At first contact, and in the check after each of its rounds of writing.
    assert len(log.read_text().splitlines()) <= 9


def test_an_account_is_empty_after_the_run(tmp_path):
    asked = order("stores:Account", cleanup="stores:close_accounts", env=account(tmp_path))
    found, _ = judged(asked, "MP-WRITE-001", "MP-INIT-001")
    assert set(found.values()) == {Outcome.PASS}
    assert list((tmp_path / "account").iterdir()) == []


def test_what_a_killed_process_left_is_cleaned_up_in_the_next(tmp_path):
    asked = order("stores:Dying", cleanup="stores:close_accounts", env=account(tmp_path))
    found, results = judged(asked, "MP-WRITE-001")
    assert found["MP-WRITE-001"] is not Outcome.PASS
    assert (Outcome.FAIL, "MP-ISO-003") in [(item.outcome, item.id) for item in results]
    assert list((tmp_path / "account").iterdir()) == []


def account(tmp_path):
    (tmp_path / "account").mkdir()
    return {"ACCOUNT": str(tmp_path / "account")}


@pytest.mark.parametrize("limit", [3, 40])
def test_no_more_calls_are_made_than_allowed_and_what_is_left_is_open(tmp_path, limit):
    log = tmp_path / "log"
    asked = order("stores:Metered", max_hook_calls=limit, env={"LOG": str(log)})
    ids = ("MP-WRITE-001", "MP-TURN-001", "MP-ISO-001", "MP-ISO-002", "MP-ISO-005")
    found, results = judged(asked, *ids)
    assert len(log.read_text().splitlines()) == limit
    assert Outcome.FAIL not in {item.outcome for item in results}
    left = [item for item in results if item.outcome is Outcome.UNTESTABLE]
    assert left
    assert all("`max_hook_calls`" in needs.reason(item) for item in left)
    assert found["MP-ISO-002"] is Outcome.UNTESTABLE


def test_workers_share_the_calls_that_first_contact_left(tmp_path):
    asked = order("stores:Metered", max_hook_calls=103)
    shared = Order(asked.target, settings=asked.settings, directory=ROOT, workers=4)
    mine = children.Children(shared, Contact(spent=3), {}, tmp_path)
    assert mine.place("MP-WRITE-001").context.calls_left == 25
    mine.spent = 20
    assert mine.place("MP-WRITE-001").context.calls_left == 5


@pytest.mark.parametrize("caches", [("NOTES_CACHE", ".cache/notes"), ()])
def test_a_copy_in_a_cache_is_no_memory_outside_of_the_home(caches, monkeypatch, tmp_path):
    monkeypatch.delenv("NOTES_CACHE", raising=False)
    folders = {} if caches else {"NOTES_CACHE": str(tmp_path)}
    target = "stores:Caching" if caches else "stores:CachingAtWill"
    found, _ = judged(order(target, caches=caches, env=folders), "MP-ISO-005")
    assert found["MP-ISO-005"] is (Outcome.PASS if caches else Outcome.FAIL)


def test_a_provider_that_cannot_declare_is_judged_by_what_the_settings_declare():
    declares = {"stores": ["turns"], "recall_basis": "previous"}
    found, _ = judged(order("plugin:Plugin", declares=declares), "MP-TURN-001", "MP-WRITE-001")
    assert found == {"MP-TURN-001": Outcome.PASS, "MP-WRITE-001": Outcome.NOT_APPLICABLE}


def test_without_them_it_is_untestable_and_the_key_is_named():
    _, results = judged(order("plugin:Plugin"), "MP-TURN-001")
    (mine,) = [item for item in results if item.id == "MP-TURN-001"]
    assert mine.outcome is Outcome.UNTESTABLE
    assert "`declares.stores`" in needs.reason(mine)


def test_what_a_service_yields_reaches_the_provider_below_the_users_own(tmp_path):
    asked = order("stores:Account", service="services:sleeper", config={"bank": "mine"})
    judging = Judge(asked, tmp_path)
    try:
        judging.contact.service = judging._service.start()
        place = judging._children.place("MP-WRITE-001")
    finally:
        judging.close()
    assert place.context.config == {"port": 1, "bank": "mine"}
    assert place.env["SERVER_PID"].isdecimal()


# -- caches ---------------------------------------------------------------------------------------


def test_a_variable_that_is_set_is_passed_on(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", "~/models")
    monkeypatch.delenv("TORCH_HOME", raising=False)
    found = Caches(("HF_HOME", "TORCH_HOME"), tmp_path)
    assert found.env == {
        "HF_HOME": str(Path("~/models").expanduser()),
        "TORCH_HOME": str(tmp_path / "TORCH_HOME"),
    }
    assert (tmp_path / "TORCH_HOME").is_dir()


def test_a_path_is_the_same_directory_in_every_home(tmp_path):
    found = Caches((".cache/torch",), tmp_path / "caches")
    for name in ("one", "two"):
        found.enter(tmp_path / name)
    (tmp_path / "one" / ".cache" / "torch" / "weights").write_bytes(b"1")
    assert (tmp_path / "two" / ".cache" / "torch" / "weights").read_bytes() == b"1"


# -- what does not work ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"warm": "functions:raises"}, "raised OSError: no licence"),
        ({"warm": "functions:ends_the_process"}, r"ended the process \(exit code 3\)"),
        ({"settle": "functions:raises"}, "raised OSError: no licence"),
        ({"read_back": "functions:says_some"}, "returned 'some', which is no count"),
        ({"cleanup": "functions:raises"}, "raised OSError: no licence"),
        ({"factory": "functions:nothing"}, "has no attribute 'nothing'"),
        ({"service": "services:raises"}, "raised OSError: port 80 is taken"),
        ({"declares": {"stores": ["turns"]}}, "this one is native"),
    ],
)
def test_first_contact_ends_with_the_line_of_a_setting_that_does_not_work(settings, fault):
    (key,) = settings
    with pytest.raises(InvalidSettings, match=rf"toml:1: {key}: .*{fault}"):
        judge(order("model:Modelled", **settings), [])


@pytest.mark.parametrize("key", ["warm", "settle", "read_back", "cleanup"])
@pytest.mark.parametrize("fate", ["late", "died"])
def test_one_that_blocks_or_kills_is_no_finding_about_the_provider(
    tmp_path, monkeypatch, key, fate
):
    lost = Answer(fate, operation=f"setting {key}", took_s=60.0, ending="exit code 3")

    class Lost:
        def __init__(self, *args, **kwargs):
            """Starts nothing."""

        def ask(self, command, budget_s):
            return lost

    monkeypatch.setattr(children, "ChildProcess", Lost)
    asked = order("model:Modelled", **{key: "functions:blocks"})
    mine = children.Children(asked, Contact(binding=NATIVE), {}, tmp_path)
    said = "had not returned after 60 s" if fate == "late" else "ended the process"
    with pytest.raises(InvalidSettings, match=f"{key}: {CASES}.functions:blocks {said}"):
        mine.start()


@pytest.mark.parametrize("words", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_a_fault_in_the_middle_of_a_run_ends_it_as_a_usage_error(tmp_path, words):
    write(
        tmp_path,
        memproto__toml='read_back = "mine:count"\n',
        mine__py="from tests.good.journal import Journal\n"
        "class Mine(Journal): pass\n"
        "def count(provider, text):\n"
        "    return 0 if not provider._entries else 'many'\n",
    )
    done = kit(tmp_path, "--memproto=mine", "--memproto-clause=MP-DATA-001", *words)
    assert done.returncode == 4, done.stdout + done.stderr
    said = "ERROR: memproto.toml:1: read_back: returned 'many', which is no count"
    assert done.stdout.count(said) == 1, done.stdout
    assert "CONFORMANT" not in done.stdout


def test_all_workers_have_one_service(tmp_path):
    write(
        tmp_path,
        memproto__toml='service = "mine:running"\n',
        mine__py="import contextlib, os\nfrom pathlib import Path\n"
        "from tests.good.journal import Journal\n"
        "class Mine(Journal):\n"
        "    def is_available(self): return 'STARTED' in os.environ\n"
        "@contextlib.contextmanager\n"
        "def running():\n"
        "    log = Path(__file__).with_name('log')\n"
        "    log.open('a').write('started ')\n"
        "    yield {'env': {'STARTED': '1'}}\n"
        "    log.open('a').write('left ')\n",
    )
    done = kit(tmp_path, "--memproto=mine", "--memproto-clause=MP-NAME", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "log").read_text() == "started left "


def test_settings_that_stand_in_a_folder_above_are_named_where_the_run_begins(tmp_path):
    write(tmp_path, memproto__toml='config = {any = "thing"}\n')
    below = tmp_path / "below"
    below.mkdir()
    words = ("--memproto=builtin", "--memproto-clause=MP-NAME-001")
    assert ", settings in ../memproto.toml\n" in kit(below, *words).stdout
    assert "settings in" not in kit(tmp_path, *words).stdout
