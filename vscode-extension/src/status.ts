/** The status bar item: one word, and where to click when something is wrong. */
import * as vscode from "vscode";
import type { KernelPython } from "./kernel-python";
import type { ServerState } from "./server";

export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly wrong: boolean;
}

/** What the item says in a state. */
export function statusText(state: ServerState, python?: KernelPython): StatusText {
  switch (state.kind) {
    case "starting":
      return { text: "$(sync~spin) Tilewright", tooltip: "The server is starting.", wrong: false };
    case "running": {
      const { version, origin, command } = state.server;
      const server = `Server ${version}, ${origin}: ${command}`;
      if (python?.kind === "missing") {
        const why = "Kernels are read, not compiled or run: no Python with torch and triton. Click for what can be done.";
        return { text: "$(layers) Tilewright: source only", tooltip: `${why}\n${server}`, wrong: false };
      }
      const kernels = python ? `\nKernels run in ${python.python}, ${python.origin}` : "";
      return { text: "$(layers) Tilewright", tooltip: `${server}${kernels}`, wrong: false };
    }
    case "stopped":
      return { text: "$(error) Tilewright", tooltip: "The server stopped. Click to restart it.", wrong: true };
    case "missing":
      return { text: "$(warning) Tilewright", tooltip: "No server was found. Click to set one up.", wrong: true };
    case "failed":
      return { text: "$(error) Tilewright", tooltip: state.message, wrong: true };
  }
}

/** Shows the item while a Python file is in front, and always while something is wrong. */
export function createStatus(): vscode.Disposable & { show(state: ServerState, python?: KernelPython): void } {
  const item = vscode.window.createStatusBarItem("tilewright.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "Tilewright";
  item.command = "tilewright.showMenu";
  let wrong = false;
  const update = (): void => {
    const isPython = vscode.window.activeTextEditor?.document.languageId === "python";
    (isPython || wrong ? item.show : item.hide).call(item);
  };
  const listener = vscode.window.onDidChangeActiveTextEditor(update);
  return {
    show(state, python): void {
      const status = statusText(state, python);
      item.text = status.text;
      item.tooltip = status.tooltip;
      wrong = status.wrong;
      update();
    },
    dispose(): void {
      listener.dispose();
      item.dispose();
    },
  };
}
