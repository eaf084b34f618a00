import { beforeEach, describe, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { askConsent, KEYS_VARIABLE, ModelKeys, modelsOf, setKey } from "../src/models";

const ENDPOINT = "https://models.example/v1";
const models = { names: ["big-one"], endpoint: ENDPOINT, key: "" };

/** A secret storage in memory. */
function secrets(): vscode.SecretStorage & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    get: async (name: string) => kept.get(name),
    store: async (name: string, value: string) => void kept.set(name, value),
    delete: async (name: string) => void kept.delete(name),
  } as never;
}

beforeEach(() => vi.clearAllMocks());

describe("the question about models", () => {
  it("is a dialog whose own Cancel button is no action", async () => {
    vi.mocked(vscode.window.showWarningMessage).mockResolvedValue("Use models" as never);
    const actions = ["Use models", "Rewrites only", "Cancel"];
    const answer = await askConsent({ message: "Optimize a.py with big-one?", detail: ENDPOINT, actions });
    expect(answer).toEqual({ action: "Use models" });
    expect(vscode.window.showWarningMessage).toHaveBeenCalledWith(
      "Optimize a.py with big-one?",
      { modal: true, detail: ENDPOINT },
      "Use models",
      "Rewrites only",
    );
  });

  it("has no answer where the dialog was closed", async () => {
    vi.mocked(vscode.window.showWarningMessage).mockResolvedValue(undefined);
    expect(await askConsent({ message: "", detail: "", actions: [] })).toEqual({ action: null });
  });
});

describe("keys", () => {
  it("are kept by endpoint and handed to the server's environment alone", async () => {
    const keys = new ModelKeys(secrets());
    expect(await keys.environment()).toEqual({});
    await keys.set(ENDPOINT, "sk-1");
    await keys.set("https://other.example", "sk-2");
    await keys.set(ENDPOINT, "sk-3");
    const { [KEYS_VARIABLE]: stored } = await keys.environment();
    expect(JSON.parse(stored ?? "")).toEqual({ [ENDPOINT]: "sk-3", "https://other.example": "sk-2" });
  });

  it("stay in the storage where the workspace is not trusted", async () => {
    const keys = new ModelKeys(secrets());
    await keys.set(ENDPOINT, "sk-1");
    Object.assign(vscode.workspace, { isTrusted: false });
    expect(await keys.environment()).toEqual({});
    Object.assign(vscode.workspace, { isTrusted: true });
  });

  it("are asked for without showing them, and removed by an empty text", async () => {
    const storage = secrets();
    const keys = new ModelKeys(storage);
    vi.mocked(vscode.window.showInputBox).mockResolvedValueOnce(" sk-1 ").mockResolvedValueOnce("");
    expect(await setKey(keys, models)).toBe(true);
    expect(vi.mocked(vscode.window.showInputBox).mock.calls[0]?.[0]).toMatchObject({ password: true });
    expect([...storage.kept.values()]).toEqual([JSON.stringify({ [ENDPOINT]: "sk-1" })]);
    expect(await setKey(keys, models)).toBe(true);
    expect(storage.kept.size).toBe(0);
  });

  it("are left alone where the question is closed or no model is named", async () => {
    const storage = secrets();
    vi.mocked(vscode.window.showInputBox).mockResolvedValue(undefined);
    expect(await setKey(new ModelKeys(storage), models)).toBe(false);
    vi.mocked(vscode.window.showInformationMessage).mockResolvedValue("Open Settings" as never);
    expect(await setKey(new ModelKeys(storage), modelsOf(null))).toBe(false);
    expect(vscode.commands.executeCommand).toHaveBeenCalledWith("workbench.action.openSettings", "tilewright.models");
    expect(storage.kept.size).toBe(0);
  });
});
