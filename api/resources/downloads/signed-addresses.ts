import type { AccessRows } from '../../../engine/catalog/access.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import { budgets } from '../../../engine/core/budgets.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { DataFolder, FileVersion } from '../../../engine/core/data-folder.js';
import type { ResourceKind } from '../../http/access-rule.js';
import type { AppContext } from '../../http/app-context.js';
import { readBoolean, readId } from '../../http/form.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiRequest } from '../../http/api-request.js';
import { requireResourceOfUser } from '../../http/require-resource.js';
import { dispositionParameter, type UrlSigner } from '../../http/signed-url.js';

/*
 * A signed address needs no credentials, because its signature replaces them. It names the user for whom it was signed. The rights of this
 * user are checked whenever the address is used, so that it stops working when they are withdrawn (threat A4).
 */

/** Returns the signed path to which the user sends the bytes of a version of a file; valid for this version only. */
export function signUploadTarget(
  signer: UrlSigner,
  userId: number,
  { objectId, revision }: FileVersionRow,
): string {
  const expiresAt = Date.now() + budgets.uploadUrlMs;
  const path = `/v2/uploads/${objectId}/${revision}`;
  return signer.sign('PUT', `${path}?user=${userId}`, expiresAt);
}

/** Returns the signed path to which the user sends the bytes of a part of a version of a file. */
export function signPartTarget(
  signer: UrlSigner,
  userId: number,
  { id, revision }: FileVersion,
  number: number,
): string {
  const expiresAt = Date.now() + budgets.uploadUrlMs;
  const path = `/v2/uploads/${id}/parts/${number}?version=${revision}&user=${userId}`;
  return signer.sign('PUT', path, expiresAt);
}

/** Returns the signed path of the bytes of a version of a file. */
export function signDownloadTarget(
  signer: UrlSigner,
  userId: number,
  { id, filename }: ObjectRow,
  revision: number,
  expiresAt: number,
): string {
  const path = `/v2/downloads/objects/${id}/${revision}`;
  return signDownload(signer, userId, path, filename, expiresAt);
}

/** Returns the signed path of an export's file, valid until the export expires. Throws as `requireExportFile` does. */
export function signExportTarget(signer: UrlSigner, userId: number, row: ExportRow): string {
  const { filename, expiresAt } = requireExportFile(row);
  return signDownload(signer, userId, `/v2/downloads/exports/${row.id}`, filename, expiresAt);
}

/**
 * Returns the name of the file of an export, and the time in milliseconds at which it expires. Throws `not-found` if the export has not
 * completed or its file has expired; for an expired file, the message says when it expired.
 */
export function requireExportFile({ status, filename, expiresAt, updatedAt }: ExportRow): {
  readonly filename: string;
  readonly expiresAt: number;
} {
  if (status !== 'completed') throw notFoundError();
  const expiryTime = expiresAt ?? updatedAt + budgets.exportUrlMs;
  if (filename !== null && expiryTime >= Date.now()) return { filename, expiresAt: expiryTime };
  const expiryText = new Date(expiryTime).toISOString();
  throw new AppError('not-found', `The file of the export expired at ${expiryText}. Export the records again.`); // prettier-ignore
}

/** Returns the signed path of the records that an import or a migration rejected. No import has the same id as a migration. */
export function signRejectedRecordsTarget(
  signer: UrlSigner,
  userId: number,
  jobId: number,
  expiresAt: number,
): string {
  const path = `/v2/downloads/rejected/${jobId}`;
  return signDownload(signer, userId, path, `rejected-${jobId}.jsonl.gz`, expiresAt);
}

function signDownload(
  signer: UrlSigner,
  userId: number,
  path: string,
  name: string,
  expiresAt: number,
): string {
  return signer.sign('GET', `${path}?${dispositionParameter(name)}&user=${userId}`, expiresAt);
}

/**
 * Returns the row that a signed address names. Throws 403 if the signature is not valid; 404 or 403 if the user for whom it was signed no
 * longer has the permission; what `requireFile` throws; and only then 403 if the address has expired, because a new address would not help
 * if the file is gone.
 */
export async function requireSignedUrl<K extends ResourceKind>(
  { catalog, signer }: AppContext,
  { method, url, query }: ApiRequest,
  kind: K,
  id: string,
  level: Permission,
  requireFile?: (row: AccessRows[K]) => unknown,
): Promise<AccessRows[K]> {
  const expiresAt = signer.verify(method, url);
  const row = await requireResourceOfUser(
    catalog,
    userIdOfSignedUrl({ query }),
    kind,
    readId(id) ?? 0,
    level,
  );
  requireFile?.(row);
  if (expiresAt < Date.now())
    throw new AppError('forbidden', 'The address has expired: ask for another one.');
  return row;
}

/** Returns the id of the user for whom the address of a request was signed. */
export function userIdOfSignedUrl({ query }: Pick<ApiRequest, 'query'>): number {
  return readId((query as QueryParams)['user']) ?? 0;
}

/** Returns the file name in the `Content-Disposition` that a signed address asks for; empty if there is none. */
export function filenameInDisposition(disposition: unknown): string {
  const text = typeof disposition === 'string' ? disposition : '';
  return text.replace(/^attachment; filename=/, '');
}

/**
 * Returns the path of the stored file of an export. Its extension is what follows the last `<id>.` in the file name that clients see, or
 * the first period of a name without `<id>.`.
 */
export function exportFilePath(data: DataFolder, id: number, filename: string): string {
  const idWithPeriod = `${id}.`;
  const idIndex = filename.lastIndexOf(idWithPeriod);
  return data.export(
    id,
    filename.slice(idIndex === -1 ? filename.indexOf('.') + 1 : idIndex + idWithPeriod.length),
  );
}

/**
 * Returns whether the answer to a download request is a redirect (302): yes unless `redirect` is false or empty, as clients send it
 * (contract 11.4).
 */
export function isRedirectRequested(query: QueryParams): boolean {
  if (!Object.hasOwn(query, 'redirect')) return true;
  const values = query['redirect'];
  return readBoolean(Array.isArray(values) ? values.at(-1) : values) ?? true;
}
