import { createHash } from 'node:crypto';

const style = `
:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}
body{max-width:44rem;margin:3rem auto;padding:0 1rem}
code,pre{font:14px/1.5 ui-monospace,monospace}
pre{background:#8882;padding:.7rem;border-radius:6px;overflow:auto}
`;

/** The page that a browser gets at the root: what the server is, where its description is, and how to get a token. `prefix` is that of all paths. */
export const startPage = (prefix: string): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Strandlake</title><style>${style}</style>
<h1>Strandlake</h1>
<p>This is a Strandlake server: a genomic data platform that imports variant files into typed datasets, answers filters, facets
and coordinate queries on them, and keeps every version. It is used by programs, over HTTP.</p>
<h2>Try it</h2>
<p><a href="${prefix}/docs">Every operation, with examples that can be sent from the browser</a>; the same for programs is
<a href="${prefix}/openapi.json">openapi.json</a>. <a href="${prefix}/health">Health</a> says whether the server can work.</p>
<h2>Get a token</h2>
<p>Every request carries a token. The first start of the server printed one. Whoever runs the server makes more with</p>
<pre>npm run strandlake -- token add owner@localhost
npm run strandlake -- user add ann@example.org</pre>
<p>Send it as a header: <code>Authorization: Bearer &lt;token&gt;</code>. A request to this address then tells whose it is.</p>
</html>
`;

/** The content security policy of that page: its own style and nothing else (threat D9). */
export const startPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Whether a request comes from a browser's address bar: it asks for HTML by name. Programs ask for JSON or for anything.
 */
export function wantsPage(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((range) => /^\s*text\/html\s*(;|$)/i.test(range));
}
