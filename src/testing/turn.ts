// Taken once, so that fake timers that a test installs later do not stop the virtual clock.
const { setImmediate, setTimeout, MessageChannel } = globalThis as {
  setImmediate?: typeof globalThis.setImmediate;
  setTimeout: typeof globalThis.setTimeout;
  MessageChannel?: typeof globalThis.MessageChannel;
};

/** Lets one turn of the real event loop pass: all microtasks, and whatever I/O has become ready. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (setImmediate) setImmediate(resolve);
    else if (MessageChannel) post(new MessageChannel(), resolve);
    else setTimeout(resolve, 0);
  });
}

function post({ port1, port2 }: MessageChannel, resolve: () => void): void {
  port1.onmessage = () => {
    port1.close();
    resolve();
  };
  port2.postMessage(null);
}
