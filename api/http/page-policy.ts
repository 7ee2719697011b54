import { createHash } from 'node:crypto';
import type { RawContent } from './operation-row.js';

/** The sources of content that the Content-Security-Policy of a page allows. */
interface PageContent {
  readonly style: string;
  /** The script of the page, which may send requests to this server. */
  readonly script?: string;
  /** Where the forms of the page may be sent; nowhere by default. */
  readonly formAction?: string;
}

/** Returns the content security policy that allows a page its own style, script and forms, and no framing (threat D9). */
export function contentSecurityPolicy({
  style,
  script,
  formAction = "'none'",
}: PageContent): string {
  return [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src ${cspHash(script)}`]),
    `style-src ${cspHash(style)}`,
    ...(script === undefined ? [] : ["connect-src 'self'"]),
    "base-uri 'none'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Returns the markup of a page up to its style; `title` is markup, too. */
export function pageHead(title: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>`;
}

/** Declares an answer that is a page with this title. */
export function pageAnswer(description: string, title: string): RawContent {
  return { description, examples: { 'text/html': pageHead(title) } };
}

function cspHash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
