import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { budgets } from '../../../engine/core/budgets.js';
import type { AppContext } from '../../http/app-context.js';
import { readBoolean } from '../../http/form.js';
import { value } from '../../http/list-query.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import { downloadTarget } from './signed-addresses.js';

/**
 * Answers where a version of a file can be downloaded (contract 6.6).
 *
 * Choice: without `redirect` the answer is JSON, because one client sends no parameter and expects JSON.
 */
export function answerDownload(
  { signer }: AppContext,
  object: ObjectRow,
  revision: number,
  query: QueryParams,
  request: ApiRequest,
  reply: ApiReply,
): object {
  const expiresAt = Date.now() + budgets.objectUrlMs;
  const { id: userId } = request.caller!.user;
  const url = request.origin + downloadTarget(signer, userId, object, revision, expiresAt);
  if (readBoolean(value(query, 'redirect')) === true) reply.code(302).header('Location', url);
  return { download_url: url, object_id: null };
}
