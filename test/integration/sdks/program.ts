/** A program that makes a call through an SDK over the wrapped `fetch`, or finishes what an earlier run of it left. */

import process from "node:process";
import { subjects } from "./subjects/index.js";
import { wrap } from "./wrap.js";

/** What it tells. */
export type Told = { readonly what: "result"; readonly value: unknown };

const [name = "", url = "", path = "", how = ""] = process.argv.slice(2);
const subject = subjects[name];
if (!subject) throw new Error(`no SDK is named ${name}`);
const fetch = wrap(subject, url, path);
const value = how === "resume" ? await fetch.sdk.resume() : await subject.pay(fetch, url);
process.send?.({ what: "result", value } satisfies Told);
await fetch.sdk.close();
process.disconnect();
