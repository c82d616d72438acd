/** What is put into an element: text is never read as markup. */
export type Content = Node | string | undefined;

/** An element with attributes and content. `true` is an attribute without a value, `undefined` and `false` none. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string | boolean | undefined>> = {},
  ...content: readonly Content[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(attribute, value === true ? "" : value);
  }
  for (const one of content) if (one !== undefined) element.append(one);
  return element;
}

/** A button of its own: it submits nothing. */
export function button(text: string, act: () => void, attributes: Readonly<Record<string, string>> = {}): HTMLElement {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", act);
  return element;
}

/** A moment, as the reader writes it. */
export function time(at: number): HTMLElement {
  const date = new Date(at);
  return make("time", { datetime: date.toISOString() }, date.toLocaleString());
}
