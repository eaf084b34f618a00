/** Making the server's environment: asking first, showing progress, saying what went wrong. */
import * as vscode from "vscode";
import { EnvironmentError, installCommands, makeEnvironment } from "./environment";
import { findOnPath, run } from "./processes";
import type { Server } from "./server";
import { serverSettings } from "./settings";

const INSTALL = "Install";
const CHOOSE = "Choose Interpreter…";
const SHOW_LOG = "Show Log";

/** Offers to make the environment; says what would run, in full in the log. */
export async function offerInstall(server: Server, log: vscode.LogOutputChannel): Promise<void> {
  const { requirement } = serverSettings();
  log.info(`installing the server would run\n  ${installCommands(server.ownEnvironment, requirement).join("\n  ")}`);
  const question =
    "Tilewright found no server (the Python package tilewright). Make an environment for it in the editor's storage? " +
    `This runs python3 -m venv, then pip install ${requirement}`;
  const answer = await vscode.window.showInformationMessage(question, INSTALL, CHOOSE);
  if (answer === INSTALL) {
    await install(server, log);
  } else if (answer === CHOOSE) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "tilewright.interpreter");
  }
}

/** Makes the environment and starts the server from it. */
export async function install(server: Server, log: vscode.LogOutputChannel): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage("Tilewright installs programs only in a trusted workspace.");
    return;
  }
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: "Tilewright: installing the server",
    cancellable: true,
  };
  await server.stop(); // on some systems files in use cannot be replaced
  try {
    await vscode.window.withProgress(options, async (progress, cancellation) => {
      const abort = new AbortController();
      cancellation.onCancellationRequested(() => abort.abort());
      const report = (message: string): void => {
        log.info(message);
        progress.report({ message });
      };
      const tools = { run, which: (name: string) => findOnPath(name, process.env["PATH"] ?? "") };
      await makeEnvironment(server.ownEnvironment, serverSettings().requirement, tools, report, abort.signal);
    });
  } catch (error) {
    if (!(error instanceof EnvironmentError)) {
      throw error;
    }
    log.error(error.message);
    await showError(`Tilewright: ${error.message.split("\n", 1)[0]}`, log);
  }
  await server.restart();
}

/** An error with a button that opens the log. */
export async function showError(message: string, log: vscode.LogOutputChannel): Promise<void> {
  const answer = await vscode.window.showErrorMessage(message, SHOW_LOG);
  if (answer === SHOW_LOG) {
    log.show();
  }
}
