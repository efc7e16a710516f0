"""The answers that checks save, and the files that they write into a home beside the provider."""

import pytest

from memproto.bindings import HERMES
from memproto.conformance.provider.extensions import config
from memproto.testing.scenarios import manifest
from tests.kit_runs import outcomes, reported, write

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


SERVED = """
from tests.good.configured import Configured


class Served(Configured):
    def get_config_schema(self):
        server = {"key": "server", "description": "Address of the server", "required": True}
        return [server, *super().get_config_schema()]


class AsksForTheServer(Served):
    def save_config(self, values, home):
        if "server" not in values:
            raise ValueError("the address of the server is missing")
        super().save_config(values, home)


class SlipsWithoutTheServer(Served):
    def save_config(self, values, home):
        super().save_config({**values, "server": values["server"]}, home)


class AsksForWhatIsNotRequired(Configured):
    def save_config(self, values, home):
        if "server" not in values:
            raise ValueError("the address of the server is missing")
        super().save_config(values, home)
"""


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("AsksForTheServer", "not_applicable"),
        ("SlipsWithoutTheServer", "fail"),
        ("AsksForWhatIsNotRequired", "fail"),
    ],
)
def test_a_required_answer_that_nobody_gave_may_be_asked_for(tmp_path, kind, outcome):
    write(tmp_path, served__py=SERVED)
    found = reported(tmp_path, f"--memproto=served:{kind}", "--memproto-clause=MP-CONF-004")
    assert outcomes(found["reports"][0])["MP-CONF-004"] == outcome


ADDRESSED = """
import json
from pathlib import Path

from tests.good.configured import Configured

ADDRESS = {"key": "server_url", "description": "Address", "default": "https://one.example"}


class AsksTheServer(Configured):
    def get_config_schema(self):
        return [ADDRESS, *super().get_config_schema()]

    def save_config(self, values, home):
        address = values.get("server_url", "").encode("ascii")
        super().save_config(values, home)
        Path(home, "address").write_bytes(address)


class AsksForAnAddressAlone(AsksTheServer):
    def get_config_schema(self):
        return [ADDRESS]


class EncodesByTheLocale(AsksTheServer):
    @staticmethod
    def write(home, answers):
        with home.joinpath("configured.json").open("w") as file:
            json.dump(answers, file, ensure_ascii=False)
"""


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("AsksTheServer", "pass"),
        ("AsksForAnAddressAlone", "not_applicable"),
        ("EncodesByTheLocale", "fail"),
    ],
)
def test_an_address_is_ascii_in_every_locale(tmp_path, kind, outcome):
    write(tmp_path, addressed__py=ADDRESSED)
    found = reported(tmp_path, f"--memproto=addressed:{kind}", "--memproto-clause=MP-CONF-011")
    assert outcomes(found["reports"][0])["MP-CONF-011"] == outcome
