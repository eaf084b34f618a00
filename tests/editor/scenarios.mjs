// What a person does with Tilewright in VS Code, one scenario after the other in one editor. Prints a JSON line for each:
// {"name", "ok", "seconds", "seen", "error"}; what was shown goes into "seen", and screenshots lie beside.
//
// node scenarios.mjs '{"install", "vsix", "folder", "state", "screenshots", "settings", "trusted", "models", "scenarios"}'
import { Editor } from "./driver.mjs";
import * as inputs from "./input_scenarios.mjs";
import * as optimizing from "./optimizing_scenarios.mjs";
import { chipList, firstSquiggle, kernels, olderRun, runPanel, twoChips } from "./panel_scenarios.mjs";
import * as reading from "./reading_scenarios.mjs";
import * as setup from "./setup_scenarios.mjs";
import { config } from "./steps.mjs";

const all = {
  ...reading,
  ...optimizing,
  ...setup,
  ...inputs,
  kernels,
  chipList,
  twoChips,
  runPanel,
  olderRun,
  firstSquiggle: (editor) => firstSquiggle(editor, startedAt),
};
const wanted = config.scenarios.map((name) => [name, all[name]]);

const startedAt = Date.now();
const editor = await Editor.start(config);
try {
  for (const [name, scenario] of wanted) {
    const began = Date.now();
    const report = { name, ok: true, seen: {}, error: null };
    try {
      report.seen = await scenario(editor);
    } catch (error) {
      Object.assign(report, { ok: false, error: `${error.message}\n${error.stack}` });
      await editor.command("Notifications: Show Notifications").catch(() => undefined);
      await editor.screenshot(`failed-${name}`);
      await editor.press("Escape", "Escape");
    }
    console.log(JSON.stringify({ ...report, seconds: (Date.now() - began) / 1000 }));
  }
} finally {
  await editor.stop();
}
