/** The environment that the extension makes for the server: a virtual environment in the editor's own storage. */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { Outcome, RunOptions } from "./processes";

const MINUTE_MS = 60_000;
const CANDIDATES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"];

/** What making an environment needs from outside. */
export interface Tools {
  which(name: string): Promise<string | undefined>;
  run(command: string, args: readonly string[], options: RunOptions): Promise<Outcome>;
}

/** Making an environment failed; the message says at which step and what to do. */
export class EnvironmentError extends Error {}

/** The interpreter inside a virtual environment. */
export function pythonOf(environment: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "win32"
    ? path.join(environment, "Scripts", "python.exe")
    : path.join(environment, "bin", "python");
}

/** The commands that make the environment, as they are shown to the person who is asked. */
export function installCommands(environment: string, requirement: string): readonly string[] {
  const python = pythonOf(environment);
  return [`python3 -m venv ${environment}`, `${python} -m pip install ${requirement}`];
}

/** Where an environment is made before it takes the place of the one in use. */
export function stagingOf(environment: string): string {
  return `${environment}.new`;
}

/**
 * Makes an environment beside the one in use, installs the server into it and sees that it is there. What a failed or
 * cancelled attempt left is removed; the one in use is not touched. Returns the folder, for `swapIn`.
 */
export async function makeEnvironment(
  environment: string,
  requirement: string,
  tools: Tools,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const cwd = path.dirname(environment);
  const base = await findBasePython(tools, cwd, signal);
  const staging = stagingOf(environment);
  await rm(staging, { recursive: true, force: true });
  const python = pythonOf(staging);
  try {
    report(`Making an environment with ${base}`);
    await step("Making the virtual environment", tools, base, ["-m", "venv", staging], cwd, signal);
    report(`Installing ${requirement}`);
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", requirement];
    await step(`Installing ${requirement}`, tools, python, pip, cwd, signal, report);
    const load = ["-c", "import tilewright_server.server"];
    await step(`Starting the server of ${requirement}`, tools, python, load, cwd, signal);
    await writeFile(path.join(staging, "tilewright.json"), JSON.stringify({ requirement, base }));
    return staging;
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

/** Makes an environment with packages of pip's index, in its place at once: a failed attempt is removed. */
export async function makePackages(
  environment: string,
  requirements: readonly string[],
  tools: Tools,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const cwd = path.dirname(environment);
  const base = await findBasePython(tools, cwd, signal);
  const staging = stagingOf(environment);
  await rm(staging, { recursive: true, force: true });
  try {
    report(`Making an environment with ${base}`);
    await step("Making the virtual environment", tools, base, ["-m", "venv", staging], cwd, signal);
    const what = requirements.filter((one) => !one.includes(":") && !one.startsWith("-")).join(" and ");
    report(`Installing ${what}`);
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", ...requirements];
    await step(`Installing ${what}`, tools, pythonOf(staging), pip, cwd, signal, report);
    await swapIn(staging, environment);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Puts a finished environment in the place of the one in use, whose server must have been stopped. If that fails, the
 * old one is back in its place. Works because the server is started as `python -m`: the scripts in an environment name
 * the folder they were made in, the interpreter does not.
 */
export async function swapIn(staging: string, environment: string): Promise<void> {
  const old = `${environment}.old`;
  await rm(old, { recursive: true, force: true });
  const had = await rename(environment, old).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") {
        throw new EnvironmentError(`The environment in use cannot be replaced: ${error.message}`);
      }
      return false;
    },
  );
  try {
    await rename(staging, environment);
  } catch (error) {
    await (had ? rename(old, environment) : undefined);
    throw new EnvironmentError(`The new environment cannot be put in its place: ${String(error)}`);
  }
  await rm(old, { recursive: true, force: true });
}

async function findBasePython(tools: Tools, cwd: string, signal: AbortSignal): Promise<string> {
  await mkdir(cwd, { recursive: true });
  for (const name of CANDIDATES) {
    const file = await tools.which(name);
    if (!file) {
      continue;
    }
    const test = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    const outcome = await tools.run(file, ["-c", test], { limitMs: MINUTE_MS, cwd, signal });
    if (outcome.code === 0) {
      return file;
    }
  }
  throw new EnvironmentError(
    "No Python 3.11 or newer with the venv module is on the search path. Install one, or name one in " +
      "the setting tilewright.interpreter.",
  );
}

async function step(
  what: string,
  tools: Tools,
  command: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
  report: (message: string) => void = () => undefined,
): Promise<void> {
  const onLine = (line: string): void => {
    if (/^(Collecting|Downloading|Installing|Building|Processing) /.test(line)) {
      report(line.slice(0, 80));
    }
  };
  const outcome = await tools.run(command, args, { limitMs: 20 * MINUTE_MS, cwd, signal, onLine });
  if (signal.aborted) {
    throw new EnvironmentError(`${what} was cancelled.`);
  }
  if (outcome.code !== 0) {
    const tail = (outcome.stderr || outcome.stdout).trim().split("\n").slice(-12).join("\n");
    throw new EnvironmentError(`${what} failed (exit code ${outcome.code ?? "none"}).\n${tail}`);
  }
}
