/** SDKs of other makers, each with the call that a program makes through it. */

import { ky } from "./ky.js";
import { openapiFetch } from "./openapi-fetch.js";
import { stripe } from "./stripe.js";
import type { Subject } from "./subject.js";

export const subjects: Readonly<Record<string, Subject>> = { ky, "openapi-fetch": openapiFetch, stripe };
