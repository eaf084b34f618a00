/**
 * The schema of specs, for the editor's YAML extension (redhat.vscode-yaml) where it is installed. A spec is known by its
 * keys and its place, which a pattern of names cannot say; the other kinds are in package.json.
 */
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";

const ID = "redhat.vscode-yaml";
const SCHEME = "tilewright-schema";
const SPEC = `${SCHEME}://schema/spec`;
const KEYS = /^(inputs|entry|ci|bench-gpu|problem|default_variant):/m;

interface YamlApi {
  registerContributor(
    scheme: string,
    requestSchema: (resource: string) => string | undefined,
    requestSchemaContent: (uri: string) => Promise<string> | string,
  ): boolean;
}

/**
 * Whether a YAML file is a spec: it has a spec's keys, and a Python file of its stem lies next to it, or it names its files,
 * or it lies in a tree of specs.
 */
export function isSpec(file: string, text: string, exists: (file: string) => boolean, tree = process.env["AIBENCH_SPECS_DIR"]): boolean {
  if (!/\.ya?ml$/.test(file) || !KEYS.test(text)) {
    return false;
  }
  const inTree = /[\\/]problems[\\/]specs[\\/]/.test(file) || (!!tree && file.startsWith(tree.replace(/[\\/]*$/, "/")));
  return inTree || /^files:/m.test(text) || exists(file.replace(/\.ya?ml$/, ".py"));
}

/** Offers the schema of specs. Whether there was somebody to offer it to. */
export async function registerSpecSchema(place: string, exists: (file: string) => boolean): Promise<boolean> {
  const extension = vscode.extensions.getExtension<YamlApi>(ID);
  const api = await extension?.activate();
  if (!api?.registerContributor) {
    return false;
  }
  const schemaOf = (resource: string): string | undefined => {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === resource);
    return document && isSpec(document.uri.fsPath, document.getText(), exists) ? SPEC : undefined;
  };
  return api.registerContributor(SCHEME, schemaOf, () => readFile(place, "utf8"));
}
