import type { Dice } from "./dice.js";
import type { FrontAnswers } from "./weather.js";

/** What gateways, firewalls and sign-ins say in place of the server, by a clock of theirs; the request never reached it. */
export function frontAnswer(dice: Dice, weights: FrontAnswers, url: string, now: number): Response {
  const response = answerOf(dice, weights, url);
  response.headers.set("date", new Date(now).toUTCString());
  return response;
}

function answerOf(dice: Dice, weights: FrontAnswers, url: string): Response {
  const after = { "retry-after": String(dice.pick([1, 20, 120])) };
  switch (dice.weighted({ ...weights })) {
    case "forbidden":
      return new Response("no", { status: 403 });
    case "rateLimited":
      return new Response("slowly", { status: 403, headers: { ...after, "x-ratelimit-remaining": "0" } });
    case "tooMany":
      return new Response("slowly", { status: 429, headers: dice.chance(0.5) ? after : {} });
    case "unavailable":
      return new Response("later", { status: 503, headers: dice.chance(0.7) ? after : {} });
    case "badGateway":
      return new Response("bad gateway", { status: dice.pick([500, 502]) });
    case "portal":
      return new Response("<!doctype html><p>Sign in", { status: 200, headers: { "content-type": "text/html" } });
    case "unauthorized":
      return new Response(null, { status: dice.pick([401, 407, 511]) });
    case "bareConflict":
      return new Response("conflict", { status: 409 });
    case "busy":
      return new Response("busy", { status: 409, headers: after });
    case "gone":
      return new Response(null, { status: 410 });
    case "unprocessable":
      return Response.json({ error: "invalid" }, { status: 422 });
    case "notFound":
      return new Response("not found", { status: dice.pick([400, 404, 413]) });
    case "moved":
      return new Response(null, {
        status: dice.pick([301, 302, 307]),
        headers: { location: new URL("/moved", url).href },
      });
  }
}
