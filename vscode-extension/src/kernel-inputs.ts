/** What a kernel is run on: captured launches, its spec, and the way between a spec and its kernel. */
import * as vscode from "vscode";

type Ask = (command: string, ...args: unknown[]) => Promise<unknown>;

/** Records the launches of a command that the server proposes, or of one that is typed. */
export async function captureLaunches(ask: Ask, document: vscode.TextDocument): Promise<void> {
  const uri = document.uri.toString();
  const found = textsOf(await ask("tilewright.captureCommands", { uri }));
  const other = { label: "$(edit) Another command…", command: undefined };
  const items = [...found.map((command) => ({ label: command, command })), other];
  const picked =
    found.length === 0
      ? other
      : await vscode.window.showQuickPick(items, { title: "Capture Launches", placeHolder: "What is run, with a recorder of kernel launches in it" });
  const command = picked && (picked.command ?? (await typed()));
  if (command) {
    await ask("tilewright.capture", { uri, command });
  }
}

function typed(): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: "Capture Launches",
    prompt: "A command that launches the kernels; `python` is the Python for kernels",
    placeHolder: "python -m pytest tests/test_ops.py",
  });
}

export function textsOf(answer: unknown): readonly string[] {
  return Array.isArray(answer) ? answer.filter((one): one is string => typeof one === "string") : [];
}

/** Drafts a spec for the kernel at the cursor, else for the first of the file. */
export async function addSpec(editor: vscode.TextEditor): Promise<void> {
  const range = editor.selection;
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider", editor.document.uri, range, "refactor.inputs.tilewright",
  );
  const command = actions.find(({ title }) => title === "Add a spec")?.command;
  if (command) {
    await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
  } else {
    void vscode.window.showInformationMessage("Tilewright: put the cursor on a kernel of a file without a spec.");
  }
}

/** From a kernel's file to its spec and back. */
export async function goToSpec(ask: Ask): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const all = document ? placesOf(await ask("tilewright.counterpart", { uri: document.uri.toString() })) : [];
  const [found] = all;
  if (!found) {
    const what = document?.languageId === "yaml" ? "this is no spec of a Python file here" : "this file has no spec";
    void vscode.window.showInformationMessage(`Tilewright: ${what}.`);
    return;
  }
  const place = all.length > 1 ? await chosenOf(all) : found;
  if (place) {
    await vscode.window.showTextDocument(place.uri, { selection: place.range });
  }
}

/** Which of several files with a spec's entry point is meant. */
async function chosenOf(places: readonly vscode.Location[]): Promise<vscode.Location | undefined> {
  const items = places.map((place) => ({ label: vscode.workspace.asRelativePath(place.uri), place }));
  return (await vscode.window.showQuickPick(items, { title: "Go to Kernel", placeHolder: "This spec is for several files" }))?.place;
}

/** The server's answer as places, the likeliest first. */
export function placesOf(answer: unknown): readonly vscode.Location[] {
  const { others } = (answer ?? {}) as { others?: unknown };
  const all: unknown[] = [answer, ...(Array.isArray(others) ? others : [])];
  return all.map(placeOf).filter((one) => one !== undefined);
}

/** One of the server's places. */
function placeOf(answer: unknown): vscode.Location | undefined {
  const { uri, range } = (answer ?? {}) as { uri?: unknown; range?: unknown };
  const numbers: unknown[] = Array.isArray(range) ? range : [];
  if (typeof uri !== "string" || numbers.length !== 4 || !numbers.every((n) => typeof n === "number")) {
    return undefined;
  }
  const [line, start, endLine, end] = numbers as [number, number, number, number];
  return new vscode.Location(vscode.Uri.parse(uri), new vscode.Range(line, start, endLine, end));
}

/** F12 on the entry point that a spec names. */
export class SpecDefinitions implements vscode.DefinitionProvider {
  constructor(private readonly ask: Ask) {}

  async provideDefinition(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Location[]> {
    const onEntry = /^\s*(entry|files)\s*:/.test(document.lineAt(position.line).text);
    return onEntry ? [...placesOf(await this.ask("tilewright.counterpart", { uri: document.uri.toString() }))] : [];
  }
}
