/** Line drawings on the buttons, 24 by 24. */
const PATHS: Record<string, string[]> = {
  play: ["M8 5.5v13l10.5-6.5z"],
  pause: ["M7 5h3.6v14H7zM13.4 5H17v14h-3.6z"],
  back: ["M6 5v14", "M18 5.5v13L9 12z"],
  on: ["M18 5v14", "M6 5.5v13L15 12z"],
  restart: ["M4 12a8 8 0 1 0 2.6-5.9", "M4 4v4.5h4.5"],
  loop: ["M17 3l3 3-3 3", "M4 11V9a3 3 0 0 1 3-3h13", "M7 21l-3-3 3-3", "M20 13v2a3 3 0 0 1-3 3H4"],
  follow: ["M12 3v3M12 18v3M3 12h3M18 12h3", "M12 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z"],
  home: ["M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4"],
  layers: ["M12 4l9 5-9 5-9-5z", "M3.5 13.5L12 18l8.5-4.5"],
  plots: ["M4 4v16h16", "M7.5 14.5l3.5-4 3 2.5 5-6"],
  theme: ["M12 4a8 8 0 1 0 8 8 6.2 6.2 0 0 1-8-8z"],
  help: ["M9.2 9.2a2.9 2.9 0 1 1 4.2 2.6c-.9.5-1.4 1-1.4 2.1", "M12 17.4v.1", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z"],
};

const SVG = "http://www.w3.org/2000/svg";

/** Puts a drawing into a button in place of what it holds. */
export function setIcon(button: HTMLElement, name: string): void {
  if (button.dataset.icon === name) return;
  button.dataset.icon = name;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  for (const d of PATHS[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  button.replaceChildren(svg);
}
