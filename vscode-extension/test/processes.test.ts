import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { findOnPath, isExecutable, run } from "../src/processes";

const NODE = process.execPath;
const options = { limitMs: 10_000, cwd: tmpdir() };

describe("run", () => {
  it("gives both outputs and the exit code", async () => {
    const program = "console.log('out'); console.error('err'); process.exitCode = 3";
    expect(await run(NODE, ["-e", program], options)).toEqual({ code: 3, stdout: "out\n", stderr: "err\n" });
  });

  it("tells whole lines as they come", async () => {
    const lines: string[] = [];
    const program = "process.stdout.write('one\\ntw'); setTimeout(() => process.stdout.write('o\\n'), 50)";
    await run(NODE, ["-e", program], { ...options, onLine: (line) => lines.push(line) });
    expect(lines).toEqual(["one", "two"]);
  });

  it("kills what runs too long", async () => {
    const outcome = await run(NODE, ["-e", "setInterval(() => 0, 1000)"], { ...options, limitMs: 300 });
    expect(outcome.code).toBeNull();
  });

  it("answers for a program that is not there", async () => {
    const outcome = await run("/nowhere/python", [], options);
    expect(outcome.code).toBeNull();
    expect(outcome.stderr).toContain("ENOENT");
  });

  it("stops on request", async () => {
    const abort = new AbortController();
    const running = run(NODE, ["-e", "setInterval(() => 0, 1000)"], { ...options, signal: abort.signal });
    setTimeout(() => abort.abort(), 100);
    expect((await running).code).toBeNull();
  });
});

describe("findOnPath", () => {
  it("finds a program, skips folders that lack it and relative entries", async () => {
    const searchPath = ["/nowhere", ".", path.dirname(NODE)].join(path.delimiter);
    expect(await findOnPath(path.basename(NODE), searchPath)).toBe(NODE);
    expect(await findOnPath("no-such-program", searchPath)).toBeUndefined();
  });

  it("knows what can be executed", async () => {
    expect(await isExecutable(NODE)).toBe(true);
    expect(await isExecutable(__filename)).toBe(false);
  });
});
