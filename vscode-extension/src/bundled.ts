/** The server's wheel that is part of this extension, and what is installed when no setting says otherwise. */
import { readdir } from "node:fs/promises";
import * as path from "node:path";
import { EnvironmentError } from "./environment";

/** What `pip install` is given, and how it is called in front of people. */
export interface Requirement {
  readonly argument: string;
  readonly label: string;
}

const WHEEL = /^tilewright-.+\.whl$/;

/** The version of a requirement that is the bundled wheel; undefined for what a setting names. */
export function bundledVersion(wanted: Requirement): string | undefined {
  return /^tilewright-(.+?)-.*\(part of this extension\)$/.exec(wanted.label)?.[1];
}

/** The setting's requirement, else the wheel in `folder`. Never a bare name: an index may hold a stranger's package. */
export async function requirement(setting: string, folder: string): Promise<Requirement> {
  if (setting) {
    return { argument: setting, label: setting };
  }
  const files = await readdir(folder).catch(() => []);
  const [wheel, ...more] = files.filter((file) => WHEEL.test(file));
  if (!wheel || more.length > 0) {
    throw new EnvironmentError(
      `This build of the extension has ${wheel ? "several server wheels" : "no server wheel"} in ${folder}. ` +
        "Name one, or a checkout, in the setting tilewright.server.package, or an interpreter that has the server in " +
        "tilewright.interpreter.",
    );
  }
  // With what the settings and tools of the extension need: a client for models, and one for agents.
  return { argument: `${path.join(folder, wheel)}[mcp,models]`, label: `${wheel} (part of this extension)` };
}
