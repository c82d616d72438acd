/** Leads one life in a tab. */

import { indexedDbStore } from "samekey/stores/indexeddb";
import type { Errand } from "../matrix/errand.js";
import { lead } from "../matrix/program.js";

/** Synchronous, so that nothing else happens in the tab before it is known outside. */
function say(path: string, what: unknown): void {
  const request = new XMLHttpRequest();
  request.open("POST", path, false);
  request.send(JSON.stringify(what));
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

globalThis.leadLife = (errand) =>
  lead(errand, {
    store: indexedDbStore({ name: errand.path }),
    sleep,
    tell: (told) => say("/told", told),
    die: (point) => say("/end", point),
  });

declare global {
  var leadLife: (errand: Errand) => Promise<void>;
}
