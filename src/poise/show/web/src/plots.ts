/** Curves over time beside the scene, tied to it both ways. */
import uPlot from "uplot";
import { nearest } from "./clock";
import type { Color, Plot, Series } from "./format";
import type { Pack } from "./pack";
import type { Palette } from "./palette";
import { Rows } from "./rows";
import { css } from "./timeline";

const HEIGHT = 112;
/** The least that a plot shows from bottom to top, by unit: what changes by less stands still, and its rounding is not news. */
const LEAST: Record<string, number> = { deg: 1, m: 0.01, N: 20, "N m": 5, "kg m/s": 2, "kg m²/s": 0.2, "m/s": 0.05, "body weights": 0.1 };
/** The same of those that grow with the mass, for a figure of 1.8 m; a small creature's are as much smaller as it is. */
const OF_MASS = new Set(["N", "N m", "kg m/s", "kg m²/s"]);
const LEAST_OF_OTHERS = 1e-6;
/** Plots that are shown at first; a button shows the others. */
const FIRST = 3;
/** Seconds that a live plot looks back. */
export const LIVE_SPAN = 10;

/** A number as people write it: three digits that count, a real minus. */
export function readable(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toFixed(digits).replace("-", "−");
}

let boxes = 0;

interface Shown {
  plot: Plot;
  /** Where the curves are drawn, once it has come into sight. */
  room: HTMLElement;
  values: HTMLElement[];
  head: HTMLElement;
  chart?: uPlot;
}

export class Plots {
  /** Called when the viewer clicks or drags in a plot. */
  seek: (time: number) => void = () => {};
  private shown: Shown[] = [];
  private columns: (number | null)[][][] = [];
  private times: number[] = [];
  private time = 0;
  private palette!: Palette;
  private plots: Plot[] = [];
  private size = 1.8;
  private isWhole = false;
  /** Cursors of these plots go together, those of another clip on the page do not. */
  private readonly key = `time ${++boxes}`;

  constructor(private readonly box: HTMLElement) {
    let known = 0;
    new ResizeObserver(() => {
      const { width } = this;
      if (width !== known) for (const { chart } of this.shown) chart?.setSize({ width, height: HEIGHT });
      known = width;
      this.drawSeen();
    }).observe(box);
    box.addEventListener("scroll", () => this.drawSeen());
  }

  private get width(): number {
    return Math.max(120, this.shown[0]?.room.clientWidth ?? 0);
  }

  /** Unpacks the values of a recording; a live scene starts empty, or goes on where the one before had the same plots. */
  async load(pack: Pack, times: ArrayLike<number>): Promise<void> {
    const { header } = pack;
    const lines = (plots: Plot[]) => JSON.stringify(plots.map((plot) => [plot.name, ...plot.series.map((s) => s.name)]));
    const goesOn = !header.times && this.times.length > 0 && lines(header.plots) === lines(this.plots);
    if (goesOn) return this.set(header.plots, this.columns, this.times, header.size);
    const columns = await Promise.all(
      header.plots.map((plot) =>
        Promise.all(
          plot.series.map(async ({ values, shown }) => {
            if (!values) return [];
            const mask = shown && (await Rows.load(pack, shown));
            return Array.from(await pack.floats(values), (v, i) =>
              Number.isNaN(v) || (mask && !mask.flag(i, 0)) ? null : v,
            );
          }),
        ),
      ),
    );
    this.set(header.plots, columns, header.times ? Array.from(times) : [], header.size);
  }

  /** Takes plots with a column of values for each of their series; `size` is the height of the figure [m]. */
  set(plots: Plot[], columns: (number | null)[][][], times: number[], size: number): void {
    [this.plots, this.columns, this.times, this.size] = [plots, columns, times, size];
  }

  /** Adds what a live message says; one number for each series of each plot. */
  push(time: number, values: Float32Array, from: number): void {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && time < last) this.drop(this.times.length);
    this.times.push(time);
    let at = from;
    for (const plot of this.columns) for (const column of plot) column.push(Number.isNaN(values[at]) ? (at++, null) : values[at++]);
    let old = 0;
    while (this.times[old] < time - LIVE_SPAN) old++;
    if (old > 60) this.drop(old);
    if (!this.box.hidden) {
      this.shown.forEach(({ chart }, k) => chart?.setData([this.times, ...this.columns[k]] as uPlot.AlignedData));
      this.at(time);
    }
  }

  private drop(count: number): void {
    this.times.splice(0, count);
    for (const plot of this.columns) for (const column of plot) column.splice(0, count);
  }

  /** Draws all plots anew in the colors of a look. */
  paint(palette: Palette): void {
    this.palette = palette;
    for (const { chart } of this.shown) chart?.destroy();
    this.box.replaceChildren();
    const some = this.isWhole || this.plots.length <= FIRST + 1 ? this.plots : this.plots.slice(0, FIRST);
    this.shown = this.box.hidden ? [] : some.map((plot) => this.build(plot));
    if (!this.box.hidden && some.length < this.plots.length) this.addMore(this.plots.length - some.length);
    this.shown.forEach((_, k) => this.hover(k, null));
    this.drawSeen();
  }

  private addMore(count: number): void {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "more";
    button.textContent = `Show ${count} more`;
    button.addEventListener("click", () => {
      this.isWhole = true;
      this.paint(this.palette);
    });
    this.box.append(button);
  }

  /** Draws the plots that have come into sight and were not drawn yet. */
  private drawSeen(): void {
    const { width } = this;
    const end = this.box.scrollTop + this.box.clientHeight;
    // all places are read before anything is put in, which would move them
    const seen = this.shown.map(({ room, chart }) => !chart && room.offsetTop - this.box.offsetTop < end);
    seen.forEach((isSeen, k) => isSeen && this.draw(k, width));
    this.at(this.time);
  }

  /** Words and room of a plot, still without its curves. */
  private build(plot: Plot): Shown {
    const frame = document.createElement("section");
    frame.className = "plot";
    const title = document.createElement("h2");
    const unit = document.createElement("span");
    title.append(plot.name, unit);
    unit.textContent = plot.unit;
    const list = document.createElement("ul");
    const values = plot.series.map((series) => {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      const color = ink(series.color, this.palette);
      swatch.style.background = series.dashed ? `linear-gradient(90deg, ${color} 38%, transparent 38% 62%, ${color} 62%)` : color;
      const value = document.createElement("b");
      item.append(swatch, plot.series.length > 1 ? `${series.name} ` : "", value);
      list.append(item);
      return value;
    });
    const room = document.createElement("div");
    room.style.height = `${HEIGHT}px`;
    frame.append(title, list, room);
    this.box.append(frame);
    const head = document.createElement("div");
    head.className = "play-head";
    return { plot, room, values, head };
  }

  private draw(k: number, width: number): uPlot {
    const entry = this.shown[k];
    const { plot, room, head } = entry;
    const axis = { stroke: this.palette.faint, font: "11px system-ui, sans-serif", ticks: { show: false } };
    const grid = { stroke: this.palette.rule, width: 1 };
    const chart: uPlot = new uPlot(
      {
        width,
        height: HEIGHT,
        padding: [8, 6, 0, 0],
        legend: { show: false },
        scales: { x: { time: false }, y: { range: (_u, low, high) => span(low, high, plot.lines, plot.unit, this.size) } },
        series: [{}, ...plot.series.map((s) => this.line(s))],
        axes: [
          { ...axis, size: 24, gap: 5, grid: { show: false } },
          { ...axis, size: 42, gap: 4, grid, values: (_u, splits) => splits.map((v) => short(v)), space: 24 },
        ],
        cursor: {
          drag: { x: false, y: false },
          sync: { key: this.key },
          points: { size: 7 },
          bind: { mousedown: (u) => (event) => (this.drag(u, event), null) },
        },
        hooks: {
          draw: [(u) => this.drawLines(u, plot)],
          setCursor: [(u) => this.hover(k, u.cursor.idx ?? null)],
        },
      },
      [this.times, ...this.columns[k]] as uPlot.AlignedData,
      room,
    );
    chart.over.append(head);
    return (entry.chart = chart);
  }

  private line({ name, color, dashed }: Series): uPlot.Series {
    return { label: name, stroke: ink(color, this.palette), width: 1.6, dash: dashed ? [5, 4] : undefined, points: { show: false } };
  }

  private drag(u: uPlot, event: MouseEvent): void {
    if (event.button !== 0) return;
    const go = (e: MouseEvent) => {
      const x = e.clientX - u.over.getBoundingClientRect().left;
      this.seek(u.posToVal(x, "x"));
    };
    const stop = () => {
      removeEventListener("mousemove", go);
      removeEventListener("mouseup", stop);
    };
    go(event);
    addEventListener("mousemove", go);
    addEventListener("mouseup", stop);
  }

  private drawLines(u: uPlot, plot: Plot): void {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${10 * ratio}px system-ui, sans-serif`;
    [ctx.textAlign, ctx.textBaseline] = ["left", "alphabetic"]; // the axes leave theirs behind
    const taken: number[] = [];
    for (const [value, label] of plot.lines ?? []) {
      const y = u.valToPos(value, "y", true);
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.strokeStyle = ctx.fillStyle = this.palette.faint;
      ctx.setLineDash([4 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      if (taken.some((other) => Math.abs(other - y) < 12 * ratio)) continue; // words over words
      taken.push(y);
      const width = ctx.measureText(label).width;
      const curves = u.data.slice(1).map((values) => pixels(u, u.data[0], values));
      const { left, base, isFree } = besideLine(curves, [bbox.left, bbox.left + bbox.width], y, width, 10 * ratio);
      if (!isFree) {
        ctx.fillStyle = this.palette.panel;
        ctx.globalAlpha = 0.8;
        ctx.fillRect(left - ratio, base - 9 * ratio, width + 2 * ratio, 11 * ratio);
        ctx.globalAlpha = 1;
        ctx.fillStyle = this.palette.faint;
      }
      ctx.fillText(label, left, base);
    }
    ctx.restore();
  }

  /** Writes the values under the mouse, or those at the play head. */
  private hover(k: number, index: number | null): void {
    const entry = this.shown[k];
    if (!entry) return;
    const row = index ?? (this.times.length ? nearest(this.times, this.time) : 0);
    entry.values.forEach((element, s) => {
      element.textContent = readable(this.columns[k][s][row]);
    });
  }

  /** Where in time the play head stands. */
  at(time: number): void {
    this.time = time;
    this.shown.forEach(({ chart, head }, k) => {
      if (!chart) return this.hover(k, null);
      const x = chart.valToPos(time, "x");
      head.hidden = !(x >= -1 && x <= chart.bbox.width / devicePixelRatio + 1); // asking the page would lay it out anew
      head.style.transform = `translateX(${x - 1}px)`;
      if (chart.cursor.idx === null || chart.cursor.idx === undefined) this.hover(k, null);
    });
  }

  /** Place on the page of a time in a plot, for tests. */
  place(k: number, time: number): [number, number] {
    const { chart = this.draw(k, this.width) } = this.shown[k];
    const box = chart.over.getBoundingClientRect();
    return [box.left + chart.valToPos(time, "x"), box.top + box.height / 2];
  }
}

/** A color that can be seen on the palette's ground: black lines are drawn light in the dark, white ones gray in the light. */
export function ink(color: Color, palette: Palette): string {
  const luminance = 0.21 * color[0] + 0.72 * color[1] + 0.07 * color[2];
  const shift = palette.isDark ? Math.max(0, 0.35 - luminance) : Math.max(0, luminance - 0.75);
  const toward = palette.isDark ? 1 : 0;
  const blend = Math.min(1, 2 * shift);
  return css(color.map((c) => c + blend * (toward - c)) as Color);
}

type Point = [x: number, y: number] | null;

/** A curve in pixels of the canvas. */
function pixels(u: uPlot, times: ArrayLike<number>, values: ArrayLike<number | null | undefined>): Point[] {
  return Array.from(times, (t, i) => {
    const value = values[i];
    return value === null || value === undefined ? null : [u.valToPos(t, "x", true), u.valToPos(value, "y", true)];
  });
}

/** Whether a curve goes through a box; every piece of it counts with the box around it. */
function crosses(curve: Point[], [x0, x1]: [number, number], [y0, y1]: [number, number]): boolean {
  return curve.some((b, i) => {
    const a = (i && curve[i - 1]) || b;
    if (!a || !b || b[0] < x0 || a[0] > x1) return false;
    return Math.max(a[1], b[1]) >= y0 && Math.min(a[1], b[1]) <= y1;
  });
}

/** Where words of a size stand beside a level line [px]: at an end of it, above or below, where no curve goes through them. */
export function besideLine(
  curves: Point[][],
  [start, end]: [number, number],
  y: number,
  width: number,
  high: number,
): { left: number; base: number; isFree: boolean } {
  const gap = 0.3 * high;
  for (const left of [end - width, start + gap, 0.5 * (start + end - width)]) {
    for (const base of [y - gap, y + gap + 0.8 * high]) {
      const isFree = !curves.some((c) => crosses(c, [left - gap, left + width + gap], [base - high, base + gap]));
      if (isFree) return { left, base, isFree };
    }
  }
  return { left: end - width, base: y - gap, isFree: false };
}

function short(value: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 1e-3) return value.toExponential(0).replaceAll("-", "−");
  if (size >= 10000) return `${readable(value / 1000)}k`;
  return String(+value.toPrecision(4)).replace("-", "−");
}

/** Range of the vertical axis: what is plotted and its marked lines, zero where it is near, never of no height. */
export function span(
  low: number | null,
  high: number | null,
  lines: [number, string][] = [],
  unit = "",
  size = 1.8,
): [number, number] {
  let a = low ?? 0;
  let b = high ?? 1;
  const part = Math.min(1, size / 1.8);
  const least = (LEAST[unit] ?? LEAST_OF_OTHERS) * (OF_MASS.has(unit) ? part ** 3 : unit === "m" ? part : 1);
  if (b - a < least) {
    const middle = (a + b) / 2;
    // near zero it stands on zero
    [a, b] = Math.abs(middle) < least / 10 ? [0, least] : [middle - least / 2, middle + least / 2];
  }
  for (const [value] of lines) {
    if (value <= b * 3 + 1e-9) b = Math.max(b, value * 1.08);
    if (value >= a * 3 - 1e-9) a = Math.min(a, value);
  }
  if (a > 0 && a < 0.5 * b) a = 0;
  if (b < 0 && b > 0.5 * a) b = 0;
  const room = (b - a) * 0.06 || Math.abs(a) * 0.1 || 1;
  return [a === 0 ? 0 : a - room, b === 0 ? 0 : b + room];
}
