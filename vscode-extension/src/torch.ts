/**
 * The way on where no Python has torch and triton: another interpreter, or an environment of the extension's own with
 * both, made after a question that says what runs and how much it takes.
 */
import * as vscode from "vscode";
import type { Machine } from "./discovery";
import { EnvironmentError, makePackages, pythonOf } from "./environment";
import { reporting, withInstallProgress } from "./install";
import { type Candidate, kernelEnvironment, type KernelPython, lackOf, packagesOf } from "./kernel-python";
import { findOnPath, run } from "./processes";
import { knownPythons } from "./python-extension";
import type { Server } from "./server";
import { SECTION } from "./settings";

const INSTALL = "Install torch (CPU) and triton…";
const CHOOSE = "Choose Interpreter…";
const BROWSE = "Browse…";
/** Of torch 2.13 for the CPU, triton 3.9, and what they depend on; measured on disk. */
const SIZE = "about 2 GB on disk with a CPU build of torch";

/** The commands that make it, as they are shown to the person who is asked. */
export function torchCommands(environment: string, index: string): readonly string[] {
  return [`python3 -m venv ${environment}`, `${pythonOf(environment)} -m pip install ${torchArguments(index).join(" ")}`];
}

/** What pip is given. An index of the settings is searched next to the one that pip is configured with. */
export function torchArguments(index: string): readonly string[] {
  return [...(index ? ["--extra-index-url", index] : []), "torch", "triton"];
}

/** Says once for a server that kernels cannot be compiled, with both ways on. */
export async function offerTorch(server: Server, found: KernelPython, log: vscode.LogOutputChannel): Promise<void> {
  if (found.kind === "found" || !vscode.workspace.isTrusted) {
    return;
  }
  log.info(`no Python with torch and triton; looked at\n  ${found.looked.join("\n  ")}`);
  const message =
    "Tilewright reads kernels, but cannot compile, check or optimize them: no Python with torch and triton was found " +
    `(${found.looked[0] ?? "nothing to look at"}).`;
  const answer = await vscode.window.showWarningMessage(message, INSTALL, CHOOSE);
  if (answer === INSTALL) {
    await installTorch(server, log);
  } else if (answer === CHOOSE) {
    await chooseKernelPython(server);
  }
}

/** Asks with commands and size, then makes the environment. */
export async function installTorch(server: Server, log: vscode.LogOutputChannel): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage("Tilewright installs programs only in a trusted workspace.");
    return;
  }
  const environment = kernelEnvironment(server.storage);
  const index = vscode.workspace.getConfiguration(SECTION).get("torchIndex", "");
  const commands = torchCommands(environment, index);
  const detail = [
    `It takes ${SIZE}. An index that has only builds for CUDA gives one of those, which takes several times that; ` +
      "the setting tilewright.torchIndex names an index with CPU builds.",
    "These commands run:",
    ...commands,
    "The kernels of your workspace then run in this environment when no other Python has torch and triton.",
  ].join("\n\n");
  const options = { modal: true, detail };
  const answer = await vscode.window.showInformationMessage("Install torch and triton for Tilewright?", options, "Install");
  if (answer !== "Install") {
    return;
  }
  log.info(`installing torch and triton\n  ${commands.join("\n  ")}`);
  const made = await reporting(log, async () =>
    withInstallProgress(log, "Tilewright: installing torch and triton", async (report, signal) => {
      const tools = { run, which: (name: string) => findOnPath(name, process.env["PATH"] ?? "") };
      await makePackages(environment, torchArguments(index), tools, report, signal);
      const packages = await packagesOf(pythonOf(environment), server.machine);
      const lack = packages ? lackOf(packages) : "it does not answer";
      if (lack) {
        throw new EnvironmentError(`The environment for kernels is not usable: ${lack}.`);
      }
      return packages;
    }),
  );
  if (made) {
    log.info(`torch ${made.torch ?? ""}, triton ${made.triton ?? ""} in ${environment}`);
    await server.restart();
  }
}

interface PythonItem extends vscode.QuickPickItem {
  readonly python?: string;
}

/** Lets a person choose the Python for kernels; each says what it has. The choice is the setting tilewright.python. */
export async function chooseKernelPython(server: Server): Promise<void> {
  const items = pythonItems(server);
  const picked = await vscode.window.showQuickPick<PythonItem>(items, {
    title: "Python for Kernels",
    placeHolder: "The Python with your torch and triton, in which kernels are compiled and run",
    matchOnDescription: true,
  });
  const python = picked?.label === BROWSE ? await browse() : picked?.python;
  if (python) {
    const settings = vscode.workspace.getConfiguration(SECTION);
    const target = vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
    await settings.update("python", python, target);
    await server.restart();
  }
}

async function pythonItems(server: Server): Promise<readonly PythonItem[] & PythonItem[]> {
  const known = (await knownPythons()).map((python): Candidate => ({ python, origin: "Python extension" }));
  const all = [...(await server.kernelCandidates()), ...known];
  const once = all.filter(({ python }, at) => all.findIndex((other) => other.python === python) === at);
  const items = await Promise.all(once.map((candidate) => pythonItem(candidate, server.machine)));
  const sorted = items.filter((item) => item !== undefined).sort((a, b) => Number(b.usable) - Number(a.usable));
  return [...sorted, { label: BROWSE, description: "choose a file" }];
}

async function pythonItem({ python, origin }: Candidate, machine: Machine): Promise<(PythonItem & { usable: boolean }) | undefined> {
  const packages = await packagesOf(python, machine);
  if (!packages) {
    return undefined;
  }
  const lack = lackOf(packages);
  const has = [packages.torch && `torch ${packages.torch}`, packages.triton && `triton ${packages.triton}`];
  return { label: python, description: origin, detail: [...has.filter(Boolean), lack].filter(Boolean).join(", "), python, usable: !lack };
}

async function browse(): Promise<string | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ canSelectMany: false, title: "Python for Kernels" })) ?? [];
  return file?.fsPath;
}
