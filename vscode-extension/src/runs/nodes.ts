/** Elements as plain values, so that what is shown can be tested without a browser. Texts are never parsed as markup. */

export interface Node {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly children: readonly (Node | string)[];
}

export function h(tag: string, attributes: Node["attributes"] = {}, ...children: readonly (Node | string)[]): Node {
  return { tag, attributes, children };
}

/** All text below a node, in order. */
export function textOf(node: Node | string): string {
  return typeof node === "string" ? node : node.children.map(textOf).join(" ");
}

/** All nodes below and with a node that a class is on. */
export function withClass(node: Node | string, name: string): readonly Node[] {
  if (typeof node === "string") {
    return [];
  }
  const own = String(node.attributes["class"] ?? "").split(" ").includes(name) ? [node] : [];
  return [...own, ...node.children.flatMap((child) => withClass(child, name))];
}
