/** The commands of the palette. The server's own commands are registered by the language client under their own ids. */
import * as vscode from "vscode";
import type { AssemblyViews } from "./assembly";
import type { ChipStatus } from "./chips";
import { execute } from "./client";
import { PREVIEW_FIX, previewFix } from "./fixes";
import { install, offerInstall, showError } from "./install";
import { addSpec, captureLaunches, goToSpec } from "./kernel-inputs";
import { modelsOf, setKey } from "./models";
import { pickTarget } from "./picks";
import type { KernelsView } from "./kernels/view";
import type { Previews } from "./preview";
import type { RunPanel } from "./runs/panel";
import type { Server } from "./server";
import { chooseKernelPython, installTorch } from "./torch";

type Command = (...args: unknown[]) => unknown;

/** What the commands act on. */
export interface Parts {
  readonly server: Server;
  readonly previews: Previews;
  readonly assemblies: AssemblyViews;
  readonly chip: ChipStatus;
  readonly panel: RunPanel;
  readonly kernels: KernelsView;
  readonly log: vscode.LogOutputChannel;
}

/** Every command with what it does, by id. */
export function commands(parts: Parts): Readonly<Record<string, Command>> {
  const { server, previews, assemblies, chip, panel, kernels, log } = parts;
  const ask = (command: string, ...args: unknown[]): Promise<unknown> => askServer(server, log, command, ...args);
  return {
    "tilewright.optimizeFor": async () => {
      const document = activeDocument();
      const target = document && (await pickTarget(document.uri, await chip.told(document)));
      return target ? ask("tilewright.optimize", { ...place(document), target }) : undefined;
    },
    "tilewright.chooseTarget": () => chip.choose(),
    "tilewright.profileKernel": () => {
      const document = activeDocument();
      return document ? ask("tilewright.profile", { uri: document.uri.toString() }) : undefined;
    },
    "tilewright.compileKernels": () => {
      const document = activeDocument();
      return document ? ask("tilewright.compile", { uri: document.uri.toString() }) : undefined;
    },
    "tilewright.verifyAgain": () => {
      const document = activeDocument();
      return document ? ask("tilewright.verify", { uri: document.uri.toString() }) : undefined;
    },
    "tilewright.openCertificate": () => {
      const document = activeDocument();
      return document ? ask("tilewright.showCertificate", { uri: document.uri.toString() }) : undefined;
    },
    "tilewright.setModelKey": async () => {
      if (await setKey(server.keys, modelsOf(await ask("tilewright.models")))) {
        await server.restart(); // a server takes keys from its environment when it starts, and from nowhere else
      }
    },
    "tilewright.showAssembly": (place) => assemblies.show(place),
    "tilewright.assemblyStage": () => assemblies.pickStage(),
    "tilewright.assemblyTarget": () => assemblies.pickTarget(),
    "tilewright.refreshAssembly": () => assemblies.refresh(),
    "tilewright.compareAssembly": () => assemblies.compare(),
    "tilewright.showRuns": (run) => panel.open(run),
    "tilewright.openOlderRun": () => panel.openOlder(),
    "tilewright.captureLaunches": () => {
      const document = activeDocument();
      return document ? captureLaunches(ask, document) : undefined;
    },
    "tilewright.addSpecOfKernel": () => {
      const editor = vscode.window.activeTextEditor;
      return activeDocument() && editor ? addSpec(editor) : undefined;
    },
    "tilewright.goToSpec": () => goToSpec(ask),
    "tilewright.refreshKernels": () => kernels.refresh(),
    "tilewright.chooseKernelPython": () => chooseKernelPython(server),
    "tilewright.installTorch": () => installTorch(server, log),
    "tilewright.openSettings": () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:tilewright.tilewright"),
    "tilewright.openWalkthrough": () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", "tilewright.tilewright#start", false),
    "tilewright.cancel": () => cancelJob(ask),
    "tilewright.restartServer": () => server.restart(),
    "tilewright.showOutput": () => log.show(),
    "tilewright.showDebugInfo": async () => showJson(await ask("tilewright.debugInfo")),
    "tilewright.installServer": () => install(server, log),
    "tilewright.showMenu": () => showMenu(server, log),
    "tilewright.applyPreview": () => previews.decideActive("apply"),
    "tilewright.discardPreview": () => previews.decideActive("discard"),
    [PREVIEW_FIX]: (edit) => server.client && previewFix(server.client, previews, edit),
  };
}

function activeDocument(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId === "python") {
    return document;
  }
  void vscode.window.showInformationMessage("Tilewright: open a Python file with a kernel first.");
  return undefined;
}

/** A document as the server's commands want it named; the version makes an outdated edit refusable. */
function place(document: vscode.TextDocument): { uri: string; version: number } {
  return { uri: document.uri.toString(), version: document.version };
}

async function askServer(
  server: Server,
  log: vscode.LogOutputChannel,
  command: string,
  ...args: unknown[]
): Promise<unknown> {
  if (!server.client) {
    await showError("Tilewright: the server is not running.", log);
    return undefined;
  }
  return execute(server.client, command, ...args);
}

interface Job {
  readonly job: string;
  readonly title: string;
}

const OVER = ["done", "failed", "cancelled"];

/** The jobs in the server's answer that still run or wait; what does not look like a job is left out. */
export function jobsOf(answer: unknown): readonly Job[] {
  const list: unknown[] = Array.isArray(answer) ? answer : [];
  return list.flatMap((entry) => {
    if (typeof entry !== "object" || entry === null || !("job" in entry)) {
      return [];
    }
    const { job, kind, uri, target, state } = entry as Record<string, unknown>;
    const file = String(uri ?? "").split("/").pop() ?? "";
    const title = [kind, decodeURIComponent(file), target].filter(Boolean).join(" ");
    return OVER.includes(String(state)) ? [] : [{ job: String(job), title: title || String(job) }];
  });
}

async function cancelJob(ask: (command: string, ...args: unknown[]) => Promise<unknown>): Promise<void> {
  const jobs = jobsOf(await ask("tilewright.listJobs"));
  if (jobs.length === 0) {
    void vscode.window.showInformationMessage("Tilewright: no job is running.");
    return;
  }
  const items = jobs.map((job) => ({ label: job.title, description: job.job }));
  const picked = jobs.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: "Cancel Job" });
  if (picked) {
    await ask("tilewright.cancelJob", { job: picked.description });
  }
}

async function showJson(value: unknown): Promise<void> {
  if (value !== undefined) {
    const content = JSON.stringify(value, null, 2);
    const document = await vscode.workspace.openTextDocument({ language: "json", content });
    await vscode.window.showTextDocument(document);
  }
}

async function showMenu(server: Server, log: vscode.LogOutputChannel): Promise<void> {
  if (server.state.kind === "missing" && vscode.workspace.isTrusted) {
    return offerInstall(server, log);
  }
  const items = [
    { label: "$(rocket) Optimize Kernel for…", command: "tilewright.optimizeFor" },
    { label: "$(graph-line) Show Runs", command: "tilewright.showRuns" },
    { label: "$(history) Open an Older Run…", command: "tilewright.openOlderRun" },
    { label: "$(record) Capture Launches…", command: "tilewright.captureLaunches" },
    { label: "$(file-symlink-file) Go to Spec or Kernel", command: "tilewright.goToSpec" },
    { label: "$(list-tree) Kernels of the Workspace", command: "tilewright.kernels.focus" },
    { label: "$(chip) Choose Chip of This File…", command: "tilewright.chooseTarget" },
    { label: "$(dashboard) Profile Kernel", command: "tilewright.profileKernel" },
    { label: "$(gear) Compile Kernels", command: "tilewright.compileKernels" },
    { label: "$(verified) Verify Again", command: "tilewright.verifyAgain" },
    { label: "$(file) Show Certificate", command: "tilewright.openCertificate" },
    { label: "$(list-flat) Show Assembly", command: "tilewright.showAssembly" },
    { label: "$(settings-gear) Open Settings", command: "tilewright.openSettings" },
    { label: "$(symbol-misc) Choose Python for Kernels…", command: "tilewright.chooseKernelPython" },
    { label: "$(cloud-download) Install or Update Server", command: "tilewright.installServer" },
    { label: "$(key) Set Model Key…", command: "tilewright.setModelKey" },
    { label: "$(question) Get Started", command: "tilewright.openWalkthrough" },
    { label: "$(circle-slash) Cancel Job", command: "tilewright.cancel" },
    { label: "$(refresh) Restart Server", command: "tilewright.restartServer" },
    { label: "$(output) Show Output", command: "tilewright.showOutput" },
    { label: "$(info) Show Debug Info", command: "tilewright.showDebugInfo" },
  ];
  const picked = await vscode.window.showQuickPick(items, { title: "Tilewright" });
  return picked ? vscode.commands.executeCommand(picked.command) : undefined;
}
