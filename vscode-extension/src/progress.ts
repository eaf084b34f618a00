/**
 * Progress of jobs somebody asked for, as a notification with a Cancel button. What runs by itself, such as a profile
 * after a save, stays in the status bar, where the language client shows it.
 */
import * as vscode from "vscode";
import type {
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from "vscode-languageclient/node";

type Value = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;
type Shown = { readonly report: (value: WorkDoneProgressReport) => void; readonly end: () => void };

/** Whether a job's progress belongs in front of the person who started it. */
export function isForeground(title: string): boolean {
  return /optimi[sz]/i.test(title);
}

export class JobProgress {
  private readonly shown = new Map<ProgressToken, Shown>();

  constructor(private readonly cancel: (token: ProgressToken) => void) {}

  /** The language client's hook: takes a value, or hands it on with `next`. */
  handle(token: ProgressToken, value: Value, next: () => void): void {
    if (value.kind === "begin" && isForeground(value.title)) {
      this.shown.set(token, this.show(token, value));
      return;
    }
    const shown = this.shown.get(token);
    if (!shown || value.kind === "begin") {
      next();
    } else if (value.kind === "report") {
      shown.report(value);
    } else {
      shown.end();
      this.shown.delete(token);
      next(); // lets the client forget the token
    }
  }

  /** Ends everything that is shown: the server that would have ended it is gone. */
  endAll(): void {
    this.shown.forEach((shown) => shown.end());
    this.shown.clear();
  }

  private show(token: ProgressToken, begin: WorkDoneProgressBegin): Shown {
    let end: () => void = () => undefined;
    let percent = 0;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let progress: vscode.Progress<{ message?: string; increment?: number }> | undefined;
    const report = (value: { message?: string; percentage?: number }): void => {
      const reached = Math.min(100, Math.max(percent, value.percentage ?? 0));
      progress?.report({
        increment: reached - percent,
        ...(value.message === undefined ? {} : { message: value.message }),
      });
      percent = reached;
    };
    const location = vscode.ProgressLocation.Notification;
    const options = { location, title: begin.title, cancellable: begin.cancellable ?? false };
    void vscode.window.withProgress(options, (given, cancellation) => {
      progress = given;
      report(begin);
      cancellation.onCancellationRequested(() => this.cancel(token));
      return ended;
    });
    return { report, end };
  }
}
