import { contractPath } from "../../../server/contract.js";
import type { Finding } from "../check.js";
import { answersTo, isAnswered, isMarked, latest, objectOf, type Seen, shown } from "../observation.js";
import type { Target } from "../target.js";

/** How long the server says that it honours a key, in whole seconds. */
export function retentionOf(seen: Seen): number | undefined {
  const { retention } = documentOf(seen) ?? {};
  return typeof retention === "number" && Number.isFinite(retention) && retention > 0 ? retention : undefined;
}

/** What the server publishes, beside what was seen. */
export function published(seen: Seen, target: Target): Finding {
  const answer = latest(seen, "published");
  if (!isAnswered(answer))
    return ["not-seen", `${contractPath} got no answer (${answer?.cause ?? "it was not asked"})`];
  if (answer.status !== 200) return ["not-seen", `${contractPath} is answered ${answer.status}: nothing is published`];
  const document = documentOf(seen);
  if (!document || retentionOf(seen) === undefined) {
    return ["broken", `${contractPath} is no contract: JSON with a \`retention\` in seconds and a \`header\``];
  }
  const { header } = document;
  if (typeof header !== "string" || header.toLowerCase() !== target.keyHeader.toLowerCase()) {
    return [
      "differs",
      `${contractPath} wants the key in ${shown(String(header))}, and ${target.keyHeader} was examined: give --key-header`,
    ];
  }
  const contradictions = contradicted(document, seen);
  if (contradictions.length > 0)
    return ["broken", `${contractPath} says otherwise than was seen: ${contradictions.join("; ")}`];
  return [
    "kept",
    `the server publishes that it honours keys for ${retentionOf(seen)} s; nothing that was seen contradicts it`,
  ];
}

function documentOf(seen: Seen): Readonly<Record<string, unknown>> | undefined {
  const answer = latest(seen, "published");
  return isAnswered(answer) && answer.status === 200 ? objectOf(answer) : undefined;
}

function contradicted({ statuses, marks }: Readonly<Record<string, unknown>>, seen: Seen): string[] {
  const said = recordOf(statuses);
  const pairs = [
    ["missing", latest(seen, "without-key")],
    ["in_progress", answersTo(seen, "burst").find(({ status }) => status === 409)],
    ["reused", latest(seen, "other-body")],
  ] as const;
  const wrong = pairs.flatMap(([name, answer]) => {
    const status = said[name];
    // Being sent away for the moment says nothing about the contract.
    const isTelling = isAnswered(answer) && answer.status !== 429 && answer.status < 500;
    return isTelling && typeof status === "number" && status !== answer.status
      ? [`${name} is ${answer.status}, not ${status}`]
      : [];
  });
  const replays = answersTo(seen, "repeat", "later");
  const isBare = recordOf(marks)["status"] === "idempotency-status" && replays.length > 0 && !replays.some(isMarked);
  return isBare ? [...wrong, "no answer bears the marks"] : wrong;
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
