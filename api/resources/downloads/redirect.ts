import { readBoolean } from '../../http/form.js';
import type { Query } from '../../http/page.js';

/** Whether a download answers 302: unless `redirect` says otherwise; the empty value, which clients send, is false (contract 11.4). */
export function isRedirect(query: Query): boolean {
  if (!Object.hasOwn(query, 'redirect')) return true;
  const given = query['redirect'];
  return readBoolean(Array.isArray(given) ? given.at(-1) : given) ?? true;
}
