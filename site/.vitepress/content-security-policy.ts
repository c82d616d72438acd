import { createHash } from "node:crypto";

const inlineScripts = /<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g;

/**
 * The page with a policy of its own: nothing is loaded from elsewhere, and no inline script runs but those that are in it now.
 * The colours of code are style attributes, which no hash can name.
 */
export function contentSecurityPolicy(html: string): string {
  const hashes = [...html.matchAll(inlineScripts)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  const policy = [
    "default-src 'self'",
    ["script-src 'self'", ...new Set(hashes)].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return html.replace(/<head>/, `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy}">`);
}
