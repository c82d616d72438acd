import { bad } from "../core/checks.js";

/** Whether requests to an origin tell where they stand in a trace. */
export type Propagates = (origin: string, isBase: boolean) => boolean;

/** @throws MisuseError `bad_option` */
export function propagates(to: readonly string[] | undefined): Propagates {
  if (to === undefined) {
    // Elsewhere a page's request is refused as a whole where the server's CORS does not allow for the header.
    const page = (globalThis as { location?: { origin?: string } }).location?.origin;
    return (origin, isBase) => isBase && (page === undefined || page === origin);
  }
  if (!Array.isArray(to)) bad("`propagateTo` is no list of origins");
  const origins = new Set(to.map(originOf));
  return (origin) => origins.has(origin);
}

function originOf(url: string): string {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    bad(`\`propagateTo\` holds ${JSON.stringify(url)}, expected an origin like https://api.example`);
  }
  return parsed.origin;
}
