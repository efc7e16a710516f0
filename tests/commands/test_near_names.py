"""A command that is mistyped, or that needs what is not installed, says what to type."""

import subprocess
import sys

import pytest

from memproto import cli, near
from tests.made_reports import built, judged, saved


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explan", "MP-TURN-003"], "memproto: 'explan': is no command\n  fix: memproto explain\n"),
        (["batches"], "to judge a provider: memproto judge TARGET\n"),
        (["list", "--side", "hosts"], "  fix: did you mean 'host'?\n"),
        (["explain", "MP-RECAL"], "  fix: did you mean 'MP-RECALL'?\n"),
        (["explain", "MP-RECAL-1"], "  fix: did you mean 'MP-RECALL-001'?\n"),
        (["status", "builtn", "--home", "."], "did you mean 'builtin'? memproto status builtin\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_name_that_is_not_known_is_told_with_the_one_to_type(words, said, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        code = cli.main(words)
    except SystemExit as ended:
        code = ended.code
    assert code == 4
    told = capsys.readouterr().err
    assert said in told
    assert "usage:" not in told


WITHOUT = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
from memproto import cli
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (["judge", "builtin"], "pytest"),
        (["html", "report.json", "-o", "page.html"], "jinja2"),
        (["board", "report.json", "-o", "site"], "jinja2"),
        (["verify", "report.json"], "jsonschema"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_without_the_kit_is_told_with_the_extra(words, module, tmp_path):
    saved(tmp_path / "report.json", built(judged()))
    done = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, module, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert module in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("\n  fix: pip install 'memproto[kit]'\n")


def test_the_nearest_name_is_none_where_nothing_is_near():
    assert near.nearest("builtn", ["builtin", "sqlite"]) == "builtin"
    assert near.nearest("acme", ["builtin", "sqlite"]) == ""
    assert near.meant("acme", ["builtin"], "install it") == "install it"
