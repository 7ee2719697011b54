import { Controller, Headers, Param, Req, Res } from '@nestjs/common';
import { Public } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { requireSigned } from '../downloads/signed-addresses.js';
import { uploadOperations } from '../objects/objects.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { linkFile, removeFile, syncFolder } from '../../../engine/core/files.js';
import { writeStream, type WrittenFile } from '../../../engine/core/file-writer.js';

/** Uploads of file contents by signed addresses, without credentials (contract 6.5). */
@Controller()
export class UploadsController {
  constructor(private readonly context: AppContext) {}

  @Operation(uploadOperations.put)
  @Public()
  async put(
    @Param('id') id: string,
    @Param('revision') revision: string,
    @Headers('content-md5') contentMd5: string | undefined,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    try {
      await requireSigned(this.context, request, 'object', id, 'write');
      const target = { id: readId(id) ?? 0, revision: readId(revision) ?? 0 };
      const md5 = await receiveUpload(this.context, target, request.raw, contentMd5);
      reply.header('ETag', `"${md5}"`);
    } catch (error) {
      // The rest of the body is not read, so the connection cannot be reused.
      if (!request.raw.complete) reply.header('Connection', 'close');
      throw error;
    }
    reply.header('Content-Type', 'text/plain');
    return '';
  }
}

/** The object and the revision in a signed upload URL. */
export interface SignedUpload {
  readonly id: number;
  readonly revision: number;
}

/**
 * Streams a body to disk and makes it the content of the file, if its size and MD5 are those announced in the request or at the
 * creation of the file. Returns the MD5 in hex. A failed upload leaves no file and changes nothing (threat D8).
 */
export async function receiveUpload(
  context: AppContext,
  target: SignedUpload,
  body: IncomingMessage,
  contentMd5: string | undefined,
): Promise<string> {
  const object = await context.catalog.objects.get(target.id);
  if (object?.objectType !== 'file' || target.revision > object.revision + 1) throw notFound();
  const announced = target.revision === 1 ? object : { size: null, md5: null };
  const expected = expectedContent(announced, body.headers['content-length'], contentMd5);
  const scratchPath = context.data.path('scratch', `upload-${object.id}-${randomUUID()}`);
  try {
    const limit = expected.bytes;
    const options = limit === undefined ? {} : { maxBytes: limit, tooLarge: tooLarge(limit) };
    const written = await writeStream(scratchPath, body, options).catch((error: unknown) => {
      // The client closed the connection, which is not an error of the server.
      throw error instanceof AppError ? error : interrupted(error);
    });
    checkContent(written, expected);
    crashpoint('upload.partial');
    await publish(context, object.id, scratchPath, written);
    return written.md5;
  } catch (error) {
    await removeQuietly(scratchPath);
    throw error;
  }
}

/** Removes a file, ignoring errors: the sweep at the next start removes what is left. */
async function removeQuietly(path: string): Promise<void> {
  await removeFile(path).catch(() => undefined);
}

interface ExpectedContent {
  readonly bytes: number | undefined;
  readonly md5s: readonly string[];
}

/** The size and MD5 of the first revision may be set when the file is created; those of later revisions come with the upload. */
function expectedContent(
  object: Pick<ObjectRow, 'size' | 'md5'>,
  contentLength: string | undefined,
  contentMd5: string | undefined,
): ExpectedContent {
  const length = contentLength === undefined ? undefined : Number(contentLength);
  const size = object.size ?? length;
  if (length !== undefined && size !== length) {
    throw new AppError(
      'invalid',
      `the body has ${length} bytes, but the file was announced with ${size}`,
    );
  }
  const md5s = [object.md5, contentMd5Hex(contentMd5)].filter((md5) => md5 !== null);
  return { bytes: size, md5s };
}

function contentMd5Hex(contentMd5: string | undefined): string | null {
  if (contentMd5 === undefined) return null;
  const text = contentMd5.trim();
  if (/^[0-9a-fA-F]{32}$/.test(text)) return text.toLowerCase(); // some clients send hex
  const bytes = Buffer.from(text, 'base64');
  if (bytes.byteLength === 16) return bytes.toString('hex');
  throw new AppError('invalid', 'Content-MD5 must be the base64 text of 16 bytes');
}

function tooLarge(bytes: number): () => AppError {
  return () => new AppError('invalid', `the body has more than the ${bytes} bytes announced`);
}

function interrupted(cause: unknown): AppError {
  return new AppError('invalid', 'the upload broke off', undefined, cause);
}

function checkContent(written: WrittenFile, expected: ExpectedContent): void {
  if (expected.bytes !== undefined && written.bytes !== expected.bytes) {
    const message = `the body has ${written.bytes} bytes, but the file was announced with ${expected.bytes}`;
    throw new AppError('invalid', message);
  }
  const wrong = expected.md5s.find((md5) => md5 !== written.md5);
  if (wrong === undefined) return;
  throw new AppError('invalid', `the body's md5 is ${written.md5}, but ${wrong} was announced`);
}

/** Each upload has a scratch file of its own; of concurrent uploads, the last to finish becomes the content. */
async function publish(
  context: AppContext,
  id: number,
  scratchPath: string,
  written: WrittenFile,
): Promise<void> {
  let linked: string | undefined;
  const published = context.catalog.transaction(async (tx) => {
    const object = await tx.objects.get(id);
    if (!object) throw notFound(); // deleted meanwhile
    const revision = object.revision + 1;
    const path = context.data.object(id, revision);
    await linkFile(scratchPath, path); // the name in the scratch folder shows a restart that this was not completed
    linked = path;
    await syncFolder(context.data.objects);
    crashpoint('upload.renamed');
    await tx.objects.update(id, {
      revision,
      size: written.bytes,
      md5: written.md5,
      availability: 'available',
      documentsCount: null,
    });
    return object.revision;
  });
  const replaced = await published.catch(async (error: unknown) => {
    if (linked !== undefined) await removeQuietly(linked);
    throw error;
  });
  await removeQuietly(scratchPath);
  if (replaced === 0) return;
  await removeQuietly(context.data.object(id, replaced));
  await context.scheduler.fileTables.drop(id);
}
