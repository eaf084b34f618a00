import { describe, expect, it } from "vitest";
import { discover, type Machine, type Places } from "../src/discovery";
import type { Outcome } from "../src/processes";

const NOWHERE: Places = { serverPath: "", interpreter: "", chosenPythons: [], workspacePythons: [], ownPython: "/own/bin/python" };
const done = (stdout: string): Outcome => ({ code: 0, stdout, stderr: "" });

/** A machine with these programs, each answering with a fixed text; `tilewright` is on the path if it is listed. */
function machine(programs: Record<string, Outcome>): Machine & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    exists: (file) => Promise.resolve(file in programs),
    which: (name) => Promise.resolve(Object.keys(programs).find((file) => file.endsWith(`/bin/${name}`))),
    run: (command) => {
      asked.push(command);
      return Promise.resolve(programs[command] ?? { code: null, stdout: "", stderr: "not found" });
    },
  };
}

const WITH = done("python 3.12\ntilewright 0.1.0\n");
const WITHOUT = done("python 3.12\nnone\n");

describe("discover", () => {
  it("takes the program that the setting names, and looks nowhere else", async () => {
    const here = machine({ "/opt/tilewright": done("tilewright 0.2.0\n"), "/own/bin/python": WITH });
    const found = await discover({ ...NOWHERE, serverPath: "/opt/tilewright" }, here);
    expect(found).toEqual({
      kind: "found",
      server: {
        command: "/opt/tilewright",
        args: ["lsp"],
        version: "0.2.0",
        origin: "setting tilewright.server.path",
      },
    });
    expect(here.asked).toEqual(["/opt/tilewright"]);
  });

  it("reports a setting that names nothing instead of passing it over", async () => {
    const here = machine({ "/own/bin/python": WITH });
    const found = await discover({ ...NOWHERE, interpreter: "/gone/python" }, here);
    expect(found).toMatchObject({ kind: "wrong", message: expect.stringContaining("/gone/python") as string });
  });

  it("says what a named interpreter lacks", async () => {
    const here = machine({ "/bin/python": WITHOUT, "/old/python": done("python 3.9\nnone\n"), "/bin/sh": done("") });
    const message = async (interpreter: string): Promise<string> => {
      const found = await discover({ ...NOWHERE, interpreter }, here);
      return found.kind === "wrong" ? found.message : found.kind;
    };
    expect(await message("/bin/python")).toMatch(/not installed in it; install its wheel or checkout/);
    expect(await message("/old/python")).toMatch(/Python 3\.9; the server needs 3\.11/);
    expect(await message("/bin/sh")).toMatch(/did not answer as a Python does/);
  });

  it("prefers the workspace's environment to the search path", async () => {
    const programs = { "/ws/.venv/bin/python": WITH, "/usr/bin/tilewright": done("tilewright 0.1.0") };
    const found = await discover({ ...NOWHERE, workspacePythons: ["/ws/.venv/bin/python"] }, machine(programs));
    expect(found).toMatchObject({ server: { command: "/ws/.venv/bin/python", args: ["-m", "tilewright_server"] } });
  });

  it("goes on where an environment does not have the server", async () => {
    const programs = { "/ws/.venv/bin/python": WITHOUT, "/usr/bin/tilewright": done("tilewright 0.1.0") };
    const found = await discover({ ...NOWHERE, workspacePythons: ["/ws/.venv/bin/python"] }, machine(programs));
    expect(found).toMatchObject({ server: { command: "/usr/bin/tilewright", origin: "search path" } });
  });

  it("ends with the environment that the extension made", async () => {
    const found = await discover(NOWHERE, machine({ "/own/bin/python": WITH }));
    expect(found).toMatchObject({ server: { command: "/own/bin/python", origin: "environment of the extension" } });
  });

  it("names every place it looked at when there is no server", async () => {
    const found = await discover({ ...NOWHERE, workspacePythons: ["/ws/.venv/bin/python"] }, machine({}));
    expect(found).toEqual({
      kind: "missing",
      looked: [
        "workspace environment: /ws/.venv/bin/python",
        "search path: no tilewright",
        "environment of the extension: /own/bin/python",
      ],
    });
  });
});
