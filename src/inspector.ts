/** `<samekey-inspector>`: looks at operations and decides about them, in any page. */

import type { Sdk } from "./index.js";
import { createElementClass } from "./inspector/element.js";

/** The element: give it the Sdk whose operations it is to show. */
export interface SamekeyInspector extends HTMLElement {
  /** Shows the operations of the present owner; `undefined` shows nothing. */
  // biome-ignore lint/suspicious/noExplicitAny: an Sdk of any operations fits
  sdk: Sdk<any> | undefined;
}

/**
 * Defines the element, once. Importing this module touches nothing, so that servers and builds may.
 *
 * ```ts
 * defineInspector();
 * document.querySelector<SamekeyInspector>("samekey-inspector")!.sdk = sdk;
 * ```
 *
 * @param name - the element's name @defaultValue `"samekey-inspector"`
 * @throws DOMException when the name is taken by another element
 */
export function defineInspector(name = "samekey-inspector"): void {
  const known = customElements.get(name);
  if (known && "isSamekeyInspector" in known) return;
  customElements.define(name, createElementClass());
}

declare global {
  interface HTMLElementTagNameMap {
    "samekey-inspector": SamekeyInspector;
  }
}
