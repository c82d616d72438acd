import { refusedKeys, sameKeys } from "./keys.js";
import { outcomes, routes } from "./outcomes.js";
import { replays } from "./replays.js";
import { rows } from "./rows.js";
import type { Case } from "./target.js";
import { traffic } from "./traffic.js";

/** What has to hold over HTTP, on every server. */
export const cases: readonly Case[] = [
  ...rows,
  ...replays,
  ...sameKeys,
  ...refusedKeys,
  ...outcomes,
  ...routes,
  ...traffic,
];
