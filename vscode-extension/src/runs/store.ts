/** The runs of this window, kept up to date by the server's notifications. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { execute } from "../client";
import { type Candidate, isOver, type RunHead, type RunRecord, type RunView, withCandidate, withHead } from "./model";

const RUN = "tilewright/run";
const CANDIDATE = "tilewright/runCandidate";
const RUNS = "tilewright.runs";
const RECORD = "tilewright.runRecord";
const DIFF = "tilewright/showDiff";
const MOST = 12;

/** Two texts of a document, to be shown next to each other. */
export interface TextDiff {
  readonly uri: string;
  readonly title: string;
  readonly before: string;
  readonly after: string;
}

export class Runs implements vscode.Disposable {
  private readonly views = new Map<string, RunView>();
  private readonly records = new Map<string, RunRecord>();
  private readonly changes = new vscode.EventEmitter<string>();
  private readonly diffs = new vscode.EventEmitter<TextDiff>();
  private client: LanguageClient | undefined;
  /** Fires with two texts that the server wants compared. */
  readonly onDiff = this.diffs.event;
  /** Fires with the identity of the run that changed. */
  readonly onDidChange = this.changes.event;

  /** Listens to a client that is not started yet. */
  listen(client: LanguageClient): void {
    this.client = client;
    client.onNotification(RUN, (head: RunHead) => this.onHead(head));
    client.onNotification(DIFF, (texts: TextDiff) => this.diffs.fire(texts));
    client.onNotification(CANDIDATE, (message: { run: string; candidate: Candidate }) => this.onCandidate(message));
  }

  /** Asks a server that has just started which runs it knows: those of before a reload among them. */
  async refresh(): Promise<void> {
    const answer = this.client && (await execute(this.client, RUNS));
    for (const view of runsOf(answer)) {
      this.views.set(view.head.run, view);
      this.changes.fire(view.head.run);
    }
  }

  all(): readonly RunView[] {
    return [...this.views.values()].slice(-MOST);
  }

  of(run: string | undefined): RunView | undefined {
    return run === undefined ? undefined : this.views.get(run);
  }

  record(run: string | undefined): RunRecord | undefined {
    return run === undefined ? undefined : this.records.get(run);
  }

  /** Reads what the engine has on record of a run that is over, once. */
  async readRecord(run: string): Promise<void> {
    const head = this.views.get(run)?.head;
    if (!head?.record || !isOver(head) || this.records.has(run) || !this.client) {
      return;
    }
    const found = (await execute(this.client, RECORD, { record: head.record })) as RunRecord | null;
    if (found) {
      this.records.set(run, found);
      this.changes.fire(run);
    }
  }

  dispose(): void {
    this.changes.dispose();
    this.diffs.dispose();
  }

  private onHead(head: RunHead): void {
    const known = this.views.get(head.run);
    this.views.set(head.run, withHead(known, head));
    this.changes.fire(head.run);
  }

  private onCandidate({ run, candidate }: { run: string; candidate: Candidate }): void {
    const known = this.views.get(run);
    if (known) {
      this.views.set(run, withCandidate(known, candidate));
      this.changes.fire(run);
    }
  }
}

/** The server's answer, as far as it is a list of runs. */
export function runsOf(answer: unknown): readonly RunView[] {
  const list: unknown[] = Array.isArray(answer) ? answer : [];
  return list.filter(
    (one): one is RunView => typeof one === "object" && one !== null && "head" in one && "candidates" in one,
  );
}
