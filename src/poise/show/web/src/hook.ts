/** `window.poise`: the page for scripts, for the video and for tests. */
import type { App } from "./app";
import { pick } from "./pointer";
import { RecordedPoses } from "./poses";
import type { Eye } from "./stage";

export function makeHook(app: App, ready: Promise<void>, counts: () => Record<string, number>) {
  const find = (track: number | string, body?: number | string): [number, number] | null => {
    const { header } = app.world!;
    if (typeof track === "string" && body === undefined) {
      for (const [k, t] of header.tracks.entries()) {
        const b = t.bodies.findIndex((one) => one.name === track);
        if (b >= 0) return [k, b];
      }
      return null;
    }
    const k = typeof track === "number" ? track : header.tracks.findIndex((t) => t.name === track);
    const bodies = header.tracks[k]?.bodies ?? [];
    const b = typeof body === "string" ? bodies.findIndex((one) => one.name === body) : (body ?? 0);
    return bodies[b] ? [k, b] : null;
  };
  return {
    ready,
    get time() {
      return app.clock.time;
    },
    get state() {
      const { clock, world } = app;
      const { time, duration, isPlaying } = clock;
      return { time, duration, playing: isPlaying, tracks: world?.figures.length ?? 0, live: world?.isLive ?? false };
    },
    get stats() {
      return { frames: 0, acks: 0, scenes: 0, ...counts(), pictures: app.stage.pictures, programs: app.stage.renderer.info.programs?.length ?? 0 };
    },
    /** Chunks of poses unpacked so far, of all tracks. */
    get chunks() {
      const counts = app.world?.sources.map((s) => (s instanceof RecordedPoses ? s.chunkCount : 0)) ?? [];
      return counts.reduce((sum, n) => sum + n, 0);
    },
    /** Rows of the timeline as they are shown. */
    get rows() {
      return app.timeline.shown;
    },
    seek: async (time: number) => (app.world?.isLive ? app.scrub(time) : app.seek(time)),
    play: () => app.play(),
    /** Page place of a body's origin: by track and body, or by the name of a body. */
    project(track: number | string, body?: number | string): [number, number] | null {
      const found = find(track, body);
      if (!found) return null;
      const figure = app.world!.figures[found[0]];
      return app.stage.project(figure.place(found[1]), figure.view);
    },
    /** World place of a body's origin [m] and its turn, as drawn now. */
    pose(track: number | string, body?: number | string): number[] | null {
      const found = find(track, body);
      if (!found) return null;
      return Array.from(app.world!.figures[found[0]].pose.subarray(7 * found[1], 7 * found[1] + 7));
    },
    pick(x: number, y: number) {
      const hit = app.world && pick(app.stage, app.world, x, y);
      return hit ? { track: hit.track, body: hit.body } : null;
    },
    layer: (name: string, on: boolean) => app.layer(name, on),
    camera(eye: Eye | null) {
      app.stage.eye = eye;
    },
    /** The viewer's own camera: place, target [m], vertical field of view [deg], and the canvas's box on the page. */
    get view() {
      const box = app.stage.canvas.getBoundingClientRect();
      return {
        eye: app.stage.camera.position.toArray(),
        target: app.stage.controls.target.toArray(),
        fov: app.stage.camera.fov,
        box: [box.left, box.top, box.width, box.height],
      };
    },
    picture: async (width: number, height: number) => app.stage.picture(width, height),
    /** One picture of a film, a data URL: nothing is drawn for a viewer from here on. */
    async film(time: number, eye: Eye | null, width: number, height: number) {
      app.stage.isFilming = true;
      app.stage.eye = eye;
      await app.seek(time);
      return app.stage.picture(width, height);
    },
    plotPlace: (k: number, time: number) => app.plots.place(k, time),
  };
}
