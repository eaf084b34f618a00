/**
 * The interpreters that the editor's Python extension knows (ms-python.python), where it is installed. Its interface is
 * described here as far as it is used: https://github.com/microsoft/vscode-python/wiki/Python-Environment-APIs.
 */
import * as vscode from "vscode";

const ID = "ms-python.python";
/** The server's start waits for no longer than this. */
const PATIENCE_MS = 4_000;

interface Resolved {
  readonly executable: { readonly uri: vscode.Uri | undefined };
}

interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: { readonly path: string } | string): Promise<Resolved | undefined>;
    readonly known: readonly { readonly executable: { readonly uri: vscode.Uri | undefined } }[];
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The interface, or why there is none. */
async function interfaceOf(): Promise<PythonApi | string> {
  const extension = vscode.extensions.getExtension<PythonApi>(ID);
  if (!extension) {
    return "the Python extension is not installed";
  }
  try {
    const api = await withinPatience<Partial<PythonApi> | undefined>(extension.activate());
    if (api === "late") {
      return `the Python extension did not start within ${PATIENCE_MS / 1000} s`;
    }
    return api?.environments ? (api as PythonApi) : "the Python extension is too old to say which interpreter is chosen";
  } catch (error) {
    return `the Python extension does not start: ${String(error)}`;
  }
}

async function withinPatience<T>(work: Thenable<T>): Promise<T | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), PATIENCE_MS)));
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The interpreter that is chosen for each folder; `note` says why there is none. Nothing is asked where nothing is trusted. */
export async function chosenPythons(): Promise<{ readonly pythons: readonly string[]; readonly note: string }> {
  if (!vscode.workspace.isTrusted) {
    return { pythons: [], note: "the workspace is not trusted" };
  }
  const api = await interfaceOf();
  if (typeof api === "string") {
    return { pythons: [], note: api };
  }
  const folders = vscode.workspace.workspaceFolders?.map(({ uri }) => uri) ?? [undefined];
  const found = await Promise.all(
    folders.map(async (folder) => {
      const chosen = await api.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath(folder));
      return chosen?.executable.uri?.fsPath;
    }),
  );
  const pythons = [...new Set(found.filter((file): file is string => file !== undefined))];
  return { pythons, note: pythons.length > 0 ? "" : "no interpreter is chosen in the Python extension" };
}

/** All interpreters that the Python extension knows; none without it. */
export async function knownPythons(): Promise<readonly string[]> {
  const api = vscode.workspace.isTrusted ? await interfaceOf() : "";
  if (typeof api === "string") {
    return [];
  }
  const files = api.environments.known.map(({ executable }) => executable.uri?.fsPath);
  return [...new Set(files.filter((file): file is string => file !== undefined))];
}

/** Calls back when another interpreter is chosen. Does nothing without the Python extension. */
export async function watchChoice(changed: () => void): Promise<vscode.Disposable> {
  const api = vscode.workspace.isTrusted ? await interfaceOf() : "";
  return typeof api === "string" ? { dispose: () => undefined } : api.environments.onDidChangeActiveEnvironmentPath(changed);
}
