/** Questions asked with a quick pick. */
import * as vscode from "vscode";
import { configuredTargets } from "./settings";
import { DEFAULT_TARGETS, figuresOf, targetChoices, type Told } from "./targets";

/** Which chip to optimize for, the file's own first; undefined when the person turned away. */
export async function pickTarget(document: vscode.Uri, told?: Told): Promise<string | undefined> {
  const offered = configuredTargets(document);
  const own = told && told.origin !== "default" ? [told.target] : [];
  const items = targetChoices([...own, ...(offered.length > 0 ? offered : DEFAULT_TARGETS)]).map((choice) => ({
    label: choice.label,
    description: choice.target,
    detail: figuresOf(choice.target, told),
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: "Optimize Kernel for…",
    placeHolder: "The chip whose compiler judges the result",
    matchOnDescription: true,
  });
  return picked?.description;
}
