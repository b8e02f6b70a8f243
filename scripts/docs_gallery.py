"""The gallery of the docs site: commands that anyone can repeat, and the recordings that they make, played on the page.

A hook of mkdocs. `make docs` runs the commands whose recordings are not in dist/gallery yet; delete that folder to
make all of them anew.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
MADE = ROOT / "dist" / "gallery"


@dataclass(frozen=True)
class Show:
    """One recording: a name for its files, what one sees, and the command without its output files."""

    name: str
    title: str
    text: str
    command: str


SHOWS = (
    Show("push", "A push", "The chest is pushed sideways with 300 N for 0.2 s. Feet stay where they stand.",
         "poise simulate walk.bvh --push 'chest 300 0 0 @1+0.2'"),
    Show("fall", "A fall", "A blow of 1000 N is more than steps can catch. Nothing holds the root from then on.",
         "poise simulate walk.bvh --push 'chest 1000 0 0 @1+0.2'"),
    Show("stairs", "Stairs", "The same clip on stairs. Nobody has captured it there.",
         "poise simulate walk.bvh --terrain stairs:0.17,0.4"),
    Show("rough", "Four legs on rough ground", "Hips, knees and trunk follow bumps of 30 cm.",
         "poise simulate quadruped.bvh --terrain rough:0.3,2"),
    Show("rubble", "Rubble", "Loose pieces are kicked and stepped on, and push back.",
         "poise simulate walk.bvh --scene rubble:30,1"),
    Show("step", "Motion without a clip", "A standing figure knows only goals. It is pushed and takes a step.",
         "poise synthesize step --push 'chest 250 0 0 @1+0.1'"),
    Show("raptor", "An actor drives a raptor", "A walk moves a body of another shape. The tail swings by itself.",
         "poise track walk.bvh -c raptor.toml"),
    Show("sad", "A sad raptor", "The same walk, and a rest pose of the raptor's file: head and tail hang.",
         "poise track walk.bvh -c raptor.toml --style sad=1"),
    Show("alien", "An alien on its hands", "It has no legs. Its arms follow the actor's legs, and two tails swing.",
         "poise track walk.bvh -c alien.toml"),
    Show("hops", "Hops that no muscle could make", "Among crates each frame of the clip comes back as it was.",
         "poise simulate rex.glb --clip Hops -c rex.toml --scene hops.toml"),
    Show("shoved", "A rex is shoved", "In a crouch, and in the air. Head and tail trail behind.",
         "poise simulate rex.glb --clip Hops -c rex.toml --push 'Chest 900 0 0 @2.65+0.2' "
         "--push 'Head -400 0 0 @6+0.2'"),
    Show("diver", "A dive onto a pile of foam", "Pushed in its somersault, the diver flies on and misses the middle.",
         "poise simulate dive.bvh --floor 0 --scene foam.toml --push 'Spine1 0 -150 0 @1.75+0.15'"),
    Show("hills", "A run on rough ground", "Hills of a meter, under a run that was made from goals alone.",
         "poise simulate run.bvh --terrain rough:1,1"),
    Show("shove", "A walker is shoved hard", "The push changes where it goes, and the body reacts.",
         "poise walk walker.npz --speed 1 --seconds 8 --push 'Spine1 0 700 0 @3+0.2'"),
    Show("balls", "Hit by balls", "A heavy one at the chest, a football at the head.",
         "poise simulate walk.bvh --scene balls.toml"),
    Show("bump", "A bump in a doorway", "Two who do not look where they go push past each other.",
         "poise world bump.toml --seconds 6"),
    Show("hop", "A hop that hangs in the air", "The edit makes it fall as gravity asks.",
         "poise edit ballistic hover_hop.bvh"),
)  # fmt: skip


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the gallery and its recordings."""
    missing = [show for show in SHOWS if not (MADE / f"{show.name}.html").exists()]
    if missing:
        _prepare()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_record, missing))
    parts = [
        "# Gallery",
        "Each recording was made by the command below it when this site was built. Drag to turn, scroll to zoom, "
        "press space to play. `walk.bvh`, `quadruped.bvh` and `hover_hop.bvh` are in `src/poise/samples`, scenes in "
        "`examples/scenes`; `python scripts/make_creatures.py .` makes raptor, rex and alien, and "
        "`python scripts/make_clips.py .` the other clips.",
    ]
    for show in SHOWS:
        frame = (
            f'<iframe src="gallery/{show.name}.html" title="{show.title}" loading="lazy" '
            'style="width:100%;aspect-ratio:16/10;border:0"></iframe>'
        )
        command = f"{show.command} -o {show.name}{_ending(show)} --record {show.name}.html"
        parts += [f"## {show.title}", show.text, frame, f"```sh\n{command}\n```"]
    files.append(File.generated(config, "gallery.md", content="\n\n".join(parts) + "\n"))
    for show in SHOWS:
        recording = (MADE / f"{show.name}.html").read_bytes()
        files.append(File.generated(config, f"gallery/{show.name}.html", content=recording))
    return files


def _prepare() -> None:
    """The files that the commands read: samples, and the creatures."""
    MADE.mkdir(parents=True, exist_ok=True)
    for sample in (ROOT / "src" / "poise" / "samples").glob("*.bvh"):
        shutil.copy(sample, MADE)
    for scene in (ROOT / "examples" / "scenes").glob("*.toml"):
        shutil.copy(scene, MADE)
    if not (MADE / "rex.toml").exists():
        for script in ("make_creatures.py", "make_clips.py"):
            subprocess.run([sys.executable, str(ROOT / "scripts" / script), str(MADE)], check=True)


def _record(show: Show) -> None:
    words = [sys.executable, "-m", *shlex.split(show.command)]
    words += ["-o", f"{show.name}{_ending(show)}", "--record", f"{show.name}.html", "--overwrite"]
    done = subprocess.run(words, cwd=MADE, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"{show.command} of the gallery failed: {done.stdout[-500:]}{done.stderr[-500:]}")


def _ending(show: Show) -> str:
    return ".glb" if " -c " in show.command else ".bvh"
