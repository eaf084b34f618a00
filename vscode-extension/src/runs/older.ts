/** Runs of earlier windows, from the engine's store. */
import * as vscode from "vscode";
import * as path from "node:path";

type Ask = (command: string, ...args: unknown[]) => Promise<unknown>;

/** A line of `tilewright runs`, as far as it is shown. */
export interface Recorded {
  readonly run: string;
  readonly path: string;
  readonly target: string | null;
  readonly started: string;
  readonly state: string;
  readonly trials: number;
  readonly kept: number;
  readonly gain: { readonly value: number } | null;
}

/** Asks which older run to show; its id in the panel, undefined where none was chosen. */
export async function pickOlderRun(ask: Ask): Promise<string | undefined> {
  const answer = await ask("tilewright.recordedRuns");
  if (answer === undefined) {
    return undefined; // there is no server, which was said
  }
  const items = olderItems(answer);
  if (items.length === 0) {
    void vscode.window.showInformationMessage("Tilewright: there is no run on record.");
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(items, { title: "Open an Older Run", matchOnDescription: true });
  const opened = picked && ((await ask("tilewright.openRun", { record: picked.record })) as { run?: unknown } | null);
  return typeof opened?.run === "string" ? opened.run : undefined;
}

/** One item a run, the newest first. */
export function olderItems(answer: unknown): readonly { label: string; description: string; detail: string; record: string }[] {
  const list: unknown[] = Array.isArray(answer) ? answer : [];
  return list.filter(isRecorded).map((one) => ({
    label: `${path.posix.basename(one.path)}${one.target ? ` for ${one.target}` : ""}`,
    description: one.started.slice(0, 16).replace("T", " "),
    detail: `${one.state}; ${one.kept} of ${one.trials} candidates kept; ${one.gain ? `${one.gain.value.toFixed(2)}x, measured` : "no speed measured"}`,
    record: one.run,
  }));
}

function isRecorded(one: unknown): one is Recorded {
  return typeof one === "object" && one !== null && "run" in one && "path" in one && "started" in one;
}
