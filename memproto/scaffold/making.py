"""A new provider's directory: the templates, with its name in them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from memproto.bindings import HERMES, NATIVE
from memproto.errors import KitUsageError
from memproto.scaffold.naming import Language, Name, named

#: Folders of what tools of other languages make in a project: no parts of it.
_MADE = frozenset({"__pycache__", "node_modules", "dist", "target"})

#: The name that the templates have.
EXAMPLE = Name("example-memory", "example_memory", "ExampleMemory")

_TEMPLATES = Path(__file__).with_name("templates")


def new(text: str, directory: Path, *, hermes: bool = False, language: Language = "python") -> Path:
    """
    Make the directory of a provider called `text` in `directory`; gives its path.

    Writes into a directory of its own only, and removes it again where it cannot be finished.

    Raises:
        KitUsageError: It is no name of a provider, something of that name is there, or a plugin of
            Hermes is asked for in another language.
        OSError: The directory cannot be written.

    """
    folder = directory / text
    if text and "/" not in text and os.path.lexists(folder):
        raise _there(text)
    if hermes and language != "python":
        fix = "leave out --hermes; a host of the wire takes the program"
        raise KitUsageError("--hermes", f"makes no plugin of {language}, but of Python", fix)
    name = named(text, hermes=hermes, language=language)
    try:
        folder.mkdir()
    except FileExistsError:
        raise _there(text) from None
    try:
        _write(folder, name, _kinds(language, hermes=hermes))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _there(text: str) -> KitUsageError:
    fix = "choose another name, or another working directory; nothing was changed"
    return KitUsageError(f"./{text}", "is there already", fix)


def _kinds(language: Language, *, hermes: bool) -> tuple[str, ...]:
    """The folders of templates that make up one project."""
    if language == "python":
        return ("common", "python", (HERMES if hermes else NATIVE).name)
    return ("common", language)


def _write(folder: Path, name: Name, kinds: tuple[str, ...]) -> None:
    for root in (_TEMPLATES / kind for kind in kinds):
        for source in _files(root):
            target = folder / _renamed(str(source.relative_to(root)), name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_renamed(source.read_text("utf-8"), name), "utf-8")


def _files(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        # An installer compiles what ends in .py, templates too.
        if path.is_file() and not _MADE.intersection(path.relative_to(root).parts):
            yield path


def _renamed(text: str, name: Name) -> str:
    for old, fresh in (
        (EXAMPLE.module, name.module),
        (EXAMPLE.label, name.label),
        (EXAMPLE.cls, name.cls),
    ):
        text = text.replace(old, fresh)
    return text
