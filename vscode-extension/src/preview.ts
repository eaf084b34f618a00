/**
 * The preview of a proposed edit: a diff with Apply and Discard, whole or not at all. The editor's own refactor preview
 * lets one tick single hunks; a part of a verified edit is not verified, so it is not used here.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult } from "vscode-languageclient/node";
import { confirmed, type Proposal, proposalOf } from "./proposal";
import { firstChange, splice } from "./splice";

export const SCHEME = "tilewright-preview";
const APPLY = "Apply";
const DISCARD = "Discard";

type Decision = "apply" | "discard" | "outdated";
type Next = (params: ApplyWorkspaceEditParams) => Promise<ApplyWorkspaceEditResult>;
type WhyNot = (uri: string, label: string) => Promise<string | undefined>;

/** For edits that depend on nothing but their document. */
const fits: WhyNot = () => Promise.resolve(undefined);

interface Session {
  readonly text: string;
  readonly source: string;
  readonly decide: (decision: Decision) => void;
}

export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly sessions = new Map<string, Session>();
  private readonly listeners: vscode.Disposable[];
  private count = 0;

  constructor() {
    this.listeners = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.window.tabGroups.onDidChangeTabs((event) => event.closed.forEach((tab) => this.onClosed(tab))),
      vscode.workspace.onDidChangeTextDocument((event) => this.onChanged(event)),
    ];
  }

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    return this.sessions.get(uri.toString())?.text;
  }

  dispose(): void {
    this.sessions.forEach((session) => session.decide("discard"));
    this.listeners.forEach((listener) => listener.dispose());
  }

  /**
   * The language client's hook for edits the server wants made: those that want confirmation get a preview. `again`:
   * the server makes an edit anew where the document changed meanwhile. `whyNot` says as one is applied why it no longer
   * may be.
   */
  async handle(params: ApplyWorkspaceEditParams, next: Next, again = false, whyNot: WhyNot = fits): Promise<ApplyWorkspaceEditResult> {
    const proposal = proposalOf(params);
    if (!proposal) {
      return next(params);
    }
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(proposal.uri));
    if (proposal.version !== null && document.version !== proposal.version) {
      return { applied: false, failureReason: "the file has changed" };
    }
    const decision = await this.show(document, proposal);
    if (decision === "outdated" && again) {
      return { applied: false, failureReason: "the file changed while the edit was shown" };
    }
    if (decision === "outdated") {
      const name = path.basename(document.uri.fsPath);
      void vscode.window.showWarningMessage(`Tilewright: ${name} has changed, so the edit was dropped. Run it again.`);
      return { applied: false, failureReason: "the file changed while the edit was shown" };
    }
    if (decision === "discard") {
      return { applied: false, failureReason: "discarded" };
    }
    const failureReason = await whyNot(proposal.uri, params.label ?? "");
    return failureReason ? { applied: false, failureReason } : next({ ...params, edit: confirmed(params.edit) });
  }

  private async show(document: vscode.TextDocument, proposal: Proposal): Promise<Decision> {
    this.count += 1;
    const preview = document.uri.with({ scheme: SCHEME, authority: "", query: String(this.count) });
    const key = preview.toString();
    const decision = new Promise<Decision>((decide) => {
      this.sessions.set(key, { text: proposedText(document, proposal), source: document.uri.toString(), decide });
    });
    const name = path.basename(document.uri.fsPath);
    const line = firstChange(document.getText(), this.sessions.get(key)?.text ?? "");
    const options = { selection: new vscode.Range(line, 0, line, 0) };
    const title = `${name} ↔ proposed${proposal.target ? ` for ${proposal.target}` : ""}`;
    await vscode.commands.executeCommand("vscode.diff", document.uri, preview, title, options);
    void vscode.window
      .showInformationMessage(`${name}: ${proposal.evidence}`, APPLY, DISCARD)
      .then((button) => {
        const session = this.sessions.get(key);
        if (button && session) {
          session.decide(button === APPLY ? "apply" : "discard");
        } else if (button) {
          void vscode.window.showInformationMessage(`Tilewright: this edit of ${name} was decided about already.`);
        }
      });
    const decided = await decision;
    this.sessions.delete(key);
    // A message cannot be taken back; out of sight is as near as it gets.
    await vscode.commands.executeCommand("notifications.hideToasts");
    await closeTabs(key);
    await vscode.window.showTextDocument(document);
    return decided;
  }

  /** Decides about the preview in front. */
  decideActive(decision: "apply" | "discard"): void {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    if (input instanceof vscode.TabInputTextDiff) {
      this.sessions.get(input.modified.toString())?.decide(decision);
    }
  }

  private onClosed(tab: vscode.Tab): void {
    if (tab.input instanceof vscode.TabInputTextDiff) {
      this.sessions.get(tab.input.modified.toString())?.decide("discard");
    }
  }

  private onChanged(event: vscode.TextDocumentChangeEvent): void {
    const changed = event.document.uri.toString();
    if (event.contentChanges.length > 0) {
      this.sessions.forEach((session) => session.source === changed && session.decide("outdated"));
    }
  }
}

function proposedText(document: vscode.TextDocument, proposal: Proposal): string {
  const offset = (position: { line: number; character: number }): number =>
    document.offsetAt(new vscode.Position(position.line, position.character));
  const splices = proposal.edits.map((edit) => ({
    start: offset(edit.range.start),
    end: offset(edit.range.end),
    text: edit.newText,
  }));
  return splice(document.getText(), splices);
}

async function closeTabs(preview: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter(
    (tab) => tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === preview,
  );
  await vscode.window.tabGroups.close(ours);
}
