// Bundles the extension and what it depends on into dist/extension.js; `vscode` itself is the editor's. The licences of
// what was bundled go beside it.
import { build } from "esbuild";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

const production = process.argv.includes("--production");

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  external: ["vscode"],
  minify: production,
  sourcemap: !production,
  metafile: true,
  logLevel: "warning",
});

// The schemas of our YAML and of certificates are those of the checkout.
await cp("../knowledge/schema", "schemas", { recursive: true });

// The page of the run panel: our own code alone.
await build({
  entryPoints: ["src/runs/webview.ts"],
  outfile: "dist/run.js",
  bundle: true,
  format: "iife",
  platform: "browser",
  target: "es2022",
  minify: production,
  logLevel: "warning",
});

const packages = new Set(
  Object.keys(metafile.inputs).flatMap((file) => file.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0] ?? []),
);
const notices = await Promise.all([...packages].sort().map(notice));
await writeFile("dist/THIRD-PARTY.txt", notices.join(`\n${"-".repeat(80)}\n\n`));

/** A bundled package's name, version and licence; a package without a licence must not be bundled. */
async function notice(folder) {
  const { name, version } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) {
    throw new Error(`${name} ${version} has no licence file in ${folder}`);
  }
  return `${name} ${version}\n\n${await readFile(path.join(folder, file), "utf8")}`;
}
