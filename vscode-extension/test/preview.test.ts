import { beforeEach, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";
import { Previews } from "../src/preview";

const TEXT = "a = 1\n";
const URI = { fsPath: "/w/kernel.py", toString: () => "file:///w/kernel.py", with: () => ({ toString: () => "preview" }) };
const DOCUMENT = { uri: URI, version: 3, getText: () => TEXT, offsetAt: ({ character }: { character: number }) => character };
const PARAMS: ApplyWorkspaceEditParams = {
  label: "Tilewright for cuda:90: correct",
  edit: {
    documentChanges: [
      {
        textDocument: { uri: "file:///w/kernel.py", version: 3 },
        edits: [{ range: { start: { line: 0, character: 4 }, end: { line: 0, character: 5 } }, newText: "2" }],
      },
    ],
    changeAnnotations: { verified: { label: "Tilewright for cuda:90: correct", needsConfirmation: true } },
  },
};

beforeEach(() => {
  const nothing = { dispose: () => undefined };
  Object.assign(vscode.workspace, {
    registerTextDocumentContentProvider: () => nothing,
    onDidChangeTextDocument: () => nothing,
    openTextDocument: () => Promise.resolve(DOCUMENT),
  });
  Object.assign(vscode.window, {
    tabGroups: { onDidChangeTabs: () => nothing, all: [], close: () => Promise.resolve(true) },
    showTextDocument: () => Promise.resolve(undefined),
  });
  Object.assign(vscode, {
    Uri: { parse: () => URI },
    Position: class {
      constructor(readonly line: number, readonly character: number) {}
    },
    Range: class {},
    TabInputTextDiff: class {},
  });
});

/** What becomes of the edit where a person presses a button, and what the server says then. */
async function decided(button: string, reason: string | undefined): Promise<readonly unknown[]> {
  vi.mocked(vscode.window.showInformationMessage).mockResolvedValue(button as never);
  const next = vi.fn(() => Promise.resolve({ applied: true }));
  const whyNot = vi.fn(() => Promise.resolve(reason));
  const answer = await new Previews().handle(PARAMS, next, true, whyNot);
  return [answer, next.mock.calls.length, whyNot.mock.calls];
}

const ASKED = [["file:///w/kernel.py", "Tilewright for cuda:90: correct"]];

it("applies an edit that the server says still fits", async () => {
  expect(await decided("Apply", undefined)).toEqual([{ applied: true }, 1, ASKED]);
});

it("does not apply an edit that no longer fits, and says why", async () => {
  const failureReason = "helper.py changed since the run began";
  expect(await decided("Apply", failureReason)).toEqual([{ applied: false, failureReason }, 0, ASKED]);
});

it("asks nothing about an edit that is discarded", async () => {
  expect(await decided("Discard", undefined)).toEqual([{ applied: false, failureReason: "discarded" }, 0, []]);
});
