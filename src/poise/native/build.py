"""Builds the compiled core: finds a C compiler, and makes one library for each kind of processor.

Needs the standard library alone, so that the build of the package can use it before Poise is installed.
`python -m poise.native` calls it by hand.

The name of a library holds a hash of its sources: one that was built from other sources is never loaded.
"""

from __future__ import annotations

import hashlib
import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SOURCES = HERE / "c"
BESIDE = HERE / "lib"
"""Where an installation keeps its libraries."""

MATH = ("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math", "-ffp-contract=fast")
"""Sums may be reordered; NaN and infinity keep their meaning. Never -ffast-math."""
FLAGS = ("-std=c11", "-O3", "-g0", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unknown-pragmas", *MATH)
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")
ZIG = [sys.executable, "-m", "ziglang", "cc"]
TIMEOUT = 600.0
"""Longest build [s]."""


class Target(NamedTuple):
    """A platform that another machine builds for, by the C compiler of `ziglang`."""

    zig: str
    machine: str
    system: str
    tag: str


TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17", "x86_64", "linux", "manylinux_2_17_x86_64"),
    "linux-aarch64": Target("aarch64-linux-gnu.2.17", "aarch64", "linux", "manylinux_2_17_aarch64"),
    "musllinux-x86_64": Target("x86_64-linux-musl", "x86_64", "linux", "musllinux_1_2_x86_64"),
    "windows-x86_64": Target("x86_64-windows-gnu", "x86_64", "win32", "win_amd64"),
    "windows-arm64": Target("aarch64-windows-gnu", "arm64", "win32", "win_arm64"),
    "macos-x86_64": Target("x86_64-macos.11.0", "x86_64", "darwin", "macosx_11_0_x86_64"),
    "macos-arm64": Target("aarch64-macos.11.0", "arm64", "darwin", "macosx_11_0_arm64"),
}
"""Wheels that `make wheels` makes."""


class BuildFailed(Exception):
    """The core could not be built; the message says why in one sentence."""


def levels(machine: str = "") -> dict[str, tuple[str, ...]]:
    """Kinds of processor and their compiler flags, the plain one first; for this machine if none is named."""
    if (machine or platform.machine()).lower() in ("x86_64", "amd64"):
        return {"plain": (), "avx2": ("-mavx2", "-mfma")}
    return {"plain": ()}


def fingerprint() -> str:
    """Hash of everything the core is built from, twelve digits."""
    digest = hashlib.sha256()
    for path in (*sorted(SOURCES.iterdir()), HERE / "build.py", HERE / "fields.py"):
        if path.suffix in (".c", ".h", ".py"):
            # line ends may differ by checkout
            digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:12]


def file_name(level: str, system: str = sys.platform) -> str:
    """Name of a library as it is now, for example "core-avx2-0123456789ab.so"."""
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(system, ".so")
    return f"core-{level}-{fingerprint()}{suffix}"


def compiler() -> list[str] | None:
    """How to call a C compiler: $CC, the machine's own, or the one of the package `ziglang`; None if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    # asked in a process of its own: where the package is built, this Python sees it and may not import it yet
    asked = [*ZIG[:-1], "version"]
    return ZIG if _runs(asked) else None


def _runs(asked: list[str]) -> bool:
    try:
        return subprocess.run(asked, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def build(folder: Path = BESIDE, *, sanitize: bool = False, target: str = "") -> list[Path]:
    """Build what is not there yet, and remove what was built there from other sources.

    Args:
        folder: Where the libraries go; made if it is missing.
        sanitize: Build for the address and undefined-behavior sanitizers, always anew.
        target: One of `TARGETS`, by ziglang; for this machine if empty.

    Returns:
        The libraries, one for each of `levels`.

    Raises:
        BuildFailed: if there is no compiler, or it fails, or the folder cannot be written.
    """
    machine, system = (TARGETS[target].machine, TARGETS[target].system) if target else ("", sys.platform)
    wanted = {level: folder / file_name(level, system) for level in levels(machine)}
    if not sanitize and all(path.is_file() for path in wanted.values()):
        return list(wanted.values())
    call = [*ZIG, "-target", TARGETS[target].zig] if target else compiler()
    if call is None:
        raise BuildFailed("there is no C compiler (cc, gcc or clang, or the package ziglang)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as room:
            for level, path in wanted.items():
                made = Path(room, path.name)
                Path(room, "fields.h").write_text(header(), encoding="utf-8")
                _compile(call, made, system, (f"-I{room}", *levels(machine)[level], *(SANITIZERS if sanitize else ())))
                os.replace(made, path)  # at once: another process may look for it meanwhile
        for old in folder.glob("core-*"):
            if old.is_file() and old not in wanted.values():
                old.unlink(missing_ok=True)
    except OSError as error:
        raise BuildFailed(f"{folder} cannot be written ({error.strerror})") from None
    return list(wanted.values())


def header() -> str:
    """The blocks of `fields` as C structures."""
    blocks = runpy.run_path(str(HERE / "fields.py"))["BLOCKS"]
    lines = ["/* Made from poise/native/fields.py; do not edit. */", ""]
    for name, fields in blocks.items():
        lines.append("typedef struct {")
        for field in fields:
            kind = {"address": "void *"}.get(field.kind, field.kind)
            star = "*" if (field.shape or field.kind in blocks) and kind != "void *" else ""
            shape = f"({field.shape}) " if field.shape else ""
            lines.append(f"    {kind} {star}{field.name}; /* {shape}{field.meaning} */".replace("* *", "**"))
        lines += [f"}} {name};", ""]
    return "\n".join(lines)


def _compile(call: list[str], target: Path, system: str, extra: tuple[str, ...]) -> None:
    sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
    shared = ["-dynamiclib"] if system == "darwin" else ["-shared"]
    libraries = [] if system == "win32" else ["-lm"]
    command = [*call, *FLAGS, *extra, *shared, f"-I{SOURCES}", *sources, "-o", str(target), *libraries]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildFailed(f"`{call[0]}` did not run ({error})") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["?"]
        raise BuildFailed(f"`{call[0]}` failed: {lines[0][:400]}")
