/** What the page was asked for: options of the file, and over them those of its address. */
export interface Options {
  theme: "auto" | "light" | "dark";
  ui: boolean;
  t: number | null;
  play: boolean;
  /** null: where a graphics card draws. */
  shadows: boolean | null;
  aa: boolean | null;
  dpr: number | null;
  /** A name of `VIEWS`; empty: what suits the clip. */
  view: string;
}

/** Reads options from a JSON object and from queries such as "?t=1.5&shadows=0"; later ones win. */
export function readOptions(given: Record<string, unknown>, ...queries: string[]): Options {
  const all: Record<string, string> = {};
  for (const [key, value] of Object.entries(given)) all[key] = value === true ? "1" : value === false ? "0" : String(value);
  for (const query of queries) {
    for (const [key, value] of new URLSearchParams(query.replace(/^[?#]/, ""))) all[key] = value;
  }
  const number = (key: string) => {
    const value = Number.parseFloat(all[key] ?? "");
    return Number.isFinite(value) ? value : null;
  };
  const flag = <T>(key: string, usual: T) => (key in all ? all[key] !== "0" : usual);
  const theme = all.theme === "light" || all.theme === "dark" ? all.theme : "auto";
  return {
    theme,
    ui: flag("ui", true),
    t: number("t"),
    play: flag("play", false),
    shadows: flag("shadows", null),
    aa: flag("aa", null),
    dpr: number("dpr"),
    view: all.view ?? "",
  };
}
