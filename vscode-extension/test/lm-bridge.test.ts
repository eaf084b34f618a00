import http from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { EditorModelBridge, withEditorModels } from "../src/editor-models";
import { type EditorModels, LmBridge } from "../src/lm-bridge";

const asked: unknown[] = [];
const model = {
  id: "fake-1", name: "Fake", vendor: "tests", family: "fake",
  sendRequest: (messages: readonly unknown[]) => {
    asked.push(...messages);
    async function* text(): AsyncGenerator<string> {
      yield "y = x";
      yield " * 2";
    }
    return Promise.resolve({ text: text() });
  },
  countTokens: (text: string) => Promise.resolve(text.length),
};
let cancelled: boolean[] = [];
const models: EditorModels = {
  all: () => Promise.resolve([model]),
  message: (role, text) => `${role}: ${text}`,
  cancelling: () => {
    const at = cancelled.push(false) - 1;
    return { token: `token ${at}`, cancel: () => (cancelled[at] = true), dispose: () => undefined };
  },
};

let bridge: LmBridge;
let url: string;

beforeEach(async () => {
  asked.length = 0;
  cancelled = [];
  bridge = new LmBridge(models);
  url = await bridge.start();
});
afterEach(() => bridge.dispose());

function ask(path: string, headers: Record<string, string>, body?: string): Promise<{ status: number; value: any }> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}${path}`, { method: body === undefined ? "GET" : "POST", headers }, (response) => {
      let text = "";
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, value: JSON.parse(text) }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

const authorized = (): Record<string, string> => ({ authorization: `Bearer ${bridge.token}` });
const chat = (more: object = {}): string =>
  JSON.stringify({ model: "fake-1", messages: [{ role: "system", content: "be brief" }, { role: "user", content: "double x" }], ...more });

describe("the bridge to the editor's models", () => {
  it("answers as an OpenAI endpoint does, with what the tokens come to", async () => {
    const { status, value } = await ask("/chat/completions", authorized(), chat());
    expect(status).toBe(200);
    expect(value.choices[0].message).toEqual({ role: "assistant", content: "y = x * 2" });
    expect(value.usage).toEqual({ prompt_tokens: 17, completion_tokens: 9, total_tokens: 26 });
    expect(asked).toEqual(["system: be brief", "user: double x"]);
    expect((await ask("/models", authorized())).value.data).toEqual([{ id: "fake-1", object: "model", owned_by: "tests" }]);
  });

  it("ends the request to the model when whoever asked goes away, and only then", async () => {
    await ask("/chat/completions", authorized(), chat());
    expect(cancelled).toEqual([false]);
    const tokens: unknown[] = [];
    const slow = vi.spyOn(model, "sendRequest").mockImplementation(((_: unknown, __: unknown, token: unknown) => {
      tokens.push(token);
      return new Promise(() => undefined);
    }) as never);
    const headers = { ...authorized(), "content-type": "application/json" };
    const request = http.request(`${url}/chat/completions`, { method: "POST", headers });
    request.on("error", () => undefined);
    request.end(chat());
    await vi.waitFor(() => expect(tokens).toEqual(["token 1"]));
    request.destroy();
    await vi.waitFor(() => expect(cancelled).toEqual([false, true]));
    slow.mockRestore();
  });

  it("listens on this machine alone and answers nobody without its token", async () => {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect((await ask("/chat/completions", {}, chat())).status).toBe(401);
    expect((await ask("/chat/completions", { authorization: "Bearer x" }, chat())).status).toBe(401);
    expect((await ask("/models", { ...authorized(), origin: "https://page.example" })).status).toBe(403);
    expect((await ask("/models", { ...authorized(), host: "page.example" })).status).toBe(403);
    expect(asked).toEqual([]);
    expect(new LmBridge(models).token).not.toBe(bridge.token);
  });

  it("says what is wrong with a request", async () => {
    expect((await ask("/files", authorized())).status).toBe(404);
    expect((await ask("/chat/completions", authorized(), "{")).status).toBe(400);
    expect((await ask("/chat/completions", authorized(), chat({ messages: [] }))).status).toBe(400);
    expect((await ask("/chat/completions", authorized(), chat({ stream: true }))).status).toBe(400);
    const other = await ask("/chat/completions", authorized(), chat({ model: "other" }));
    expect([other.status, other.value.error.message]).toEqual([404, "the editor has no model other; it has: fake-1"]);
    expect((await ask("/chat/completions", authorized(), "x".repeat(8_000_001))).status).toBe(413);
    expect(asked).toEqual([]);
  });
});

describe("models of the editor", () => {
  const log = { info: vi.fn(), warn: vi.fn() };
  const setting = (fromEditor: boolean): void => {
    const get = (name: string, fallback: unknown): unknown => (name === "models.fromEditor" ? fromEditor : fallback);
    vi.mocked(vscode.workspace.getConfiguration).mockReturnValue({ get } as never);
  };

  beforeEach(() => Object.assign(vscode.workspace, { isTrusted: true }));

  it("are offered where the setting asks for them, and are always asked for", async () => {
    const own = new EditorModelBridge(log, () => models);
    setting(false);
    await own.refresh();
    expect(own.offered).toBeUndefined();
    setting(true);
    await own.refresh();
    expect(own.offered?.names).toEqual(["fake-1"]);
    const settings = withEditorModels({ models: { maxCalls: 3, ask: "remote" } }, own.offered);
    expect(settings["models"]).toEqual({ maxCalls: 3, names: ["fake-1"], baseUrl: own.offered?.url, ask: "always" });
    expect(JSON.stringify(settings)).not.toContain(own.offered?.token);
    own.dispose();
    expect(withEditorModels({ a: 1 }, own.offered)).toEqual({ a: 1 });
  });

  it("are not offered where nothing is trusted or the editor has none, which is said", async () => {
    setting(true);
    Object.assign(vscode.workspace, { isTrusted: false });
    const own = new EditorModelBridge(log, () => models);
    await own.refresh();
    expect(own.offered).toBeUndefined();
    Object.assign(vscode.workspace, { isTrusted: true });
    const without = new EditorModelBridge(log, () => undefined);
    await without.refresh();
    expect(without.offered).toBeUndefined();
    expect(log.warn).toHaveBeenCalledWith("this editor has no interface for language models");
  });
});
