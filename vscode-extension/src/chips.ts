/** The chip that the file in front is for: shown in the status bar with the reason, and chosen there for this file. */
import * as vscode from "vscode";
import { DidChangeConfigurationNotification } from "vscode-languageclient/node";
import { execute } from "./client";
import { SCHEME as PREVIEWS } from "./preview";
import type { Server } from "./server";
import { type Chip, chipItems, FOLLOW, type Told, toldOf } from "./targets";

const STORED = "tilewright.fileTargets";
const PAUSE_MS = 600;
/** A server that has just started reads the open files a moment later. */
const STARTED_MS = 1_500;

/** The chips that a person chose for single files, by URI; they stay with the workspace. */
export class FileTargets {
  constructor(private readonly memory: vscode.Memento) {}

  all(): Readonly<Record<string, string>> {
    return this.memory.get<Record<string, string>>(STORED, {});
  }

  async set(uri: string, target: string | undefined): Promise<void> {
    const others = Object.entries(this.all()).filter(([other]) => other !== uri);
    await this.memory.update(STORED, Object.fromEntries(target ? [...others, [uri, target]] : others));
  }
}

export class ChipStatus implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("tilewright.chip", vscode.StatusBarAlignment.Right, 89);
  private readonly listeners: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private asked = 0;

  constructor(
    private readonly server: Server,
    private readonly chosen: FileTargets,
  ) {
    this.item.name = "Tilewright: chip";
    this.item.command = "tilewright.chooseTarget";
    const soon = (ms: number) => () => this.soon(ms);
    this.listeners = [
      server.onState(soon(STARTED_MS)),
      vscode.window.onDidChangeActiveTextEditor(soon(0)),
      vscode.workspace.onDidSaveTextDocument(soon(PAUSE_MS)),
      vscode.workspace.onDidChangeConfiguration(soon(PAUSE_MS)),
      vscode.workspace.onDidChangeTextDocument(({ document }) =>
        document === vscode.window.activeTextEditor?.document ? this.soon(PAUSE_MS) : undefined,
      ),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.listeners.forEach((listener) => listener.dispose());
    this.item.dispose();
  }

  /** What the server says of a document; undefined where it has no kernels, or there is no server. */
  async told(document: vscode.TextDocument | undefined): Promise<Told | undefined> {
    const client = this.server.client;
    if (!client || document?.languageId !== "python") {
      return undefined;
    }
    return toldOf(await execute(client, "tilewright.target", { uri: document.uri.toString() }));
  }

  /** Lets a person choose the chip of the file in front, or have it follow the file again. */
  async choose(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const told = await this.told(document);
    const client = this.server.client;
    if (!document || !told || !client) {
      void vscode.window.showInformationMessage("Tilewright: open a Python file with a kernel first.");
      return;
    }
    const chips = execute(client, "tilewright.listTargets") as Promise<readonly Chip[]>;
    const items = chips.then((all) =>
      chipItems(told, all).map(({ heading, ...item }) =>
        heading ? { label: heading, kind: vscode.QuickPickItemKind.Separator } : item,
      ),
    );
    const name = vscode.workspace.asRelativePath(document.uri);
    const picked = await vscode.window.showQuickPick<vscode.QuickPickItem>(items, {
      title: `Chip of ${name}: ${told.target}, ${told.why}`,
      placeHolder: "The chip that this file's findings, profiles and compile results are about",
      matchOnDescription: true,
    });
    if (picked) {
      await this.chosen.set(document.uri.toString(), picked.label === FOLLOW ? undefined : picked.label);
      await client.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
      this.soon(PAUSE_MS);
    }
  }

  private soon(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(), ms);
  }

  private async update(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.uri.scheme === PREVIEWS) {
      return; // what is shown is of the file that the preview is of
    }
    const number = ++this.asked;
    const told = await this.told(document).catch(() => undefined);
    if (number !== this.asked) {
      return;
    }
    if (told) {
      this.item.text = `$(chip) ${told.target}`;
      this.item.tooltip = `Tilewright works for ${told.target}: ${told.why}. Click to choose another chip for this file.`;
      this.item.show();
    } else {
      this.item.hide();
    }
  }
}
