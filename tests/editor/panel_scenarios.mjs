// What a person does with the Kernels view, the run panel, the chips and the assembly of two of them.
import { until } from "./driver.mjs";
import { hoverAt, place } from "./steps.mjs";

const LENS = ".codelens-decoration";
const CHIP = '.statusbar-item[id$="tilewright.chip"]';
const ROWS = ".pane-body .monaco-list-row";
const PICKS = ".quick-input-list .monaco-list-row";

/** The page inside the frames of the one webview that is open. */
export async function webview(editor) {
  return until(async () => {
    for (const frame of editor.page.frames()) {
      if ((await frame.locator("main.columns").count().catch(() => 0)) > 0) {
        return frame;
      }
    }
    return undefined;
  }, "the run panel");
}

/** Every kernel of the folder with its worst issue; a click leads to it, and a save brings it up to date. */
export async function kernels(editor) {
  await editor.open("layernorm.py");
  await editor.goTo(1);
  await editor.waitText(LENS, /cuda:90: \d+ registers/);
  await editor.command("View: Show Tilewright");
  const row = await editor.waitText(ROWS, /layernorm_kernel.*of roof/);
  const rows = await editor.texts(ROWS);
  await editor.screenshot("11-kernels");
  await editor.page.locator(ROWS, { hasText: "linear_gelu_kernel" }).first().click();
  await editor.page.waitForSelector('.tab.active[data-resource-name="linear_gelu.py"]');
  await editor.command("View: Show Explorer");
  await editor.focusEditor();
  return { row, rows };
}

/** All chips, with what can be had for each here. */
export async function chipList(editor) {
  await editor.open("softmax.py");
  await editor.waitText(CHIP, /cuda:90/);
  await editor.page.locator(`${CHIP} a`).click();
  await editor.page.waitForSelector(PICKS);
  await editor.screenshot("11-chips");
  const shown = await editor.texts(PICKS);
  await editor.page.keyboard.type("neuron");
  const neuron = await until(async () => {
    const found = await editor.texts(PICKS);
    return found.every((text) => /neuron/.test(text)) && found;
  }, "the NeuronCores");
  await editor.screenshot("11-chips-neuron");
  await editor.press("Escape");
  return { shown, neuron };
}

/** A second chip's assembly next to the first; the cursor's line is marked in both, and the text has colours. */
export async function twoChips(editor) {
  await editor.open("softmax.py");
  await editor.goTo(1);
  await editor.waitText(LENS, /cuda:90: \d+ registers/);
  await editor.page.locator(`${LENS} a`, { hasText: "cuda:90" }).first().click();
  await editor.waitText(".tab", /softmax_kernel@\w+ cuda:90 sass/);
  await editor.page.locator(".tab", { hasText: "cuda:90 sass" }).click();
  await editor.command("Tilewright: Compare with Another Chip");
  await editor.page.waitForSelector(PICKS);
  await editor.page.keyboard.type("hip:gfx942");
  await editor.press("Enter");
  const tab = await editor.waitText(".tab", /softmax_kernel@\w+ hip:gfx942/);
  await editor.focusEditor();
  await editor.goTo(15);
  const groups = ".editor-group-container";
  const colours = await until(async () => {
    const classes = await editor.page.locator(groups).nth(1).locator(".view-line span[class^='mtk']").evaluateAll((spans) => [
      ...new Set(spans.map((span) => span.className)),
    ]);
    return classes.length > 2 && classes;
  }, "colours in the assembly");
  const links = await editor.page.locator(`${groups} .detected-link`).count();
  await editor.screenshot("11-two-chips");
  await editor.command("View: Close All Editors");
  return { tab, colours: colours.length, links };
}

/** A run has a panel: its candidates, charts and figures; a candidate's changes in a diff; a part of its steps applied. */
export async function runPanel(editor) {
  await editor.open("softmax.py");
  const [line] = [9];
  await editor.goTo(line, 8);
  await editor.lightBulb();
  await editor.choose(/Optimize for NVIDIA/);
  await editor.command("Tilewright: Show Runs");
  const frame = await webview(editor);
  const status = frame.locator(".status");
  await until(async () => /running/.test((await status.allInnerTexts()).join(" ")), "the run in the panel");
  await editor.screenshot("12-running");
  await editor.page.locator(".notification-toast a.monaco-button", { hasText: "Discard" }).click();
  const over = async () => /^(done|cancelled)/.test((await status.allInnerTexts()).join(" "));
  await until(over, "the run to be over");
  await until(async () => (await frame.locator("figure svg").count()) > 1, "the charts");
  await editor.press("Escape");
  const page = async (selector) => (await frame.locator(selector).allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  const seen = { status: await page(".status"), tree: await page(".leaf"), charts: await page("figure"), figures: await page("tr") };
  await editor.screenshot("12-run-panel");
  await frame.locator(".leaf.kept").first().click();
  seen.candidate = (await page("#candidate")).join(" ");
  await frame.locator("button[data-diff]").first().click();
  await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
  await editor.screenshot("12-candidate-diff");
  await (await webview(editor)).locator("button[data-apply]").first().click();
  await editor.page.locator(".notification-toast a.monaco-button", { hasText: "Apply" }).click();
  await editor.page.waitForSelector('.tab.dirty[data-resource-name="softmax.py"]');
  await editor.screenshot("12-part-applied");
  await editor.open("softmax.py");
  await editor.command("File: Revert File");
  await editor.command("View: Close All Editors");
  return seen;
}

/** A run that the engine has on record is opened in the panel, also after the server was started again. */
export async function olderRun(editor) {
  await editor.open("softmax.py");
  await editor.command("Tilewright: Restart Server");
  await hoverAt(editor, await place("softmax.py", "softmax_kernel"), /triton kernel/);
  await editor.press("Escape");
  await editor.command("Tilewright: Open an Older Run");
  await editor.waitText(PICKS, /candidates? kept/);
  await editor.page.keyboard.type("softmax.py for cuda:90"); // other editors record their runs too
  await editor.waitText(`${PICKS}.focused`, /^softmax\.py for cuda:90/);
  const offered = await editor.texts(PICKS);
  await editor.screenshot("12-older-runs");
  await editor.press("Enter");
  const frame = await webview(editor);
  const status = frame.locator(".status");
  const head = await until(async () => {
    const said = (await status.allInnerTexts()).join(" ");
    return /on record since/.test(said) && said;
  }, "the older run in the panel");
  const leaves = (await frame.locator(".leaf").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  await until(async () => (await frame.locator("figure svg").count()) > 0, "the charts");
  await editor.screenshot("12-older-run");
  await editor.command("View: Close All Editors");
  return { offered, head, leaves };
}

/** From a clean profile to the first squiggle, with what each step took in seconds. */
export async function firstSquiggle(editor, began) {
  const opened = Date.now();
  await editor.open("matmul.py");
  const shown = Date.now();
  await editor.goTo(41);
  await editor.page.waitForSelector(".squiggly-warning, .squiggly-info, .squiggly-error");
  const marked = Date.now();
  await editor.screenshot("13-first-squiggle");
  const seconds = (from, to) => Math.round((to - from) / 100) / 10;
  return { workbench: seconds(began, opened), fileShown: seconds(opened, shown), squiggle: seconds(shown, marked), all: seconds(began, marked) };
}
