/** A page whose calls to `fetch` go through `wrapFetch`: what it has at hand, as `drop`. */

import { type SdkFetchInit, type WrappedFetch, wrapFetch } from "samekey";

const encode = (text: string) => new TextEncoder().encode(text);

function form(): FormData {
  const made = new FormData();
  made.append("amount", "5");
  made.append("file", new File([new Uint8Array([0, 255, 45, 45, 13, 10])], 'r"ä".bin', { type: "application/x-a" }));
  return made;
}

const stream = (): ReadableStream => new Blob([new Uint8Array(70_000).fill(7)]).stream();

/** Every kind of body, made anew at each call. */
const kinds: Readonly<Record<string, () => SdkFetchInit>> = {
  text: () => ({ body: "ünï" }),
  json: () => ({ body: '{ "a": 1.0 }', headers: { "content-type": "application/json" } }),
  parameters: () => ({ body: new URLSearchParams({ a: "1 2", b: "ä" }) }),
  bytes: () => ({ body: Uint8Array.from({ length: 256 }, (_, i) => i) }),
  view: () => ({ body: new DataView(encode("xhi").buffer, 1) }),
  blob: () => ({ body: new Blob(["a", new Uint8Array([255])], { type: "image/png" }) }),
  form: () => ({ body: form() }),
  stream: () => ({ body: stream() }),
  nothing: () => ({}),
  keepalive: () => ({ body: "last words", keepalive: true }),
};

/** The call as `fetch` takes it: with the options apart, or as one `Request`. */
function call(fetch: WrappedFetch | typeof globalThis.fetch, url: string, kind: string, intent?: string) {
  const [name = "", inRequest] = kind.split(" in ");
  const init = { method: "POST", ...kinds[name]?.(), ...(intent && { intent }) } as RequestInit;
  return inRequest ? fetch(Object.assign(new Request(url, init), { intent })) : fetch(url, init);
}

const page = {
  open(api: string, name = "drop"): WrappedFetch {
    page.fetch = wrapFetch(globalThis.fetch, {
      name,
      owner: "single",
      retention: "24h",
      only: `${api}/drop`,
      retry: { base: 20, cap: 100 },
    });
    return page.fetch;
  },
  /** Sends and does not wait. */
  send(api: string, kind: string): void {
    call(page.fetch, `${api}/drop/${encodeURIComponent(kind)}`, kind, kind).catch(() => {});
  },
  /** Sends over the browser's own `fetch`. */
  plain: (api: string, kind: string) => call(fetch, `${api}/plain/${encodeURIComponent(kind)}`, kind).then(() => {}),
  fetch: undefined as unknown as WrappedFetch,
  /** Waits for a service worker that controls the page, and handles its requests in the given way. */
  async control(how: string): Promise<void> {
    await navigator.serviceWorker.register(`/fetch-worker.js?${how}`, { type: "module" });
    await navigator.serviceWorker.ready;
    while (!navigator.serviceWorker.controller) await new Promise((resolve) => setTimeout(resolve, 10));
  },
};

declare global {
  var drop: typeof page;
}

globalThis.drop = page;
