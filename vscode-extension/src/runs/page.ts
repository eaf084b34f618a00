/** What the run panel shows of a run, as nodes; pure. Buttons carry what they ask for in `data-` attributes. */
import { bestChart, type Chart, roofChart } from "./charts";
import { comparison, gain, headline, type Row } from "./figures";
import {
  bestOf,
  type Branch,
  branches,
  type Candidate,
  isApplicable,
  isOver,
  originalOf,
  pathTo,
  type RunRecord,
  type RunView,
} from "./model";
import { h, type Node } from "./nodes";

/** What the panel holds. */
export interface Shown {
  readonly runs: readonly RunView[];
  /** The run in front. */
  readonly run: string | null;
  readonly record: RunRecord | null;
}

const WORDS: Readonly<Record<Candidate["verdict"], string>> = {
  original: "original",
  judging: "being judged",
  kept: "kept",
  refused: "refused",
  brokeOff: "broke off",
};

const OLDER = button("Open an older run…", { "data-older": "pick" });

/** The parts of the page, each of which can be replaced alone. `selected` is a candidate's id. */
export function page(shown: Shown, selected: string | null): Readonly<Record<string, Node>> {
  const view = shown.runs.find(({ head }) => head.run === shown.run) ?? shown.runs.at(-1);
  if (!view) {
    const empty = h("p", { class: "note" }, "No optimization ran in this window. Optimize Kernel for… starts one.");
    return { runs: h("div", { class: "tabs" }, OLDER), head: empty, tree: h("div"), candidate: h("div"), charts: h("div") };
  }
  const chosen = view.candidates.find(({ id }) => id === selected) ?? bestOf(view) ?? originalOf(view);
  return {
    runs: tabs(shown.runs, view),
    head: head(view),
    tree: h("div", { class: "tree" }, h("h2", {}, "Candidates"), list(branches(view.candidates), chosen?.id)),
    candidate: chosen ? candidate(view, chosen) : h("p", { class: "note" }, "No candidate yet."),
    charts: h("div", {}, ...[bestChart(view, shown.record ?? undefined), roofChart(view, shown.record ?? undefined)].map(chart)),
  };
}

function tabs(runs: readonly RunView[], now: RunView): Node {
  const tab = ({ head }: RunView): Node => {
    const name = `${fileOf(head.uri)} for ${head.target ?? "no chip"}: ${head.state}`;
    const isNow = head.run === now.head.run;
    return h("button", { class: isNow ? "tab now" : "tab", "data-show": head.run, "aria-pressed": String(isNow) }, name);
  };
  return h("div", { class: "tabs", role: "group", "aria-label": "Runs" }, ...(runs.length > 1 ? runs.map(tab) : []), OLDER);
}

function head(view: RunView): Node {
  const { head, notes } = view;
  const best = bestOf(view);
  const applies = best && isApplicable(view, best.id) && head.moved !== "kernel";
  const buttons = [
    ...(isOver(head) ? [] : [button("Cancel", { "data-cancel": head.run })]),
    ...(isOver(head) && applies ? [button("Apply the best", { "data-apply": best.id })] : []),
  ];
  const moved = head.moved === "kernel" ? ["The kernel changed since: this result does not fit the file any more."] : [];
  return h(
    "header",
    {},
    h("h1", {}, `${fileOf(head.uri)}${head.kernel ? `, ${head.kernel}` : ""} for ${head.target ?? "no chip"}`),
    h("progress", { max: 100, value: isOver(head) ? 100 : (head.percent ?? 0), "aria-label": "progress" }),
    h("p", { class: "status", role: "status" }, headline(head).join(" · ")),
    ...(head.evidence ? [h("p", { class: "evidence" }, `Evidence: ${head.evidence}`)] : []),
    ...[...moved, ...notes].map((note) => h("p", { class: "note" }, note)),
    h("div", { class: "buttons" }, ...buttons),
  );
}

function list(found: readonly Branch[], selected: string | undefined): Node {
  return h("ul", { role: "tree" }, ...found.map((branch) => leaf(branch, selected)));
}

function leaf({ candidate: one, below }: Branch, selected: string | undefined): Node {
  const number = one.number === null ? "" : `${one.number} `;
  const words = one.verdict === "original" ? "original" : `${number}${one.proposer.replace(/^rewrite:/, "")}`;
  const state = one.verdict === "original" ? "" : `${WORDS[one.verdict]}${one.level ? `, ${one.level}` : ""}`;
  const isNow = one.id === selected;
  const line = h(
    "button",
    { class: `leaf ${one.verdict}${isNow ? " now" : ""}`, "data-select": one.id, role: "treeitem", "aria-selected": String(isNow) },
    h("span", { class: "what" }, words),
    h("span", { class: "state" }, state),
    ...(one.speedup ? [h("span", { class: "speed measured" }, `${one.speedup.value.toFixed(2)}x`)] : []),
    ...(!one.speedup && one.estimate ? [h("span", { class: "speed estimated" }, `~${one.estimate.value.toFixed(2)}x`)] : []),
  );
  return h("li", { role: "none" }, line, ...(below.length > 0 ? [list(below, selected)] : []));
}

function candidate(view: RunView, one: Candidate): Node {
  if (one.verdict === "original") {
    const rows = comparison(one, one);
    return h("section", {}, h("h2", {}, "Original"), table(rows, "as it is", "as it is"));
  }
  const path = pathTo(view.candidates, one.id);
  const parent = path.at(-2);
  const steps = path.length - 1;
  const buttons = [
    ...(parent ? [button("Show its changes", { "data-diff": one.id, "data-with": parent.id })] : []),
    ...(path[0] && path[0] !== parent ? [button("Compare with the original", { "data-diff": one.id, "data-with": path[0].id })] : []),
    ...(isApplicable(view, one.id) && view.head.moved !== "kernel" && isOver(view.head)
      ? [button(steps === 1 ? "Apply this step" : `Apply the ${steps} steps up to here`, { "data-apply": one.id })]
      : []),
  ];
  return h(
    "section",
    {},
    h("h2", {}, `Candidate ${one.number ?? ""}: ${WORDS[one.verdict]}`),
    h("dl", {}, ...facts(one).flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)])),
    h("div", { class: "buttons" }, ...buttons),
    table(comparison(parent, one), "before", "after"),
  );
}

function facts(one: Candidate): readonly (readonly [string, string])[] {
  const all: readonly (readonly [string, string])[] = [
    [one.verdict === "refused" ? "Refused because" : "Why", one.reason],
    ["Change", one.rationale],
    ["Proposed by", [one.proposer, one.stage && `stage ${one.stage}`].filter(Boolean).join(", ")],
    ["Verified to", one.level ?? "not judged yet"],
    ["Speed over its parent", gain(one)],
    ["Judged in", one.seconds === null ? "" : `${one.seconds.toFixed(1)} s`],
  ];
  return all.filter(([, value]) => value !== "");
}

function table(rows: readonly Row[], before: string, after: string): Node {
  if (rows.length === 0) {
    return h("p", { class: "note" }, "Registers, spills and estimates: not known, because it was not compiled.");
  }
  const cells = rows.map((row) =>
    h(
      "tr",
      row.changed ? { class: "changed" } : {},
      h("th", { scope: "row" }, `${row.kernel}: ${row.what}`),
      h("td", {}, row.before),
      h("td", {}, row.after),
    ),
  );
  const top = h("tr", {}, h("th", { scope: "col" }, "By compiler and cost model"), h("th", { scope: "col" }, before), h("th", { scope: "col" }, after));
  return h("table", {}, h("thead", {}, top), h("tbody", {}, ...cells));
}

function chart({ title, drawing, note }: Chart): Node {
  return h("figure", {}, h("h2", {}, title), ...(drawing ? [drawing] : []), h("figcaption", {}, note));
}

function button(label: string, data: Node["attributes"]): Node {
  return h("button", { class: "action", ...data }, label);
}

export function fileOf(uri: string): string {
  return decodeURIComponent(uri.split("/").at(-1) ?? uri);
}
