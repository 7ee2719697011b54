import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { createdBy } from '../../../engine/store/segment.js';
import type { ExportResult } from './export-types.js';

/** The version of the software, as in package.json. */
export const softwareVersion = '0.1.0';

/** Returns the provenance of an export as far as it is known before its file is written; it is stored in files whose format allows it. */
export async function createProvenance(
  row: ExportRow,
  format: string,
  version: number,
  catalog: Tables,
  now: number,
): Promise<JsonObject> {
  const { commit_id: ofCommit, ...query } = row.params;
  const commit = await catalog.commits.lastBefore(row.datasetId, version + 1);
  return {
    export_id: row.id,
    format,
    dataset_id: row.datasetId,
    dataset_full_path: await readDatasetPath(catalog, row.datasetId),
    dataset_version: version,
    commit_id: commit?.id ?? null,
    // The content is either what a query finds in the version or what one commit changed.
    content: ofCommit === undefined ? 'query' : 'commit',
    query,
    target_fields: row.targetFields ?? [],
    annotator_params: row.annotatorParams ?? {},
    exported_at: new Date(now).toISOString(),
    software: createdBy,
    software_version: softwareVersion,
  };
}

async function readDatasetPath(catalog: Tables, id: number): Promise<string | null> {
  const object = await catalog.objects.get(id);
  const vault = object && (await catalog.vaults.get(object.vaultId));
  const account = vault && (await catalog.accounts.get(vault.accountId));
  return account ? `${account.domain}:${vault.name}:${object.path}` : null;
}

/** Returns the provenance of a finished file, including its name, size, number of records and checksum. */
export function fileProvenance(
  { provenance, bytes, records, sha256 }: ExportResult,
  filename: string,
): JsonObject {
  return { ...provenance, filename, documents_count: records, bytes, sha256 };
}
