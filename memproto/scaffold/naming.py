"""Names that a new provider may have, and the spellings of its name."""

import dataclasses
import importlib.util
import keyword
import re
import sys
import unicodedata
from typing import Literal, get_args

from memproto.errors import KitUsageError
from memproto.export import TAKEN
from memproto.loading import packages

#: The languages that a new provider can be written in.
Language = Literal["python", "typescript", "rust"]

LANGUAGES: tuple[Language, ...] = get_args(Language)

#: Labels that the kit allows, without those that no module can have; see MP-NAME-002.
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_MOST_CHARS = 64

#: Folders that a package of that name would be mixed up with.
_FOLDERS = frozenset({"build", "dist", "docs", "examples", "src", "test", "tests"})

#: Packages that a new one would hide, whether they are installed here or not.
_PACKAGES = frozenset({"agent", "hypothesis", "memproto", "pip", "plugins", "pytest", "setuptools"})

#: Words that a package of Rust cannot have as its name.
_RUST = frozenset(
    {
        *("abstract", "alloc", "as", "async", "await", "become", "box", "break", "const"),
        *("continue", "core", "crate", "deps", "do", "dyn", "else", "enum", "extern", "false"),
        *("final", "fn", "for", "gen", "if", "impl", "in", "incremental", "let", "loop", "macro"),
        *("match", "mod", "move", "mut", "override", "priv", "proc-macro", "proc_macro", "pub"),
        *("ref", "return", "self", "static", "std", "struct", "super", "trait", "true", "try"),
        *("type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield"),
    }
)


@dataclasses.dataclass(frozen=True)
class Name:
    """
    The spellings of one provider's name.

    Attributes:
        label: The directory, the distribution, the entry point, and `name` of the provider.
        module: The package that is imported: the label with `_` for `-`.
        cls: The class.

    """

    label: str
    module: str
    cls: str


def named(text: str, *, hermes: bool = False, language: Language = "python") -> Name:
    """
    The spellings of a name as a user typed it.

    Raises:
        KitUsageError: It is no name of a provider, or another package has it.

    """
    if not _NAME.fullmatch(text) or len(text) > _MOST_CHARS:
        fault = "is no name of a provider: small letters and digits, with - or _ between them"
        raise KitUsageError(text or '""', fault, f"name it {_mended(text)}")
    module = text.replace("-", "_")
    if language == "python":
        fault = _taken(text, module, hermes=hermes)
    else:
        fault = _taken_of(text, language)
    if fault:
        raise KitUsageError(text, fault, f"name it otherwise, such as my-{text}")
    cls = "".join(part.capitalize() for part in module.split("_"))
    return Name(text, module, cls)


def _mended(text: str) -> str:
    """The nearest name to one that is none."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plain)
    parts = re.findall(r"[a-z0-9]+", spaced.lower())
    joined = "-".join(parts).lstrip("0123456789-")[:_MOST_CHARS].rstrip("-")
    return joined or "my-memory"


def _taken_of(label: str, language: Language) -> str:
    """The holder of the name where no package of Python is made; "" for nobody."""
    if language == "rust" and label in _RUST:
        return "is a name that no package of Rust can have"
    if label in _FOLDERS:
        return "is the name of a folder that projects have"
    return ""


def _taken(label: str, module: str, *, hermes: bool) -> str:
    """The holder of the name; "" for nobody."""
    if keyword.iskeyword(module) or keyword.issoftkeyword(module):
        return "is a word of Python, which no package can be imported by"
    if module in sys.stdlib_module_names:
        return "is a module of Python's own, which the package would hide"
    if module in _FOLDERS:
        return "is the name of a folder that projects have"
    if hermes and label in TAKEN:
        return "is a provider that Hermes has of its own, which it would load"
    point = packages.entry_point(label)
    if point is not None:
        return f"is the entry point of an installed provider, {point.value}"
    if module in _PACKAGES or importlib.util.find_spec(module) is not None:
        return "is the name of a package that the new one would hide"
    return ""
