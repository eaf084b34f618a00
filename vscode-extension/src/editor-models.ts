/** The editor's language models as the engine's, where a setting asks for them: `tilewright.models.fromEditor`. */
import * as vscode from "vscode";
import { type EditorModel, type EditorModels, LmBridge } from "./lm-bridge";
import { SECTION } from "./settings";

/** The interface that came with VS Code 1.91; other editors may lack it. */
interface Lm {
  selectChatModels?(): Thenable<readonly EditorModel[]>;
}

interface MessageFactory {
  User(text: string): unknown;
  Assistant(text: string): unknown;
}

function interfaceOf(): EditorModels | undefined {
  const { lm, LanguageModelChatMessage: messages } = vscode as unknown as { lm?: Lm; LanguageModelChatMessage?: MessageFactory };
  const select = lm?.selectChatModels?.bind(lm);
  if (!select || !messages) {
    return undefined;
  }
  return {
    all: () => select(),
    message: (role, text) => (role === "assistant" ? messages.Assistant(text) : messages.User(text)),
    cancelling: () => new vscode.CancellationTokenSource(),
  };
}

/** What the server is given in place of the settings of an endpoint. */
export interface Offered {
  readonly url: string;
  readonly token: string;
  readonly names: readonly string[];
}

export class EditorModelBridge implements vscode.Disposable {
  private bridge: LmBridge | undefined;
  private now: Offered | undefined;

  constructor(
    private readonly log: Pick<vscode.LogOutputChannel, "info" | "warn">,
    private readonly editor: () => EditorModels | undefined = interfaceOf,
  ) {}

  /** What is offered since the last `refresh`. */
  get offered(): Offered | undefined {
    return this.now;
  }

  /** Starts or ends the bridge as the setting says. Nothing is offered where the workspace is not trusted. */
  async refresh(): Promise<void> {
    const wanted = vscode.workspace.getConfiguration(SECTION).get("models.fromEditor", false) && vscode.workspace.isTrusted;
    if (!wanted) {
      this.dispose();
      return;
    }
    const models = this.editor();
    const known = models ? await models.all() : [];
    if (!models || known.length === 0) {
      this.log.warn(models ? "the editor offers no language model" : "this editor has no interface for language models");
      this.dispose();
      return;
    }
    this.bridge ??= new LmBridge(models);
    const url = this.bridge.url ?? (await this.bridge.start());
    const named: readonly string[] = vscode.workspace.getConfiguration(SECTION).get("models.names", []);
    const names = named.length > 0 ? named : known.slice(0, 1).map(({ id }) => id);
    this.now = { url, token: this.bridge.token, names };
    this.log.info(`models of the editor are offered to the engine: ${names.join(", ")}`);
  }

  dispose(): void {
    this.bridge?.dispose();
    this.bridge = undefined;
    this.now = undefined;
  }
}

/** The settings of models with the editor's in their place. What the editor forwards may leave this machine, so it is always asked for. */
export function withEditorModels(settings: Record<string, unknown>, offered: Offered | undefined): Record<string, unknown> {
  if (!offered) {
    return settings;
  }
  const models = typeof settings["models"] === "object" && settings["models"] !== null ? settings["models"] : {};
  return { ...settings, models: { ...models, names: offered.names, baseUrl: offered.url, ask: "always" } };
}
