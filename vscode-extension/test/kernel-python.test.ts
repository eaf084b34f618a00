import { beforeEach, describe, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { findKernelPython, lackOf } from "../src/kernel-python";
import type { Machine } from "../src/discovery";
import { chosenPythons, knownPythons } from "../src/python-extension";
import { statusText } from "../src/status";
import { torchArguments, torchCommands } from "../src/torch";

vi.mock("vscode-languageclient/node", () => ({ ExecuteCommandRequest: { type: "workspace/executeCommand" } }));

/** A machine whose Pythons have these packages; what is not listed is not there. */
function machine(pythons: Record<string, string>): Machine & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    exists: (file) => Promise.resolve(file in pythons),
    which: () => Promise.resolve(undefined),
    run: (command) => {
      asked.push(command);
      return Promise.resolve({ code: 0, stdout: pythons[command] ?? "", stderr: "" });
    },
  };
}

const BOTH = "torch 2.13.0\ntriton 3.9.0\n";
const at = (python: string, origin = "somewhere") => ({ python, origin });

describe("the Python for kernels", () => {
  it("is the first that has torch and triton; the others are said with what they lack", async () => {
    const here = machine({ "/a": "torch \ntriton \n", "/b": "torch 2.13.0\ntriton \n", "/c": BOTH, "/d": BOTH });
    const found = await findKernelPython([at("/a"), at("/a"), at("/b"), at("/c", "chosen"), at("/d")], here);
    expect(found).toEqual({ kind: "found", python: "/c", origin: "chosen", packages: { torch: "2.13.0", triton: "3.9.0" } });
    expect(here.asked).toEqual(["/a", "/b", "/c"]);
    const none = await findKernelPython([at("/a"), at("/b", "workspace"), at("/gone")], here);
    expect(none).toEqual({
      kind: "missing",
      looked: ["somewhere, /a: no torch and no triton", "workspace, /b: no triton", "somewhere, /gone: no Python that answers"],
    });
    expect(lackOf({ torch: "2", triton: "3" })).toBe("");
  });

  it("is shown, and so is that there is none", () => {
    const server = { command: "/own/python", args: ["-m"], version: "0.1.0", origin: "environment of the extension" };
    const state = { kind: "running", server } as const;
    expect(statusText(state, { kind: "missing", looked: [] }).text).toContain("source only");
    const found = { kind: "found", python: "/c", origin: "chosen", packages: { torch: "2", triton: "3" } } as const;
    expect(statusText(state, found).tooltip).toContain("Kernels run in /c, chosen");
  });

  it("is installed by commands that are shown, from pip's index or next to it", () => {
    expect(torchCommands("/e", "")[1]).toMatch(/-m pip install torch triton$/);
    expect(torchArguments("https://index.example/cpu")).toEqual(["--extra-index-url", "https://index.example/cpu", "torch", "triton"]);
  });
});

describe("the Python extension", () => {
  const file = (fsPath: string) => ({ executable: { uri: { fsPath } } });
  const api = {
    environments: {
      getActiveEnvironmentPath: () => ({ path: "/venv" }),
      resolveEnvironment: () => Promise.resolve(file("/venv/bin/python")),
      known: [file("/venv/bin/python"), file("/conda/bin/python"), { executable: { uri: undefined } }],
      onDidChangeActiveEnvironmentPath: vi.fn(),
    },
  };
  const offer = (activate: () => unknown): void => {
    vi.mocked(vscode.extensions.getExtension).mockReturnValue({ activate } as never);
  };

  beforeEach(() => {
    Object.assign(vscode.workspace, { isTrusted: true });
    vi.mocked(vscode.extensions.getExtension).mockReturnValue(undefined);
  });

  it("names the interpreter that is chosen, and all it knows", async () => {
    offer(() => Promise.resolve(api));
    expect(await chosenPythons()).toEqual({ pythons: ["/venv/bin/python"], note: "" });
    expect(await knownPythons()).toEqual(["/venv/bin/python", "/conda/bin/python"]);
  });

  it("is done without where it is missing, old, broken or slow, which is said", async () => {
    expect((await chosenPythons()).note).toContain("not installed");
    offer(() => Promise.resolve({}));
    expect((await chosenPythons()).note).toContain("too old");
    offer(() => Promise.reject(new Error("boom")));
    expect((await chosenPythons()).note).toContain("boom");
    vi.useFakeTimers();
    offer(() => new Promise(() => undefined));
    const late = chosenPythons();
    await vi.advanceTimersByTimeAsync(4_000);
    expect((await late).note).toContain("did not start within 4 s");
    vi.useRealTimers();
  });

  it("is not asked in a workspace that is not trusted", async () => {
    Object.assign(vscode.workspace, { isTrusted: false });
    offer(() => Promise.resolve(api));
    expect(await chosenPythons()).toEqual({ pythons: [], note: "the workspace is not trusted" });
    expect(await knownPythons()).toEqual([]);
  });
});
