/** The bar of time: rows of contacts, flights and events, a play head, scrubbed by mouse or finger. */
import { clockText } from "./clock";
import type { Color, TimelineRow } from "./format";
import type { Palette } from "./palette";

const ROW = 11; // px a row is high
const GAP = 3;
const RULER = 20;
const TOP = 5; // px above the first row, for the knob of the play head
const LABELS = 150; // px that the names of the rows take at most

/** A distance between marks of the ruler that leaves `room` pixels for each [s]; a live scene begins with no time at all. */
export function tickStep(duration: number, width: number, room = 64): number {
  const least = (duration * room) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-3)));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}

const JOINED = 0.05; // s between spans that follow one another
const STATES: Color[] = [
  [0.27, 0.51, 0.71],
  [0.35, 0.6, 0.35],
  [0.6, 0.42, 0.68],
  [0.78, 0.4, 0.42],
  [0.28, 0.58, 0.6],
  [0.64, 0.54, 0.28],
  [0.5, 0.5, 0.56],
];

/** A color for each word of a row whose spans follow one another, as states do; null where it tells on and off. */
export function stateColors(row: TimelineRow): Map<string, Color> | null {
  const spans = row.spans ?? [];
  const words = [...new Set(spans.map((span) => span[2]))];
  const joined = spans.filter(([from], k) => k > 0 && Math.abs(from - spans[k - 1][1]) < JOINED).length;
  if (words.length < 2 || 2 * joined < spans.length - 1) return null;
  return new Map(words.map((word, k) => [word, k ? STATES[(k - 1) % STATES.length] : row.color]));
}

export const css = (color: Color, alpha = 1): string =>
  `rgb(${color.map((c) => Math.round(255 * c)).join(" ")} / ${alpha})`;

export class Timeline {
  /** Called while the viewer scrubs. */
  seek: (time: number) => void = () => {};
  private readonly canvas = document.createElement("canvas");
  private rows: TimelineRow[] = [];
  private start = 0;
  private end = 1;
  private time = 0;
  private palette!: Palette;
  private hover: number | null = null;
  private still: ImageData | null = null;
  private named = 8;
  private wide = 0; // of the box [px]

  constructor(private readonly box: HTMLElement) {
    box.append(this.canvas);
    new ResizeObserver(() => box.clientWidth !== this.wide && this.paint(this.palette)).observe(box);
    box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      box.setPointerCapture(event.pointerId);
      this.seek(this.timeAt(event.clientX));
    });
    box.addEventListener("pointermove", (event) => {
      this.hover = this.timeAt(event.clientX);
      box.title = this.wordsAt(event.clientX, event.clientY);
      if (event.buttons & 1 && box.hasPointerCapture(event.pointerId)) this.seek(this.hover);
      this.draw();
    });
    box.addEventListener("pointerleave", () => {
      this.hover = null;
      this.draw();
    });
  }

  get shown(): TimelineRow[] {
    return this.rows;
  }

  set(rows: TimelineRow[], start: number, end: number): void {
    this.rows = rows;
    this.start = start;
    this.end = Math.max(end, start + 1e-6);
    this.box.setAttribute("aria-valuemin", start.toFixed(2));
    this.box.setAttribute("aria-valuemax", end.toFixed(2));
    if (this.palette) this.paint(this.palette);
  }

  /** Where in time the play head stands. */
  at(time: number): void {
    if (time === this.time) return;
    this.time = time;
    this.box.setAttribute("aria-valuenow", time.toFixed(2));
    this.box.setAttribute("aria-valuetext", clockText(time));
    this.draw();
  }

  private get labels(): number {
    return this.rows.length && this.wide > 480 ? this.named : 8;
  }

  private get width(): number {
    return Math.max(1, this.wide - this.labels - 10);
  }

  private x(time: number): number {
    return this.labels + ((time - this.start) / (this.end - this.start)) * this.width;
  }

  private timeAt(clientX: number): number {
    const x = clientX - this.box.getBoundingClientRect().left - this.labels;
    return this.start + (Math.min(1, Math.max(0, x / this.width)) * (this.end - this.start));
  }

  private wordsAt(clientX: number, clientY: number): string {
    const y = clientY - this.box.getBoundingClientRect().top;
    const row = this.rows[Math.floor((y - TOP) / (ROW + GAP))];
    if (!row) return "";
    const time = this.timeAt(clientX);
    const reach = (4 / this.width) * (this.end - this.start);
    const mark = row.marks?.find(([at]) => Math.abs(at - time) <= reach);
    const span = row.spans?.find(([from, to]) => from - reach <= time && time <= to + reach);
    const words = mark ? `${clockText(mark[0])} ${mark[1]}` : span ? `${clockText(span[0])} – ${clockText(span[1])} ${span[2]}` : "";
    return words ? `${row.name}: ${words}` : row.name;
  }

  /** Draws everything that does not move, and then what does. */
  paint(palette: Palette): void {
    if (!palette) return;
    this.palette = palette;
    const ratio = devicePixelRatio;
    this.wide = this.box.clientWidth;
    const height = TOP + this.rows.length * (ROW + GAP) + RULER + 4;
    this.canvas.width = Math.max(1, Math.round(this.wide * ratio));
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d", { willReadFrequently: true })!;
    context.scale(ratio, ratio);
    context.font = "10.5px system-ui, sans-serif";
    context.textBaseline = "middle";
    const widest = Math.max(0, ...this.rows.map((row) => context.measureText(row.name).width));
    this.named = Math.min(LABELS, Math.ceil(widest) + 14);
    this.rows.forEach((row, k) => this.paintRow(context, row, TOP + k * (ROW + GAP)));
    this.paintRuler(context, TOP + this.rows.length * (ROW + GAP));
    this.still = context.getImageData(0, 0, this.canvas.width, this.canvas.height);
    this.draw();
  }

  private paintRow(context: CanvasRenderingContext2D, row: TimelineRow, top: number): void {
    const { palette } = this;
    if (this.labels > 20) {
      context.fillStyle = palette.faint;
      context.textAlign = "right";
      context.fillText(fitted(context, row.name, this.labels - 14), this.labels - 8, top + ROW / 2 + 0.5);
    }
    context.fillStyle = palette.rule;
    context.globalAlpha = 0.5;
    context.beginPath();
    context.roundRect(this.labels, top, this.width, ROW, 3);
    context.fill();
    context.globalAlpha = 1;
    context.save();
    context.beginPath();
    context.rect(this.labels - 5, top, this.width + 10, ROW); // a live row holds more than is shown
    context.clip();
    const states = stateColors(row);
    const font = context.font;
    context.font = "9.5px system-ui, sans-serif";
    context.textAlign = "center";
    for (const [from, to, word] of row.spans ?? []) {
      const x = this.x(Math.max(from, this.start));
      const width = this.x(Math.min(to, this.end)) - x;
      if (width < 0) continue;
      context.fillStyle = css(states?.get(word) ?? row.color, 0.85);
      context.beginPath();
      context.roundRect(x, top, Math.max(2, width), ROW, 3);
      context.fill();
      if (!states || context.measureText(word).width + 6 > width) continue;
      context.fillStyle = "#fff";
      context.fillText(word, x + width / 2, top + ROW / 2 + 0.5);
    }
    context.font = font;
    context.fillStyle = css(row.color);
    for (const [time] of row.marks ?? []) {
      const x = this.x(time);
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x + 4.5, top + ROW / 2);
      context.lineTo(x, top + ROW);
      context.lineTo(x - 4.5, top + ROW / 2);
      context.fill();
    }
    context.restore();
  }

  private paintRuler(context: CanvasRenderingContext2D, top: number): void {
    const { palette } = this;
    const step = tickStep(this.end - this.start, this.width);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    context.fillStyle = palette.faint;
    context.strokeStyle = palette.rule;
    context.textAlign = "center";
    context.beginPath();
    context.moveTo(this.labels, top + 2.5);
    context.lineTo(this.labels + this.width, top + 2.5);
    for (let k = Math.ceil(this.start / step - 1e-9); k * step <= this.end + 1e-9; k++) {
      const x = this.x(k * step);
      context.moveTo(x, top + 2.5);
      context.lineTo(x, top + 6.5);
      const text = k * step >= 60 ? clockText(k * step).replace(/\.00$/, "") : (k * step).toFixed(digits);
      context.fillText(text, x, top + 15);
    }
    context.stroke();
  }

  private draw(): void {
    if (!this.still) return;
    const context = this.canvas.getContext("2d")!;
    context.putImageData(this.still, 0, 0);
    const tall = TOP + this.rows.length * (ROW + GAP) + 2.5;
    if (this.hover !== null) {
      context.fillStyle = this.palette.faint;
      context.fillRect(this.x(this.hover) - 0.5, TOP, 1, tall - TOP);
    }
    const x = this.x(this.time);
    context.fillStyle = this.palette.accent;
    context.fillRect(x - 1, TOP - 3, 2, tall - TOP + 3);
    context.beginPath();
    context.arc(x, tall, 4.5, 0, 2 * Math.PI);
    context.fill();
  }
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let cut = text; // its end tells it from its neighbors
  while (cut.length > 1 && context.measureText(`…${cut}`).width > width) cut = cut.slice(1);
  return `…${cut}`;
}
