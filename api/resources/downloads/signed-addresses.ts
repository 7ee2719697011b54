import { budgets } from '../../../engine/core/budgets.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { readBoolean } from '../../http/form.js';
import type { QueryParams } from '../../http/page.js';
import { dispositionParameter, type UrlSigner } from '../../http/signed-url.js';

/** The signed path to which the bytes of a new file are uploaded, valid for this object and revision only. */
export function uploadTarget(signer: UrlSigner, object: ObjectRow): string {
  const expiresAt = Date.now() + budgets.uploadUrlMs;
  return signer.sign('PUT', `/v2/uploads/${object.id}/${object.revision + 1}`, expiresAt);
}

/** The signed path to which the bytes of a part of a file are uploaded. */
export function partTarget(signer: UrlSigner, objectId: number, number: number): string {
  const expiresAt = Date.now() + budgets.uploadUrlMs;
  return signer.sign('PUT', `/v2/uploads/${objectId}/parts/${number}`, expiresAt);
}

/** The signed path of a file's bytes. */
export function downloadTarget(signer: UrlSigner, object: ObjectRow, expiresAt: number): string {
  const path = `/v2/downloads/objects/${object.id}/${object.revision}`;
  return signer.sign('GET', `${path}?${dispositionParameter(object.filename)}`, expiresAt);
}

/** The signed path of an export's file, valid until the export expires. */
export function exportTarget(signer: UrlSigner, row: ExportRow, expiresAt: number): string {
  const path = `/v2/downloads/exports/${row.id}`;
  return signer.sign('GET', `${path}?${dispositionParameter(row.filename ?? 'export')}`, expiresAt);
}

/** The signed path of the records that an import rejected. */
export function rejectedTarget(signer: UrlSigner, row: ImportRow, expiresAt: number): string {
  const name = `rejected-${row.id}.jsonl.gz`;
  return signer.sign(
    'GET',
    `/v2/downloads/rejected/${row.id}?${dispositionParameter(name)}`,
    expiresAt,
  );
}

/** The file name in a signed address. */
export function nameIn(disposition: unknown): string {
  const text = typeof disposition === 'string' ? disposition : '';
  return text.replace(/^attachment; filename=/, '');
}

/** The stored file of an export: its extension is what follows `<id>.` in its name to clients. */
export function exportFile(data: DataFolder, id: number, filename: string): string {
  const mark = `${id}.`;
  const at = filename.lastIndexOf(mark);
  return data.export(id, filename.slice(at === -1 ? filename.indexOf('.') + 1 : at + mark.length));
}

/** Whether a download answers 302: yes unless `redirect` is false or empty, as clients send it (contract 11.4). */
export function isRedirect(query: QueryParams): boolean {
  if (!Object.hasOwn(query, 'redirect')) return true;
  const values = query['redirect'];
  return readBoolean(Array.isArray(values) ? values.at(-1) : values) ?? true;
}
