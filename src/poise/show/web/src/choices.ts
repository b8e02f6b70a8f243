/** A chart of several results: a click on a point shows that one in place of the one before. */
import type { Choices, Header } from "./format";

const WIDTH = 240;
const HEIGHT = 128;
const LEFT = 30;
const BOTTOM = 20;
const SVG = "http://www.w3.org/2000/svg";

function draw(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text) made.textContent = text;
  return made;
}

/** Layers that belong to a choice other than the one shown at first: they have no box of their own. */
export function choiceLayers(header: Header): Set<string> {
  const { choices } = header;
  if (!choices) return new Set();
  const names = choices.points.filter((_, k) => k !== choices.chosen).map((point) => point.layer);
  return new Set(names.flatMap((name) => [name, `${name}.shapes`]));
}

/** Places of the points in the chart, in pixels; both axes begin at zero. */
export function places(choices: Choices): [number, number][] {
  const widest = Math.max(...choices.points.map((point) => point.x), 1e-9);
  const highest = Math.max(...choices.points.map((point) => point.y), 1e-9);
  return choices.points.map(({ x, y }) => [
    LEFT + (x / widest) * (WIDTH - LEFT - 10),
    8 + (1 - y / highest) * (HEIGHT - BOTTOM - 14),
  ]);
}

export function fillChoices(card: HTMLElement, header: Header, change: (name: string, on: boolean) => void): void {
  card.replaceChildren();
  const { choices } = header;
  card.hidden = !choices;
  if (!choices) return;
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": choices.title });
  const at = places(choices);
  const base = HEIGHT - BOTTOM;
  svg.append(
    draw("path", { d: `M${LEFT} 4V${base}H${WIDTH}`, class: "axis" }),
    draw("path", { d: `M${at.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}`, class: "line" }),
    draw("text", { x: WIDTH, y: HEIGHT - 4, "text-anchor": "end" }, choices.x_label),
    draw("text", { x: -4, y: 10, transform: "rotate(-90)", "text-anchor": "end" }, choices.y_label),
  );
  const words = document.createElement("p");
  const dots: SVGElement[] = [];
  const pick = (number: number) => {
    choices.points.forEach((point, k) => change(point.layer, k === number));
    dots.forEach((dot, k) => dot.setAttribute("aria-pressed", String(k === number)));
    words.textContent = choices.points[number].label;
  };
  at.forEach(([x, y], k) => {
    const dot = draw("g", { class: k === choices.chosen ? "dot is-chosen" : "dot", tabindex: 0, role: "button" });
    dot.append(draw("title", {}, choices.points[k].label), draw("circle", { cx: x, cy: y, r: 11, class: "reach" }));
    if (k === choices.chosen) dot.append(draw("circle", { cx: x, cy: y, r: 8, class: "ring" }));
    dot.append(draw("circle", { cx: x, cy: y, r: 4.5 }));
    dot.addEventListener("click", () => pick(k));
    dot.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      pick(k);
    });
    dots.push(dot);
    svg.append(dot);
  });
  card.append(svg, words);
  pick(choices.chosen);
}
