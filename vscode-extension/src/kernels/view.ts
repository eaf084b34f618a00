/** The Kernels view: every kernel of the workspace with its time, worst issue and certificate. */
import * as vscode from "vscode";
import type { Server } from "../server";
import { byFile, description, details, icon, type KernelRow, replaced, type TimeRow, withTimes } from "./rows";

const REQUEST = "tilewright/kernels";
const TIMES = "tilewright/kernelTimes";
const VIEW = "tilewright.kernels";
const SAVED_MS = 1_500;
const TIMES_MS = 1_000;

type Item = { readonly file: string; readonly rows: readonly KernelRow[] } | { readonly row: KernelRow };

export class KernelsView implements vscode.TreeDataProvider<Item>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<Item>;
  private readonly parts: vscode.Disposable[];
  private rows: readonly KernelRow[] | undefined;
  private readonly saved = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private times: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
    this.parts = [
      this.view,
      this.changes,
      this.view.onDidChangeVisibility(({ visible }) => (visible && !this.rows ? void this.refresh() : undefined)),
      server.onState(({ kind }) => (kind === "running" && this.view.visible ? void this.refresh() : undefined)),
      server.onLenses(() => this.timesChanged()),
      vscode.workspace.onDidSaveTextDocument((document) => this.onSaved(document)),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.times);
    this.parts.forEach((part) => part.dispose());
  }

  /** Reads the kernels of all folders anew. */
  async refresh(): Promise<void> {
    const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
    const rows = await this.ask(folders.map(({ uri }) => uri.fsPath));
    if (rows) {
      this.show(rows);
    }
  }

  /** Something new is known of an open document: what it says of times is asked for, which starts no process. */
  private timesChanged(): void {
    if (this.rows && this.view.visible) {
      clearTimeout(this.times);
      this.times = setTimeout(() => void this.readTimes(), TIMES_MS);
    }
  }

  getChildren(item?: Item): readonly Item[] & Item[] {
    if (!item) {
      return byFile(this.rows ?? []).map(([file, rows]) => ({ file, rows }));
    }
    return "rows" in item ? item.rows.map((row) => ({ row })) : [];
  }

  getTreeItem(item: Item): vscode.TreeItem {
    return "row" in item ? kernelItem(item.row) : fileItem(item.file, item.rows);
  }

  private async ask(paths: readonly string[]): Promise<readonly KernelRow[] | undefined> {
    const client = this.server.client;
    if (!client || paths.length === 0) {
      return undefined;
    }
    try {
      return await vscode.window.withProgress({ location: { viewId: VIEW } }, () =>
        client.sendRequest<readonly KernelRow[]>(REQUEST, { paths }),
      );
    } catch (error) {
      this.log.warn(`the kernels cannot be listed: ${String(error)}`);
      return undefined;
    }
  }

  private async readTimes(): Promise<void> {
    const times = await this.server.client?.sendRequest<readonly TimeRow[] | null>(TIMES, {});
    const before = this.rows ?? [];
    const rows = withTimes(before, times ?? []);
    if (rows.some((row, at) => row !== before[at] && JSON.stringify(row) !== JSON.stringify(before[at]))) {
      this.show(rows);
    }
  }

  private show(rows: readonly KernelRow[]): void {
    this.rows = rows;
    const stale = rows.filter(({ certificate }) => certificate === "stale").length;
    this.view.badge = stale > 0 ? { value: stale, tooltip: `${stale} stale certificates` } : undefined;
    this.view.description = `${rows.length}`;
    this.view.message = rows.length === 0 ? "No launched kernels in this workspace." : "";
    this.changes.fire(undefined);
  }

  /** Only the files that were saved are read again. */
  private onSaved(document: vscode.TextDocument): void {
    if (document.languageId !== "python" || document.uri.scheme !== "file" || !this.rows) {
      return;
    }
    this.saved.add(document.uri.fsPath);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const paths = [...this.saved];
      this.saved.clear();
      void this.ask(paths).then((fresh) => fresh && this.show(replaced(this.rows ?? [], paths, fresh)));
    }, SAVED_MS);
  }
}

function fileItem(file: string, rows: readonly KernelRow[]): vscode.TreeItem {
  const uri = vscode.Uri.file(file);
  const item = new vscode.TreeItem(vscode.workspace.asRelativePath(uri), vscode.TreeItemCollapsibleState.Expanded);
  item.resourceUri = uri;
  item.iconPath = vscode.ThemeIcon.File;
  item.description = `${rows.length}`;
  return item;
}

function kernelItem(row: KernelRow): vscode.TreeItem {
  const item = new vscode.TreeItem(row.kernel, vscode.TreeItemCollapsibleState.None);
  const { id, color } = icon(row);
  item.iconPath = new vscode.ThemeIcon(id, color ? new vscode.ThemeColor(color) : undefined);
  item.description = description(row);
  item.tooltip = new vscode.MarkdownString(details(row));
  item.contextValue = `kernel.${row.certificate}`;
  const at = new vscode.Range(row.line - 1, 0, row.line - 1, 0);
  item.command = { title: "Open", command: "vscode.open", arguments: [vscode.Uri.file(row.path), { selection: at }] };
  return item;
}
