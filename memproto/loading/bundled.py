"""A provider that the installed hermes-agent bundles, by its name and by the host's own loader."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.bindings import hermes_agent as host
from memproto.errors import NoSuchTarget
from memproto.loading.faults import command, does_not_import, missing
from memproto.near import nearest


def bundled(target: str, loader: Any) -> Callable[[], Any]:
    """
    A factory of `hermes:NAME`, by `load_memory_provider` of the host's `plugins.memory`.

    Raises:
        NoSuchTarget: `loader` is not that of hermes-agent, or bundles no such provider.
        MissingPackage: The provider needs a package that is not installed.
        TargetDoesNotImport: The provider raised.

    """
    name = target.partition(":")[2]
    load_one: Callable[[str], Any] | None = getattr(loader, "load_memory_provider", None)
    if load_one is None:
        raise NoSuchTarget(
            f"--memproto={target}",
            "the installed `plugins.memory` is not that of hermes-agent",
            "pip install hermes-agent",
        )
    return _Bundled(target, name, loader)


class _Bundled:
    """Loads one more instance at each call; a module that was loaded before is used again."""

    def __init__(self, target: str, name: str, loader: Any) -> None:
        self._target = target
        self._name = name
        self._loader = loader

    def __call__(self) -> Any:
        try:
            found = self._loader.load_memory_provider(self._name)
        except ModuleNotFoundError as error:
            raise missing(self._target, error) from None
        except Exception as error:
            raise does_not_import(self._target, error) from None
        if found is None:
            self._explain()
        return found

    def _explain(self) -> None:
        """Say why the host's loader gave nothing: it keeps to itself what a provider raised."""
        folder = Path(str(self._loader.__file__)).parent / self._name
        if (folder / "__init__.py").is_file():
            self._import_aloud()
        names = sorted(path.parent.name for path in folder.parent.glob("*/__init__.py"))
        near, known = nearest(self._name, names), f"name one of: {', '.join(names)}"
        raise NoSuchTarget(
            f"--memproto={self._target}",
            f"hermes-agent {host.version()} bundles no memory provider {self._name!r}",
            f"did you mean {near!r}? {command(f'hermes:{near}')}" if near else known,
        )

    def _import_aloud(self) -> None:
        module = f"plugins.memory.{self._name}"
        sys.modules.pop(module, None)
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise missing(self._target, error) from None
        except Exception as error:
            raise does_not_import(self._target, error) from None
