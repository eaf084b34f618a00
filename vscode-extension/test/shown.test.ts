import { describe, expect, it, vi } from "vitest";
import * as vscode from "vscode";
import { jobsOf } from "../src/commands";
import { JobProgress } from "../src/progress";
import { settingsForServer } from "../src/settings";
import { statusText } from "../src/status";
import { chipItems, figuresOf, FOLLOW, targetChoices, toldOf } from "../src/targets";

vi.mock("vscode-languageclient/node", () => ({ ExecuteCommandRequest: { type: "workspace/executeCommand" } }));

describe("progress", () => {
  interface Seen {
    increments: number[];
    messages: string[];
    cancel: () => void;
    ended: boolean;
  }

  /** Stands in for the notification and remembers what it was told. */
  function notification(): Seen {
    const seen: Seen = { increments: [], messages: [], cancel: () => undefined, ended: false };
    vi.mocked(vscode.window.withProgress).mockImplementation(async (_options, task) => {
      const report = (value: { message?: string; increment?: number }): void => {
        seen.increments.push(value.increment ?? 0);
        seen.messages.push(value.message ?? "");
      };
      const onCancellationRequested = (listener: () => void): { dispose(): void } => {
        seen.cancel = listener;
        return { dispose: () => undefined };
      };
      const token = { isCancellationRequested: false, onCancellationRequested };
      await task({ report }, token as unknown as vscode.CancellationToken);
      seen.ended = true;
      return undefined as never;
    });
    return seen;
  }

  it("shows an optimization, its steps and its end, and passes a cancel on", async () => {
    const seen = notification();
    const cancelled: unknown[] = [];
    const next = vi.fn();
    const progress = new JobProgress((token) => cancelled.push(token));
    const title = "Optimizing for Intel XPU";
    progress.handle("t", { kind: "begin", title, cancellable: true, percentage: 0 }, next);
    progress.handle("t", { kind: "report", message: "trial 1", percentage: 30 }, next);
    progress.handle("t", { kind: "report", message: "trial 2", percentage: 20 }, next);
    expect(seen.increments).toEqual([0, 30, 0]);
    expect(seen.messages).toEqual(["", "trial 1", "trial 2"]);
    seen.cancel();
    expect(cancelled).toEqual(["t"]);
    expect(next).not.toHaveBeenCalled();
    progress.handle("t", { kind: "end" }, next);
    await vi.waitFor(() => expect(seen.ended).toBe(true));
    expect(next).toHaveBeenCalledOnce();
  });

  it("leaves what runs by itself to the status bar", () => {
    const next = vi.fn();
    const progress = new JobProgress(() => undefined);
    vi.mocked(vscode.window.withProgress).mockClear();
    progress.handle("p", { kind: "begin", title: "Profiling kernels" }, next);
    progress.handle("p", { kind: "report" }, next);
    progress.handle("p", { kind: "end" }, next);
    expect(next).toHaveBeenCalledTimes(3);
    expect(vscode.window.withProgress).not.toHaveBeenCalled();
  });

  it("ends everything when the server is gone", async () => {
    const seen = notification();
    const progress = new JobProgress(() => undefined);
    progress.handle("t", { kind: "begin", title: "Optimizing for AMD" }, () => undefined);
    progress.endAll();
    await vi.waitFor(() => expect(seen.ended).toBe(true));
  });
});

describe("settings for the server", () => {
  it("leave out what is not set and say whether the workspace is trusted", () => {
    const section = { targets: [], target: "", budget: null, device: "auto", profileOnSave: false };
    const always = { trusted: true, diagnosticsInHover: true, assemblyView: true, modelDialog: true, diffView: true };
    const fileTargets = { "file:///a.py": "xpu:pvc" };
    expect(settingsForServer(section, {})).toEqual({ device: "auto", profileOnSave: false, fileTargets: {}, ...always });
    expect(settingsForServer(undefined, fileTargets)).toEqual({ fileTargets, ...always });
  });
});

describe("status", () => {
  it("names the server and where it was found", () => {
    const server = { command: "/v/bin/python", args: [], version: "0.1.0", origin: "workspace environment" };
    expect(statusText({ kind: "running", server })).toMatchObject({
      tooltip: "Server 0.1.0, workspace environment: /v/bin/python",
      wrong: false,
    });
  });

  it("keeps showing what is wrong", () => {
    expect(statusText({ kind: "missing", looked: [] }).wrong).toBe(true);
    expect(statusText({ kind: "failed", message: "no" })).toMatchObject({ tooltip: "no", wrong: true });
    expect(statusText({ kind: "stopped" }).wrong).toBe(true);
  });
});

describe("targets", () => {
  it("says of each chip what is known of the file's kernels there", () => {
    const told = { target: "cuda:90", why: "", origin: "file", followed: "cuda:90", figures: { "cuda:90": "12 µs" } };
    expect(figuresOf("cuda:90", told)).toBe("12 µs");
    expect(figuresOf("hip:gfx942", told)).toBe("not compiled for it yet, not measured");
    expect(figuresOf("hip:gfx942")).toBe("not compiled for it yet, not measured");
  });

  it("are one of each vendor where no setting names any", () => {
    expect(targetChoices([]).map((choice) => choice.label)).toEqual(["Intel XPU", "NVIDIA", "AMD"]);
  });

  it("are the setting's, each once, whatever the backend", () => {
    expect(targetChoices(["hip:gfx950", "hip:gfx950", "new:1"])).toEqual([
      { label: "AMD", target: "hip:gfx950" },
      { label: "new", target: "new:1" },
    ]);
  });
});

describe("jobs to cancel", () => {
  it("are those that still run, named so that one can choose", () => {
    const uri = "file:///ws/my%20matmul.py";
    const answer = [
      { job: "a", kind: "optimize", uri, target: "xpu:bmg-g31", state: "running" },
      { job: "b", kind: "profile", uri, target: null, state: "done" },
      "noise",
    ];
    expect(jobsOf(answer)).toEqual([{ job: "a", title: "optimize my matmul.py xpu:bmg-g31" }]);
    expect(jobsOf(undefined)).toEqual([]);
  });
});

describe("chips of a file", () => {
  const told = { target: "xpu:bmg-g31", why: "the file's host code names torch.xpu", origin: "file", followed: "xpu:bmg-g31" };
  const chips = [
    { target: "xpu:bmg-g31", label: "Intel Battlemage", here: "compiles" },
    { target: "xpu:pvc", label: "Intel Ponte Vecchio", here: "compiles" },
    { target: "cuda:90", label: "NVIDIA Hopper", here: "none" },
  ];

  it("lists every chip under what this machine has for it", () => {
    expect(chipItems(told, chips)).toEqual([
      { label: "", heading: "compiled for on this machine" },
      { label: "xpu:bmg-g31", description: "Intel Battlemage (now)" },
      { label: "xpu:pvc", description: "Intel Ponte Vecchio" },
      { label: "", heading: "no compiler on this machine" },
      { label: "cuda:90", description: "NVIDIA Hopper" },
    ]);
  });

  it("offers to follow the file again where somebody chose", () => {
    const asked = { ...told, target: "xpu:pvc", origin: "asked" };
    expect(chipItems(asked, chips)[0]).toEqual({ label: FOLLOW, description: "xpu:bmg-g31" });
  });

  it("takes no answer for one that is none", () => {
    expect(toldOf(null)).toBeUndefined();
    expect(toldOf({ job: "1" })).toBeUndefined();
    expect(toldOf(told)).toEqual(told);
  });
});
