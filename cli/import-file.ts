import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../engine/core/errors.js';
import { openLocalFile, type FileReader } from '../engine/core/files.js';
import type { Answer, Client } from './client.js';
import type { Terminal } from './terminal.js';

/** A local file to import, with the vault and the name of its dataset. */
export interface FileImport {
  readonly file: string;
  readonly vaultId: number;
  readonly datasetName?: string;
}

/** The result of an import. */
export interface ImportedFile {
  readonly datasetId: number;
  readonly fullPath: string;
  readonly records: number;
  readonly wasImportedBefore: boolean;
}

const pollMs = 200;

/**
 * Uploads a file, imports it into a dataset and waits for the end of the import, through the public interface. After an
 * interruption, or for a file that was imported before, it continues with the existing object, dataset and import.
 */
export async function importFile(
  client: Client,
  { file: path, vaultId, datasetName }: FileImport,
  terminal: Terminal,
): Promise<ImportedFile> {
  const file = await openLocalFile(path);
  try {
    const objectId = await uploadOnce(client, vaultId, file, terminal);
    const name = datasetName ?? datasetNameOf(path);
    const dataset = await datasetFor(client, vaultId, name, objectId);
    const job =
      dataset.job ??
      (await client.post('/v2/dataset_imports', {
        dataset_id: dataset.id,
        object_id: objectId,
        commit_mode: 'append',
      }));
    const wasImportedBefore = job['status'] === 'completed';
    const records = await follow(client, job, basename(path), terminal);
    return { datasetId: dataset.id, fullPath: dataset.fullPath, records, wasImportedBefore };
  } finally {
    await file.close();
  }
}

/** The name of a file's dataset: `runs/sample.vcf.gz` becomes `sample`. */
export function datasetNameOf(file: string): string {
  const name = basename(file);
  return name.replace(/(\.[A-Za-z0-9]+)?\.(gz|bgz)$|\.[A-Za-z0-9]+$/i, '') || name;
}

/** The id of the file's object. Uploads the file unless the vault has an object of this name with the same MD5. */
async function uploadOnce(
  client: Client,
  vaultId: number,
  file: FileReader,
  terminal: Terminal,
): Promise<number> {
  const filename = basename(file.path);
  const md5 = await md5Of(file);
  const known = await atPath(client, vaultId, `/${filename}`, 'file');
  if (known?.['md5'] === md5 && known['availability'] === 'available') return idOf(known);
  const object = await client.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'file',
    filename,
    size: file.bytes,
    md5,
  });
  await client.upload(
    String(object['upload_url']),
    withProgress(file, `${filename}: uploading`, terminal),
    {
      'content-length': String(file.bytes),
      'content-md5': Buffer.from(md5, 'hex').toString('base64'),
    },
  );
  return idOf(object);
}

async function* withProgress(
  file: FileReader,
  title: string,
  terminal: Terminal,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const chunk of file.stream()) {
    sent += chunk.byteLength;
    yield chunk;
    terminal.progress(`${title} ${Math.floor((100 * sent) / file.bytes)} %`);
  }
}

interface DatasetAndJob {
  readonly id: number;
  readonly fullPath: string;
  /** An import of the same object into the dataset that has not failed. */
  readonly job: Answer | undefined;
}

/** The dataset into which the object was or has to be imported; a new one if the dataset of this name has other data. */
async function datasetFor(
  client: Client,
  vaultId: number,
  name: string,
  objectId: number,
): Promise<DatasetAndJob> {
  const known = await atPath(client, vaultId, `/${name}`, 'dataset');
  if (known) {
    const jobs = await rows(client, `/v2/datasets/${idOf(known)}/imports`);
    const notFailed = ['pending', 'queued', 'running', 'completed'];
    const job = jobs.find(
      (one) => one['object_id'] === objectId && notFailed.includes(String(one['status'])),
    );
    const isEmpty = jobs.length === 0; // an earlier run was interrupted before it created the import
    if (job || isEmpty) return { id: idOf(known), fullPath: String(known['full_path']), job };
  }
  const created = await client.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'dataset',
    filename: name,
  });
  return { id: idOf(created), fullPath: String(created['full_path']), job: undefined };
}

/** Polls an import until it ends, showing its progress; returns the number of records read. Throws if it fails. */
async function follow(
  client: Client,
  job: Answer,
  title: string,
  terminal: Terminal,
): Promise<number> {
  for (let state = job; ; state = await client.get(`/v2/dataset_imports/${idOf(job)}`)) {
    const { progress } = (state['metadata'] ?? {}) as { progress?: Record<string, unknown> };
    const records = Number(progress?.['processed_records'] ?? 0);
    const perSecond = Number(progress?.['records_per_second'] ?? 0);
    const percent = (progress?.['percent'] ?? null) as number | null;
    switch (state['status']) {
      case 'completed':
        terminal.progress('');
        return records;
      case 'failed':
      case 'canceled':
        terminal.progress('');
        throw new AppError(
          'input',
          String(state['error_message'] ?? `the import was ${state['status']}`),
        );
      default:
        terminal.progress(progressLine({ title, percent, records, perSecond }));
        await pause(pollMs);
    }
  }
}

async function md5Of(file: FileReader): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of file.stream()) hash.update(chunk);
  return hash.digest('hex');
}

async function atPath(
  client: Client,
  vaultId: number,
  path: string,
  type: string,
): Promise<Answer | undefined> {
  const query = new URLSearchParams({ vault_id: String(vaultId), path, object_type: type });
  return (await rows(client, `/v2/objects?${query.toString()}`))[0];
}

async function rows(client: Client, path: string): Promise<readonly Answer[]> {
  return ((await client.get(path))['data'] ?? []) as readonly Answer[];
}

function idOf(resource: Answer): number {
  return Number(resource['id']);
}

/** The line that reports a successful import. */
export function importedLine({ fullPath, records, wasImportedBefore }: ImportedFile): string {
  return wasImportedBefore
    ? `${fullPath} was imported before (${grouped(records)} records)`
    : `${fullPath}: ${grouped(records)} records imported`;
}

/** The values of a progress line. `percent` is null if the total is unknown. */
export interface Progress {
  readonly title: string;
  readonly percent: number | null;
  readonly records: number;
  readonly perSecond: number;
}

const width = 24;

/** Formats a progress line: `clinvar  [#########---------------]  38 %  26,334 records  61,200/s` */
export function progressLine({ title, percent, records, perSecond }: Progress): string {
  const counts = `${grouped(records)} records  ${grouped(perSecond)}/s`;
  if (percent === null) return `${title}  ${counts}`;
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * width);
  const bar = '#'.repeat(full) + '-'.repeat(width - full);
  return `${title}  [${bar}]  ${String(Math.floor(percent)).padStart(3)} %  ${counts}`;
}

/** The number with thousands separators: `69,302`. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
