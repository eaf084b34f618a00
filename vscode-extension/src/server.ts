/** The server's life: found, started, watched, restarted, stopped. One at a time. */
import { mkdir } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { DidChangeConfigurationNotification, State } from "vscode-languageclient/node";
import type { FileTargets } from "./chips";
import { type Connection, connect } from "./client";
import { type Candidate, findKernelPython, kernelEnvironment, type KernelPython } from "./kernel-python";
import { chosenPythons } from "./python-extension";
import { discover, type Discovery, type FoundServer, type Machine } from "./discovery";
import { type EditorModelBridge, withEditorModels } from "./editor-models";
import { pythonOf } from "./environment";
import type { ModelKeys } from "./models";
import type { Previews } from "./preview";
import { findOnPath, isExecutable, run } from "./processes";
import type { Runs } from "./runs/store";
import { Serial } from "./serial";
import { kernelPythonSetting, serverSettings, settingsForServer, workspacePythons } from "./settings";

const ASK_LIMIT_MS = 30_000;
const START_LIMIT_MS = 60_000;

/** What the status bar shows. */
export type ServerState =
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly server: FoundServer }
  | { readonly kind: "stopped" }
  | { readonly kind: "missing"; readonly looked: readonly string[] }
  | { readonly kind: "failed"; readonly message: string };

export class Server implements vscode.Disposable {
  private connection: Connection | undefined;
  private readonly restarts = new Serial(() => this.startAnew());
  private readonly states = new vscode.EventEmitter<ServerState>();
  private current: ServerState = { kind: "starting" };
  private chosenPythons: readonly string[] = [];
  private python: KernelPython | undefined;
  readonly onState = this.states.event;
  private readonly pythons = new vscode.EventEmitter<KernelPython>();
  readonly onKernelPython = this.pythons.event;
  private readonly lenses = new vscode.EventEmitter<void>();
  /** Fires when a document's lenses are asked for, as they are when something new is known of it. */
  readonly onLenses = this.lenses.event;

  constructor(
    readonly storage: string,
    /** The folder of the wheel that is part of the extension. */
    readonly bundled: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly previews: Previews,
    private readonly chosen: FileTargets,
    readonly keys: ModelKeys,
    private readonly runs: Runs,
    private readonly editorModels: EditorModelBridge,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** The running client, or undefined. */
  get client(): Connection["client"] | undefined {
    return this.current.kind === "running" ? this.connection?.client : undefined;
  }

  /** The environment that the extension makes, whether it is there or not. */
  get ownEnvironment(): string {
    return path.join(this.storage, "environment");
  }

  /** In which Python kernels are compiled and run; known from when a server starts. */
  get kernelPython(): KernelPython | undefined {
    return this.python;
  }

  /** The section of the settings as the server gets it. */
  private readonly serverSettings = (section: unknown): Record<string, unknown> =>
    withEditorModels(settingsForServer(section, this.chosen.all(), this.pythonForKernels), this.editorModels.offered);

  /** What the server is given where no setting names a Python: its own where that will do. */
  private get pythonForKernels(): string {
    return this.python?.kind === "found" ? this.python.python : "";
  }

  /** This machine, as far as programs are looked for on it. */
  get machine(): Machine {
    return {
      exists: isExecutable,
      which: (name) => findOnPath(name, process.env["PATH"] ?? ""),
      run: (command, args) => run(command, args, { limitMs: ASK_LIMIT_MS, cwd: this.storage }),
    };
  }

  /** The Pythons that may be meant for kernels, the likeliest first. */
  async kernelCandidates(): Promise<readonly Candidate[]> {
    if (!vscode.workspace.isTrusted) {
      return [];
    }
    const from = (origin: string, pythons: readonly string[]): readonly Candidate[] =>
      pythons.map((python) => ({ python, origin }));
    const state = this.current;
    const own = state.kind === "running" && state.server.args[0] === "-m" ? [state.server.command] : [];
    return [
      ...from("chosen in the Python extension", this.chosenPythons),
      ...from("workspace environment", workspacePythons()),
      ...from("Python of the server", own),
      ...from("environment of the extension", [pythonOf(kernelEnvironment(this.storage))]),
    ];
  }

  /** Looks for the server again and starts it; requests that pile up become one restart. */
  restart(): Promise<void> {
    return this.restarts.request();
  }

  async stop(): Promise<void> {
    const connection = this.connection;
    this.connection = undefined;
    connection?.progress.endAll();
    if (connection?.client.needsStop()) {
      await connection.client.stop().catch((error: unknown) => this.log.warn(`stopping: ${String(error)}`));
    }
  }

  dispose(): void {
    this.states.dispose();
    this.pythons.dispose();
    this.lenses.dispose();
  }

  private async startAnew(): Promise<void> {
    this.enter({ kind: "starting" });
    await this.stop();
    await mkdir(this.storage, { recursive: true });
    const discovery = await this.find();
    if (discovery.kind === "found") {
      await this.start(discovery.server);
    } else if (discovery.kind === "wrong") {
      this.enter({ kind: "failed", message: discovery.message });
    } else {
      this.log.info(`no server found; looked at\n  ${discovery.looked.join("\n  ")}`);
      this.enter({ kind: "missing", looked: discovery.looked });
    }
  }

  private async find(): Promise<Discovery> {
    const settings = serverSettings();
    const { pythons, note } = await chosenPythons();
    this.chosenPythons = pythons;
    if (note) {
      this.log.info(`interpreters are looked for in the workspace and on the search path: ${note}`);
    }
    const places = {
      serverPath: settings.path,
      interpreter: settings.interpreter,
      chosenPythons: pythons,
      workspacePythons: workspacePythons(),
      ownPython: pythonOf(this.ownEnvironment),
    };
    return discover(places, this.machine);
  }

  private async start(server: FoundServer): Promise<void> {
    this.log.info(`starting ${server.command} ${server.args.join(" ")} (${server.version}, ${server.origin})`);
    await this.editorModels.refresh();
    const offered = this.editorModels.offered;
    const keys = await this.keys.environment(offered ? { [offered.url]: offered.token } : {});
    const connection = connect(server, this.storage, keys, this.log, this.previews, this.runs, this.serverSettings, () => this.lenses.fire());
    this.connection = connection;
    connection.client.onDidChangeState(({ newState }) => {
      if (this.connection === connection && newState === State.Stopped) {
        connection.progress.endAll(); // the language client starts it again, or says why not
        this.enter({ kind: "stopped" });
      } else if (this.connection === connection && newState === State.Running) {
        this.enter({ kind: "running", server });
        void this.findKernelPython();
      }
    });
    try {
      await within(START_LIMIT_MS, connection.client.start());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.enter({ kind: "failed", message: `The server (${server.command}) did not start: ${reason}` });
    }
  }

  /** Looks for the Python for kernels once a server runs, which reads kernels without one. */
  private async findKernelPython(): Promise<void> {
    const named = kernelPythonSetting();
    if (named || !vscode.workspace.isTrusted) {
      return;
    }
    const before = this.pythonForKernels;
    const found = await findKernelPython(await this.kernelCandidates(), this.machine);
    this.python = found;
    if (found.kind === "found") {
      const { torch, triton } = found.packages;
      this.log.info(`kernels run in ${found.python} (${found.origin}; torch ${torch ?? ""}, triton ${triton ?? ""})`);
    }
    this.pythons.fire(found);
    if (this.pythonForKernels !== before) {
      await this.client?.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
    }
  }

  private enter(state: ServerState): void {
    this.current = state;
    if (state.kind === "failed") {
      this.log.error(state.message);
    }
    this.states.fire(state);
  }
}

/** A promise's outcome, or an error where it takes longer than that: a server that hangs must not hold up restarts. */
async function within(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
