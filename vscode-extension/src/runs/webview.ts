/** Runs inside the panel's page: draws what the extension sends, and sends back what is clicked. */
import { type Node } from "./nodes";
import { page, type Shown } from "./page";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const DRAWN = ["svg", "line", "text", "polyline", "rect", "circle", "path"];
const SVG = "http://www.w3.org/2000/svg";
const PARTS = ["runs", "head", "tree", "candidate", "charts"];

const editor = acquireVsCodeApi();
const last = new Map<string, string>();
let shown: Shown = { runs: [], run: null, record: null };
let selected: string | null = null;

function element(node: Node | string, inDrawing = false): globalThis.Node {
  if (typeof node === "string") {
    return document.createTextNode(node);
  }
  const drawn = inDrawing || DRAWN.includes(node.tag);
  const made = drawn ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  for (const [name, value] of Object.entries(node.attributes)) {
    made.setAttribute(name, String(value));
  }
  made.append(...node.children.map((child) => element(child, drawn)));
  return made;
}

/** Replaces the parts that differ from what is shown. The focus stays on what it was on. */
function draw(): void {
  const parts = page(shown, selected);
  const focused = document.activeElement?.getAttribute("data-select");
  for (const name of PARTS) {
    const node = parts[name];
    const text = JSON.stringify(node);
    if (node && last.get(name) !== text) {
      last.set(name, text);
      document.getElementById(name)?.replaceChildren(element(node));
    }
  }
  if (focused) {
    const again = [...document.querySelectorAll<HTMLElement>("[data-select]")];
    again.find((each) => each.dataset["select"] === focused)?.focus();
  }
}

window.addEventListener("message", (event: MessageEvent<Shown>) => {
  if (event.data.run !== shown.run) {
    selected = null;
  }
  shown = event.data;
  draw();
});

document.addEventListener("click", (event) => {
  const clicked = event.target instanceof Element ? event.target.closest<HTMLElement>("button") : null;
  const data = clicked?.dataset;
  if (data?.["select"]) {
    selected = data["select"];
    draw();
  } else if (data) {
    editor.postMessage({ ...data });
  }
});

editor.postMessage({ ready: "" });
