/** The cards over the scene: layers, help, live controls, legend. All words from a file are set as text. */
import { choiceLayers } from "./choices";
import type { Control, Header, Track } from "./format";
import { css } from "./timeline";

const KEYS: [string, string][] = [
  ["Space", "play or pause"],
  ["← →", "one frame; with Shift a tenth of a second"],
  ["Home End", "first and last frame"],
  ["↑ ↓", "faster, slower"],
  ["R", "loop"],
  ["F", "camera goes along"],
  ["C", "first view"],
  ["L P D", "layers, plots, light or dark"],
];
const LIVE_KEYS: [string, string][] = [
  ["Space", "pause, or go on from now"],
  ["← →", "a moment back, a moment on"],
  ["↑ ↓", "faster, slower"],
  ["R", "start again"],
  ["F", "camera goes along"],
  ["C", "first view"],
  ["L P D", "layers, plots, light or dark"],
];
const MOUSE: [string, string][] = [
  ["Drag", "orbit"],
  ["Right drag, two fingers", "pan"],
  ["Wheel, pinch", "zoom"],
  ["Hover, tap", "name of a body"],
];

function element<K extends keyof HTMLElementTagNameMap>(tag: K, text = "", name = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (name) made.className = name;
  return made;
}

/** Names and colors of the figures, above the scene. */
export function fillLegend(list: HTMLElement, header: Header): void {
  list.replaceChildren();
  const others = choiceLayers(header);
  const tracks = header.tracks.filter((track) => !others.has(track.layer));
  if (tracks.length < 2) return;
  for (const { name, track } of legendOf(tracks).slice(0, 8)) {
    const item = element("li");
    const dot = element("i", "", track.style === "ghost" ? "is-ghost" : "");
    dot.style.background = dot.style.borderColor = css(track.color);
    item.append(dot, name);
    list.append(item);
  }
}

/** One entry a track; those that differ in their number alone ("hold 1", "hold 2") are counted: "hold × 40". */
export function legendOf(tracks: Track[]): { name: string; track: Track }[] {
  const groups = new Map<string, Track[]>();
  for (const track of tracks) {
    const key = JSON.stringify([withoutNumber(track.name), track.style, track.color]);
    groups.set(key, [...(groups.get(key) ?? []), track]);
  }
  return [...groups.values()].map((group) => ({
    name: group.length > 1 ? `${withoutNumber(group[0].name)} × ${group.length}` : group[0].name,
    track: group[0],
  }));
}

const withoutNumber = (name: string): string => name.replace(/\s*\d+$/, "");

/** A box to tick for each layer. */
export function fillLayers(
  card: HTMLElement,
  header: Header,
  isOn: (name: string) => boolean,
  change: (name: string, on: boolean) => void,
): void {
  card.replaceChildren();
  const others = choiceLayers(header);
  for (const layer of header.layers) {
    if (others.has(layer.name)) continue;
    const label = element("label");
    const box = element("input");
    box.type = "checkbox";
    box.checked = isOn(layer.name);
    box.dataset.layer = layer.name;
    box.addEventListener("change", () => change(layer.name, box.checked));
    const color = [...header.overlays, ...header.tracks].find((thing) => thing.layer === layer.name)?.color;
    const swatch = element("i");
    if (color) swatch.style.background = css(color);
    label.append(box, swatch, layer.label);
    card.append(label);
  }
}

export function fillHelp(card: HTMLElement, header: Header, isLive: boolean): void {
  card.replaceChildren();
  const table = (title: string, rows: [string, string][]) => {
    const list = element("dl");
    for (const [key, what] of rows) list.append(element("dt", key), element("dd", what));
    card.append(element("h2", title), list);
  };
  table("Keys", isLive ? LIVE_KEYS : KEYS);
  table("Mouse and fingers", isLive ? [["Drag a body", "push or pull it"], ...MOUSE] : MOUSE);
  const notes = header.notes ?? [];
  if (notes.length || header.made_by) card.append(element("h2", "About"));
  for (const note of notes) card.append(element("p", note));
  if (header.made_by) card.append(element("p", `Made by ${header.made_by}. The notices of three.js and uPlot stand in this page's source.`));
}

/** For so long after a slider was set here it takes no value from the server [ms]. */
const OWN = 500;

/** Sliders, switches and buttons for the values a server offers. */
export class Controls {
  private readonly shown = new Map<string, (value: unknown) => void>();

  constructor(
    private readonly card: HTMLElement,
    private readonly send: (name: string, value: number | boolean | string) => void,
  ) {}

  fill(controls: Control[]): void {
    const names = controls.map((c) => c.name).join("\n");
    if (names === this.card.dataset.names) return this.values(Object.fromEntries(controls.map((c) => [c.name, c.value])));
    this.card.dataset.names = names;
    this.card.replaceChildren();
    this.shown.clear();
    this.card.hidden = controls.length === 0;
    for (const control of controls) this.card.append(this.build(control));
  }

  /** Takes values from the server, except where the viewer's finger is. */
  values(values: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(values)) this.shown.get(name)?.(value);
  }

  /** Sets a slider: to a value, or by so much farther, within its range; false if there is none of this name. */
  slide(name: string, value: number, isChange = false): boolean {
    const slider = this.card.querySelector<HTMLInputElement>(`input[data-control="${name}"]`);
    if (!slider) return false;
    const before = slider.value;
    slider.value = String(isChange ? Number(before) + value : value); // the browser keeps it in range
    if (slider.value !== before) slider.dispatchEvent(new Event("input"));
    return true;
  }

  private build(control: Control): HTMLElement {
    const { name, label } = control;
    if (control.kind === "ground") return element("p", label);
    if (control.kind === "button") {
      const button = element("button", label);
      button.type = "button";
      button.addEventListener("click", () => this.send(name, true));
      return button;
    }
    const row = element("label", "", control.kind === "toggle" ? "" : "row");
    if (control.kind === "toggle") {
      const box = element("input");
      box.type = "checkbox";
      box.checked = control.value === true;
      box.addEventListener("change", () => this.send(name, box.checked));
      this.shown.set(name, (value) => (box.checked = value === true));
      row.append(box, label);
    } else if (control.kind === "choice") {
      const list = element("select");
      for (const choice of control.choices ?? []) list.append(new Option(choice.replaceAll("_", " "), choice));
      list.value = String(control.value ?? "");
      list.addEventListener("change", () => this.send(name, list.value));
      this.shown.set(name, (value) => (list.value = String(value)));
      row.append(label, list);
    } else {
      const slider = element("input");
      slider.type = "range";
      slider.min = String(control.low ?? 0);
      slider.max = String(control.high ?? 1);
      slider.step = String(control.step ?? "any");
      slider.value = String(control.value ?? 0);
      slider.dataset.control = name;
      const output = element("output");
      const write = () => {
        const value = Number(slider.value);
        output.textContent = control.power ? `× ${+(10 ** value).toPrecision(2)}` : `${value} ${control.unit ?? ""}`.trim();
      };
      write();
      let pending = 0;
      // what the viewer sets counts; the server's word for what was set before is heard once nothing is set any more
      let said: unknown;
      let quiet = 0;
      const hear = () => {
        quiet = 0;
        if (said === undefined || slider.matches(":active")) return;
        slider.value = String(said);
        write();
      };
      slider.addEventListener("input", () => {
        write();
        clearTimeout(quiet);
        said = undefined;
        quiet = window.setTimeout(hear, OWN);
        // one message a picture is enough while the finger moves
        pending ||= requestAnimationFrame(() => {
          pending = 0;
          this.send(name, Number(slider.value));
        });
      });
      this.shown.set(name, (value) => {
        said = value;
        if (!quiet) hear();
      });
      row.append(label, output, slider);
    }
    return row;
  }
}
