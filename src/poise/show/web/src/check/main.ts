/** Draws the plots of the clips of a check, each when it comes near the window; a click goes to that time in the player. */
import { Clock } from "../clock";
import type { Plot } from "../format";
import { DARK, LIGHT } from "../palette";
import { Plots } from "../plots";

interface Curves {
  plots: Plot[];
  columns: (number | null)[][][];
  times: number[];
  time: number;
  size: number;
}

const isDark = matchMedia("(prefers-color-scheme: dark)");
const drawn: Plots[] = [];
const palette = () => (isDark.matches ? DARK : LIGHT);

function draw(box: HTMLElement): void {
  const data: Curves = JSON.parse(box.nextElementSibling!.textContent!);
  const plots = new Plots(box);
  const clock = new Clock(data.times[0], data.times[data.times.length - 1]);
  plots.set(data.plots, data.columns, data.times, data.size);
  plots.seek = (time) => {
    clock.seek(time);
    plots.at(clock.time);
    if (box.dataset.player) location.href = `${box.dataset.player}#t=${clock.time.toFixed(4)}`;
  };
  plots.paint(palette());
  plots.at(data.time);
  drawn.push(plots);
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      draw(target as HTMLElement);
    }
  },
  { rootMargin: "600px" },
);
document.querySelectorAll<HTMLElement>(".plots").forEach((box) => near.observe(box));
isDark.addEventListener("change", () => drawn.forEach((plots) => plots.paint(palette())));
