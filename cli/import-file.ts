import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../engine/core/errors.js';
import { openLocalFile } from '../engine/core/files.js';
import type { JsonBody, Client } from './client.js';
import { fetchListItems } from './remote.js';
import { groupDigits, progressLine, type Terminal } from './terminal.js';
import {
  findObjectAt,
  resourceId,
  uploadOpenFile,
  type Folder,
  type UploadTarget,
} from './upload-file.js';

/** A local file to import, with the vault and the name of its dataset. */
export interface FileImport {
  readonly file: string;
  readonly vaultId: number;
  /** The folder for the file and the dataset; by default, the root of the vault. */
  readonly folder?: Folder;
  readonly datasetName?: string;
  /**
   * Whether the records go into the dataset of this name, whatever it contains. If false, and the dataset of this name has imports, but
   * none of this file that is completed or under way, the records go into a new dataset, whose name ends with a number.
   */
  readonly appends?: boolean;
}

const rootFolder: Folder = { path: '/', id: null };

interface ImportedFile {
  readonly datasetId: number;
  readonly fullPath: string;
  readonly recordCount: number;
  readonly wasImportedBefore: boolean;
}

const pollMs = 200;

/**
 * Uploads a file, imports it into a dataset and waits for the end of the import, through the public interface. After an
 * interruption, or for a file that was imported before, it continues with the existing object, dataset and import.
 */
export async function importFile(
  client: Client,
  { file: path, vaultId, folder = rootFolder, datasetName, appends = false }: FileImport,
  terminal: Terminal,
): Promise<ImportedFile> {
  const file = await openLocalFile(path);
  try {
    const target = { vaultId, folder, filename: basename(path) };
    const objectId = await uploadOpenFile(client, file, target, terminal);
    const name = datasetName ?? datasetNameOf(path);
    const dataset = await findOrCreateDataset(
      client,
      { vaultId, folder, filename: name },
      objectId,
      appends,
    );
    const job =
      dataset.job ??
      (await client.post('/v2/dataset_imports', {
        dataset_id: dataset.id,
        object_id: objectId,
        commit_mode: 'append',
      }));
    const wasImportedBefore = job['status'] === 'completed';
    const recordCount = await followImport(client, job, basename(path), terminal);
    return { datasetId: dataset.id, fullPath: dataset.fullPath, recordCount, wasImportedBefore };
  } finally {
    await file.close();
  }
}

/** Returns the name of a file's dataset: `runs/sample.vcf.gz` becomes `sample`. */
export function datasetNameOf(file: string): string {
  const name = basename(file);
  return name.replace(/(\.[A-Za-z0-9]+)?\.(gz|bgz|bgzf|bz2)$|\.[A-Za-z0-9]+$/i, '') || name;
}

interface DatasetAndJob {
  readonly id: number;
  readonly fullPath: string;
  /** An existing import of the uploaded object into the dataset that has neither failed nor been canceled; undefined if there is none. */
  readonly job: JsonBody | undefined;
}

/**
 * Finds the dataset into which the object was imported or is to be imported. Creates one if none has this name, or if `appends` is false
 * and the dataset of this name has imports, but none of the object that is completed or under way.
 */
async function findOrCreateDataset(
  client: Client,
  target: UploadTarget,
  objectId: number,
  appends: boolean,
): Promise<DatasetAndJob> {
  const existingDataset = await findObjectAt(client, target, 'dataset');
  if (existingDataset) {
    const importsPath = `/v2/datasets/${resourceId(existingDataset)}/imports`;
    const jobs = await fetchListItems(client, importsPath);
    const reusableStatuses = ['pending', 'queued', 'running', 'completed'];
    const job = jobs.find(
      (one) => one['object_id'] === objectId && reusableStatuses.includes(String(one['status'])),
    );
    const isEmpty = jobs.length === 0; // an earlier run may have been interrupted before it created the import
    if (job || isEmpty || appends)
      return {
        id: resourceId(existingDataset),
        fullPath: String(existingDataset['full_path']),
        job,
      };
  }
  const createdDataset = await client.post('/v2/objects', {
    vault_id: target.vaultId,
    object_type: 'dataset',
    parent_object_id: target.folder.id,
    filename: target.filename,
  });
  return {
    id: resourceId(createdDataset),
    fullPath: String(createdDataset['full_path']),
    job: undefined,
  };
}

/** Polls an import until it ends, showing its progress; returns the number of records read. Throws if it fails or is canceled. */
async function followImport(
  client: Client,
  job: JsonBody,
  title: string,
  terminal: Terminal,
): Promise<number> {
  for (let state = job; ; state = await client.get(`/v2/dataset_imports/${resourceId(job)}`)) {
    const { progress } = (state['metadata'] ?? {}) as { progress?: Record<string, unknown> };
    const recordCount = Number(progress?.['processed_records'] ?? 0);
    const perSecond = Number(progress?.['records_per_second'] ?? 0);
    const percent = (progress?.['percent'] ?? null) as number | null;
    switch (state['status']) {
      case 'completed':
        terminal.progress('');
        return recordCount;
      case 'failed':
      case 'canceled':
        terminal.progress('');
        throw new AppError(
          'input',
          String(state['error_message'] ?? `the import was ${state['status']}`),
        );
      default:
        terminal.progress(progressLine({ title, percent, records: recordCount, perSecond }), {
          event: 'importing',
          file: title,
          percent,
          records: recordCount,
          records_per_second: perSecond,
        });
        await pause(pollMs);
    }
  }
}

/** Returns the line that reports a successful import. */
export function importedLine({ fullPath, recordCount, wasImportedBefore }: ImportedFile): string {
  return wasImportedBefore
    ? `${fullPath} was imported before (${groupDigits(recordCount)} records)`
    : `${fullPath}: ${groupDigits(recordCount)} records imported`;
}
