/** Running other programs: one call, its output and its exit code, never longer than its time limit. */
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import * as path from "node:path";

/** What a program left behind. `code` is null when it was stopped by a signal or the time limit. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Milliseconds after which the program is killed. */
  readonly limitMs: number;
  /** Where it runs. Never a workspace folder: Python would import the folder's files. */
  readonly cwd: string;
  /** Told each line of output as it comes. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Runs a program to its end. A program that cannot be started is an outcome too: code null, the reason in stderr. */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], {
      cwd: options.cwd,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: options.limitMs,
      killSignal: "SIGKILL",
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const stdout = collect(child.stdout, options.onLine);
    const stderr = collect(child.stderr, options.onLine);
    let refusal = "";
    child.on("error", (error) => {
      refusal = error.message;
      if (child.pid === undefined) {
        resolve({ code: null, stdout: "", stderr: refusal });
      }
    });
    child.on("close", (code) => resolve({ code, stdout: stdout(), stderr: stderr() + refusal }));
  });
}

function collect(stream: NodeJS.ReadableStream, onLine?: (line: string) => void): () => string {
  let text = "";
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach((line) => onLine?.(line));
  });
  return () => text;
}

/** Whether a file is there and may be executed. */
export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The first program of that name on the search path (the text of PATH), or undefined. */
export async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  const names = process.platform === "win32" ? [`${name}.exe`] : [name];
  for (const folder of searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry))) {
    for (const candidate of names) {
      const file = path.join(folder, candidate);
      if (await isExecutable(file)) {
        return file;
      }
    }
  }
  return undefined;
}
