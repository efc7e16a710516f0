"""
The steps of the build that `pyproject.toml` cannot say.

The broken providers become data: `memproto explain` shows them, and the wheel does not hold
`tests/broken`. A checkout that is installed to be followed needs no such file: `memproto.mutants`
reads the folder there. The catalogue becomes JSON beside its TOML, which takes far longer to
read; each process of a run reads it. A checkout has the TOML alone, so that an edit counts. And
addresses without an owner are no metadata: as long as `pyproject.toml` names nobody, what is built
links to nobody.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - an older pip builds first, and looks at the version last
    # Before an import that an older Python cannot read, and before pip tries release after release
    # of each dependency for a Python that no release of this project takes.
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"memproto needs Python 3.11 or newer, and this is Python {found}")

import json
import tomllib

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

ROOT = Path(__file__).parent
# The build backend does not look for modules in the project.
sys.path.insert(0, str(ROOT))

from memproto import links, mutants  # noqa: E402 - needs the path above


class WithData(build_py):
    """Copies the packages, and writes mutants and catalogue as data beside their readers."""

    def run(self) -> None:
        """Build; nothing is written into the checkout."""
        super().run()
        if not self.editable_mode:
            self._mutants().write_text(mutants.as_data(ROOT), "utf-8")
            rows = tomllib.loads((ROOT / "spec/v1/requirements.toml").read_text("utf-8"))
            self._catalogue().write_text(json.dumps(rows, ensure_ascii=False), "utf-8")

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Every file that is built, the two of data among them."""
        outputs: list[str] = super().get_outputs(include_bytecode)
        made = [str(self._mutants()), str(self._catalogue())]
        return outputs if self.editable_mode else [*outputs, *made]

    def _mutants(self) -> Path:
        return Path(self.build_lib, "memproto", mutants.FILE)

    def _catalogue(self) -> Path:
        return Path(self.build_lib, "memproto", "_spec", "v1", "requirements.json")


class WithOwner(egg_info):
    """Writes the metadata, without the addresses that lead nowhere yet."""

    def run(self) -> None:
        """Write them."""
        named = self.distribution.metadata
        named.project_urls = links.leading(named.project_urls or {})
        super().run()


setup(cmdclass={"build_py": WithData, "egg_info": WithOwner})
