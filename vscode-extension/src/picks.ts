/** Questions asked with a quick pick. */
import * as vscode from "vscode";
import { configuredTargets } from "./settings";
import { targetChoices } from "./targets";

/** Which chip to optimize for; undefined when the person turned away. */
export async function pickTarget(document: vscode.Uri): Promise<string | undefined> {
  const items = targetChoices(configuredTargets(document)).map((choice) => ({
    label: choice.label,
    description: choice.target,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: "Optimize Kernel for…",
    placeHolder: "The chip whose compiler judges the result",
    matchOnDescription: true,
  });
  return picked?.description;
}
