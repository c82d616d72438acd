/** What the tests of the React adapters share: an app in a page, and what it shows. */

import { createElement, type FunctionComponent, StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { onTestFinished } from "vitest";

export interface Mounted {
  readonly element: HTMLElement;
  readonly root: Root;
  readonly text: () => string;
}

/** Mounts a component, under StrictMode unless told otherwise. */
export function mount(component: FunctionComponent, { strict = true } = {}): Mounted {
  const element = document.createElement("div");
  document.body.append(element);
  const root = createRoot(element);
  onTestFinished(() => {
    root.unmount();
    element.remove();
  });
  root.render(strict ? createElement(StrictMode, null, createElement(component)) : createElement(component));
  return { element, root, text: () => element.textContent ?? "" };
}
