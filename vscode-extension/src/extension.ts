/** Entry points of the extension: wires settings, server, commands and status together. */
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { registerTools } from "./agent-tools";
import { registerAgentTools } from "./agents";
import { AssemblyViews } from "./assembly";
import { ChipStatus, FileTargets } from "./chips";
import { execute } from "./client";
import { commands } from "./commands";
import { EditorModelBridge } from "./editor-models";
import { offerInstall, offerUpdate, showError } from "./install";
import { SpecDefinitions } from "./kernel-inputs";
import { ModelKeys } from "./models";
import { Previews } from "./preview";
import { run } from "./processes";
import { Server, type ServerState } from "./server";
import { SERVER_SETTINGS } from "./settings";
import { KernelsView } from "./kernels/view";
import { watchChoice } from "./python-extension";
import { RunPanel } from "./runs/panel";
import { Runs } from "./runs/store";
import { registerSpecSchema } from "./schemas";
import { createStatus } from "./status";
import { offerTorch } from "./torch";

const PROBE_LIMIT_MS = 30_000;
const TOOL_LIMIT_MS = 600_000;

let running: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("Tilewright", { log: true });
  const previews = new Previews();
  const chosen = new FileTargets(context.workspaceState);
  const keys = new ModelKeys(context.secrets);
  const bundled = context.asAbsolutePath("bundled");
  const runs = new Runs();
  const editorModels = new EditorModelBridge(log);
  const server = new Server(context.globalStorageUri.fsPath, bundled, log, previews, chosen, keys, runs, editorModels);
  running = server;
  const assemblies = new AssemblyViews(() => server.client);
  const status = createStatus();
  const chip = new ChipStatus(server, chosen);
  status.show(server.state);
  const panel = new RunPanel(context.extensionUri, server, runs);
  const kernels = new KernelsView(server, log);
  context.subscriptions.push(log, server, status, chip, previews, assemblies, runs, panel, kernels, editorModels);
  context.subscriptions.push(
    server.onState((state) => status.show(state, server.kernelPython)),
    server.onKernelPython((python) => status.show(server.state, python)),
    ...torchOffer(server, chip, log),
  );
  context.subscriptions.push(server.onState(announcer(server, log)));
  for (const [id, command] of Object.entries(commands({ server, previews, assemblies, chip, panel, kernels, log }))) {
    context.subscriptions.push(vscode.commands.registerCommand(id, command));
  }
  context.subscriptions.push(
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.restart()),
    vscode.workspace.onDidChangeConfiguration((event) =>
      SERVER_SETTINGS.some((name) => event.affectsConfiguration(name)) ? server.restart() : undefined,
    ),
  );
  const specs = new SpecDefinitions(async (command, argument) => (server.client ? execute(server.client, command, argument) : undefined));
  context.subscriptions.push(vscode.languages.registerDefinitionProvider({ language: "yaml", scheme: "file" }, specs));
  const cwd = context.globalStorageUri.fsPath;
  const tools = registerAgentTools(server, ({ command, args }) => run(command, args, { limitMs: PROBE_LIMIT_MS, cwd }), log);
  if (tools) {
    context.subscriptions.push(tools);
  }
  context.subscriptions.push(
    ...registerTools(() => server.state, (command, args) => run(command, args, { limitMs: TOOL_LIMIT_MS, cwd })),
  );
  void watchChoice(() => server.restart()).then((watch) => context.subscriptions.push(watch));
  void registerSpecSchema(context.asAbsolutePath("schemas/spec.json"), existsSync).catch((error: unknown) => {
    log.warn(`no schema for specs: ${String(error)}`);
  });
  await server.restart();
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}

/** Offers a way on, once, when a file with kernels that have to be compiled is in front and no Python has what that needs. */
function torchOffer(server: Server, chip: ChipStatus, log: vscode.LogOutputChannel): readonly vscode.Disposable[] {
  let offered = false;
  const check = async (): Promise<void> => {
    const python = server.kernelPython;
    if (offered || python?.kind !== "missing") {
      return;
    }
    const told = await chip.told(vscode.window.activeTextEditor?.document).catch(() => undefined);
    if (told && !told.target.startsWith("neuron:") && !offered) {
      offered = true;
      await offerTorch(server, python, log);
    }
  };
  return [server.onKernelPython(() => void check()), vscode.window.onDidChangeActiveTextEditor(() => void check())];
}

/** Until a Python file is open: the extension starts before that, and a folder may only be looked at. */
function pythonOpened(): Promise<void> {
  const isPython = ({ languageId }: vscode.TextDocument): boolean => languageId === "python";
  return new Promise((resolve) => {
    const listener = vscode.workspace.onDidOpenTextDocument((document) => isPython(document) && opened());
    const opened = (): void => {
      listener.dispose();
      resolve();
    };
    if (vscode.workspace.textDocuments.some(isPython)) {
      opened();
    }
  });
}

/** Speaks up about a server that is missing or outdated (once) or failed; everything else is the status bar's. */
function announcer(server: Server, log: vscode.LogOutputChannel): (state: ServerState) => void {
  let offered = false;
  return (state) => {
    if (state.kind === "failed") {
      void showError(`Tilewright: ${state.message}`, log);
    } else if (state.kind === "missing" && !offered && vscode.workspace.isTrusted) {
      offered = true;
      void pythonOpened().then(() => offerInstall(server, log));
    } else if (state.kind === "running" && !offered && vscode.workspace.isTrusted) {
      offered = true;
      void offerUpdate(server, state.server, log);
    }
  };
}
