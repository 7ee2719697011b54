import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import type { MultipartUploadRow } from '../../../engine/catalog/multipart-uploads.js';
import { budgets } from '../../../engine/core/budgets.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, invalidError, notFoundError } from '../../../engine/core/errors.js';
import { listFolder, makeFolder, moveFile, openFile, removeTree, syncFolder } from '../../../engine/core/files.js'; // prettier-ignore
import { writeStream } from '../../../engine/core/file-writer.js';
import { withDatasetLock } from '../../../scheduler/jobs/dataset-lock.js';
import type { AppContext, ServerLimits } from '../../http/app-context.js';
import type { ApiRequest } from '../../http/api-request.js';
import { signPartTarget } from '../downloads/signed-addresses.js';
import { publishUpload, receiveBody, removeQuietly, uploadScratchPath } from './receive-upload.js';

/** Begins an upload in parts if the announced size of a version of a file requires it (contract 6.5). */
export async function beginMultipartIfRequired(
  tx: Tables,
  { objectId: id, revision, size }: FileVersionRow,
  limits: ServerLimits,
): Promise<void> {
  if (size === null || size < limits.multipartBytes) return;
  const leastBytes = Math.ceil(size / budgets.uploadParts);
  const isEnough = leastBytes <= limits.partBytes;
  const partBytes = isEnough ? limits.partBytes : Math.ceil(leastBytes / 1024 ** 2) * 1024 ** 2;
  await tx.multipartUploads.create({
    id,
    revision,
    uploadId: randomUUID(),
    bytes: size,
    partBytes,
  });
}

/** A part of an upload, as answers show it; part numbers count from 1, and `end_byte` is the position of the last byte. */
interface PresignedPart {
  readonly part_number: number;
  readonly start_byte: number;
  readonly end_byte: number;
  readonly size: number;
  /** Signed address to which the bytes of the part are sent. */
  readonly upload_url: string;
  /** The MD5 of a part, in hex, if the part has arrived; else null. */
  readonly etag: string | null;
}

/**
 * Returns the parts of an upload with these numbers, by default all, with new addresses. Throws a 400 for a number that the upload does not
 * have.
 */
export async function presignParts(
  { data, signer }: AppContext,
  upload: MultipartUploadRow,
  { origin, caller }: ApiRequest,
  numbers?: readonly number[],
): Promise<readonly PresignedPart[]> {
  const md5ByPart = new Map<number, string>();
  for (const { name } of await listFolder(data.uploadPartsOf(upload))) {
    const [number, md5] = name.split('-');
    md5ByPart.set(Number(number), md5!);
  }
  const allNumbers = Array.from({ length: partCount(upload) }, (_, i) => i + 1);
  return (numbers ?? allNumbers).map((number) => {
    const range = partRange(upload, number);
    if (range === undefined)
      throw invalidError('part_numbers', `The file has no part ${number}; its parts are 1 to ${allNumbers.length}.`); // prettier-ignore
    return {
      part_number: number,
      start_byte: range.start,
      end_byte: range.start + range.bytes - 1,
      size: range.bytes,
      upload_url: origin + signPartTarget(signer, caller!.user.id, upload, number),
      etag: md5ByPart.get(number) ?? null,
    };
  });
}

function partCount({ bytes, partBytes }: MultipartUploadRow): number {
  return Math.ceil(bytes / partBytes);
}

function partRange(
  upload: MultipartUploadRow,
  number: number,
): { readonly start: number; readonly bytes: number } | undefined {
  if (number < 1 || number > partCount(upload)) return undefined;
  const start = (number - 1) * upload.partBytes;
  return { start, bytes: Math.min(upload.partBytes, upload.bytes - start) };
}

/** The object, the version and the part in a signed address. */
interface SignedPart {
  readonly id: number;
  readonly revision: number;
  readonly number: number;
}

/**
 * Receives a part and stores it durably; a part that is sent again with other bytes replaces the earlier one. Returns its MD5 in hex.
 * Throws a 404 if the upload has been completed or aborted, or has no part with this number.
 */
export async function receivePart(
  context: AppContext,
  { id, revision, number }: SignedPart,
  body: IncomingMessage,
  contentMd5: string | undefined,
): Promise<string> {
  const { catalog, data } = context;
  const upload = requireOpenUpload(await catalog.multipartUploads.get(id, revision));
  const range = partRange(upload, number);
  if (range === undefined) throw notFoundError();
  const announcedContent = { size: range.bytes, md5: null };
  return receiveBody(context, id, body, announcedContent, contentMd5, (scratchPath, { md5 }) =>
    withDatasetLock(id, async () => {
      const folder = data.uploadPartsOf(upload);
      const otherMd5s = await readStoredMd5s(context, upload, number);
      await catalog.transaction(async (tx) => {
        requireOpenUpload(await tx.multipartUploads.get(id, revision)); // the upload may have ended meanwhile
        await makeFolder(folder);
        await moveFile(scratchPath, data.uploadPart(upload, number, md5));
        await syncFolder(folder);
        await tx.multipartUploads.touch(upload);
      });
      crashpoint('part.stored');
      for (const otherMd5 of otherMd5s.filter((one) => one !== md5))
        await removeQuietly(data.uploadPart(upload, number, otherMd5));
    }),
  );
}

/**
 * Returns the MD5s of the stored files of a part. There is more than one if a crash or an error has kept the earlier file from being
 * removed.
 */
async function readStoredMd5s(
  { data }: AppContext,
  upload: MultipartUploadRow,
  number: number,
): Promise<readonly string[]> {
  const nameParts = (await listFolder(data.uploadPartsOf(upload))).map(({ name }) =>
    name.split('-'),
  );
  return nameParts.flatMap(([part, md5]) => (Number(part) === number ? [md5!] : []));
}

function requireOpenUpload(upload: MultipartUploadRow | undefined): MultipartUploadRow {
  if (upload === undefined || upload.isComplete) throw notFoundError();
  return upload;
}

/** A part that a client names to complete an upload. */
export interface UploadedPart {
  readonly number: number;
  /** The MD5 of the part in hexadecimal. */
  readonly etag: string;
}

/**
 * Joins the parts of an upload for a user. The result becomes the content of the version if its size and MD5 are those announced. Throws a
 * 400 that names the parts that are missing or differ; these can be sent again. Does nothing if the upload is already complete.
 */
export async function completeMultipart(
  context: AppContext,
  { id, revision }: MultipartUploadRow,
  userId: number,
  parts: readonly UploadedPart[],
): Promise<void> {
  const { catalog } = context;
  await withDatasetLock(id, async () => {
    const upload = await catalog.multipartUploads.get(id, revision);
    const version = await catalog.fileVersions.get(id, revision);
    if (upload === undefined || version === undefined) throw notFoundError(); // the upload or the version was deleted meanwhile
    if (upload.isComplete) return;
    const partPaths = await verifyParts(context, upload, parts);
    const scratchPath = uploadScratchPath(context, id);
    try {
      const writtenFile = await writeStream(scratchPath, joinFiles(partPaths));
      if (writtenFile.bytes !== upload.bytes)
        throw new AppError('damaged', `The parts of the file ${id} have ${writtenFile.bytes} bytes, not ${upload.bytes}.`); // prettier-ignore
      if (version.md5 !== null && version.md5 !== writtenFile.md5)
        throw new AppError('invalid', `The file's md5 is ${writtenFile.md5}, but ${version.md5} was announced: send the parts that differ again.`); // prettier-ignore
      crashpoint('multipart.joined');
      await publishUpload(context, { id, revision, userId }, scratchPath, writtenFile, (tx) =>
        tx.multipartUploads.complete(upload),
      );
    } catch (error) {
      await removeQuietly(scratchPath);
      throw error;
    }
    crashpoint('multipart.published');
    await removeParts(context, upload);
  }).catch(async (error: unknown) => {
    if ((await catalog.objects.get(id)) === undefined) throw notFoundError(); // the object was deleted meanwhile
    throw error;
  });
}

/**
 * Returns the paths of the files of all parts, in the order of the parts. Throws a 400 unless the client names every part once, with the
 * MD5 of its stored file.
 */
async function verifyParts(
  context: AppContext,
  upload: MultipartUploadRow,
  parts: readonly UploadedPart[],
): Promise<readonly string[]> {
  const givenEtags = new Map(parts.map(({ number, etag }) => [number, etag]));
  const count = partCount(upload);
  const unknownPart = parts.find(({ number }) => number < 1 || number > count);
  if (unknownPart !== undefined)
    throw invalidError(
      'parts',
      `The file has no part ${unknownPart.number}; its parts are 1 to ${count}.`,
    );
  if (givenEtags.size < parts.length) throw invalidError('parts', 'A part is named twice.');
  const storedNames = new Set(
    (await listFolder(context.data.uploadPartsOf(upload))).map(({ name }) => name),
  );
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const missingNumbers = numbers.filter((number) => !givenEtags.has(number));
  if (missingNumbers.length > 0)
    throw invalidError(
      'parts',
      `The file has ${count} parts; name these, too: ${listNumbers(missingNumbers)}.`,
    );
  const wrongNumbers = numbers.filter(
    (number) => !storedNames.has(`${number}-${givenEtags.get(number)}`),
  );
  if (wrongNumbers.length > 0)
    throw invalidError('parts', `These parts have not arrived with the etag given; send them again: ${listNumbers(wrongNumbers)}.`); // prettier-ignore
  return numbers.map((number) => context.data.uploadPart(upload, number, givenEtags.get(number)!));
}

function listNumbers(numbers: readonly number[]): string {
  const moreText = numbers.length > 20 ? ` and ${numbers.length - 20} more` : '';
  return numbers.slice(0, 20).join(', ') + moreText;
}

/** Yields the bytes of files, one file after another. */
async function* joinFiles(paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    const file = await openFile(path);
    try {
      yield* file.stream();
    } finally {
      await file.close();
    }
  }
}

/**
 * Aborts the most recent open upload in parts of a file and removes its parts; the version stays without content. Throws a 400 if no upload
 * is open.
 */
export async function abortMultipart(context: AppContext, id: number): Promise<void> {
  await withDatasetLock(id, async () => {
    const endedUpload = await context.catalog.transaction(async (tx) => {
      const upload = await tx.multipartUploads.open(id);
      if (upload === undefined)
        throw new AppError('invalid', 'The object has no upload in parts that could be aborted.');
      await tx.multipartUploads.delete(upload);
      return upload;
    });
    await removeParts(context, endedUpload);
  });
}

/** Removes the parts of a version, ignoring errors: the next start of the server removes parts that remain. */
async function removeParts({ data }: AppContext, upload: MultipartUploadRow): Promise<void> {
  await removeTree(data.uploadPartsOf(upload)).catch(() => undefined);
}
