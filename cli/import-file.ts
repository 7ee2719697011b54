import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../engine/core/errors.js';
import { openLocalFile, type FileReader } from '../engine/core/files.js';
import type { Answer, Client } from './client.js';
import { grouped, progressLine } from './progress-bar.js';
import type { Terminal } from './terminal.js';

/** A file of the person at the terminal, and the vault and name under which it is imported. */
export interface Wanted {
  readonly file: string;
  readonly vaultId: number;
  readonly datasetName?: string;
}

/** What became of it. */
export interface Imported {
  readonly datasetId: number;
  readonly fullPath: string;
  readonly records: number;
  readonly wasThere: boolean;
}

const pollMs = 200;

/**
 * Uploads a file, makes a dataset of it and waits for the import: the requests that any client sends. Started again
 * after an interruption, or with a file that was imported before, it takes up what is there.
 */
export async function importFile(
  client: Client,
  wanted: Wanted,
  terminal: Terminal,
): Promise<Imported> {
  const file = await openLocalFile(wanted.file);
  try {
    const objectId = await uploaded(client, wanted.vaultId, file, terminal);
    const name = wanted.datasetName ?? datasetNameOf(wanted.file);
    const dataset = await datasetFor(client, wanted.vaultId, name, objectId);
    const job =
      dataset.job ??
      (await client.post('/v2/dataset_imports', {
        dataset_id: dataset.id,
        object_id: objectId,
        commit_mode: 'append',
      }));
    const wasThere = job['status'] === 'completed';
    const records = await follow(client, job, basename(wanted.file), terminal);
    return { datasetId: dataset.id, fullPath: dataset.fullPath, records, wasThere };
  } finally {
    await file.close();
  }
}

/** `runs/sample.vcf.gz` becomes `sample`. */
export function datasetNameOf(file: string): string {
  const name = basename(file);
  return name.replace(/(\.[A-Za-z0-9]+)?\.(gz|bgz)$|\.[A-Za-z0-9]+$/i, '') || name;
}

/** The id of the file's object; its bytes are sent unless the vault has them under this name. */
async function uploaded(
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
    announced(file, `${filename}: uploading`, terminal),
    {
      'content-length': String(file.bytes),
      'content-md5': Buffer.from(md5, 'hex').toString('base64'),
    },
  );
  return idOf(object);
}

async function* announced(
  file: FileReader,
  title: string,
  terminal: Terminal,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const piece of file.stream()) {
    sent += piece.byteLength;
    yield piece;
    terminal.progress(`${title} ${Math.floor((100 * sent) / file.bytes)} %`);
  }
}

interface DatasetAndJob {
  readonly id: number;
  readonly fullPath: string;
  /** An import of the same object into it that has not failed. */
  readonly job: Answer | undefined;
}

/** The dataset that this object was or should be imported into; a new one when the name belongs to other data. */
async function datasetFor(
  client: Client,
  vaultId: number,
  name: string,
  objectId: number,
): Promise<DatasetAndJob> {
  const known = await atPath(client, vaultId, `/${name}`, 'dataset');
  if (known) {
    const jobs = await rows(client, `/v2/datasets/${idOf(known)}/imports`);
    const alive = ['pending', 'queued', 'running', 'completed'];
    const job = jobs.find(
      (one) => one['object_id'] === objectId && alive.includes(String(one['status'])),
    );
    const isEmpty = jobs.length === 0; // we were interrupted before the import was asked for
    if (job || isEmpty) return { id: idOf(known), fullPath: String(known['full_path']), job };
  }
  const made = await client.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'dataset',
    filename: name,
  });
  return { id: idOf(made), fullPath: String(made['full_path']), job: undefined };
}

/** Waits until an import has ended; returns how many records it read. */
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
  for await (const piece of file.stream()) hash.update(piece);
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

/** One line about an import that went well. */
export function importedLine({ fullPath, records, wasThere }: Imported): string {
  return wasThere
    ? `${fullPath} is there already (${grouped(records)} records)`
    : `${fullPath}: ${grouped(records)} records imported`;
}
