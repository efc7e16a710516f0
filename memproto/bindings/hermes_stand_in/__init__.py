"""
Stand-ins of the modules of hermes-agent that memory providers import, where it is not installed.

A vendor's CI has no hermes-agent, and its newest releases are on no package index. The modules here
are written from the host's interface: they hold what real providers name, under the host's names,
and behave as the host does in a home without settings. Any other name is missing, as it would be in
a host of another release. They are offered behind everything that is installed, so that a module of
the author's, or a real host, is found first.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from memproto.adapters.hermes_releases import NEWEST, RELEASES

#: Name of the host's module to the file here that stands in for it; "" for a package without code.
_FILES = {
    "agent": "",
    "agent.memory_provider": "memory_provider",
    "agent.secret_scope": "secret_scope",
    "hermes_cli": "",
    "hermes_cli.config": "config",
    "hermes_cli.profiles": "profiles",
    "hermes_constants": "constants",
    "tools": "",
    "tools.registry": "registry",
    "utils": "utilities",
}

#: The first release that has a module, or a name of one, if it is not the first release of all.
_SINCE = {
    "agent.secret_scope": "0.19",
    "agent.memory_provider:INDICATOR_GLYPH": "0.21",
    "agent.memory_provider:MemoryObservation": "0.21",
    "agent.memory_provider:MemoryPrefetchResult": "0.21",
    "agent.memory_provider:PRE_COMPRESS_CHECKPOINT_API_VERSION": "0.21",
    "agent.memory_provider:RecallStatus": "0.21",
    "agent.memory_provider:TRIVIAL_PROMPT_RE": "0.21",
    "agent.memory_provider:ctx_bound": "0.21",
    "agent.memory_provider:is_core_memory_provider": "0.21",
    "agent.memory_provider:is_trivial_prompt": "0.21",
    "agent.memory_provider:spawn_context_thread": "0.21",
    "hermes_cli.config:get_env_value_prefer_dotenv": "0.19",
    "hermes_cli.config:load_config_readonly": "0.19",
    "hermes_constants:get_hermes_home_override": "0.19",
    "hermes_constants:get_process_hermes_home": "0.19",
    "hermes_constants:hermes_home_key": "0.21",
    "hermes_constants:reset_hermes_home_override": "0.19",
    "hermes_constants:set_hermes_home_override": "0.19",
    "utils:env_float": "0.19",
    "utils:read_json_or_empty": "0.21",
}

#: Members of the base class: the hooks of a release are in the table of releases.
_BASE, _CHECKPOINT = "agent.memory_provider", "pre_compress_checkpoint_api_version"


def offer(release: str = NEWEST) -> None:
    """
    Offer the modules of `release` to every import of this process, behind all that is installed.

    A second call changes the release for what is imported from then on.
    """
    known = _offered()
    if known is not None:
        known.release = release
    else:
        sys.meta_path.append(_Finder(release))


def withdraw() -> None:
    """Offer them no more, and forget those that were imported."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in [name for name in _FILES if stands(name)]:
        del sys.modules[name]


def offered() -> str:
    """The release whose modules are offered, or ""."""
    known = _offered()
    return known.release if known is not None else ""


def stands(module: str) -> bool:
    """True if a module of that name is imported, and is a stand-in."""
    found = sys.modules.get(module)
    loader = getattr(getattr(found, "__spec__", None), "loader", None)
    return isinstance(loader, _Loader | _PackageLoader)


def _offered() -> "_Finder | None":
    return next((finder for finder in sys.meta_path if isinstance(finder, _Finder)), None)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the stand-ins of one release."""

    def __init__(self, release: str) -> None:
        self.release = release

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The stand-in; None for a module of another parent, and for one of a later release."""
        file = _FILES.get(fullname)
        above = fullname.rpartition(".")[0]
        if file is None or not _has(self.release, fullname) or (above and not stands(above)):
            return None
        if not file:
            spec = importlib.machinery.ModuleSpec(fullname, _PackageLoader(), is_package=True)
            spec.submodule_search_locations = []
            return spec
        place = str(Path(__file__).with_name(f"{file}.py"))
        loader = _Loader(fullname, place, self.release)
        return importlib.util.spec_from_file_location(fullname, place, loader=loader)


class _PackageLoader(importlib.abc.Loader):
    """A package of the host, of which only the modules are there."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it without members."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs the code of a stand-in, and takes away what the release does not have."""

    def __init__(self, name: str, place: str, release: str) -> None:
        super().__init__(name, place)
        self._release = release

    def exec_module(self, module: types.ModuleType) -> None:
        """As a host of the release would have it."""
        super().exec_module(module)
        name = module.__name__
        for member in [member for member in vars(module) if not member.startswith("__")]:
            if not _has(self._release, f"{name}:{member}"):
                delattr(module, member)
        if name == _BASE:
            base, hooks = module.MemoryProvider, RELEASES[self._release].hooks
            later = set(RELEASES[NEWEST].hooks) - set(hooks)
            if not RELEASES[self._release].has_checkpoints:
                later.add(_CHECKPOINT)
            for hook in later:
                delattr(base, hook)
            for hook, function in module.earlier(self._release).items():
                setattr(base, hook, function)
            del module.earlier


def _has(release: str, name: str) -> bool:
    names = list(RELEASES)
    return names.index(release) >= names.index(_SINCE.get(name, names[0]))
