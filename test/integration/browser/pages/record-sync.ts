/**
 * A headless Chromium has Background Sync, but refuses to register anything. What it is asked for is recorded here; its
 * events the tests dispatch through DevTools.
 */
export function recordSync(): string[] {
  const asked: string[] = [];
  const { prototype } = (globalThis as unknown as { SyncManager: { prototype: object } }).SyncManager;
  Object.assign(prototype, {
    register: async (tag: string) => void asked.push(tag),
    getTags: async () => asked,
  });
  return asked;
}
