/** Buttons and keys of the page. */
import { $, type App, SPEEDS } from "./app";
import { setIcon } from "./icons";

/** What a live page does in another way than a recording. */
export interface Transport {
  play(): void;
  step(count: number): void;
  speed(value: number): void;
  loopOrRestart(): void;
  /** Where a figure is led by keys: whether this one was for it. */
  lead?(key: string, isDown: boolean): boolean;
}

export function bindButtons(app: App, transport: Transport): void {
  const icons = { "tool-follow": "follow", "tool-home": "home", "tool-layers": "layers", "tool-plots": "plots", "tool-theme": "theme", "tool-help": "help" };
  for (const [id, icon] of Object.entries(icons)) setIcon($(id), icon);
  setIcon($("go-back"), "back");
  setIcon($("go-on"), "on");
  app.buttons();
  const speed = $("speed") as HTMLSelectElement;
  for (const value of SPEEDS) speed.append(new Option(`${value}×`, String(value)));
  speed.value = "1";
  speed.addEventListener("change", () => {
    transport.speed(Number(speed.value));
    speed.blur(); // so that the keys below are the page's again
  });
  const on = (id: string, act: () => void) => $(id).addEventListener("click", act);
  on("go-play", () => transport.play());
  on("go-back", () => transport.step(-1));
  on("go-on", () => transport.step(1));
  on("go-loop", () => transport.loopOrRestart());
  on("tool-follow", () => toggleFollow(app));
  on("tool-home", () => app.home());
  on("tool-layers", () => toggleCard("layers"));
  on("tool-help", () => toggleCard("help"));
  on("tool-plots", () => app.togglePlots());
  on("tool-theme", () => app.theme());
  $("views").addEventListener("pointerdown", () => {
    if (matchMedia("(max-width: 720px)").matches) for (const id of ["layers", "help"]) closeCard(id);
  });
  addEventListener("keydown", (event) => key(event, app, transport, speed));
  // a button or a box is pressed when Space is let go of
  addEventListener("keyup", (event) => {
    if (event.key === " ") event.preventDefault();
    transport.lead?.(event.key.toLowerCase(), false);
  });
}

function toggleFollow(app: App): void {
  app.follow = !app.follow;
  app.buttons();
  if (app.follow) app.home();
}

function toggleCard(id: string): void {
  const isClosed = $(id).hidden;
  for (const other of ["layers", "help"]) closeCard(other);
  if (!isClosed) return;
  $(id).hidden = false;
  $(`tool-${id}`).setAttribute("aria-expanded", "true");
}

function closeCard(id: string): void {
  $(id).hidden = true;
  $(`tool-${id}`).setAttribute("aria-expanded", "false");
}

function key(event: KeyboardEvent, app: App, transport: Transport, speed: HTMLSelectElement): void {
  const target = event.target as HTMLElement;
  // arrows belong to a slider or list that is being set; Space always plays, whatever was clicked last
  const types = target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type === "range");
  if ((types && event.key !== " ") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (transport.lead?.(event.key.toLowerCase(), true)) return event.preventDefault();
  const faster = (by: number) => {
    const index = SPEEDS.indexOf(Number(speed.value)) + by;
    if (index < 0 || index >= SPEEDS.length) return;
    speed.value = String(SPEEDS[index]);
    transport.speed(SPEEDS[index]);
  };
  const isLive = app.world?.isLive ?? false;
  const jump = (seconds: number) => {
    app.pause();
    void app.seek(app.clock.time + seconds);
  };
  const act: Record<string, () => void> = {
    " ": () => transport.play(),
    ArrowLeft: () => (event.shiftKey && !isLive ? jump(-0.1) : transport.step(-1)),
    ArrowRight: () => (event.shiftKey && !isLive ? jump(0.1) : transport.step(1)),
    ArrowUp: () => faster(1),
    ArrowDown: () => faster(-1),
    Home: () => isLive || jump(-Infinity),
    End: () => isLive || jump(Infinity),
    r: () => transport.loopOrRestart(),
    f: () => toggleFollow(app),
    c: () => app.home(),
    l: () => toggleCard("layers"),
    p: () => app.togglePlots(),
    d: () => app.theme(),
    "?": () => toggleCard("help"),
    Escape: () => ["layers", "help"].forEach(closeCard),
  };
  const found = act[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!found) return;
  event.preventDefault();
  found();
}
