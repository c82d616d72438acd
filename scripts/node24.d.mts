/** The path of a Node 24 from npm, or `undefined` where npm carries none for this platform. */
export function node24(): string | undefined;
