// Builds the wheel of this checkout into bundled/: the server that the extension installs is the one it was made with.
// Any Python with pip will do; PYTHON names one, else the checkout's own environment, else python3.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";

const folder = path.resolve("bundled");
const checkout = path.resolve("..");
const own = path.join(checkout, ".venv/bin/python");
const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");

await rm(folder, { recursive: true, force: true });
await mkdir(folder);
const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", folder];
const done = spawnSync(python, ["-m", "pip", "wheel", ...options, checkout], { stdio: "inherit" });
const wheels = await readdir(folder);
if (done.status !== 0 || wheels.length !== 1) {
  const reason = done.error?.message ?? `exit code ${done.status}, ${wheels.length} wheels`;
  throw new Error(`${python} -m pip wheel did not build the server's wheel (${reason}); PYTHON names another Python`);
}
console.log(`bundled/${wheels[0]}`);
