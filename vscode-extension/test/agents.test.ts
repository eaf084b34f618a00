import { beforeEach, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { PROVIDER, registerAgentTools, type Found, type Start } from "../src/agents";
import type { Outcome } from "../src/processes";

class Definition {
  constructor(
    readonly label: string,
    readonly command: string,
    readonly args: string[],
    readonly env: Record<string, string>,
    readonly version: string,
  ) {}
}

const log = { info: vi.fn() };
const python = { command: "/venv/bin/python", args: ["-m", "tilewright_server"], version: "0.1.0", origin: "" };
const program = { command: "/bin/tilewright", args: ["lsp"], version: "0.1.0", origin: "" };
const done: Outcome = { code: 0, stdout: "", stderr: "" };

function running(server: typeof python): Found {
  return { state: { kind: "running", server }, onState: vi.fn() };
}

async function offered(found: Found, outcome: Outcome = done): Promise<{ definitions: Definition[]; probed: Start[] }> {
  const register = vi.fn();
  const probed: Start[] = [];
  const probe = (start: Start): Promise<Outcome> => {
    probed.push(start);
    return Promise.resolve(outcome);
  };
  const lm = { registerMcpServerDefinitionProvider: register };
  const editor = { version: "1.101.0", lm, McpStdioServerDefinition: Definition };
  registerAgentTools(found, probe, log, editor);
  expect(register.mock.calls[0]?.[0]).toBe(PROVIDER);
  const definitions = (await register.mock.calls[0]?.[1].provideMcpServerDefinitions()) as Definition[];
  return { definitions, probed };
}

beforeEach(() => {
  log.info.mockClear();
  Object.assign(vscode.workspace, { isTrusted: true });
});

it("starts the tools with the interpreter of the language server, for the folders of the workspace", async () => {
  const { definitions, probed } = await offered(running(python));
  expect(definitions).toHaveLength(1);
  expect(definitions[0]?.command).toBe("/venv/bin/python");
  expect(definitions[0]?.args).toEqual(["-P", "-m", "tilewright", "mcp", "--root", "/work/kernels"]);
  expect(probed[0]?.args).toEqual(definitions[0]?.args);
});

it("starts the tools with the program of the language server", async () => {
  const { definitions } = await offered(running(program));
  expect([definitions[0]?.command, ...(definitions[0]?.args ?? [])]).toEqual(
    ["/bin/tilewright", "mcp", "--root", "/work/kernels"],
  );
});

it("offers nothing in a workspace that is not trusted, and starts nothing there", async () => {
  Object.assign(vscode.workspace, { isTrusted: false });
  expect(await offered(running(python))).toEqual({ definitions: [], probed: [] });
});

it("offers nothing before the server runs", async () => {
  expect((await offered({ state: { kind: "starting" }, onState: vi.fn() })).definitions).toEqual([]);
});

it("offers nothing where the package is missing, and logs why", async () => {
  const stderr = "tilewright: the MCP server needs the package mcp: pip install 'tilewright[mcp]'\n";
  expect((await offered(running(python), { code: 2, stdout: "", stderr })).definitions).toEqual([]);
  expect(log.info.mock.calls[0]?.[0]).toContain("pip install 'tilewright[mcp]'");
});

it("leaves an editor alone that lacks the interface, or has it as a proposal", () => {
  const probe = (): Promise<Outcome> => Promise.resolve(done);
  const refuses = vi.fn(() => {
    throw new Error("CANNOT use API proposal");
  });
  const lm = { registerMcpServerDefinitionProvider: refuses };
  const proposed = { version: "1.100.3", lm, McpStdioServerDefinition: Definition };
  expect(registerAgentTools(running(python), probe, log, { version: "1.120.0" })).toBeUndefined();
  expect(registerAgentTools(running(python), probe, log, proposed)).toBeUndefined();
  expect(refuses).not.toHaveBeenCalled();
});
