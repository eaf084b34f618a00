/** The settings, read once where they are needed. Their meaning and defaults stand in package.json. */
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { pythonOf } from "./environment";
import { DEFAULT_TARGETS } from "./targets";

export const SECTION = "tilewright";

/** Settings that decide which program the server is; a change of one needs a restart. */
export const SERVER_SETTINGS = ["server.path", "interpreter", "models.fromEditor"].map((name) => `${SECTION}.${name}`);

const ALWAYS = { diagnosticsInHover: true, assemblyView: true, modelDialog: true, diffView: true };

export interface ServerSettings {
  readonly path: string;
  readonly interpreter: string;
  /** What to install instead of the wheel that is part of the extension; empty for that one. */
  readonly package: string;
}

export function serverSettings(): ServerSettings {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return {
    path: asPath(settings.get("server.path", "")),
    interpreter: asPath(settings.get("interpreter", "")),
    package: asPath(settings.get("server.package", "")),
  };
}

/** The Python for kernels that a setting names; empty where none does. */
export function kernelPythonSetting(): string {
  return asPath(vscode.workspace.getConfiguration(SECTION).get("python", ""));
}

/** The chips offered for a document. */
export function configuredTargets(resource: vscode.Uri): readonly string[] {
  return vscode.workspace.getConfiguration(SECTION, resource).get("targets", []);
}

/** The chips to choose from for a document's assembly: those it is compiled for first, each once. */
export function targetsToCompile(resource: vscode.Uri): readonly string[] {
  const settings = vscode.workspace.getConfiguration(SECTION, resource);
  const compiled: readonly string[] = settings.get("compiled.targets", []);
  const own: string = settings.get("target", "");
  const offered = configuredTargets(resource);
  const named = [...compiled, own, ...(offered.length > 0 ? offered : DEFAULT_TARGETS)];
  return [...new Set(named.filter((target) => target !== ""))];
}

/** Interpreters that a workspace brings along; none where the workspace is not trusted to run programs. */
export function workspacePythons(): readonly string[] {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders
    .filter((folder) => folder.uri.scheme === "file")
    .flatMap((folder) => [".venv", "venv"].map((name) => pythonOf(path.join(folder.uri.fsPath, name))));
}

/**
 * What the server receives as its settings: the section without what is not set (empty texts and lists), whether it may
 * run what it reads, that this editor shows a diagnostic's message above a hover by itself, that it can show assembly, and that it
 * has a dialog for the question about models. `python` is the Python for kernels that was found where no setting names one.
 */
export function settingsForServer(
  section: unknown,
  fileTargets: Readonly<Record<string, string>>,
  python = "",
): Record<string, unknown> {
  const values = typeof section === "object" && section !== null ? section : {};
  const set = Object.entries(values).filter(([, value]) => !isEmpty(value));
  return { ...(python ? { python } : {}), ...Object.fromEntries(set), ...ALWAYS, fileTargets, trusted: vscode.workspace.isTrusted };
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

/** A path as people write it: `~` and `${workspaceFolder}` stand for what they mean in other settings. */
function asPath(value: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return value
    .trim()
    .replace(/^~(?=\/|\\|$)/, () => os.homedir())
    .replace(/\$\{workspaceFolder\}/g, () => folder);
}
