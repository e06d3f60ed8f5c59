"""What shells complete: names of policies, laws, experiments and scenarios. Nothing here loads the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

_STUDIES = Path(__file__).parents[1] / "studies"


def policies(incomplete: str) -> list[str]:
    """Policies."""
    from belated.registry import class_names

    return _matching(class_names("belated.policies"), incomplete)


def policy_list(incomplete: str) -> list[str]:
    """Policies, separated by commas."""
    return _last_of_list(policies, incomplete)


def laws(incomplete: str) -> list[str]:
    """Reward and delay laws."""
    from belated.registry import class_names

    return _matching([*class_names("belated.rewards"), *class_names("belated.delays")], incomplete)


def experiments(incomplete: str) -> list[str]:
    """The experiments of ``belated reproduce``, and files."""
    names = sorted(path.stem for path in (_STUDIES / "experiments").glob("*.toml"))
    return [*_matching([*names, "all"], incomplete), *_toml_files(incomplete)]


def scenarios(incomplete: str) -> list[str]:
    """Scenarios of the arena, separated by commas."""
    import tomllib

    files = sorted((_STUDIES / "arena" / "data").glob("*.toml"))
    names = [name for path in files for name in tomllib.loads(path.read_text(encoding="utf-8"))]
    return _last_of_list(lambda part: _matching(names, part), incomplete)


def devices(incomplete: str) -> list[str]:
    """Devices."""
    return _matching(["cpu", "cuda"], incomplete)


def log_levels(incomplete: str) -> list[str]:
    """Log levels of the server."""
    return _matching(["debug", "info", "warning", "error"], incomplete)


def roles(incomplete: str) -> list[str]:
    """Roles of a key."""
    return _matching(["reader", "writer", "admin"], incomplete)


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _last_of_list(complete: Callable[[str], list[str]], incomplete: str) -> list[str]:
    """Complete what is behind the last comma."""
    before, comma, part = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete(part)]


def _toml_files(incomplete: str) -> list[str]:
    """Folders and TOML files that begin like this."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete or ".").parent
    shown = "" if folder == Path() and not incomplete.startswith("./") else f"{folder}/".replace("//", "/")
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    paths = [f"{shown}{path.name}{'/' if path.is_dir() else ''}" for path in found if not path.name.startswith(".")]
    return [path for path in paths if path.startswith(incomplete) and path.endswith(("/", ".toml"))]
