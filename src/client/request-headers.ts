/** What becomes of a request's headers: some are kept with the record, some are needed again, some carry no meaning. */

/** Standard ones that say what is asked for, and never by whom. */
const meaningful =
  /^(accept|accept-language|accept-profile|cache-control|content-(digest|disposition|encoding|language|md5|profile)|if-(none-)?match|if-(un)?modified-since|prefer)$/;

/** Those that tell of the program, the trace or the client's own retries: an attempt means the same without them. */
const incidental =
  /^(user-agent|accept-encoding|priority|dnt|traceparent|tracestate|baggage|sentry-trace|b3|x-b3-.+|x-amzn-trace-id|x-cloud-trace-context|x-datadog-.+|x-client-info|x-stainless-.+|amz-sdk-.+|x-amz-user-agent|x-goog-api-client)$/;

/** Those of the connection, not of the request: the platform sets its own. */
const ofConnection = ["connection", "content-length", "keep-alive"];

/** Names of headers as an operation declares them, in lower case. */
export interface DeclaredHeaders {
  readonly keepHeaders: readonly string[];
  /** Each may end in `*`. */
  readonly ignoreHeaders: readonly string[];
}

/** The headers of a call, apart. */
export interface SplitHeaders {
  readonly kept: Record<string, string>;
  /** Names of those that an attempt needs, and that are not kept. */
  readonly dropped: string[];
  /** Those that are not kept, for the attempts of this process. */
  readonly transient: Headers | undefined;
}

/** Tells apart what is kept, what has to be supplied again, and what is sent along while it is there. */
export function splitHeaders(headers: Headers | undefined, declared: DeclaredHeaders, accept: string): SplitHeaders {
  const kept: Record<string, string> = { accept };
  const dropped: string[] = [];
  let transient: Headers | undefined;
  headers?.forEach((value, name) => {
    if (name === "content-type") return;
    const isIgnored = declared.ignoreHeaders.some((pattern) => fits(pattern, name));
    if (declared.keepHeaders.includes(name) || (meaningful.test(name) && !isIgnored)) {
      kept[name] = value;
      return;
    }
    transient ??= new Headers();
    transient.set(name, value);
    if (!isIgnored && !incidental.test(name)) dropped.push(name);
  });
  return { kept, dropped, transient };
}

/**
 * Which of the declared headers differ between two requests, as names of fields. Declared ones say for whom or what a request
 * is; but a version tells how it is read, and changes with a deploy.
 */
export function differingHeaders(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
  { keepHeaders }: Pick<DeclaredHeaders, "keepHeaders">,
): string[] {
  return keepHeaders
    .filter((name) => !/version|beta/.test(name) && a[name] !== b[name])
    .map((name) => `headers.${name}`);
}

/** Takes out what a library may set and `fetch` sets by itself. */
export function withoutConnection(headers: Headers): Headers {
  for (const name of ofConnection) headers.delete(name);
  return headers;
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
