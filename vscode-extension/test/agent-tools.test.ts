import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { commandOf, inWorkspace, registerTools, TOOLS } from "../src/agent-tools";
import type { ServerState } from "../src/server";
import manifest from "../package.json";

const server = { command: "/venv/bin/python", args: ["-m", "tilewright_server"], version: "0.1.0", origin: "" };
const running: ServerState = { kind: "running", server };
let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "tools-"));
  mkdirSync(path.join(root, "work"));
  writeFileSync(path.join(root, "work/k.py"), "");
  writeFileSync(path.join(root, "work/new.py"), "");
  writeFileSync(path.join(root, "secret.py"), "");
  symlinkSync(path.join(root, "secret.py"), path.join(root, "work/link.py"));
  const workspaceFolders = [{ uri: { scheme: "file", fsPath: path.join(root, "work") } }];
  Object.assign(vscode.workspace, { isTrusted: true, workspaceFolders });
});

it("runs the engine of the server on files of the workspace", () => {
  const folders = [path.join(root, "work")];
  const words = commandOf("tilewright_verify", { original: "k.py", file: "new.py", target: "cuda:90" }, running, folders, true);
  const [k, candidate] = ["k.py", "new.py"].map((name) => path.join(root, "work", name));
  expect(words).toEqual(["/venv/bin/python", "-P", "-m", "tilewright", "verify", k, candidate, "--target", "cuda:90", "--format", "json"]);
  expect(commandOf("tilewright_check", { file: "k.py", target: "--fix" }, running, folders, true)).not.toContain("--fix");
});

it("refuses files elsewhere, also through a link", () => {
  const folders = [path.join(root, "work")];
  for (const file of ["../secret.py", path.join(root, "secret.py"), "link.py", "gone.py", "", 3]) {
    expect(() => inWorkspace(file, folders)).toThrow(/workspace|name a file/);
  }
});

it("runs no code where nothing is trusted, and reads all the same", () => {
  const folders = [path.join(root, "work")];
  expect(() => commandOf("tilewright_compile", { file: "k.py" }, running, folders, false)).toThrow("not trusted");
  expect(commandOf("tilewright_check", { file: "k.py" }, running, folders, false)).toContain("check");
  expect(() => commandOf("tilewright_check", { file: "k.py" }, { kind: "starting" }, folders, true)).toThrow("not running");
});

it("offers what package.json describes, asks before code runs, and answers with the engine's words", async () => {
  const offered = manifest.contributes.languageModelTools.map(({ name }) => name).sort();
  const tools: Record<string, any> = {};
  class Result {
    constructor(readonly parts: readonly unknown[]) {}
  }
  class Text {
    constructor(readonly text: string) {}
  }
  const lm = { registerTool: (name: string, tool: object) => ((tools[name] = tool), { dispose: () => undefined }) };
  const run = vi.fn(() => Promise.resolve({ code: 1, stdout: '{"files": []}\n', stderr: "" }));
  registerTools(() => running, run, { lm, LanguageModelToolResult: Result, LanguageModelTextPart: Text });
  expect(Object.keys(tools).sort()).toEqual(offered);
  expect(Object.keys(TOOLS).sort()).toEqual(offered);
  const asks = (name: string): boolean => "confirmationMessages" in tools[name].prepareInvocation({ input: { file: "k.py" } });
  expect(offered.filter(asks)).toEqual(["tilewright_compile", "tilewright_verify"]);
  const answer = (await tools["tilewright_check"].invoke({ input: { file: "k.py" } })) as Result;
  expect((answer.parts[0] as Text).text).toBe('{"files": []}');
  expect(run).toHaveBeenCalledTimes(1);
});

it("leaves an editor alone that lacks the interface", () => {
  expect(registerTools(() => running, vi.fn(), {})).toEqual([]);
});
