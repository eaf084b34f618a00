/** Offers the tools for coding agents (`tilewright mcp`) to an editor that can start such servers itself. */
import * as vscode from "vscode";
import type { FoundServer } from "./discovery";
import type { Outcome } from "./processes";
import { SECTION } from "./settings";
import type { ServerState } from "./server";

/** The id in package.json. */
export const PROVIDER = "tilewright";

/** How a server is started. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
}

/** The editor's interface, which came with VS Code 1.101; the extension is compiled against an older one. */
interface Editor {
  readonly version: string;
  readonly lm?: {
    registerMcpServerDefinitionProvider?(
      id: string,
      provider: {
        onDidChangeMcpServerDefinitions: vscode.Event<void>;
        provideMcpServerDefinitions(): Promise<object[]>;
      },
    ): vscode.Disposable;
  };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string>,
    version: string,
  ) => object;
}

/** What the language server is at, as far as it matters here. */
export interface Found {
  readonly state: ServerState;
  readonly onState: vscode.Event<ServerState>;
}

/** The tools of the server that was found, for these folders. Isolated from files of the folder it starts in (-P). */
export function startOf(server: FoundServer, folders: readonly string[]): Start {
  const roots = folders.flatMap((folder) => ["--root", folder]);
  const isPython = server.args[0] === "-m";
  const own = isPython ? ["-P", "-m", "tilewright", "mcp"] : ["mcp"];
  return { command: server.command, args: [...own, ...roots] };
}

/**
 * Registers the tools with the editor. Nothing is offered in a workspace that is not trusted, without a folder, or where
 * the package `mcp` is missing; the log says so. Undefined for an editor without the interface.
 *
 * `probe` starts the tools without input: they end at once with code 0, or say what is missing.
 */
export function registerAgentTools(
  found: Found,
  probe: (start: Start) => Promise<Outcome>,
  log: Pick<vscode.LogOutputChannel, "info">,
  editor: Editor = vscode as unknown as Editor,
): vscode.Disposable | undefined {
  const Definition = editor.McpStdioServerDefinition;
  const register = editor.lm?.registerMcpServerDefinitionProvider?.bind(editor.lm);
  if (!Definition || !register || !isFinal(editor.version)) {
    return undefined;
  }
  const provide = async (): Promise<object[]> => {
    const state = found.state;
    const folders = workspaceFolders();
    if (state.kind !== "running" || folders.length === 0) {
      return [];
    }
    const start = startOf(state.server, folders);
    const outcome = await probe(start);
    if (outcome.code !== 0) {
      log.info(`no tools for agents: ${outcome.stderr.trim().split("\n").at(-1) ?? "they did not start"}`);
      return [];
    }
    const env = environment();
    return [new Definition("Tilewright", start.command, [...start.args], env, state.server.version)];
  };
  return register(PROVIDER, {
    onDidChangeMcpServerDefinitions: (listener, self, disposables) =>
      found.onState(() => listener.call(self), undefined, disposables),
    provideMcpServerDefinitions: provide,
  });
}

/** Whether the interface is one for all: before 1.101 it is there, and refuses extensions that do not ask for it. */
function isFinal(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 1 || (major === 1 && minor >= 101);
}

function workspaceFolders(): readonly string[] {
  const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
  return folders.filter((folder) => folder.uri.scheme === "file").map((folder) => folder.uri.fsPath);
}

function environment(): Record<string, string> {
  const python: string = vscode.workspace.getConfiguration(SECTION).get("python", "");
  return python ? { TILEWRIGHT_PYTHON: python } : {};
}
