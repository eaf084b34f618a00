/**
 * Tools for the editor's own agents (`vscode.lm.registerTool`, VS Code 1.95): checking, compiling and verifying with the
 * engine's command line. What runs code of the workspace is confirmed first; files outside of it are refused.
 */
import { existsSync, realpathSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { startOf } from "./agents";
import type { Outcome } from "./processes";
import type { ServerState } from "./server";

const MOST_CHARACTERS = 60_000;

/** What an agent may ask for; package.json describes the inputs. */
export interface ToolInput {
  readonly file?: unknown;
  readonly original?: unknown;
  readonly target?: unknown;
}

interface Tool {
  /** The command's words for files that are known to lie in the workspace. */
  readonly words: (files: readonly string[], target: string | undefined) => readonly string[];
  readonly files: readonly ("file" | "original")[];
  /** What is run of the workspace; empty where files are only read. */
  readonly runs: string;
}

const forChip = (target: string | undefined): readonly string[] => (target ? ["--target", target] : []);

export const TOOLS: Readonly<Record<string, Tool>> = {
  tilewright_check: {
    words: (files, target) => ["check", ...files, ...forChip(target)],
    files: ["file"],
    runs: "",
  },
  tilewright_compile: {
    words: (files, target) => ["compile", ...files, ...forChip(target)],
    files: ["file"],
    runs: "Compiling imports the file; no kernel is run.",
  },
  tilewright_verify: {
    words: (files, target) => ["verify", ...files, ...forChip(target)],
    files: ["original", "file"],
    runs: "Verifying runs the kernels of both files in a sandbox.",
  },
};

/** The interface of the editor, as far as it is used. */
interface Editor {
  readonly lm?: { registerTool?(name: string, tool: object): vscode.Disposable };
  readonly LanguageModelToolResult?: new (parts: readonly unknown[]) => object;
  readonly LanguageModelTextPart?: new (text: string) => object;
}

/** A real path inside a folder of the workspace; throws with the reason for anything else. */
export function inWorkspace(file: unknown, folders: readonly string[]): string {
  if (typeof file !== "string" || file === "") {
    throw new Error("name a file");
  }
  const found = folders.map((folder) => path.resolve(folder, file)).find((place) => existsSync(place));
  if (!found) {
    throw new Error(`${file} is not in this workspace`);
  }
  const real = realpathSync(found);
  const roots = folders.map((folder) => realpathSync(folder));
  if (!roots.some((root) => real === root || real.startsWith(`${root}${path.sep}`))) {
    throw new Error(`${file} is not in this workspace`);
  }
  return real;
}

/** The command of a tool; throws with the reason where it is not for it to run. */
export function commandOf(name: string, input: ToolInput, state: ServerState, folders: readonly string[], trusted: boolean): readonly string[] {
  const tool = TOOLS[name];
  if (!tool || state.kind !== "running") {
    throw new Error("Tilewright's server is not running");
  }
  if (tool.runs !== "" && !trusted) {
    throw new Error("this workspace is not trusted, so none of its code is run");
  }
  const target = typeof input.target === "string" && /^[a-z]+:[\w-]+$/.test(input.target) ? input.target : undefined;
  const files = tool.files.map((key) => inWorkspace(input[key], folders));
  const { command, args } = startOf(state.server, []);
  return [command, ...args.slice(0, -1), ...tool.words(files, target), "--format", "json"];
}

/** Registers the tools; nothing in an editor that has no such interface. */
export function registerTools(
  state: () => ServerState,
  run: (command: string, args: readonly string[]) => Promise<Outcome>,
  editor: Editor = vscode as unknown as Editor,
): readonly vscode.Disposable[] {
  const { lm, LanguageModelToolResult: Result, LanguageModelTextPart: Text } = editor;
  const register = lm?.registerTool?.bind(lm);
  if (!register || !Result || !Text) {
    return [];
  }
  const folders = (): readonly string[] =>
    (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
  return Object.entries(TOOLS).map(([name, tool]) =>
    register(name, {
      prepareInvocation: ({ input }: { input: ToolInput }) => ({
        invocationMessage: `Tilewright: ${name.replace("tilewright_", "")} ${String(input.file ?? "")}`,
        ...(tool.runs ? { confirmationMessages: { title: "Run Tilewright?", message: `${tool.runs} ${String(input.file ?? "")}` } } : {}),
      }),
      invoke: async ({ input }: { input: ToolInput }) => {
        const [command = "", ...args] = commandOf(name, input, state(), folders(), vscode.workspace.isTrusted);
        const { stdout, stderr } = await run(command, args);
        const said = stdout.trim() || stderr.trim() || "it said nothing";
        return new Result([new Text(said.length > MOST_CHARACTERS ? `${said.slice(0, MOST_CHARACTERS)}… (cut)` : said)]);
      },
    }),
  );
}
