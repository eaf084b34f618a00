// A kernel without a spec: its findings fixed at once, a spec drafted, launches captured; and its names in colours.
import { rm } from "node:fs/promises";
import path from "node:path";
import { until } from "./driver.mjs";
import { config, dismissNotifications, LENS, place, savedAfter, source, SQUIGGLE, TOAST } from "./steps.mjs";

const NAME = "plain.py";

/** Constexprs, pointers, tiles and masks each have a colour of the theme; by name, the colour of its last place in view. */
export async function colours(editor) {
  await editor.open(NAME);
  const [line] = await place(NAME, "mask = cols");
  await editor.goTo(line);
  const names = ["x_ptr", "BLOCK", "mask", "x"];
  const read = () =>
    editor.page.evaluate((wanted) => {
      const spans = [...document.querySelectorAll(".editor-instance .view-line span[class^='mtk']")];
      const word = (name) => spans.filter((span) => span.textContent.trim() === name).at(-1);
      return wanted.map((name) => (word(name) ? getComputedStyle(word(name)).color : ""));
    }, names);
  const found = await until(async () => {
    const seen = await read();
    return new Set(seen.filter(Boolean)).size > 2 && seen;
  }, "three colours in the kernel");
  await editor.screenshot("14-colours");
  return { colours: Object.fromEntries(names.map((name, at) => [name, found[at]])) };
}

/** Every report of one rule goes with one entry of the light bulb. */
export async function fixKind(editor) {
  await editor.open(NAME);
  const before = await source(NAME);
  await editor.goTo(...(await place(NAME, "torch.cuda.synchronize")));
  await editor.page.waitForSelector(SQUIGGLE);
  const offered = await editor.lightBulb();
  await editor.screenshot("14-fix-all-of-a-kind");
  const chosen = await editor.choose(/Fix all device_host_sync in this file/);
  await editor.page.waitForSelector(`.tab.active.dirty[data-resource-name="${NAME}"]`);
  await editor.focusEditor();
  await editor.press("Control+S");
  const after = await savedAfter(NAME, before);
  await dismissNotifications(editor);
  return { offered, chosen, before, after };
}

/** The light bulb drafts a spec and opens it at its first gap; a command and F12 lead between the two files. */
export async function addSpec(editor) {
  await editor.open(NAME);
  await editor.goTo(...(await place(NAME, "scale_kernel(x_ptr")));
  const offered = await editor.lightBulb();
  await editor.screenshot("14-add-a-spec");
  await editor.choose(/Add a spec/);
  await editor.page.waitForSelector('.tab.active[data-resource-name="plain.yaml"]');
  const told = await editor.waitText(TOAST, /plain\.yaml is a draft/);
  const draft = await source("plain.yaml");
  await editor.waitText(".view-line", /FILL_IN/);
  await editor.screenshot("14-spec-draft");
  await dismissNotifications(editor);
  await editor.command("Tilewright: Go to Spec or Kernel");
  await editor.page.waitForSelector(`.tab.active[data-resource-name="${NAME}"]`);
  const line = await editor.waitText(".statusbar-item", /^Ln \d+/);
  await editor.open("plain.yaml");
  await editor.goTo(...(await place("plain.yaml", "scale\n")));
  await editor.press("F12");
  await editor.page.waitForSelector(`.tab.active[data-resource-name="${NAME}"]`);
  await editor.command("View: Close All Editors");
  await rm(path.join(config.folder, "plain.yaml"));
  return { offered, told, draft, line };
}

/** A script is run with the recorder in it, and the kernel is compiled as it was launched. */
export async function capture(editor) {
  await editor.open(NAME);
  await editor.goTo(1);
  await editor.command("Tilewright: Capture Launches");
  await editor.page.waitForSelector(".quick-input-list .monaco-list-row");
  const commands = await editor.texts(".quick-input-list .monaco-list-row");
  await editor.screenshot("14-capture-commands");
  await editor.press("Enter");
  const told = await editor.waitText(TOAST, /launches? recorded of scale_kernel|no launch was recorded|failed/);
  await editor.screenshot("14-captured");
  await dismissNotifications(editor);
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /cuda:90: \d+ registers(?!.*assumed)/);
  await editor.screenshot("14-compiled-as-captured");
  return { commands, told, lens };
}
