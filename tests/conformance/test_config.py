"""Files that the checks of saved answers write into a home beside the provider."""

import pytest

from memproto.bindings import HERMES
from memproto.conformance.provider.extensions import config
from memproto.testing.scenarios import manifest

_ADDED = HERMES.shared_files["config.yaml"]


@pytest.mark.parametrize(
    "before",
    [
        "memory:\n  provider: harbour\n",
        '{"memory": {"provider": "harbour"}}',
        "{memory: {provider: harbour}}\n",
        "memory: {provider: harbour}",
        "",
    ],
)
def test_a_configuration_in_any_style_is_a_configuration_still(tmp_path, before):
    path = tmp_path / "config.yaml"
    path.write_text(before)
    config._written_beside(path, _ADDED)
    after = manifest.read(path)
    assert after.pop("display") == {"skin": "velorica"}
    assert after == ({"memory": {"provider": "harbour"}} if before else {})


def test_lines_are_added_behind_those_that_are_there(tmp_path):
    path = tmp_path / ".env"
    path.write_text("ONE=1\n")
    config._written_beside(path, "TWO=2\n")
    assert path.read_text() == "ONE=1\nTWO=2\n"
