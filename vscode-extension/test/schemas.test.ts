import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { isSpec, registerSpecSchema } from "../src/schemas";

const SPEC = "entry: softmax\ninputs:\n  X: {shape: [M, N]}\n";
const PLACE = path.join(__dirname, "../../knowledge/schema/spec.json");

it("knows a spec by the kernel next to it and by its keys", () => {
  const exists = (file: string): boolean => file === "/w/softmax.py";
  expect(isSpec("/w/softmax.yaml", SPEC, exists)).toBe(true);
  expect(isSpec("/w/softmax.yml", SPEC, exists)).toBe(true);
  expect(isSpec("/w/other.yaml", SPEC, exists)).toBe(false);
  expect(isSpec("/w/softmax.yaml", "services:\n  web: {}\n", exists)).toBe(false);
  expect(isSpec("/w/softmax.json", SPEC, exists)).toBe(false);
});

it("knows a spec by the files that it names, or by the tree that it lies in", () => {
  const none = (): boolean => false;
  expect(isSpec("/w/shared.yaml", `${SPEC}files: [a.py, b.py]\n`, none)).toBe(true);
  expect(isSpec("/w/problems/specs/level1/softmax.yaml", SPEC, none)).toBe(true);
  expect(isSpec("/w/problems/specs/level1/ci.yaml", "services:\n  web: {}\n", none)).toBe(false);
  expect(isSpec("/elsewhere/level1/softmax.yaml", SPEC, none, "/elsewhere/")).toBe(true);
  expect(isSpec("/elsewhere2/level1/softmax.yaml", SPEC, none, "/elsewhere")).toBe(false);
});

it("gives the YAML extension the schema of specs, for specs alone", async () => {
  const registerContributor = vi.fn((..._: unknown[]) => true);
  vi.mocked(vscode.extensions.getExtension).mockReturnValue({ activate: () => Promise.resolve({ registerContributor }) } as never);
  const document = (fsPath: string) => ({ uri: { fsPath, toString: () => `file://${fsPath}` }, getText: () => SPEC });
  Object.assign(vscode.workspace, { textDocuments: [document("/w/softmax.yaml"), document("/w/ci.yaml")] });
  expect(await registerSpecSchema(PLACE, (file) => file === "/w/softmax.py")).toBe(true);
  const [, schemaOf, content] = registerContributor.mock.calls[0] as unknown as [string, (uri: string) => unknown, () => Promise<string>];
  expect(schemaOf("file:///w/softmax.yaml")).toBe("tilewright-schema://schema/spec");
  expect([schemaOf("file:///w/ci.yaml"), schemaOf("file:///w/closed.yaml")]).toEqual([undefined, undefined]);
  expect(JSON.parse(await content())).toEqual(JSON.parse(readFileSync(PLACE, "utf8")));
});

it("does without the YAML extension", async () => {
  vi.mocked(vscode.extensions.getExtension).mockReturnValue(undefined);
  expect(await registerSpecSchema(PLACE, () => true)).toBe(false);
});
