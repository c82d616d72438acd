import { beforeTheDeadline } from "./deadline.js";
import { decidedAtRest } from "./decided.js";
import { fence } from "./fence.js";
import { durableFirst } from "./i1-durable-first.js";
import { sameRequest } from "./i2-same-request.js";
import { oneKey } from "./i3-one-key.js";
import { nothingDropped } from "./i4-nothing-dropped.js";
import { stickyUncertainty } from "./i5-sticky-uncertainty.js";
import { withinTheWindow } from "./i6-within-the-window.js";
import { oneAttempt } from "./i7-one-attempt.js";
import { credentials } from "./i8-credentials.js";
import { ownOwner } from "./i9-owner.js";
import { waiters } from "./i10-waiters.js";
import type { Invariant } from "./invariant.js";
import { lanes } from "./lanes.js";
import { liveness } from "./liveness.js";
import { notTooSoon } from "./patience.js";
import { reconciledAsAsked } from "./reconciled.js";
import { retryAfter } from "./retry-after.js";
import { strict } from "./strict.js";
import { wholeSuccess } from "./success.js";

/** Everything that is asserted at every step. */
export const invariants: readonly Invariant[] = [
  durableFirst,
  sameRequest,
  oneKey,
  nothingDropped,
  stickyUncertainty,
  withinTheWindow,
  oneAttempt,
  credentials,
  ownOwner,
  waiters,
  fence,
  wholeSuccess,
  strict,
  retryAfter,
  beforeTheDeadline,
  notTooSoon,
  lanes,
  decidedAtRest,
  reconciledAsAsked,
  liveness,
];
