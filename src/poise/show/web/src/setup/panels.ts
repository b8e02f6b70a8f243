/** What stands beside the character: the actor to drag from, checks with their cures, limbs, and the chosen bone. */
import { ROLES, type State, bodyOf, limbOf, said } from "./state";

export type Do = (edit: Record<string, unknown>) => void;

export const $ = (id: string): HTMLElement => document.getElementById(id)!;

function make<K extends keyof HTMLElementTagNameMap>(tag: K, name = "", text = ""): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = text;
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Limbs of the person that is drawn, which looks at us: its left is on the right. Key, shape, place of the number. */
const PERSON: Record<string, [string, string, number, number]> = {
  left_leg: ["1", "M62 128 L80 128 L82 212 L66 212 Z", 73, 176],
  right_leg: ["2", "M58 128 L40 128 L38 212 L54 212 Z", 47, 176],
  left_arm: ["3", "M85 58 L97 54 L118 122 L105 127 Z", 103, 96],
  right_arm: ["4", "M35 58 L23 54 L2 122 L15 127 Z", 17, 96],
  neck: ["5", "M60 8 a18 20 0 0 1 0 40 a18 20 0 0 1 0 -40 Z", 60, 32],
};

export const KEYS: Record<string, string> = Object.fromEntries([...Object.entries(PERSON).map(([name, [key]]) => [key, name]), ["0", "free"]]);

/** Draws the actor once; `grab` begins to drag one of its limbs. */
export function drawPerson(grab: (actor: string, event: PointerEvent) => void, give: (actor: string) => void): void {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 120 220");
  svg.setAttribute("role", "group");
  const trunk = document.createElementNS(SVG, "path");
  trunk.setAttribute("class", "trunk");
  trunk.setAttribute("d", "M36 54 L84 54 L80 124 L40 124 Z");
  svg.append(trunk);
  for (const [name, [key, shape, x, y]] of Object.entries(PERSON)) {
    const group = document.createElementNS(SVG, "g");
    group.dataset.actor = name;
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    const label = name === "neck" ? "head" : said(name);
    group.setAttribute("aria-label", `${label}: drag onto a limb, or press ${key} for the chosen bone`);
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${label} (${key})`;
    const limb = document.createElementNS(SVG, "path");
    limb.setAttribute("class", "limb");
    limb.setAttribute("d", shape);
    const number = document.createElementNS(SVG, "text");
    number.setAttribute("x", String(x));
    number.setAttribute("y", String(y));
    number.textContent = key;
    group.append(title, limb, number);
    group.addEventListener("pointerdown", (event) => grab(name, event));
    group.addEventListener("keydown", (event) => event.key === "Enter" && give(name));
    svg.append(group);
  }
  $("figure").replaceChildren(svg);
  const chip = $("free-chip");
  chip.addEventListener("pointerdown", (event) => grab("free", event));
  chip.addEventListener("keydown", (event) => event.key === "Enter" && give("free"));
  const words = { support: "support: stands where the actor's foot stands", targeted: "targeted: its end follows", free: "free: it swings" };
  $("key-colors").replaceChildren(
    ...Object.entries(words).map(([role, text]) => {
      const item = make("li");
      item.append(make("i", `is-${role}`), text);
      return item;
    }),
  );
}

function showPerson(state: State): void {
  for (const group of $("figure").querySelectorAll<SVGGElement>("g")) {
    const driven = state.limbs.find((l) => l.actor === group.dataset.actor);
    group.dataset.role = driven?.role ?? "";
  }
}

function showChecks(state: State, act: Do): void {
  const box = $("checks");
  box.replaceChildren(make("h2", "", "Checks"));
  state.checks.forEach((check, k) => {
    const card = make("div", "check");
    card.append(make("p", "", check.text));
    if (check.cure) {
      const cure = make("button", "cure", check.cure);
      cure.type = "button";
      cure.addEventListener("click", () => act({ do: "cure", check: k }));
      card.append(cure);
    }
    box.append(card);
  });
  if (!state.checks.length) box.append(make("p", "fine", "It stands, and every limb knows what to do."));
}

function choice(options: [string, string][], value: string, label: string, changed: (value: string) => void): HTMLSelectElement {
  const select = make("select");
  select.setAttribute("aria-label", label);
  for (const [name, text] of options) {
    const option = make("option", "", text);
    option.value = name;
    option.selected = name === value;
    select.append(option);
  }
  select.addEventListener("change", () => changed(select.value));
  return select;
}

function showLimbs(state: State, chosen: number, act: Do, choose: (joint: number) => void): void {
  const rows = state.limbs
    .filter((limb) => limb.kind !== "spine")
    .map((limb) => {
      const row = make("div", limb.joints.includes(chosen) ? "row is-chosen" : "row");
      row.dataset.limb = limb.name;
      const name = make("button", "name", said(limb.name));
      name.type = "button";
      name.title = `${limb.joints.length} bones: ${limb.joints.map((j) => state.joints[j].name).join(", ")}`;
      name.addEventListener("click", () => choose(limb.joints[limb.joints.length - 1]));
      const roles = choice(ROLES.map((r) => [r, r]), limb.role, `Role of ${said(limb.name)}`, (role) =>
        act({ do: "role", limb: limb.name, role, actor: limb.actor }),
      );
      const drivers = choice(
        [["", "nobody"], ...state.actor.map((a): [string, string] => [a, a === "neck" ? "head" : said(a)])],
        limb.actor,
        `Driver of ${said(limb.name)}`,
        (actor) => act({ do: "role", limb: limb.name, role: limb.role, actor }),
      );
      drivers.disabled = limb.role === "free";
      const drop = make("button", "drop", "×");
      drop.type = "button";
      drop.title = `${said(limb.name)} is not a limb`;
      drop.setAttribute("aria-label", drop.title);
      drop.addEventListener("click", () => act({ do: "drop", limb: limb.name }));
      row.append(make("i", `is-${limb.role}`), name, roles, drivers, drop);
      return row;
    });
  $("limbs").replaceChildren(...(rows.length ? rows : [make("p", "hint", "None yet. Drag a limb of the actor onto the character.")]));
}

const short = (x: number): string => (Math.abs(x) >= 100 ? x.toFixed(0) : x.toPrecision(3));

function showBone(state: State, chosen: number, act: Do): void {
  const box = $("bone");
  if (chosen < 0) {
    box.replaceChildren(make("h2", "", "Bone"), make("p", "hint", `Click a bone, or use the arrow keys. The character weighs ${short(state.mass)} kg.`));
    return;
  }
  const joint = state.joints[chosen];
  const body = bodyOf(state, chosen);
  const limb = limbOf(state, chosen);
  const list = make("dl");
  const add = (term: string, what: string | HTMLElement) => {
    const value = make("dd");
    value.append(what);
    list.append(make("dt", "", term), value);
  };
  add("limb", limb ? said(limb.name) : "trunk");
  const buttons = make("p");
  if (body) {
    const number = (label: string, value: number, edit: (value: number) => Record<string, unknown>) => {
      const input = make("input");
      input.type = "number";
      input.step = "any";
      input.value = short(value);
      input.setAttribute("aria-label", label);
      input.addEventListener("change", () => input.value && act(edit(Number(input.value))));
      return input;
    };
    add("mass [kg]", number("Mass in kg", body.mass, (kg) => ({ do: "mass", joint: chosen, kg })));
    add("density [kg/m³]", number("Density in kg/m³", body.density, (d) => ({ do: "density", joint: chosen, kg_m3: d })));
    body.capsules.forEach((rod, index) => {
      add(
        body.capsules.length > 1 ? `radius ${index + 1} [m]` : "radius [m]",
        number(`Radius ${index + 1} in m`, rod.radius, (radius) => ({ do: "capsule", joint: chosen, index, start: rod.start, end: rod.end, radius })),
      );
    });
    add("inertia [kg m²]", body.inertia.map(short).join(" · "));
    add("joint", body.kind === "free" ? "none: the root" : body.kind);
    for (const [name, [low, high]] of Object.entries(body.limits ?? {})) {
      add(name, low === null || high === null ? "no limit" : `${low}° … ${high}°`);
    }
    const touches = make("input");
    touches.type = "checkbox";
    touches.id = "touches";
    touches.checked = body.contact;
    touches.addEventListener("change", () => act({ do: "contact", joint: chosen, on: touches.checked }));
    const label = make("label", "", " touches the ground");
    label.prepend(touches);
    add("contact", label);
    if (chosen !== state.root) {
      const remove = make("button", "", "Take the body (Delete)");
      remove.type = "button";
      remove.addEventListener("click", () => act({ do: "remove", joint: chosen }));
      buttons.append(remove);
    }
  } else {
    const give = make("button", "", "Give it a body (B)");
    give.type = "button";
    give.addEventListener("click", () => act({ do: "body", joint: chosen }));
    buttons.append(give);
  }
  box.replaceChildren(make("h2", "", joint.name), list, buttons);
}

const HELP: [string, string][] = [
  ["click a bone", "choose it; a bare one gets a body"],
  ["drag bone to bone", "bodies for all bones between"],
  ["drag an actor's limb", "onto the limb it drives"],
  ["drag the handles", "yellow: ends, red: thickness; mass goes with size"],
  ["drag beside, wheel", "turn, zoom"],
  ["← → ↑ ↓", "next bone, bone above, bone below"],
  ["1 2 3 4 5", "left leg, right leg, left arm, right arm, head drives"],
  ["0", "the limb is free"],
  ["B, Delete", "give or take the bone's body"],
  ["+ −", "thicker, thinner"],
  ["] [", "heavier, lighter"],
  ["G", "touches the ground or not"],
  ["C", "the first cure"],
  ["A", "what Poise proposes"],
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["Esc", "choose nothing, stop dragging"],
  ["D, ?", "light or dark, this help"],
];

export function drawHelp(): void {
  const list = make("dl");
  for (const [key, what] of HELP) list.append(make("dt", "", key), make("dd", "", what));
  $("help").replaceChildren(make("h2", "", "Mouse and keys"), list, make("p", "hint", "Every edit is kept in the character's file at once."));
}

export function showPanels(state: State, chosen: number, act: Do, choose: (joint: number) => void): void {
  $("title").textContent = state.title;
  $("saved").textContent = state.saved || (state.file ? `kept in ${state.file}` : "");
  $("saved").classList.toggle("is-bad", Boolean(state.saved));
  ($("undo") as HTMLButtonElement).disabled = !state.undo;
  ($("redo") as HTMLButtonElement).disabled = !state.redo;
  showPerson(state);
  showChecks(state, act);
  showLimbs(state, chosen, act, choose);
  showBone(state, chosen, act);
}
