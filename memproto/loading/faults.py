"""What can be wrong with a target, in the words that its author reads."""

from memproto.errors import MissingPackage, NoProvider, TargetDoesNotImport


def missing(target: str, error: ModuleNotFoundError) -> MissingPackage:
    """The target needs a package that is not installed."""
    return MissingPackage(
        f"--memproto={target}",
        f"needs the module {error.name!r}, which is not installed here",
        f"install the package that holds {error.name!r} into this environment",
    )


def does_not_import(target: str, error: Exception) -> TargetDoesNotImport:
    """Importing or building the target raised."""
    frame = _innermost(error)
    return TargetDoesNotImport(
        f"--memproto={target}",
        f"raises {type(error).__name__}: {error} ({frame})",
        "make it import and build in a plain interpreter first",
    )


def _innermost(error: Exception) -> str:
    place = error.__traceback__
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "no frame"


def no_provider(target: str, fault: str) -> NoProvider:
    """What was found is no provider."""
    return NoProvider(
        f"--memproto={target}", fault, "name the provider's class, or a factory without arguments"
    )
