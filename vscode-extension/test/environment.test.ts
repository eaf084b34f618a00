import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EnvironmentError, installCommands, makeEnvironment, pythonOf, type Tools } from "../src/environment";
import type { Outcome } from "../src/processes";

const OK: Outcome = { code: 0, stdout: "", stderr: "" };
let storage: string;
let environment: string;

beforeEach(async () => {
  storage = await mkdtemp(path.join(tmpdir(), "tilewright-environment-"));
  environment = path.join(storage, "environment");
});
afterEach(() => rm(storage, { recursive: true, force: true }));

/** Tools that make the folder as `python -m venv` does and let pip end as told. */
function tools(pip: Outcome, base: Outcome = OK): Tools & { lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    which: (name) => Promise.resolve(name === "python3" ? "/usr/bin/python3" : undefined),
    run: async (command, args, options) => {
      lines.push([command, ...args].join(" "));
      if (args[1] === "venv") {
        await mkdir(environment);
        return OK;
      }
      options.onLine?.("Collecting pygls>=2.1");
      options.onLine?.("  noise");
      return args[1] === "pip" ? pip : base;
    },
  };
}

const make = (given: Tools, report: (message: string) => void = () => undefined, abort = new AbortController()) =>
  makeEnvironment(environment, "tilewright[local]", given, report, abort.signal);

describe("makeEnvironment", () => {
  it("makes the environment, installs what the setting says and tells what it does", async () => {
    const given = tools(OK);
    const told: string[] = [];
    expect(await make(given, (message) => told.push(message))).toBe(pythonOf(environment));
    expect(given.lines.slice(1)).toEqual([
      `/usr/bin/python3 -m venv ${environment}`,
      `${pythonOf(environment)} -m pip install --disable-pip-version-check --no-input tilewright[local]`,
    ]);
    expect(told).toEqual([
      "Making an environment with /usr/bin/python3",
      "Installing tilewright[local]",
      "Collecting pygls>=2.1",
    ]);
    const stamp = await readFile(path.join(environment, "tilewright.json"), "utf8");
    expect(JSON.parse(stamp)).toEqual({ requirement: "tilewright[local]", base: "/usr/bin/python3" });
  });

  it("removes what a failed installation left, and gives pip's reason", async () => {
    const failing = tools({ code: 1, stdout: "", stderr: "ERROR: No matching distribution found" });
    await expect(make(failing)).rejects.toThrow(/Installing tilewright.*failed \(exit code 1\)[^]*No matching/);
    expect(existsSync(environment)).toBe(false);
  });

  it("says so when no Python is new enough", async () => {
    await expect(make(tools(OK, { ...OK, code: 1 }))).rejects.toThrow(EnvironmentError);
    expect(existsSync(environment)).toBe(false);
  });

  it("replaces an environment that was there", async () => {
    await mkdir(environment);
    await writeFile(path.join(environment, "old"), "");
    await make(tools(OK));
    expect(existsSync(path.join(environment, "old"))).toBe(false);
  });

  it("leaves nothing behind when it is cancelled", async () => {
    const abort = new AbortController();
    abort.abort();
    await expect(make(tools(OK), undefined, abort)).rejects.toThrow(/cancelled/);
    expect(existsSync(environment)).toBe(false);
  });
});

it("shows the commands it would run", () => {
  expect(installCommands("/e", "tilewright")).toEqual([
    "python3 -m venv /e",
    `${pythonOf("/e")} -m pip install tilewright`,
  ]);
});
