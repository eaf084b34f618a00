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

/** The setting's requirement, else the wheel in `folder`. A bare name is never guessed: an index may hold a stranger's. */
export async function requirement(setting: string, folder: string): Promise<Requirement> {
  if (setting) {
    return { argument: setting, label: setting };
  }
  const files = await readdir(folder).catch(() => []);
  const [wheel, ...more] = files.filter((file) => WHEEL.test(file));
  if (!wheel || more.length > 0) {
    throw new EnvironmentError(
      `This build of the extension has ${wheel ? "several server wheels" : "no server wheel"} in ${folder}. Name one, ` +
        "or a checkout, in the setting tilewright.server.package, or an interpreter that has the server in " +
        "tilewright.interpreter.",
    );
  }
  return { argument: path.join(folder, wheel), label: `${wheel} (part of this extension)` };
}
