import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import type { FoundServer } from "../src/discovery";
import { OWN_ORIGIN } from "../src/discovery";
import { offerUpdate } from "../src/install";
import type { Server } from "../src/server";

vi.mock("../src/server", () => ({}));

const asked = vi.mocked(vscode.window.showInformationMessage);
const log = undefined as never;
let bundled: string;

beforeEach(async () => {
  bundled = await mkdtemp(path.join(tmpdir(), "tilewright-install-"));
  await writeFile(path.join(bundled, "tilewright-0.2.0-py3-none-any.whl"), "");
  asked.mockReset();
});
afterEach(() => rm(bundled, { recursive: true, force: true }));

const offer = (changed: Partial<FoundServer>): Promise<void> => {
  const found = { command: "python", args: [], version: "0.1.0", origin: OWN_ORIGIN, ...changed };
  return offerUpdate({ bundled } as Server, found, log);
};

it("offers an update of its own environment when the extension brings another version", async () => {
  await offer({});
  expect(asked.mock.calls[0]?.[0]).toMatch(/version 0\.1\.0.*comes with 0\.2\.0/);
});

it("does not offer what is there, nor to touch environments of other people", async () => {
  await offer({ version: "0.2.0" });
  await offer({ origin: "workspace environment" });
  expect(asked).not.toHaveBeenCalled();
});
