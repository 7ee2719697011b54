import { createHash } from 'node:crypto';
import { openLocalFile, type FileReader } from '../engine/core/files.js';
import type { Client, JsonBody } from './client.js';
import { fetchListItems } from './remote.js';
import type { Terminal } from './terminal.js';

/** A folder of a vault; the id of the root is null. */
export interface Folder {
  readonly path: string;
  readonly id: number | null;
}

/** The vault, folder and name of an uploaded file. */
export interface UploadTarget {
  readonly vaultId: number;
  readonly folder: Folder;
  readonly filename: string;
}

/** A part of a file that is uploaded in parts, as the answer that creates the file describes it. */
interface PartToUpload {
  readonly part_number: number;
  readonly start_byte: number;
  readonly size: number;
  readonly upload_url: string;
}

/** Uploads a local file, unless the target already has its content; returns the id of its object. */
export async function uploadFile(
  client: Client,
  path: string,
  target: UploadTarget,
  terminal: Terminal,
): Promise<number> {
  const file = await openLocalFile(path);
  try {
    return await uploadOpenFile(client, file, target, terminal);
  } finally {
    await file.close();
  }
}

/** Returns the id of the file's object. Uploads the file unless the folder has an available file of this name with the same MD5. */
export async function uploadOpenFile(
  client: Client,
  file: FileReader,
  target: UploadTarget,
  terminal: Terminal,
): Promise<number> {
  const { vaultId, folder, filename } = target;
  const md5 = await computeMd5(file);
  const existingFile = await findObjectAt(client, target, 'file');
  if (existingFile?.['md5'] === md5 && existingFile['availability'] === 'available')
    return resourceId(existingFile);
  const object = await client.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'file',
    parent_object_id: folder.id,
    filename,
    size: file.bytes,
    md5,
  });
  const readPart = (from: number, to: number): AsyncGenerator<Uint8Array> =>
    withProgress(file, from, to, filename, terminal);
  if (object['is_multipart'] === true) await uploadParts(client, object, readPart);
  else
    await client.upload(String(object['upload_url']), readPart(0, file.bytes), {
      'content-length': String(file.bytes),
      'content-md5': Buffer.from(md5, 'hex').toString('base64'),
    });
  return resourceId(object);
}

/**
 * Uploads a file in the parts that the answer to its creation names, then has the server join them. `readPart` yields the bytes from one
 * position up to, but not including, another.
 */
async function uploadParts(
  client: Client,
  object: JsonBody,
  readPart: (from: number, to: number) => AsyncIterable<Uint8Array>,
): Promise<void> {
  const parts: JsonBody[] = [];
  for (const part of object['presigned_urls'] as readonly PartToUpload[]) {
    const hash = createHash('md5');
    const to = part.start_byte + part.size;
    await client.upload(part.upload_url, hashed(readPart(part.start_byte, to), hash), {
      'content-length': String(part.size),
    });
    // The server compares this MD5 with that of what it has received.
    parts.push({ part_number: part.part_number, etag: hash.digest('hex') });
  }
  await client.post('/v2/complete_multi_part', { upload_id: object['upload_id'], parts });
}

async function* hashed(
  pieces: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

async function* withProgress(
  file: FileReader,
  from: number,
  to: number,
  name: string,
  terminal: Terminal,
): AsyncGenerator<Uint8Array> {
  let sentBytes = from;
  for await (const piece of file.stream(from, to)) {
    sentBytes += piece.byteLength;
    yield piece;
    const percent = Math.floor((100 * sentBytes) / file.bytes);
    terminal.progress(`${name}: uploading ${percent} %`, {
      event: 'uploading',
      file: name,
      percent,
    });
  }
}

async function computeMd5(file: FileReader): Promise<string> {
  const hash = createHash('md5');
  for await (const piece of file.stream()) hash.update(piece);
  return hash.digest('hex');
}

/** Returns the object of a type at a path, as the server answers it; undefined if there is none. */
export async function findObjectAt(
  client: Client,
  { vaultId, folder, filename }: UploadTarget,
  type: string,
): Promise<JsonBody | undefined> {
  const path = `${folder.path === '/' ? '' : folder.path}/${filename}`;
  const query = new URLSearchParams({ vault_id: String(vaultId), path, object_type: type });
  return (await fetchListItems(client, `/v2/objects?${query.toString()}`, 1))[0];
}

export function resourceId(resource: JsonBody): number {
  return Number(resource['id']);
}
