"""Who may import whom: earlier layers know nothing of later ones, and heavy imports wait until they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "poise"

LAYERS = (
    "native", "core", "terrain", "phases", "intake", "io", "body", "physics", "step",
    "filter", "goals", "analysis", "spacetime", "check", "edit", "synthesis", "tracking", "world",
    "locomotion", "show", "serve", "cli",
)  # fmt: skip
"""From first to last; one may import itself and what comes before it."""

OUTSIDE = {"__init__", "__main__", "py.typed", "presets", "samples"}
"""The package itself, which shows names of every layer; and data folders, which may know errors only."""

FILES = sorted(SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node: `ast.walk` without the expressions, in a third of the time."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            yield child
            yield from _statements(child)


@cache
def _imports(path: Path) -> tuple[list[ast.Import | ast.ImportFrom], list[ast.ImportFrom]]:
    """Import statements anywhere in a file, and those of names at its top; the rest of its tree is not kept."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    anywhere = [node for node in _statements(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    top = [one for node in tree.body for one in (node.body if isinstance(node, ast.If) else [node])]
    return anywhere, [one for one in top if isinstance(one, ast.ImportFrom)]


def imported(path: Path) -> list[tuple[int, str]]:
    """Full names of the modules a file imports anywhere, in functions too, with their lines."""
    found: list[tuple[int, str]] = []
    package = ("poise", *path.relative_to(SOURCE).parts[:-1])
    for node in _imports(path)[0]:
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *((node.module,) if node.module else ())))
            # `from poise import x` may mean the module poise.x
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def test_every_file_has_a_layer() -> None:
    assert {layer_of(f) for f in FILES} <= set(LAYERS) | OUTSIDE


def test_imports_point_backwards() -> None:
    wrong = []
    for path in FILES:
        layer = layer_of(path)
        if layer in ("__init__", "__main__"):
            continue
        allowed = {"core"} if layer in OUTSIDE else set(LAYERS[: LAYERS.index(layer) + 1])
        wrong += [
            f"{path.relative_to(SOURCE)}, line {line}: {layer} may not import {name}"
            for line, name in imported(path)
            if name.startswith("poise.") and (part := name.split(".")[1]) in LAYERS and part not in allowed
        ]
    assert not wrong


def _module(path: Path) -> str:
    return ".".join(("poise", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {_module(f) for f in FILES}


def _at_the_top(path: Path) -> set[str]:
    """Modules that a file imports at its top, under TYPE_CHECKING too."""
    found: set[str] = set()
    for one in _imports(path)[1]:
        if one.module:
            found |= {
                f"{one.module}.{a.name}" if f"{one.module}.{a.name}" in MODULES else one.module for a in one.names
            }
    return found & MODULES - {_module(path)}


def test_no_module_imports_itself_through_others() -> None:
    imports = {_module(f): _at_the_top(f) for f in FILES if f.name != "__init__.py"}
    left = dict(imports)
    while free := [m for m, needs in left.items() if not needs & left.keys()]:
        for module in free:
            del left[module]
    assert not left, f"these import each other, or something that does: {sorted(left)}"


def test_files_are_read_as_a_whole() -> None:
    """No more than five hundred lines: cut one by responsibility, not by length."""
    long = {f.relative_to(SOURCE).as_posix() for f in FILES if len(f.read_text(encoding="utf-8").splitlines()) > 500}
    assert not long


def test_only_few_places_talk_to_the_engine() -> None:
    users = {
        f.relative_to(SOURCE).as_posix() for f in FILES for _, name in imported(f) if name.split(".")[0] == "mujoco"
    }
    ours = {f"physics/mujoco_{name}.py" for name in ("backend", "bodies", "engine", "scene", "sight")}
    assert ours <= users
    assert all(user in ours or user.startswith("show/") for user in users), users


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8")
    return set(out.stdout.split())


def test_importing_poise_imports_nothing_heavy() -> None:
    modules = _modules_after("import poise")
    assert "poise" in modules
    heavy = {
        "mujoco",
        "daqp",
        "scipy.linalg",
        "pygltflib",
        "av",
        "trimesh",
        "PIL",
        "typer",
        "rich",
    }
    assert not heavy & modules


def test_layers_of_data_need_no_engine() -> None:
    data = _modules_after("import poise.io, poise.body, poise.terrain, poise.core.motion, poise.phases")
    assert not {"mujoco", "daqp"} & data


def test_families_are_reached_after_import_poise_alone() -> None:
    code = "import poise; poise.edit.ballistic, poise.step.solve_step, poise.io.load, poise.check; "
    code += "poise.synthesis.BEHAVIORS"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
