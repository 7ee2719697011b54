import type { JobRow } from '../../../engine/catalog/jobs.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { budgets } from '../../../engine/core/budgets.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { readFileStats } from '../../../engine/core/files.js';
import type { AppContext } from '../../http/app-context.js';
import { readBoolean } from '../../http/form.js';
import { firstParamValue } from '../../http/list-query.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import {
  signDownloadTarget,
  isRedirectRequested,
  signRejectedRecordsTarget,
} from './signed-addresses.js';

/**
 * Answers where a version of a file can be downloaded (contract 6.6).
 * Choice: without `redirect` the answer is JSON, because one client sends no such parameter and expects JSON.
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
  const url = request.origin + signDownloadTarget(signer, userId, object, revision, expiresAt);
  if (readBoolean(firstParamValue(query, 'redirect')) === true)
    reply.code(302).header('Location', url);
  return { download_url: url, object_id: null };
}

/** Answers where the records that an import or a migration rejected can be downloaded. Throws `not-found` if it rejected no record. */
export async function answerRejectedDownload(
  { data, signer }: AppContext,
  { id }: Pick<JobRow, 'id'>,
  query: QueryParams,
  request: ApiRequest,
  reply: ApiReply,
): Promise<object> {
  if (!(await readFileStats(data.rejectedLines(id)))) throw notFoundError();
  const expiresAt = Date.now() + budgets.exportUrlMs;
  const url =
    request.origin + signRejectedRecordsTarget(signer, request.caller!.user.id, id, expiresAt);
  if (isRedirectRequested(query)) reply.code(302).header('Location', url);
  return { url, download_url: url };
}
