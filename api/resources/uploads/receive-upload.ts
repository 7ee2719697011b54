import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { freeArray } from '../../../engine/core/buffers.js';
import { linkFile, removeFile, syncFolder } from '../../../engine/core/files.js';
import { writeStream, type WrittenFile } from '../../../engine/core/file-writer.js';
import type { AppContext } from '../../http/app-context.js';
import { requireResourceOfUser } from '../../http/require-resource.js';

/** The object, the number of the version and the user in a signed upload URL. */
interface SignedUpload {
  readonly id: number;
  readonly revision: number;
  readonly userId: number;
}

/**
 * Streams a body to disk and makes it the content of the version for which the address was signed, if its size and MD5 are those announced
 * in the request or with the version. Returns the MD5 in hex. A failed upload leaves no file and changes nothing (threat D8). If the
 * address was used before, the content becomes a further version, unless it equals the current one.
 */
export async function receiveUpload(
  context: AppContext,
  target: SignedUpload,
  body: IncomingMessage,
  contentMd5: string | undefined,
): Promise<string> {
  const object = await context.catalog.objects.get(target.id);
  if (object?.objectType !== 'file') throw notFoundError();
  const version = await context.catalog.fileVersions.get(target.id, target.revision);
  if ((await context.catalog.fileVersions.numberFor(object, target.revision)) === undefined)
    throw notFoundError();
  const announcedContent =
    version?.availability === 'unverified' ? version : { size: null, md5: null };
  return receiveBody(
    context,
    object.id,
    body,
    announcedContent,
    contentMd5,
    (scratchPath, writtenFile) => publishUpload(context, target, scratchPath, writtenFile),
  );
}

/**
 * Streams a body to a file in the scratch folder, checks its size and MD5, and calls `publish`, which links or moves the file to its final
 * path. Returns the MD5 in hex.
 */
export async function receiveBody(
  context: AppContext,
  objectId: number,
  body: IncomingMessage,
  announcedContent: AnnouncedContent,
  contentMd5: string | undefined,
  publish: (scratchPath: string, writtenFile: WrittenFile) => Promise<unknown>,
): Promise<string> {
  const expectedContent = determineExpectedContent(
    announcedContent,
    body.headers['content-length'],
    contentMd5,
  );
  const scratchPath = uploadScratchPath(context, objectId);
  try {
    const limit = expectedContent.bytes;
    const options = limit === undefined ? {} : { maxBytes: limit, tooLarge: tooLargeError(limit) };
    const writtenFile = await writeStream(scratchPath, freedPieces(body), options).catch(
      (error: unknown) => {
        // The client closed the connection, which is not an error of the server.
        throw error instanceof AppError ? error : interruptedUploadError(error);
      },
    );
    checkContent(writtenFile, expectedContent);
    crashpoint('upload.partial');
    await publish(scratchPath, writtenFile);
    return writtenFile.md5;
  } catch (error) {
    await removeQuietly(scratchPath);
    throw error;
  }
}

/**
 * Yields the pieces of a body, and frees the memory of each when the next one is asked for. Otherwise, the garbage collector leaves 45 MB of
 * them in memory.
 */
async function* freedPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    yield piece;
    freeArray(piece);
  }
}

/** Returns a new path in the scratch folder for the bytes of a file; the next start of the server removes files that remain there. */
export function uploadScratchPath({ data }: AppContext, objectId: number): string {
  return data.path('scratch', `upload-${objectId}-${randomUUID()}`);
}

/** Removes a file, ignoring errors: the sweep at the next start removes files that remain. */
export async function removeQuietly(path: string): Promise<void> {
  await removeFile(path).catch(() => undefined);
}

/** The announced size and MD5 in hex; null if not announced. */
type AnnouncedContent = Pick<ObjectRow, 'size' | 'md5'>;

interface ExpectedContent {
  readonly bytes: number | undefined;
  readonly md5s: readonly string[];
}

/** Returns the expected size, and the MD5s that were announced when the version was created and sent with the upload, if any. */
function determineExpectedContent(
  announcedContent: AnnouncedContent,
  contentLength: string | undefined,
  contentMd5: string | undefined,
): ExpectedContent {
  const length = contentLength === undefined ? undefined : Number(contentLength);
  const size = announcedContent.size ?? length;
  if (length !== undefined && size !== length) {
    throw new AppError(
      'invalid',
      `the body has ${length} bytes, but the file was announced with ${size}`,
    );
  }
  const md5s = [announcedContent.md5, contentMd5Hex(contentMd5)].filter((md5) => md5 !== null);
  return { bytes: size, md5s };
}

function contentMd5Hex(contentMd5: string | undefined): string | null {
  if (contentMd5 === undefined) return null;
  const text = contentMd5.trim();
  if (/^[0-9a-fA-F]{32}$/.test(text)) return text.toLowerCase(); // some clients send the MD5 in hex
  const bytes = Buffer.from(text, 'base64');
  if (bytes.byteLength === 16) return bytes.toString('hex');
  throw new AppError('invalid', 'Content-MD5 must be the base64 text of 16 bytes');
}

function tooLargeError(bytes: number): () => AppError {
  return () => new AppError('invalid', `the body has more than the ${bytes} bytes announced`);
}

function interruptedUploadError(cause: unknown): AppError {
  return new AppError('invalid', 'the upload broke off', undefined, cause);
}

function checkContent(writtenFile: WrittenFile, expectedContent: ExpectedContent): void {
  if (expectedContent.bytes !== undefined && writtenFile.bytes !== expectedContent.bytes) {
    const message = `the body has ${writtenFile.bytes} bytes, but the file was announced with ${expectedContent.bytes}`;
    throw new AppError('invalid', message);
  }
  const announcedMd5 = expectedContent.md5s.find((md5) => md5 !== writtenFile.md5);
  if (announcedMd5 === undefined) return;
  throw new AppError(
    'invalid',
    `the body's md5 is ${writtenFile.md5}, but ${announcedMd5} was announced`,
  );
}

/**
 * The file that gets a content, and the version for which the content was announced. Without `revision`, the content becomes a new version.
 */
interface ContentTarget extends Pick<SignedUpload, 'id' | 'userId'> {
  readonly revision?: number;
}

/** Uploaded content in the scratch folder; without `mimetype`, the file keeps its present media type. */
interface UploadedContent {
  readonly bytes: number | null;
  readonly md5: string | null;
  readonly mimetype?: string | null;
}

/**
 * Makes a file of the scratch folder the content of a version of a file, and removes it from the scratch folder; `also` runs in the same
 * transaction. Each upload has its own scratch file; of concurrent uploads to one address, the last to finish becomes the content. Returns
 * the number of the version. Throws 404 or 403 if the user has lost the permission to write since the upload began (threat A4), and
 * 404 if the version was deleted meanwhile.
 * Choice: bytes that are sent again to a used upload address add no version if they equal the current content, because clients repeat
 * uploads whose answer was lost.
 */
export async function publishUpload(
  context: AppContext,
  { id, revision: announcedRevision, userId }: ContentTarget,
  scratchPath: string,
  content: UploadedContent,
  also: (tx: Tables) => Promise<void> = async () => undefined,
): Promise<number> {
  let linkedPath: string | undefined;
  const publishedFile = context.catalog.transaction(async (tx) => {
    const object = await requireResourceOfUser(tx, userId, 'object', id, 'write');
    const { bytes: size, ...contentProperties } = content;
    const nextRevision = object.lastRevision + 1;
    const isAdded = announcedRevision === undefined;
    const revision = isAdded
      ? nextRevision
      : await tx.fileVersions.numberFor(object, announcedRevision);
    if (revision === undefined) throw notFoundError(); // the version was deleted meanwhile
    const isCurrentContent =
      object.revision > 0 && object.md5 === content.md5 && object.size === size;
    if (!isAdded && revision !== announcedRevision && isCurrentContent)
      return { revision: object.revision };
    const path = context.data.object(id, revision);
    await linkFile(scratchPath, path); // until the scratch file is removed, a restart sees that the upload was not completed
    linkedPath = path;
    await syncFolder(context.data.objects);
    crashpoint('upload.renamed');
    const storedContent = { ...contentProperties, revision, userId, size };
    const replacedRevision = await tx.fileVersions.publish(object, storedContent, isAdded);
    await also(tx);
    return { revision, replacedRevision };
  });
  const { revision, replacedRevision } = await publishedFile.catch(async (error: unknown) => {
    if (linkedPath !== undefined) await removeQuietly(linkedPath);
    throw error;
  });
  await removeQuietly(scratchPath);
  if (linkedPath === undefined) return revision;
  crashpoint('upload.published');
  if (replacedRevision !== undefined)
    await removeQuietly(context.data.object(id, replacedRevision));
  await context.scheduler.fileTables.drop(id);
  return revision;
}
