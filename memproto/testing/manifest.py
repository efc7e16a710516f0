"""The plugin.yaml that stands beside a provider's module."""

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto.testing import locate
from memproto.testing.clauses import Untestable

#: plugin.yaml of a package is in its folder, or in a folder above a provider's own module.
_LEVELS = 2


def beside(provider: Any) -> Path | None:
    """The plugin.yaml of a provider's class, or of one that it is built on in the same package."""
    kind = locate.kind_of(provider)
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == kind.__module__.partition(".")[0]:
            for folder in _folders(base):
                if (folder / "plugin.yaml").is_file():
                    return folder / "plugin.yaml"
    return None


def _folders(kind: type) -> Iterator[Path]:
    """The folders of a class's packages, its own first; never one that is no package."""
    try:
        folder = Path(inspect.getfile(kind)).parent
    except (TypeError, OSError):
        return
    for _ in range(_LEVELS):
        if (folder / "__init__.py").is_file():
            yield folder
        folder = folder.parent


def read(path: Path) -> Any:
    """
    What the file holds, JSON or other YAML.

    Raises:
        ValueError: It cannot be parsed; the message says where.
        Untestable: PyYAML is not installed.

    """
    text = path.read_text("utf-8-sig")
    try:
        return json.loads(text)
    except ValueError:
        return _as_yaml(text)


def _as_yaml(text: str) -> Any:
    try:
        yaml = sys.modules.get("yaml") or importlib.import_module("yaml")
    except ModuleNotFoundError:
        raise Untestable("plugin.yaml cannot be read; needs: the package PyYAML") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
