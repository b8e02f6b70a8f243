/** Where the page begins: it finds what it holds, a recording or the address of a simulation, and shows it. */
import * as THREE from "three";
import { App, $ } from "./app";
import { makeHook } from "./hook";
import { setIcon } from "./icons";
import { bindButtons } from "./keys";
import { Live } from "./live";
import { readOptions } from "./options";
import { Pack, PackError, fromBase64 } from "./pack";

declare global {
  interface Window {
    poise: ReturnType<typeof makeHook>;
  }
}

function held(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

/** What to tell a viewer whose page cannot be shown. */
function apology(error: unknown): string {
  if (error instanceof PackError) return error.message;
  const words = error instanceof Error ? error.message : String(error);
  if (/webgl/i.test(words)) return "This browser gives the page no WebGL. Try another one, or turn on hardware acceleration.";
  return `The recording cannot be shown: ${words}`;
}

function start(): void {
  THREE.Object3D.DEFAULT_UP.set(0, 0, 1);
  const options = readOptions(JSON.parse(held("poise-options") ?? "{}"), location.search, location.hash);
  const app = new App(options);
  const live = held("poise-live");
  const recording = held("poise-recording");
  let counts: () => Record<string, number> = () => ({});
  let drawn: () => void;
  let failed: (why: unknown) => void;
  const ready = new Promise<void>((resolve, reject) => {
    drawn = () => {
      performance.mark("poise-ready");
      resolve();
    };
    failed = reject;
  });
  ready.catch((error) => {
    console.error(error);
    app.notice(apology(error));
  });
  window.poise = makeHook(app, ready, () => counts());
  if (live !== null) {
    const line = new Live(app, JSON.parse(live).socket, drawn!);
    counts = () => line.connection.stats;
    app.play = () => line.play();
    bindButtons(app, line);
  } else if (recording !== null) {
    setIcon($("go-loop"), "loop");
    bindButtons(app, {
      play: () => app.play(),
      step: (count) => app.step(count),
      speed: (value) => (app.clock.speed = value),
      loopOrRestart: () => {
        app.clock.loop = !app.clock.loop;
        app.buttons();
      },
    });
    Pack.open(fromBase64(recording))
      .then((pack) => app.show(pack))
      .then(drawn!)
      .then(() => options.play && app.toggle())
      .catch(failed!);
  } else failed!(new PackError("This page holds no recording. Make one with: poise simulate … --record page.html"));
}

try {
  start();
} catch (error) {
  console.error(error);
  $("notice").textContent = apology(error);
  $("notice").hidden = false;
}
