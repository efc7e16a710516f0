"""The good providers and the parts of hosts that are changed, and how each is judged."""

import dataclasses
import shutil
from pathlib import Path

from memproto import spec

ROOT = Path(__file__).parents[2]

#: The parts of a checkout that an installed package is made of, by the place in it.
_INSTALLED = {
    "memproto": "memproto",
    "memproto/conformance": "conformance",
    "memproto/reference_providers": "reference_providers",
    "memproto/_spec": "spec",
}

_LEFT = shutil.ignore_patterns("__pycache__", "*.pyc", "templates")


@dataclasses.dataclass(frozen=True)
class Subject:
    """
    A target whose source is changed, one place at a time.

    Attributes:
        name: As the command line and the tables have it.
        target: TARGET of the kit, in a copy.
        files: The changed files, as patterns below the checkout.
        laid: Place in a copy to the file or folder of the checkout that lies there.
        side: The side whose requirements judge it.
        is_kit: True if the changed files are part of the package, so that each copy has a whole
            package of its own.
        left: Files that match `files` and are not changed, as tables that a script writes.

    """

    name: str
    target: str
    files: tuple[str, ...]
    laid: dict[str, str] = dataclasses.field(default_factory=dict)
    side: spec.Side = "provider"
    is_kit: bool = False
    left: tuple[str, ...] = ()

    def sources(self, root: Path = ROOT) -> list[Path]:
        """The files that are changed, below the checkout, in one order on every machine."""
        found = {path for pattern in self.files for path in root.glob(pattern)}
        names = sorted(path.relative_to(root).as_posix() for path in found)
        return [Path(name) for name in names if name not in self.left]

    def lay(self, folder: Path, root: Path = ROOT) -> None:
        """Copy everything that the target is made of into a folder that is not there yet."""
        folder.mkdir(parents=True)
        for place, source in self._laid().items():
            if (root / source).is_dir():
                shutil.copytree(root / source, folder / place, ignore=_LEFT, dirs_exist_ok=True)
            else:
                shutil.copy2(root / source, folder / place)

    def place(self, source: Path) -> Path:
        """The place in a copy of a file of the checkout."""
        for place, laid in self._laid().items():
            if source.is_relative_to(laid):
                return Path(place, source.relative_to(laid))
        raise LookupError(f"{source} is no part of {self.name}")

    def _laid(self) -> dict[str, str]:
        return {**(_INSTALLED if self.is_kit else {}), **self.laid}


def _provider(name: str, attribute: str) -> Subject:
    """A reference provider; its imports are relative, so a copy has a name of its own."""
    place = f"changed_{name}"
    folder = f"reference_providers/{name}"
    skipped = (f"{folder}/__main__.py",)
    return Subject(name, f"{place}:{attribute}", (f"{folder}/*.py",), {place: folder}, left=skipped)


def _good(name: str, attribute: str) -> Subject:
    target = f"tests.good.{name}:{attribute}"
    laid = {"tests": "tests"}
    return Subject(f"good-{name}", target, (f"tests/good/{name}.py",), laid)


def _host(name: str, target: str, files: tuple[str, ...], left: tuple[str, ...] = ()) -> Subject:
    return Subject(name, target, files, side="host", is_kit=True, left=left)


_REGISTRY = "memproto:MemoryProviderRegistry"

#: Tables that scripts write from Unicode's files.
_TABLES = ("memproto/fence/names.py", "memproto/fence/tables.py")

_ALL = (
    Subject(
        "complete",
        "complete:Complete",
        ("examples/complete.py",),
        {"complete.py": "examples/complete.py"},
    ),
    _provider("builtin", "BuiltinMemoryProvider"),
    _provider("sqlite", "SqliteMemoryProvider"),
    _good("journal", "Journal"),
    _good("ledger", "Ledger"),
    _good("private", "Private"),
    _good("tooled", "Tooled"),
    _good("telling", "Telling"),
    _good("targeted", "Targeted"),
    _good("switching", "Switching"),
    _good("configured", "Configured"),
    _good("choosy", "Choosy"),
    _host(
        "registry",
        _REGISTRY,
        ("memproto/registry/*.py", "memproto/registry/calls/*.py", "memproto/registry/parts/*.py"),
    ),
    _host("fence", _REGISTRY, ("memproto/fence/*.py",), _TABLES),
    _host("agent", "memproto.testing.agent:Agent", ("memproto/testing/agent.py",)),
)

#: Every subject by its name.
SUBJECTS = {subject.name: subject for subject in _ALL}
