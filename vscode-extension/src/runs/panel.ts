/** The run panel: a page of its own for optimizations. It loads nothing but the extension's own script and styles. */
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { execute } from "../client";
import type { Server } from "../server";
import { type Candidate, isOver, pathTo, type RunView } from "./model";
import { pickOlderRun } from "./older";
import type { Shown } from "./page";
import type { Runs, TextDiff } from "./store";

export const TEXT_SCHEME = "tilewright-candidate";
const VIEW = "tilewright.run";
const PAUSE_MS = 100;

/** What a button of the page asks for; one of the keys is set. */
interface Wish {
  readonly ready?: string;
  readonly show?: string;
  readonly cancel?: string;
  readonly apply?: string;
  readonly diff?: string;
  readonly with?: string;
  readonly older?: string;
}

export class RunPanel implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private run: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly texts = new Map<string, string>();
  private readonly parts: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly server: Server,
    private readonly runs: Runs,
  ) {
    this.parts = [
      runs.onDidChange((run) => this.onChange(run)),
      runs.onDiff((texts) => void this.compare(texts)),
      server.onState(({ kind }) => (kind === "running" ? void runs.refresh().catch(() => undefined) : undefined)),
      vscode.workspace.registerTextDocumentContentProvider(TEXT_SCHEME, this),
      // A diff that was closed asks the server again when it is opened the next time.
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      vscode.window.registerWebviewPanelSerializer(VIEW, {
        deserializeWebviewPanel: async (panel) => this.adopt(panel),
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.panel?.dispose();
    this.parts.forEach((part) => part.dispose());
  }

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    return this.texts.get(uri.toString());
  }

  /** Shows a run; the last one where none is named. */
  open(run?: unknown): void {
    this.run = typeof run === "string" ? run : (this.run ?? this.runs.all().at(-1)?.head.run);
    if (this.panel) {
      this.panel.reveal(undefined, true);
      this.send();
      return;
    }
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.adopt(vscode.window.createWebviewPanel(VIEW, "Tilewright Runs", column, this.options()));
  }

  /** Shows a run of an earlier window, which the person chooses. */
  async openOlder(): Promise<void> {
    const run = await pickOlderRun((command, argument) => this.ask(command, argument));
    if (run !== undefined) {
      await this.runs.refresh();
      this.open(run);
    }
  }

  private options(): vscode.WebviewOptions {
    return { enableScripts: true, localResourceRoots: ["dist", "media"].map((name) => vscode.Uri.joinPath(this.extension, name)) };
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel = panel;
    panel.webview.options = this.options();
    panel.iconPath = vscode.Uri.joinPath(this.extension, "media/tilewright.svg");
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage((wish: Wish) => this.onWish(wish).catch(refused));
    const place = (name: string): string => String(panel.webview.asWebviewUri(vscode.Uri.joinPath(this.extension, name)));
    panel.webview.html = pageText(panel.webview.cspSource, place("dist/run.js"), place("media/run.css"));
  }

  private onChange(run: string): void {
    const isNew = this.runs.of(run)?.candidates.length === 0;
    this.run = isNew || this.run === undefined ? run : this.run;
    if (this.panel) {
      this.timer ??= setTimeout(() => this.send(), PAUSE_MS);
    }
  }

  private send(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const runs = this.runs.all();
    const view = this.runs.of(this.run) ?? runs.at(-1);
    const run = view?.head.run ?? null;
    const shown: Shown = { runs, run, record: this.runs.record(run ?? undefined) ?? null };
    void this.panel?.webview.postMessage(shown);
    if (view && isOver(view.head)) {
      void this.runs.readRecord(view.head.run).catch(() => undefined);
    }
  }

  private async onWish(wish: Wish): Promise<void> {
    const view = this.runs.of(this.run) ?? this.runs.all().at(-1);
    if (wish.show !== undefined) {
      this.run = wish.show;
      this.send();
    } else if (wish.ready !== undefined) {
      this.send();
    } else if (wish.older !== undefined) {
      await this.openOlder();
    } else if (wish.cancel !== undefined) {
      await this.ask("tilewright.cancelJob", { job: wish.cancel });
    } else if (view && wish.diff !== undefined && wish.with !== undefined) {
      await this.diff(view, wish.with, wish.diff);
    } else if (view && wish.apply !== undefined) {
      await this.ask("tilewright.applyCandidate", { run: view.head.run, candidate: wish.apply });
    }
  }

  /** Two texts of a run in the editor's own diff view. */
  private async diff(view: RunView, before: string, after: string): Promise<void> {
    const [left, right] = await Promise.all([this.text(view, before), this.text(view, after)]);
    if (left && right) {
      const names = [before, after].map((id) => nameOf(view.candidates.find((one) => one.id === id)));
      const title = `${path.posix.basename(left.path)}: ${names.join(" ↔ ")}`;
      await vscode.commands.executeCommand("vscode.diff", left, right, title, { viewColumn: vscode.ViewColumn.One });
    }
  }

  /** Two texts that the server sent. */
  private async compare({ uri, title, before, after }: TextDiff): Promise<void> {
    const source = vscode.Uri.parse(uri);
    const [left, right] = [before, after].map((text, at) => {
      const place = vscode.Uri.from({ scheme: TEXT_SCHEME, path: source.path, query: `${Date.now()}/${at}` });
      this.texts.set(place.toString(), text);
      return place;
    });
    await vscode.commands.executeCommand("vscode.diff", left, right, `${path.posix.basename(source.path)}: ${title}`);
  }

  private async text(view: RunView, candidate: string): Promise<vscode.Uri | undefined> {
    const source = vscode.Uri.parse(view.head.uri);
    const uri = vscode.Uri.from({ scheme: TEXT_SCHEME, path: source.path, query: `${view.head.run}/${candidate}` });
    if (!this.texts.has(uri.toString())) {
      const answer = await this.ask("tilewright.runText", { run: view.head.run, candidate });
      const text = textOf(answer);
      if (text === undefined) {
        void vscode.window.showWarningMessage("Tilewright: the text of this candidate is not known any more.");
        return undefined;
      }
      this.texts.set(uri.toString(), text);
    }
    return uri;
  }

  private async ask(command: string, argument: unknown): Promise<unknown> {
    const client = this.server.client;
    if (!client) {
      void vscode.window.showErrorMessage("Tilewright: the server is not running.");
      return undefined;
    }
    return execute(client, command, argument);
  }
}

/** Says why what a button asked for was not done. */
function refused(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  void vscode.window.showErrorMessage(`Tilewright: ${reason}`);
}

/** The answer of `tilewright.runText`: the text, or an object with it. */
export function textOf(answer: unknown): string | undefined {
  if (typeof answer === "string") {
    return answer;
  }
  const text = typeof answer === "object" && answer !== null && "text" in answer ? answer.text : undefined;
  return typeof text === "string" ? text : undefined;
}

/** How a text is called in the title of a diff. */
export function nameOf(one: Candidate | undefined): string {
  return !one ? "unknown" : one.verdict === "original" ? "original" : `candidate ${one.number ?? "being judged"}`;
}

/** The steps to a candidate, in words; for a question before they are applied. */
export function stepsOf(view: RunView, id: string): readonly string[] {
  return pathTo(view.candidates, id).flatMap((one) => (one.verdict === "original" ? [] : [one.rationale || one.proposer]));
}

/** A page that may load two files of the extension, and connect to nothing. */
export function pageText(source: string, script: string, styles: string): string {
  const nonce = randomBytes(16).toString("base64url");
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${source}; base-uri 'none'; form-action 'none'`;
  const parts = ["tree", "candidate", "charts"].map((id) => `<div id="${id}"></div>`).join("");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${styles}">
<title>Tilewright Runs</title>
</head>
<body><div id="runs"></div><div id="head"></div><main class="columns">${parts}</main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
