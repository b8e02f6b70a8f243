"""FBX, Collada and Blender's own files, through Blender: out of process, with the result kept in the user's cache.

Blender is found by itself: the program of that name, the package `bpy` of this Python, or what the environment variable
POISE_BLENDER names (Blender, or a Python that has `bpy`). It turns a file into glTF, and glTF into FBX. Blender
usually puts time 0 of an FBX at its frame 1; here at frame 0.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from poise.core.errors import FileFormatError, InvalidValue, PoiseError, install_line
from poise.core.motion import Evidence, Motion
from poise.core.skeleton import Skeleton
from poise.io import gltf
from poise.io.files import cache_folder, read_bytes, whole_file, write_atomically
from poise.io.format import ReadOptions
from poise.io.gltf_document import GltfDocument, open_gltf
from poise.io.gltf_pose import GltfSource, skeleton_tree
from poise.io.gltf_tree import GltfTree
from poise.io.gltf_write import as_figure, changed_joints, stretched

NAME = "fbx"
EXTENSIONS = (".fbx", ".dae", ".blend")
WRITTEN_EXTENSIONS = (".fbx",)
NOT_WRITTEN = dict.fromkeys((".dae", ".blend"), "Write .fbx, .glb or .usdc.")
MAX_BYTES = 256_000_000
"""Largest file that is given to Blender [bytes]."""
LONGEST = 900.0
"""Blender is stopped after this time [s]."""
KEPT = 40
"""Results that stay in the cache."""
SCRIPT = Path(__file__).with_name("fbx_blender.py")
FILE = SCRIPT.with_name("fbx_file.py")
"""Scripts that Blender runs: the first loads the second."""
DIALECT = "through Blender"
WRITTEN = b"poise: written"
"""What the script says last. Blender may crash after it, while it closes; the file is whole then."""
OPENING = {
    ".fbx": "import_scene.fbx(filepath=r'{path}')",
    ".blend": "wm.open_mainfile(filepath=r'{path}')",
    ".dae": "wm.collada_import(filepath=r'{path}')",
}
"""Blender's call (`bpy.ops.…`) that opens a file, for those who do it by hand."""


@dataclass(frozen=True)
class FbxDocument(GltfDocument):
    """A file as Blender gave it on: its figure document, and its own bytes."""

    own: bytes = b""


def matches(path: Path, head: bytes) -> bool:
    """True for FBX, Collada and Blender files; what they hold, Blender finds out."""
    return head.startswith((b"Kaydara FBX", b"BLENDER")) or path.suffix.lower() in EXTENSIONS


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of a file, with or without animations."""
    return gltf.figure_skeleton(*_opened(path), options)


def read_rest(path: Path, options: ReadOptions) -> Motion:
    """A file as one frame at its bones' rest, with its skin."""
    return gltf.rest_figure(*_opened(path), options, kind(path))


def read(path: Path, options: ReadOptions) -> Motion:
    """Read one action: the only one, or the one `options.clip` names.

    Raises:
        FileFormatError: if there is no Blender, if it cannot read the file, or what `gltf.read` raises.
    """
    motion = gltf.read_figure(*_opened(path), options)
    source = motion.source
    assert source is not None
    said = {
        "unit": Evidence(options.unit or 1.0, 0.8, "Blender turns the file's unit into meters"),
        "up": Evidence(options.up or "y", 0.9, "Blender turns the file's axes"),
        "rest_pose": Evidence("the bones' rest in Blender", 0.8, "of an FBX its bind pose"),
    }
    evidence = source.evidence | {k: v for k, v in said.items() if not getattr(options, k, None)}
    warnings, version = source.warnings, _version(_opened(path)[0].own)
    if 0 < version < 7000:
        warnings += (
            f"This FBX has the old version {version / 1000:g}, of which Blender may lose keys: joints can be off. Save "
            "it as FBX 2014 (7.4) or newer in the tool it came from.",
        )
    said_as = {"format": kind(path), "dialect": DIALECT}
    return replace(motion, source=replace(source, **said_as, evidence=evidence, warnings=warnings))


def kind(path: Path) -> str:
    """What a file is: "fbx", "dae" or "blend"."""
    ending = path.suffix.lower()
    return ending.lstrip(".") if ending in EXTENSIONS else NAME


def _version(own: bytes) -> int:
    """Version of an FBX, such as 7400 or 6100; 0 if it says none."""
    if own.startswith(b"Kaydara FBX Binary"):
        return int.from_bytes(own[23:27], "little")
    said = re.search(rb"FBXVersion:\s*(\d{4})\b", own[:10_000])
    return int(said[1]) if said else 0


def describe(path: Path, options: ReadOptions) -> dict[str, Any] | None:
    """What a file says that `read` refuses because it holds several actions, or none."""
    found = gltf.describe_figure(*_opened(path), options)
    return None if found is None else found | {"format": kind(path), "dialect": DIALECT}


def write(motion: Motion, path: Path) -> None:
    """Write an FBX with skeleton, skin, pictures and all clips of the source; unchanged, the file that was read.

    Raises:
        InvalidValue: where there is no Blender.
    """
    source = motion.source.document if motion.source else None
    if isinstance(source, GltfSource) and isinstance(source.file, FbxDocument):
        is_same = motion.skeleton.names == source.tree.names and not any(changed_joints(motion, source).values())
        if is_same and source.file.own and source.file.path.suffix.lower() == ".fbx":
            return write_atomically(path, source.file.own)
    if _blender() is None:
        raise InvalidValue(f"Writing FBX needs Blender: {FIND}")
    with tempfile.TemporaryDirectory() as folder, whole_file(path) as made:
        figure, result = Path(folder) / "figure.glb", Path(folder) / "made.fbx"
        figure.write_bytes(as_figure(motion, motion.fps / max(1, round(motion.fps))))
        _run(path, figure, ".glb", result, ".fbx", motion.fps)
        shutil.copyfile(result, made)
    return None


FIND = (
    f"install Blender or its package ({install_line('blender')}, 1 GB), or name Blender, or a Python that has bpy, "
    "in the environment variable POISE_BLENDER."
)


def _blender() -> list[str] | None:
    """How to run a script in Blender; None if there is none."""
    named = os.environ.get("POISE_BLENDER")
    program = named or shutil.which("blender")
    if program and "python" not in Path(program).name.lower():
        return [
            program,
            "-b",
            "--factory-startup",
            "--disable-autoexec",
            "--python-exit-code",
            "1",
            "-P",
            str(SCRIPT),
            "--",
        ]
    if program:
        return [program, str(SCRIPT), "--"]
    return [sys.executable, str(SCRIPT), "--"] if importlib.util.find_spec("bpy") else None


def _run(path: Path, file: Path, kind: str, made: Path, wanted: str, rate: float) -> None:
    """Let Blender open a file and write another.

    Raises:
        FileFormatError: with what Blender says, if there is none, or it fails or takes too long.
    """
    call = _blender()
    if call is None:
        raise FileFormatError(
            f"{kind} files are read through Blender, which was not found.", path=path, cure=_by_hand(path)
        )
    said = b""
    try:
        done = subprocess.run(
            [*call, str(file), kind, str(made), wanted, repr(rate)],
            capture_output=True,
            timeout=LONGEST,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        said = done.stderr + done.stdout
    except subprocess.TimeoutExpired:
        problem = f"Blender did not finish in {LONGEST:g} s."
        raise FileFormatError(problem, path=path, cure="Convert it in Blender by hand.") from None
    except OSError as error:
        problem = f"Blender cannot be run ({call[0]}: {error.strerror or error})."
        raise FileFormatError(problem, path=path, cure=FIND[0].upper() + FIND[1:]) from None
    crashed_after_writing = done.returncode < 0 and WRITTEN in said
    if (done.returncode and not crashed_after_writing) or not made.exists():
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        errors = [line for line in lines if "rror" in line or "no longer" in line] or lines[-1:]
        why = (errors[-1] if errors else f"it ended with code {done.returncode}")[:300]
        raise FileFormatError(f"Blender cannot use this file: {why}", path=path, cure="Open it in Blender to see why.")


def _by_hand(path: Path) -> str:
    opening = OPENING[path.suffix.lower() if path.suffix.lower() in OPENING else ".fbx"].format(path=path)
    return (
        f'To have it done, {FIND} By hand: blender -b --python-expr "import bpy; '
        f"bpy.ops.{opening}; bpy.ops.export_scene.gltf(filepath=r'{path.with_suffix('.glb')}')\" "
        f"and read {path.with_suffix('.glb').name}."
    )


_last: tuple[FbxDocument, GltfTree] | None = None
"""The last file opened, with its skeleton: clips of one file are often read in a row."""


def _opened(path: Path) -> tuple[FbxDocument, GltfTree]:
    global _last
    own = read_bytes(path, limit=MAX_BYTES)
    if _last is not None and _last[0].path == path and _last[0].own == own:
        return _last
    kind = path.suffix.lower() if path.suffix.lower() in EXTENSIONS else ".fbx"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "figure.glb"
        known = _remembered(own)
        if known is not None and known.is_file():
            shutil.copyfile(known, made)
        else:
            _run(path, path.resolve(), kind, made, ".glb", 0.0)
            _remember(known, made)
        try:
            file = open_gltf(made)
            file = stretched(file, _stretch(file))
            tree = skeleton_tree(file)
        except FileFormatError as error:
            raise FileFormatError(error.problem, path=path, cure=error.cure) from None
    found = FbxDocument(path, file.json, file.buffers, b"", own)
    _last = found, tree
    return _last


def _stretch(file: GltfDocument) -> float:
    """What Blender's script says the times are to be multiplied by."""
    scenes = file.items("scenes")
    extras = scenes[0].get("extras") if scenes else None
    found = extras.get("poise_stretch") if isinstance(extras, dict) else None
    return float(found) if isinstance(found, int | float) and 1e-3 < found < 1e3 else 1.0


def _remembered(own: bytes) -> Path | None:
    """Where the result of these bytes is kept: another Blender and another script give another result."""
    digest = hashlib.sha256(own)
    digest.update(b"".join(path.read_bytes() for path in (SCRIPT, FILE)) + repr(_blender()).encode())
    try:
        return cache_folder() / "poise" / "blender" / f"{digest.hexdigest()[:32]}.glb"
    except RuntimeError:
        return None


def _remember(known: Path | None, made: Path) -> None:
    if known is None:
        return
    try:
        known.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        old = sorted(known.parent.glob("*.glb"), key=lambda p: p.stat().st_mtime)
        for path in old[: max(0, len(old) - KEPT + 1)]:
            path.unlink(missing_ok=True)
        write_atomically(known, made.read_bytes())
    except (OSError, PoiseError):  # read-only
        return
