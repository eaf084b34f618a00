/** Making the server's environment: asking first, showing progress, saying what went wrong. */
import * as vscode from "vscode";
import { bundledVersion, requirement } from "./bundled";
import { type FoundServer, OWN_ORIGIN } from "./discovery";
import { EnvironmentError, installCommands, makeEnvironment, swapIn } from "./environment";
import { findOnPath, run } from "./processes";
import type { Server } from "./server";
import { SECTION, serverSettings } from "./settings";

const INSTALL = "Install";
const UPDATE = "Update";
const CHOOSE = "Choose Interpreter…";
const SHOW_LOG = "Show Log";

/** Offers to make the environment; says what would run, in full in the log. */
export async function offerInstall(server: Server, log: vscode.LogOutputChannel): Promise<void> {
  const wanted = await reporting(log, () => requirement(serverSettings().package, server.bundled));
  if (!wanted) {
    return;
  }
  const commands = installCommands(server.ownEnvironment, wanted.argument);
  log.info(`installing the server would run\n  ${commands.join("\n  ")}`);
  const question =
    "Tilewright found no server (the Python package tilewright). Make an environment for it in the editor's storage? " +
    `This runs python3 -m venv, then pip install ${wanted.label}; what it depends on comes from your package index. ` +
    "Kernels are then read and explained; to compile, check and optimize them, a Python with torch and triton is needed.";
  const answer = await vscode.window.showInformationMessage(question, INSTALL, CHOOSE);
  if (answer === INSTALL) {
    await install(server, log);
  } else if (answer === CHOOSE) {
    await chooseInterpreter(server);
  }
}

/** Offers an update where the extension made the environment, and now comes with another version of the server. */
export async function offerUpdate(server: Server, found: FoundServer, log: vscode.LogOutputChannel): Promise<void> {
  const wanted = await requirement(serverSettings().package, server.bundled).catch(() => undefined);
  const version = wanted && bundledVersion(wanted);
  if (found.origin !== OWN_ORIGIN || !version || version === found.version) {
    return;
  }
  const question = `Tilewright's server is version ${found.version}; this extension comes with ${version}.`;
  if ((await vscode.window.showInformationMessage(question, UPDATE)) === UPDATE) {
    await install(server, log);
  }
}

/** Makes the environment and starts the server from it. The old one serves until the new one is ready. */
export async function install(server: Server, log: vscode.LogOutputChannel): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage("Tilewright installs programs only in a trusted workspace.");
    return;
  }
  const made = await reporting(log, async () => {
    const wanted = await requirement(serverSettings().package, server.bundled);
    return withInstallProgress(log, "Tilewright: installing the server", (report, signal) => {
      const tools = { run, which: (name: string) => findOnPath(name, process.env["PATH"] ?? "") };
      return makeEnvironment(server.ownEnvironment, wanted.argument, tools, report, signal);
    });
  });
  if (made) {
    await server.stop(); // on some systems files in use cannot be moved
    await reporting(log, () => swapIn(made, server.ownEnvironment));
    await server.restart();
  }
}

/** Work with its steps in a notification that can cancel it. */
export function withInstallProgress<T>(
  log: vscode.LogOutputChannel,
  title: string,
  work: (report: (message: string) => void, signal: AbortSignal) => Promise<T>,
): Thenable<T> {
  const location = vscode.ProgressLocation.Notification;
  const options = { location, title, cancellable: true };
  return vscode.window.withProgress(options, (progress, cancellation) => {
    const abort = new AbortController();
    cancellation.onCancellationRequested(() => abort.abort());
    const report = (message: string): void => {
      log.info(message);
      progress.report({ message });
    };
    return work(report, abort.signal);
  });
}

/** The outcome of work, or undefined after saying why there is none. */
export async function reporting<T>(log: vscode.LogOutputChannel, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) {
      throw error;
    }
    log.error(error.message);
    void showError(`Tilewright: ${error.message.split("\n", 1)[0]}`, log);
    return undefined;
  }
}

/** An error with a button that opens the log. */
export async function showError(message: string, log: vscode.LogOutputChannel): Promise<void> {
  const answer = await vscode.window.showErrorMessage(message, SHOW_LOG);
  if (answer === SHOW_LOG) {
    log.show();
  }
}

/** Lets a person choose the Python that has the server in a file dialog; the choice is a setting. */
async function chooseInterpreter(server: Server): Promise<void> {
  const title = "A Python 3.11 or newer in which tilewright is installed";
  const [file] = (await vscode.window.showOpenDialog({ canSelectMany: false, title })) ?? [];
  if (file) {
    const settings = vscode.workspace.getConfiguration(SECTION);
    await settings.update("interpreter", file.fsPath, vscode.ConfigurationTarget.Global);
    await server.restart();
  }
}
