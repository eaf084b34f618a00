import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { commands } from "../src/commands";
import { PREVIEW_FIX } from "../src/fixes";

vi.mock("vscode-languageclient/node", () => ({ ExecuteCommandRequest: { type: "workspace/executeCommand" } }));

const root = path.join(__dirname, "..");
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
const sources = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => read(`src/${file}`));
const manifest = JSON.parse(read("package.json")) as {
  main: string;
  icon: string;
  engines: { vscode: string };
  devDependencies: Record<string, string>;
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string }[];
    semanticTokenModifiers: { id: string }[];
    semanticTokenScopes: { scopes: Record<string, string[]> }[];
    configuration: { properties: Record<string, { default: unknown; scope: string }> };
  };
};
const properties = manifest.contributes.configuration.properties;
// The server's own commands; the language client registers them, so the extension must not.
const SERVERS = ["optimize", "profile", "compile", "verify", "showCertificate", "cancelJob", "listJobs", "debugInfo", "target", "listTargets", "models", "addSpec", "capture", "counterpart", "openRun"].map(
  (name) => `tilewright.${name}`,
);

describe("package.json", () => {
  it("offers exactly the commands that are registered, none of them the server's", () => {
    const registered = Object.keys(commands({} as never));
    const offered = manifest.contributes.commands.map((command) => command.command);
    expect([...offered, PREVIEW_FIX].sort()).toEqual(registered.sort());
    expect(registered.filter((id) => SERVERS.includes(id))).toEqual([]);
  });

  it("declares every setting that is read", () => {
    const names = sources.flatMap((text) => [...text.matchAll(/\.get\("([\w.]+)"/g)].map((match) => match[1]));
    expect(names.length).toBeGreaterThan(3);
    names.forEach((name) => expect(properties).toHaveProperty([`tilewright.${name}`]));
  });

  it("keeps settings that name programs, models or endpoints away from untrusted workspaces", () => {
    const restricted = /path|package|interpreter|python|torchIndex|device|models\.(names|baseUrl|fromEditor|ask)/;
    const programs = Object.keys(properties).filter((name) => restricted.test(name));
    expect([...manifest.capabilities.untrustedWorkspaces.restrictedConfigurations].sort()).toEqual(programs.sort());
    programs.forEach((name) => expect(properties[name]?.scope).toBe("machine-overridable"));
  });

  it("gives a colour to each kind of name that the server tells apart", () => {
    const meanings = [...readFileSync(path.join(root, "../engine/tilewright/navigation/tokens.py"), "utf8").matchAll(/^    [A-Z]+ = "(\w+)"$/gm)];
    const known = meanings.map((match) => match[1]).sort();
    expect(known.length).toBeGreaterThan(3);
    const { semanticTokenModifiers: modifiers, semanticTokenScopes: scopes } = manifest.contributes;
    expect(modifiers.map(({ id }) => id).sort()).toEqual(known);
    expect(Object.keys(scopes[0]?.scopes ?? {}).sort()).toEqual(known.map((id) => `*.${id}`).sort());
  });

  it("has no setting for a key", () => {
    expect(Object.keys(properties).filter((name) => /key|secret|token\b/i.test(name))).toEqual([]);
  });

  it("names no package that an index could answer with a stranger's", () => {
    expect(properties["tilewright.server.package"]?.default).toBe("");
    expect(read(".vscodeignore")).toContain("!bundled/*.whl");
  });

  it("asks for the editor version that it is compiled against", () => {
    expect(manifest.engines.vscode).toBe(`^${manifest.devDependencies["@types/vscode"]}`);
  });

  it("has a lock file that does not depend on the registry it was made with", () => {
    expect(read("package-lock.json")).not.toMatch(/"resolved"/);
  });
});
