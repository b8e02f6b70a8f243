// Builds the pages: each one HTML file with one inline script and one inline style, each allowed by its hash alone.
//   node build.mjs          dist/page.html (the player), dist/setup.html (the set-up page), dist/check.html (of a check)
//                          and dist/notices.txt
//   node build.mjs watch    the same, again at every change, without minifying
//   node build.mjs test     the unit tests of the pure modules
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const text = (...parts) => readFileSync(join(here, ...parts), "utf8");
const bundled = ["three", "uplot"];

/** What must travel with every copy of the page: name, version and license text of each bundled package. */
function notices() {
  const parts = bundled.map((name) => {
    const { version, license, homepage } = JSON.parse(text("node_modules", name, "package.json"));
    return `${name} ${version} (${license}) ${homepage ?? ""}\n\n${text("node_modules", name, "LICENSE").trim()}\n`;
  });
  return `This page holds software by others.\n\n${parts.join("\n\n")}`;
}

/** Shaders lie in three.js as strings, with their indents and empty lines; the browser needs neither. */
const leanShaders = {
  name: "lean-shaders",
  setup(esbuild) {
    esbuild.onLoad({ filter: /three\.module\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/\\n(?:\\t|\\n| )+/g, "\\n"),
    }));
  },
};

/** Canvases of plots are drawn by the processor: on a card each would be a context and some shaders of its own. */
const plainPlots = {
  name: "plain-plots",
  setup(esbuild) {
    esbuild.onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      const contents = source.replaceAll('.getContext("2d")', '.getContext("2d", { willReadFrequently: true })');
      if (contents === source) throw new Error("uPlot asks for its canvas in another way than it did.");
      return { contents };
    });
  },
};

async function script(entry, minify) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify,
    target: "es2022",
    format: "iife",
    plugins: [leanShaders, plainPlots],
    legalComments: "none", // the notices stand in the page once
    charset: "ascii", // a browser holds a text of one byte a character, and reads it sooner
    logLevel: "warning",
  });
  // an inline script ends at the first "</script": none may stand in its strings
  return result.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--").trim();
}

async function style(source, minify) {
  const result = await build({ stdin: { contents: source, loader: "css" }, write: false, minify, logLevel: "warning" });
  return result.outputFiles[0].text.trim();
}

const hash = (content) => `'sha256-${createHash("sha256").update(content, "utf8").digest("base64")}'`;

/** Writes beside and renames, so that nobody reads half a file. */
function write(name, content) {
  mkdirSync(join(here, "dist"), { recursive: true });
  const part = join(here, "dist", `.${name}.${process.pid}`);
  writeFileSync(part, content);
  renameSync(part, join(here, "dist", name));
}

async function pages(minify = true) {
  const plots = text("node_modules", "uplot", "dist", "uPlot.min.css") + text("src", "plots.css");
  await page("page", "src/main.ts", plots + text("src", "page.css"), minify);
  await page("check", "src/check/main.ts", plots + text("src", "check", "check.css"), minify);
  await page("setup", "src/setup/main.ts", text("src", "setup", "setup.css"), minify);
  write("notices.txt", notices());
}

async function page(name, entry, look, minify) {
  const [js, css] = await Promise.all([script(entry, minify), style(look, minify)]);
  const policy = [
    "default-src 'none'",
    `script-src ${hash(js)}`,
    `style-src ${hash(css)}`,
    "img-src data: blob:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const put = { policy, css, js, notices: notices().replaceAll("--", "- -") };
  const html = text(...(name === "page" ? ["src", "page.html"] : ["src", name, `${name}.html`])).replace(/\{\{(\w+)\}\}/g, (_, key) => put[key]);
  write(`${name}.html`, html);
  console.log(`dist/${name}.html ${(html.length / 1000).toFixed(0)} kB (script ${(js.length / 1000).toFixed(0)} kB)`);
}

async function test() {
  const out = join(here, "build-test");
  rmSync(out, { recursive: true, force: true });
  const files = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  const built = join(out, "all.test.mjs");
  await build({
    absWorkingDir: here,
    stdin: { contents: files.map((name) => `import "./test/${name}";`).join("\n"), resolveDir: here },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: built,
    logLevel: "warning",
  });
  const run = spawnSync(process.execPath, ["--test", built], { stdio: "inherit" });
  rmSync(out, { recursive: true, force: true });
  process.exit(run.status ?? 1);
}

const mode = process.argv[2] ?? "build";
if (mode === "test") await test();
else await pages(mode === "build");
if (mode === "watch") {
  let timer;
  watch(join(here, "src"), () => {
    clearTimeout(timer);
    timer = setTimeout(() => pages(false).catch((error) => console.error(error.message)), 100);
  });
}
