// What a person reads while writing a kernel: findings, values, fixes, the chip, the compiled lines.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { until } from "./driver.mjs";
import {
  config,
  SQUIGGLE,
  LENS,
  CHIP,
  TOAST,
  source,
  savedAfter,
  place,
  hoverAt,
  dismissNotifications,
  problemCount,
} from "./steps.mjs";

/** A pattern is underlined; hovering says why it matters, what to do and what it is worth. */
export async function diagnostics(editor) {
  await editor.open("matmul.py");
  const [line, column] = await place("matmul.py", "tl.dot(");
  await editor.goTo(line);
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.screenshot("1-squiggles");
  const hover = await hoverAt(editor, [line, column + 2], /Expected gain/);
  await editor.screenshot("1-hover");
  await editor.press("Escape");
  return { hover, problems: [await problemCount(editor)] };
}

/** What is inferred of a value stands behind its name and in its hover; an issue can be ignored where it is. */
export async function tiles(editor) {
  await editor.open("matmul.py");
  const [line, column] = await place("matmul.py", "acc = tl.zeros");
  await editor.goTo(line);
  const hint = await editor.waitText(".view-line", /acc: \[BLOCK_M, BLOCK_N\] fp32 = tl\.zeros/);
  await editor.screenshot("1-inlay-hints");
  const [at, from] = await place("matmul.py", "a_ptrs = ");
  const hover = await hoverAt(editor, [at, from + 2], /tile of pointers/);
  await editor.screenshot("1-tile-hover");
  const value = await hoverAt(editor, [line, column + 1], /BLOCK_M, BLOCK_N/);
  await editor.goTo(...(await place("matmul.py", "tl.dot(")));
  const offered = await editor.lightBulb();
  await editor.screenshot("1-ignore");
  await editor.press("Escape");
  return { hint, hover, value, offered };
}

/** An NKI kernel: shapes and memory behind names, cost and limits of an instruction, its estimate, a fix, Trainium. */
export async function nki(editor) {
  const name = "normalize_nki.py";
  await editor.open(name);
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /trn2: .*estimated, not measured/);
  await editor.screenshot("9-nki-lens");
  const [line] = await place(name, "scale = nl.rsqrt");
  await editor.goTo(line);
  const hint = await editor.waitText(".view-line", /scale: 128 × 1 fp32 SBUF = nl\.rsqrt/);
  const loop = await editor.waitText(".view-line", /affine_range\(32\):.*SBUF .* KiB/);
  const [at, from] = await place(name, "tensor_scalar(");
  const hover = await hoverAt(editor, [at, from + 2], /This line on trn2/);
  await editor.screenshot("9-nki-hover");
  await editor.press("Escape");
  const [bad, start] = await place(name, "nisa.scalar_engine");
  await editor.goTo(bad, start + 6);
  await editor.page.waitForSelector(SQUIGGLE);
  const fixes = await editor.lightBulb();
  await editor.screenshot("9-nki-actions");
  await editor.press("Escape");
  await editor.goTo(...(await place(name, "normalize(x, g)")));
  const offered = await editor.lightBulb();
  await editor.screenshot("9-nki-optimize");
  await editor.press("Escape");
  return { lens, hint, loop, hover, fixes, offered };
}

/** A quick fix is shown with what is known of it, then changes the text as one step to undo. */
export async function quickFix(editor) {
  await editor.open("linear_gelu.py");
  const before = await source("linear_gelu.py");
  await editor.goTo(...(await place("linear_gelu.py", "(tl.exp(2 * u) - 1)")));
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.lightBulb();
  const chosen = await editor.choose(/Write tanh so that/);
  const evidence = await editor.waitText(TOAST, /linear_gelu\.py:/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
  await editor.screenshot("2-quick-fix");
  await editor.page.locator(".editor-actions .action-label[aria-label^='Apply the Proposed Edit']").click();
  await editor.page.waitForSelector('.tab.active.dirty[data-resource-name="linear_gelu.py"]');
  await editor.focusEditor();
  await editor.press("Control+S");
  const after = await savedAfter("linear_gelu.py", before);
  await editor.press("Control+Z", "Control+S");
  await until(async () => (await source("linear_gelu.py")) === before, "one undo to bring the text back");
  return { chosen, evidence, before, after };
}

/** An edit that was shown is dropped when the file changes under it. */
export async function outdated(editor) {
  await editor.open("linear_gelu.py");
  const before = await source("linear_gelu.py");
  await editor.goTo(...(await place("linear_gelu.py", "(tl.exp(2 * u) - 1)")));
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.lightBulb();
  await editor.choose(/Write tanh so that/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
  let edits = 0;
  // A change on disk is not always noticed, so more follow.
  const told = await until(async () => {
    edits += 1;
    await writeFile(path.join(config.folder, "linear_gelu.py"), `${before}# changed ${edits}\n`);
    return editor.waitText(TOAST, /linear_gelu\.py has changed/, 10_000).catch(() => undefined);
  }, "the change to be noticed");
  await editor.page.waitForSelector(".monaco-diff-editor", { state: "detached" });
  await editor.screenshot("2-outdated");
  await writeFile(path.join(config.folder, "linear_gelu.py"), before);
  await dismissNotifications(editor);
  return { told };
}

/** The chip follows the file's host code: its name and the reason stand in the status bar, where a click changes it. */
export async function chip(editor) {
  await editor.open("scaled_product.py");
  const shown = await editor.waitText(CHIP, /xpu:bmg-g31/);
  const why = await editor.page.locator(`${CHIP} [aria-label]`).first().getAttribute("aria-label");
  const pick = async (typed) => {
    await editor.page.locator(`${CHIP} a`).click();
    await editor.page.waitForSelector(".quick-input-list .monaco-list-row");
    const chips = await editor.texts(".quick-input-list .monaco-list-row");
    await editor.screenshot(`2-chips-${typed.replace(/\W+/g, "-")}`);
    await editor.page.keyboard.type(typed);
    await editor.press("Enter");
    return chips;
  };
  const chips = await pick("xpu:pvc");
  const chosen = await editor.waitText(CHIP, /xpu:pvc/);
  const offered = await pick("Follow the file");
  const followed = await editor.waitText(CHIP, /xpu:bmg-g31/);
  await editor.page.mouse.move(700, 300); // the item's hover would cover buttons of notifications
  return { shown, why, chips, chosen, offered, followed };
}

/** The texts of the lines that are highlighted in one of the editors side by side, 0 the left one. */
function highlighted(editor, group) {
  return editor.page.evaluate((number) => {
    const shown = document.querySelectorAll(".editor-group-container .monaco-editor")[number];
    const tops = [...shown.querySelectorAll('.view-overlays [class*="ced-"]')].map((mark) => mark.getBoundingClientRect().top);
    const lines = [...shown.querySelectorAll(".view-line")];
    const marked = lines.filter((line) => tops.some((top) => Math.abs(top - line.getBoundingClientRect().top) < 2));
    return marked.map((line) => line.textContent.replaceAll("\u00a0", " ").trim());
  }, group);
}

/** An opened file is compiled by itself: what stands out is underlined, the lens leads to the assembly beside it. */
export async function compiled(editor) {
  await editor.open("layernorm.py");
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /cuda:90: \d+ registers/);
  const hover = await hoverAt(editor, await place("layernorm.py", "layernorm_kernel("), /a multiprocessor/);
  const [line, column] = await place("layernorm.py", "total += x");
  const onLine = await hoverAt(editor, [line, column + 1], /This line, compiled/);
  await editor.screenshot("9-compiled");
  await editor.press("Control+Shift+M");
  const problems = await until(async () => {
    const found = (await editor.texts(".markers-panel .monaco-list-row")).filter((text) => /double_precision/.test(text));
    return found.length > 0 && found;
  }, "the compiled finding among the problems");
  await editor.screenshot("9-problems");
  await editor.press("Control+Shift+M");
  await editor.goTo(1);
  await editor.page.locator(`${LENS} a`, { hasText: "cuda:90" }).first().click();
  const tab = await editor.waitText(".tab", /layernorm_kernel@\w+ cuda:90 sass/);
  await editor.goTo(line, column + 1);
  const forth = await until(async () => {
    const found = await highlighted(editor, 1);
    return found.some((text) => /DADD/.test(text)) && found;
  }, "the line's instructions to be highlighted");
  await editor.screenshot("9-assembly");
  await editor.page.locator(".editor-group-container").nth(1).locator(".view-line", { hasText: "LDG" }).first().click();
  const back = await until(async () => {
    const found = await highlighted(editor, 0);
    return found.length > 0 && found;
  }, "the instruction's line to be highlighted");
  await editor.screenshot("9-assembly-back");
  await editor.goTo(line);
  await editor.press("End");
  await editor.page.keyboard.type(" + 0.0");
  await editor.press("Control+2", "Control+Home");
  const stale = await editor.waitText(".view-line", /STALE/);
  await editor.screenshot("9-stale");
  await editor.focusEditor();
  await editor.press("Control+S");
  const other = async () => (await editor.texts(".tab")).find((text) => /layernorm_kernel@/.test(text) && text !== tab);
  const refreshed = await until(other, "the assembly of the saved text");
  await editor.screenshot("9-refreshed");
  await editor.command("View: Close All Editors");
  await editor.page.keyboard.press("Escape");
  return { lens, hover, onLine, problems, tab, forth, back, stale, refreshed };
}
