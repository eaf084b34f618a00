// The server and its settings: found, installed, updated, wrongly set, and in a folder that is not trusted.
import { until } from "./driver.mjs";
import {
  SQUIGGLE,
  problemCount,
  LENS,
  TOAST,
  place,
  hoverAt,
  button,
  dismissNotifications,
  processes,
  servers,
  withSettings,
} from "./steps.mjs";

/** A changed setting is in force without a restart: fewer chips are offered. */
export async function settings(editor) {
  await editor.open("softmax.py");
  const offered = async () => {
    await editor.goTo(...(await place("softmax.py", "tl.program_id")));
    const titles = await editor.lightBulb();
    await editor.press("Escape");
    return titles.filter((title) => /Optimize for/.test(title));
  };
  const many = await until(async () => (await offered()).length > 1 && offered(), "every chip to be offered");
  return withSettings(editor, { "tilewright.targets": ["hip:gfx950"] }, async () => {
    const few = await until(async () => (await offered()).length === 1 && offered(), "one chip to be offered");
    return { many, few };
  });
}

/** The palette's commands reach the server. */
export async function commands(editor) {
  await editor.open("softmax.py");
  const status = await editor.waitText(".statusbar-item", /Tilewright/);
  await editor.command("Tilewright: Show Debug Info");
  await editor.page.waitForSelector(".tab.active:has-text('Untitled')");
  const info = (await editor.texts(".editor-instance .view-lines")).join("\n");
  await editor.screenshot("5-debug-info");
  await editor.command("Tilewright: Restart Server");
  await editor.open("softmax.py");
  await editor.goTo(1);
  await editor.waitText(LENS, /Optimize…/);
  return { status, info };
}

/** Without a server the extension asks, makes an environment of its own, and works from there. */
export async function install(editor) {
  await editor.open("matmul.py");
  const question = await editor.waitText(TOAST, /found no server/);
  await editor.screenshot("6-no-server");
  await button(editor, "Install").click();
  const progress = await editor.waitText(TOAST, /installing the server: \S/);
  await editor.screenshot("6-installing");
  await editor.goTo((await place("matmul.py", "tl.dot("))[0]);
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.screenshot("6-installed");
  return { question, progress, problems: [await problemCount(editor)] };
}

/** An update that fails leaves the server that runs; one that succeeds takes its place. */
export async function update(editor) {
  const pids = async () => (await servers()).map(({ pid }) => pid);
  await editor.open("softmax.py");
  const before = await pids();
  const missing = { "tilewright.server.package": "/nowhere/tilewright-9.whl" };
  const { error, afterFailure } = await withSettings(editor, missing, async () => {
    await editor.command("Tilewright: Install or Update Server");
    const said = await editor.waitText(TOAST, /tilewright-9\.whl failed/);
    await editor.screenshot("6-update-failed");
    return { error: said, afterFailure: await pids() };
  });
  await dismissNotifications(editor);
  await editor.command("Tilewright: Install or Update Server");
  const replaced = async () => (await pids()).some((pid) => !before.includes(pid));
  await until(replaced, "the updated server");
  const hover = await hoverAt(editor, await place("softmax.py", "softmax_kernel"), /triton kernel/);
  return { before, error, afterFailure, afterUpdate: await pids(), hover };
}

/** A setting that names no server is an error that says so, with a way to the log. */
export async function wrongSetting(editor) {
  await editor.open("matmul.py");
  const error = await editor.waitText(TOAST, /tilewright\.interpreter/);
  await editor.screenshot("7-wrong-setting");
  await button(editor, "Show Log").click();
  const logged = await editor.waitText(".panel .view-line", /tilewright\.interpreter names/);
  return { error, logged };
}

/** In a folder that is not trusted the source is read and nothing of it is run. */
export async function untrusted(editor) {
  await editor.open("softmax.py");
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /not trusted/);
  await editor.screenshot("8-untrusted");
  await editor.goTo(...(await place("softmax.py", "tl.program_id")));
  const pattern = /softmax_kernel|tilewright/;
  const hover = await hoverAt(editor, await place("softmax.py", "softmax_kernel"), pattern);
  const ran = await processes(/tilewright\S* (optimize|inspect|profile|verify|compile|devices|toolchain)|tilewright\S*worker/);
  return { lens, hover, ran: ran.map(({ command }) => command) };
}
