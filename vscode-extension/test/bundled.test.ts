import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { bundledVersion, requirement } from "../src/bundled";
import { EnvironmentError } from "../src/environment";

const WHEEL = "tilewright-0.1.0-py3-none-any.whl";
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "tilewright-bundled-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("installs the wheel that is part of the extension", async () => {
  await writeFile(path.join(folder, WHEEL), "");
  expect(await requirement("", folder)).toEqual({
    argument: `${path.join(folder, WHEEL)}[mcp,models]`,
    label: `${WHEEL} (part of this extension)`,
  });
});

it("lets the setting go before it", async () => {
  await writeFile(path.join(folder, WHEEL), "");
  expect((await requirement("/home/me/tilewright", folder)).argument).toBe("/home/me/tilewright");
});

it("never falls back to a bare name", async () => {
  const refused = expect(requirement("", path.join(folder, "none"))).rejects;
  await refused.toThrow(EnvironmentError);
  await expect(requirement("", folder)).rejects.toThrow(/no server wheel.*tilewright\.server\.package/);
  await writeFile(path.join(folder, WHEEL), "");
  await writeFile(path.join(folder, "tilewright-0.2.0-py3-none-any.whl"), "");
  await expect(requirement("", folder)).rejects.toThrow(/several server wheels/);
});

it("knows which version it would install", async () => {
  await writeFile(path.join(folder, WHEEL), "");
  expect(bundledVersion(await requirement("", folder))).toBe("0.1.0");
  expect(bundledVersion(await requirement(`/downloads/${WHEEL}`, folder))).toBeUndefined();
});
