/** Language models: the question before the first call, and the keys, which the editor's secret storage keeps. */
import * as vscode from "vscode";

/** The server's request for a dialog; it decides when to ask and what an answer means. */
export const CONSENT = "tilewright/modelConsent";

/** Where the server finds the keys, by endpoint. It takes them out of its environment when it starts. */
export const KEYS_VARIABLE = "TILEWRIGHT_MODEL_KEYS";

const STORED = "tilewright.modelKeys";

/** What the server says of the models that the settings name. */
export interface Models {
  readonly names: readonly string[];
  readonly endpoint: string;
  /** Where the key comes from: "editor", "environment", or empty. */
  readonly key: string;
}

interface Question {
  readonly message: string;
  readonly detail: string;
  readonly actions: readonly string[];
}

/** Shows the server's question as a dialog. A dialog has a Cancel button of its own, which is no action. */
export async function askConsent(question: Question): Promise<{ action: string | null }> {
  const buttons = question.actions.filter((action) => action !== "Cancel");
  const options = { modal: true, detail: question.detail };
  const action = await vscode.window.showWarningMessage(question.message, options, ...buttons);
  return { action: action ?? null };
}

/** The server's answer, if it names an endpoint. */
export function modelsOf(answer: unknown): Models | undefined {
  const isModels = typeof answer === "object" && answer !== null && "endpoint" in answer && "names" in answer;
  return isModels ? (answer as Models) : undefined;
}

/** Keys by endpoint. They leave the secret storage only for the environment of the server. */
export class ModelKeys {
  constructor(private readonly secrets: vscode.SecretStorage) {}

  /**
   * The variables of the server's process; none where no key is stored or the workspace is not trusted. `more` are keys
   * of this session that are not stored.
   */
  async environment(more: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, string>>> {
    const stored = vscode.workspace.isTrusted ? await this.secrets.get(STORED) : undefined;
    if (Object.keys(more).length === 0 || !vscode.workspace.isTrusted) {
      return stored ? { [KEYS_VARIABLE]: stored } : {};
    }
    return { [KEYS_VARIABLE]: JSON.stringify({ ...keysIn(stored), ...more }) };
  }

  /** Stores the key of an endpoint; an empty one removes it. */
  async set(endpoint: string, key: string): Promise<void> {
    const others = Object.entries(keysIn(await this.secrets.get(STORED))).filter(([other]) => other !== endpoint);
    const keys = Object.fromEntries(key ? [...others, [endpoint, key]] : others);
    if (Object.keys(keys).length > 0) {
      await this.secrets.store(STORED, JSON.stringify(keys));
    } else {
      await this.secrets.delete(STORED);
    }
  }
}

function keysIn(stored: string | undefined): Readonly<Record<string, string>> {
  try {
    const found: unknown = JSON.parse(stored ?? "{}");
    return typeof found === "object" && found !== null ? (found as Record<string, string>) : {};
  } catch {
    return {}; // what cannot be read is of no use to the server either, and is written anew
  }
}

/** Asks for the key of the endpoint that the settings name, and stores it. Whether there is anything new. */
export async function setKey(keys: ModelKeys, models: Models | undefined): Promise<boolean> {
  if (!models) {
    const open = "Open Settings";
    const message = "Tilewright: name a model in the setting tilewright.models.names first.";
    if ((await vscode.window.showInformationMessage(message, open)) === open) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "tilewright.models");
    }
    return false;
  }
  const key = await vscode.window.showInputBox({
    title: `Key for ${models.endpoint}`,
    prompt: "The editor's secret storage keeps it. It goes to this endpoint, and to no other. Empty: remove the key.",
    password: true,
    ignoreFocusOut: true,
  });
  if (key === undefined) {
    return false;
  }
  await keys.set(models.endpoint, key.trim());
  return true;
}
