/**
 * Which server to start. A setting that names one is obeyed or reported as wrong, never passed over; without a setting
 * the interpreter chosen in the editor comes first, then the workspace's own environment, then the search path, then the
 * environment the extension made itself.
 */
import type { Outcome } from "./processes";

/** A server that answered when asked for its version. */
export interface FoundServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly version: string;
  /** How it was found, for people: "setting tilewright.interpreter". */
  readonly origin: string;
}

export type Discovery =
  | { readonly kind: "found"; readonly server: FoundServer }
  | { readonly kind: "wrong"; readonly message: string }
  | { readonly kind: "missing"; readonly looked: readonly string[] };

/** Where to look. Empty texts stand for settings that are not set. */
export interface Places {
  readonly serverPath: string;
  readonly interpreter: string;
  /** Interpreters that are chosen in the editor's Python extension; empty without it. */
  readonly chosenPythons: readonly string[];
  /** Interpreters of environments inside the workspace's folders; empty in an untrusted workspace. */
  readonly workspacePythons: readonly string[];
  /** The interpreter of the environment that the extension makes. */
  readonly ownPython: string;
}

/** The machine, as far as discovery asks it something. */
export interface Machine {
  exists(file: string): Promise<boolean>;
  which(name: string): Promise<string | undefined>;
  run(command: string, args: readonly string[]): Promise<Outcome>;
}

// Looks without importing: a broken dependency then shows when the server starts, with its traceback.
const ASK_PYTHON = [
  "import importlib.metadata as m, importlib.util as u, sys",
  "print('python %d.%d' % sys.version_info[:2])",
  "print('tilewright ' + m.version('tilewright') if u.find_spec('tilewright_server') else 'none')",
].join("\n");

type Answer = { readonly version: string } | { readonly reason: string };

export async function discover(places: Places, machine: Machine): Promise<Discovery> {
  if (places.serverPath) {
    return bySetting("tilewright.server.path", places.serverPath, askProgram, ["lsp"], machine);
  }
  if (places.interpreter) {
    return bySetting("tilewright.interpreter", places.interpreter, askPython, PYTHON_ARGS, machine);
  }
  const looked: string[] = [];
  const fromPython = async (python: string, origin: string): Promise<FoundServer | undefined> => {
    looked.push(`${origin}: ${python}`);
    const answer = (await machine.exists(python)) ? await askPython(python, machine) : undefined;
    return answer && "version" in answer
      ? { command: python, args: PYTHON_ARGS, version: answer.version, origin }
      : undefined;
  };
  const near = [
    ...places.chosenPythons.map((python) => [python, "chosen in the Python extension"] as const),
    ...places.workspacePythons.map((python) => [python, "workspace environment"] as const),
  ];
  for (const [python, origin] of near) {
    const server = await fromPython(python, origin);
    if (server) {
      return { kind: "found", server };
    }
  }
  const program = await machine.which("tilewright");
  looked.push(`search path: ${program ?? "no tilewright"}`);
  const answer = program ? await askProgram(program, machine) : undefined;
  if (program && answer && "version" in answer) {
    const server = { command: program, args: ["lsp"], version: answer.version, origin: "search path" };
    return { kind: "found", server };
  }
  const own = await fromPython(places.ownPython, OWN_ORIGIN);
  return own ? { kind: "found", server: own } : { kind: "missing", looked };
}

/** How a server is described that runs in the environment the extension made. */
export const OWN_ORIGIN = "environment of the extension";

const PYTHON_ARGS: readonly string[] = ["-m", "tilewright_server"];

async function bySetting(
  setting: string,
  file: string,
  ask: (file: string, machine: Machine) => Promise<Answer>,
  args: readonly string[],
  machine: Machine,
): Promise<Discovery> {
  if (!(await machine.exists(file))) {
    return { kind: "wrong", message: `${setting} names ${file}, which is not a program on this machine.` };
  }
  const answer = await ask(file, machine);
  if ("reason" in answer) {
    return { kind: "wrong", message: `${setting} names ${file}: ${answer.reason}` };
  }
  const origin = `setting ${setting}`;
  return { kind: "found", server: { command: file, args, version: answer.version, origin } };
}

/** Asks an interpreter whether the server is installed in it. */
export async function askPython(python: string, machine: Machine): Promise<Answer> {
  const outcome = await machine.run(python, ["-c", ASK_PYTHON]);
  const version = /^python (\d+)\.(\d+)$/m.exec(outcome.stdout);
  if (!version) {
    return { reason: `it did not answer as a Python does. ${lastLine(outcome)}` };
  }
  const installed = /^tilewright (\S+)$/m.exec(outcome.stdout);
  if (installed?.[1]) {
    return { version: installed[1] };
  }
  if (Number(version[1]) < 3 || Number(version[2]) < 11) {
    return { reason: `it is Python ${version[1]}.${version[2]}; the server needs 3.11 or newer.` };
  }
  return { reason: "tilewright is not installed in it; install its wheel or checkout there with pip." };
}

async function askProgram(program: string, machine: Machine): Promise<Answer> {
  const outcome = await machine.run(program, ["--version"]);
  const version = /(\d+\.\d+\S*)/.exec(outcome.stdout);
  return outcome.code === 0 && version?.[1]
    ? { version: version[1] }
    : { reason: `it does not answer to --version. ${lastLine(outcome)}` };
}

function lastLine(outcome: Outcome): string {
  const lines = outcome.stderr.trim().split("\n");
  return lines[lines.length - 1] ?? "";
}
