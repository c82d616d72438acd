import { ending, type Finding } from "../check.js";
import { type Answered, answersTo, isAnswered, isSuccess, latest, type Seen } from "../observation.js";
import { askedHeaders, type Target } from "../target.js";

const exposable = ["date", "idempotency-replayed", "idempotency-status", "retry-after"];

/** Whether a browser on that origin is let through with a key. */
export function preflight(seen: Seen, target: Target): Finding {
  const { origin, method } = target;
  if (origin === undefined) return ["not-seen", "give --origin to see what browsers are allowed"];
  if (origin === target.url.origin) return ["not-seen", `${origin} is the URL's own origin, which needs no leave`];
  const answer = latest(seen, "preflight");
  if (!isAnswered(answer)) return ["not-seen", `the preflight got no answer (${answer?.cause ?? "it was not sent"})`];
  if (!isSuccess(answer))
    return ["broken", `the preflight is answered ${answer.status}: browsers on ${origin} send nothing`];
  if (!letsIn(answer, origin)) return ["broken", `${origin} is not let in: browsers there send nothing`];
  const allowed = listOf(answer, "access-control-allow-headers");
  // The star stands for all but this one.
  const refused = askedHeaders(target).filter(
    (name) => !allowed.has(name) && !(allowed.has("*") && name !== "authorization"),
  );
  if (refused.length > 0)
    return ["broken", `browsers on ${origin} may not send ${refused.join(", ")}: they send nothing`];
  const methods = listOf(answer, "access-control-allow-methods");
  if (method !== "POST" && !methods.has(method.toLowerCase()) && !methods.has("*")) {
    return ["broken", `browsers on ${origin} may not use ${method}: they send nothing`];
  }
  return ["kept", `browsers on ${origin} may send the key`];
}

/** Whether a page can read what it needs of the answers. */
export function exposed(seen: Seen, { origin, url }: Target): Finding {
  if (origin === undefined || origin === url.origin)
    return ["not-seen", "give another --origin to see what pages can read"];
  const answers = answersTo(seen, "first", "quoted-first", "repeat", "later", "without-key", "burst", "other-body");
  if (answers.length === 0) return ["not-seen", ending(seen)];
  if (answers.some((one) => !letsIn(one, origin))) {
    return ["broken", `some answers do not let ${origin} in: pages there cannot tell them from a lost connection`];
  }
  const hidden = exposable.filter((name) =>
    answers.some((one) => one.headers.get(name) !== null && !exposes(one, name)),
  );
  if (hidden.length > 0) return ["differs", `pages on ${origin} cannot read ${hidden.join(", ")}`];
  return ["kept", `pages on ${origin} can read the answers, and all headers of the contract that came`];
}

const letsIn = ({ headers }: Answered, origin: string): boolean =>
  ["*", origin].includes(headers.get("access-control-allow-origin") ?? "");

const exposes = (answer: Answered, name: string): boolean => {
  const names = listOf(answer, "access-control-expose-headers");
  return names.has(name) || names.has("*");
};

const listOf = ({ headers }: Answered, name: string): Set<string> =>
  new Set((headers.get(name) ?? "").split(",").map((one) => one.trim().toLowerCase()));
