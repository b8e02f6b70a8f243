/** Colors of the two looks. Those of figures, marks and plots come with the scene. */
export interface Palette {
  isDark: boolean;
  background: string;
  ground: string;
  line: string;
  ink: string;
  faint: string;
  panel: string;
  rule: string;
  accent: string;
  sky: string;
  bounce: string;
}

export const LIGHT: Palette = {
  isDark: false,
  background: "#eef0f2",
  ground: "#e3e6e9",
  line: "#c3c9cf",
  ink: "#1f2933",
  faint: "#66717d",
  panel: "#ffffff",
  rule: "#d9dee3",
  accent: "#2463b4",
  sky: "#ffffff",
  bounce: "#cdcac4",
};

export const DARK: Palette = {
  isDark: true,
  background: "#15181d",
  ground: "#20252c",
  line: "#39424d",
  ink: "#e6eaee",
  faint: "#95a1ad",
  panel: "#1d2228",
  rule: "#333b45",
  accent: "#7ab3ff",
  sky: "#c9d8ea",
  bounce: "#3a3632",
};

/** What is gripped, pulled and pushed, the same in both looks. */
export const PUSH = "#d7263d";

/** The look to start with: what the viewer chose last, else what the system asks for. */
export function firstPalette(): Palette {
  const wished = new URLSearchParams(location.search).get("theme") ?? remembered("theme");
  if (wished === "dark") return DARK;
  if (wished === "light") return LIGHT;
  return matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
}

/** A choice kept in this browser; null where storage is closed, as in a file or a sandboxed frame it may be. */
export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(`poise.${key}`);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`poise.${key}`, value);
  } catch {
    // a choice that cannot be kept is made again
  }
}

/** Gives the page's style sheet the palette's colors. */
export function paint(palette: Palette): void {
  const root = document.documentElement;
  root.dataset.theme = palette.isDark ? "dark" : "light";
  for (const key of ["background", "ink", "faint", "panel", "rule", "accent"] as const) {
    root.style.setProperty(`--${key}`, palette[key]);
  }
}
