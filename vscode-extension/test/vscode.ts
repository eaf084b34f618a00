/** As much of the editor's interface as the unit tests touch. The real one is used by the browser test. */
import { vi } from "vitest";

export const workspace = {
  isTrusted: true,
  workspaceFolders: [{ uri: { scheme: "file", fsPath: "/work/kernels" } }],
  getConfiguration: vi.fn(() => ({ get: (_name: string, fallback: unknown) => fallback })),
};

export const window = {
  withProgress: vi.fn(),
  showInformationMessage: vi.fn(),
  showWarningMessage: vi.fn(),
  showInputBox: vi.fn(),
  showQuickPick: vi.fn(),
};

export const ProgressLocation = { Notification: 15, Window: 10 };
export const StatusBarAlignment = { Left: 1, Right: 2 };

export const commands = { executeCommand: vi.fn() };

export const extensions = { getExtension: vi.fn() };
export const ConfigurationTarget = { Global: 1, Workspace: 2 };
