import { type ProblemCode, problem } from "../server/problem.js";

/** One of the server's own answers, which carry no marks. */
export function problemResponse(code: ProblemCode): Response {
  const { status, headers, body } = problem(code);
  const response = new Response(body && new TextDecoder().decode(body), { status });
  for (const [name, value] of headers) response.headers.set(name, value);
  return response;
}
