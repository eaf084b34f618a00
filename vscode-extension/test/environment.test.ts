import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  EnvironmentError,
  installCommands,
  makeEnvironment,
  pythonOf,
  stagingOf,
  swapIn,
  type Tools,
} from "../src/environment";
import type { Outcome } from "../src/processes";

const OK: Outcome = { code: 0, stdout: "", stderr: "" };
let storage: string;
let environment: string;

beforeEach(async () => {
  storage = await mkdtemp(path.join(tmpdir(), "tilewright-environment-"));
  environment = path.join(storage, "environment");
});
afterEach(() => rm(storage, { recursive: true, force: true }));

/** Tools that make the folder as `python -m venv` does and let pip, and the first import, end as told. */
function tools(pip: Outcome, base: Outcome = OK, imports: Outcome = OK): Tools & { lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    which: (name) => Promise.resolve(name === "python3" ? "/usr/bin/python3" : undefined),
    run: async (command, args, options) => {
      lines.push([command, ...args].join(" "));
      if (args[1] === "venv") {
        await mkdir(args[2] ?? "");
        return OK;
      }
      options.onLine?.("Collecting pygls>=2.1");
      options.onLine?.("  noise");
      return args[1] === "pip" ? pip : args[1]?.includes("tilewright_server") ? imports : base;
    },
  };
}

const make = (given: Tools, report: (message: string) => void = () => undefined, abort = new AbortController()) =>
  makeEnvironment(environment, "tilewright[local]", given, report, abort.signal);

describe("makeEnvironment", () => {
  it("makes the environment, installs what it is told to, tries it and tells what it does", async () => {
    const given = tools(OK);
    const told: string[] = [];
    const staging = stagingOf(environment);
    expect(await make(given, (message) => told.push(message))).toBe(staging);
    expect(given.lines.slice(1)).toEqual([
      `/usr/bin/python3 -m venv ${staging}`,
      `${pythonOf(staging)} -m pip install --disable-pip-version-check --no-input tilewright[local]`,
      `${pythonOf(staging)} -c import tilewright_server.server`,
    ]);
    expect(told).toEqual([
      "Making an environment with /usr/bin/python3",
      "Installing tilewright[local]",
      "Collecting pygls>=2.1",
    ]);
    const stamp = await readFile(path.join(staging, "tilewright.json"), "utf8");
    expect(JSON.parse(stamp)).toEqual({ requirement: "tilewright[local]", base: "/usr/bin/python3" });
  });

  it("removes what a failed installation left, gives pip's reason and leaves the old environment", async () => {
    await mkdir(environment);
    const failing = tools({ code: 1, stdout: "", stderr: "ERROR: No matching distribution found" });
    await expect(make(failing)).rejects.toThrow(/Installing tilewright.*failed \(exit code 1\)[^]*No matching/);
    expect(readdirSync(storage)).toEqual(["environment"]);
  });

  it("refuses what has no server in it", async () => {
    const other = tools(OK, OK, { code: 1, stdout: "", stderr: "No module named 'tilewright_server'" });
    await expect(make(other)).rejects.toThrow(/Starting the server of tilewright.*failed[^]*No module named/);
    expect(readdirSync(storage)).toEqual([]);
  });

  it("says so when no Python is new enough", async () => {
    await expect(make(tools(OK, { ...OK, code: 1 }))).rejects.toThrow(EnvironmentError);
    expect(readdirSync(storage)).toEqual([]);
  });

  it("starts over where an attempt was broken off", async () => {
    await mkdir(stagingOf(environment));
    await writeFile(path.join(stagingOf(environment), "half"), "");
    expect(existsSync(path.join(await make(tools(OK)), "half"))).toBe(false);
  });

  it("leaves nothing behind when it is cancelled", async () => {
    const abort = new AbortController();
    abort.abort();
    await expect(make(tools(OK), undefined, abort)).rejects.toThrow(/cancelled/);
    expect(readdirSync(storage)).toEqual([]);
  });
});

describe("swapIn", () => {
  const folder = async (name: string): Promise<string> => {
    const made = path.join(storage, name);
    await mkdir(made);
    await writeFile(path.join(made, name), "");
    return made;
  };

  it("puts the new environment in the place of the old", async () => {
    await folder("environment");
    await swapIn(await folder("environment.new"), environment);
    expect(readdirSync(storage)).toEqual(["environment"]);
    expect(readdirSync(environment)).toEqual(["environment.new"]);
  });

  it("needs no old one", async () => {
    await swapIn(await folder("environment.new"), environment);
    expect(readdirSync(storage)).toEqual(["environment"]);
  });

  it("brings the old one back where the new one cannot be moved", async () => {
    await folder("environment");
    await expect(swapIn(path.join(storage, "none"), environment)).rejects.toThrow(EnvironmentError);
    expect(readdirSync(environment)).toEqual(["environment"]);
  });
});

it("shows the commands it would run", () => {
  expect(installCommands("/e", "tilewright")).toEqual([
    "python3 -m venv /e",
    `${pythonOf("/e")} -m pip install tilewright`,
  ]);
});
