/** The environment that the extension makes for the server: a virtual environment in the editor's own storage. */
import { mkdir, rm, writeFile } from "node:fs/promises";
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

/**
 * Makes the environment anew and installs the server into it. What a failed or cancelled attempt left is removed, so
 * that the next discovery does not meet half of an environment.
 */
export async function makeEnvironment(
  environment: string,
  requirement: string,
  tools: Tools,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const base = await findBasePython(tools, path.dirname(environment), signal);
  const cwd = path.dirname(environment);
  await mkdir(cwd, { recursive: true });
  await rm(environment, { recursive: true, force: true });
  const python = pythonOf(environment);
  try {
    report(`Making an environment with ${base}`);
    await step("Making the virtual environment", tools, base, ["-m", "venv", environment], cwd, signal);
    report(`Installing ${requirement}`);
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", requirement];
    await step(`Installing ${requirement}`, tools, python, pip, cwd, signal, report);
    await writeFile(path.join(environment, "tilewright.json"), JSON.stringify({ requirement, base }));
    return python;
  } catch (error) {
    await rm(environment, { recursive: true, force: true });
    throw error;
  }
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
