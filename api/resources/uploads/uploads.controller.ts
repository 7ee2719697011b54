import { Controller, Headers, Param, Req, Res } from '@nestjs/common';
import { Public } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { uploadOperations } from '../objects/objects.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import {
  moveFile,
  removeFile,
  syncFolder,
  writeStream,
  type Written,
} from '../../../engine/core/files.js';

/** Where the bytes of files arrive: the signed address is the only credential (contract 6.5). */
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
    this.context.signer.verify('PUT', request.url);
    const target = { id: readId(id) ?? 0, revision: readId(revision) ?? 0 };
    try {
      const md5 = await receiveUpload(this.context, target, request.raw, contentMd5);
      reply.header('ETag', `"${md5}"`);
    } catch (error) {
      // What is left of the body is not read: the connection cannot be used again.
      if (!request.raw.complete) reply.header('Connection', 'close');
      throw error;
    }
    reply.header('Content-Type', 'text/plain');
    return '';
  }
}

/** The object and revision that a signed upload address names. */
export interface UploadTarget {
  readonly id: number;
  readonly revision: number;
}

/**
 * Streams a body to disk and makes it the file's content, if it is as long and has the md5 that were announced: in the
 * request, or when the file was created. Returns its md5 in hex. Nothing of a failed upload stays or shows (threat D8).
 */
export async function receiveUpload(
  context: AppContext,
  target: UploadTarget,
  body: IncomingMessage,
  contentMd5: string | undefined,
): Promise<string> {
  const object = await context.catalog.objects.get(target.id);
  if (object?.objectType !== 'file' || target.revision > object.revision + 1) throw notFound();
  const announced = target.revision === 1 ? object : { size: null, md5: null };
  const expected = expectation(announced, body.headers['content-length'], contentMd5);
  const aside = context.data.path('scratch', `upload-${object.id}-${randomUUID()}`);
  try {
    const limit = expected.bytes;
    const options = limit === undefined ? {} : { maxBytes: limit, tooLarge: longer(limit) };
    const written = await writeStream(aside, body, options).catch((error: unknown) => {
      // The client went away: nobody hears the answer, and it is no fault of the server.
      throw error instanceof AppError ? error : brokenOff(error);
    });
    check(written, expected);
    crashpoint('upload.partial');
    await publish(context, object.id, aside, written);
    return written.md5;
  } catch (error) {
    await removeQuietly(aside);
    throw error;
  }
}

/** Removes what nobody can reach any more; what stays, the sweep at the next start takes. */
async function removeQuietly(path: string): Promise<void> {
  await removeFile(path).catch(() => undefined);
}

interface Expectation {
  readonly bytes: number | undefined;
  readonly md5s: readonly string[];
}

/** The first file's size and md5 are fixed at its creation; a later revision may differ and brings its own header. */
function expectation(
  object: Pick<ObjectRow, 'size' | 'md5'>,
  contentLength: string | undefined,
  contentMd5: string | undefined,
): Expectation {
  const length = contentLength === undefined ? undefined : Number(contentLength);
  const size = object.size ?? length;
  if (length !== undefined && size !== length) {
    throw new AppError(
      'invalid',
      `the body has ${length} bytes, but the file was announced with ${size}`,
    );
  }
  const md5s = [object.md5, hexOf(contentMd5)].filter((md5) => md5 !== null);
  return { bytes: size, md5s };
}

function hexOf(contentMd5: string | undefined): string | null {
  if (contentMd5 === undefined) return null;
  const text = contentMd5.trim();
  if (/^[0-9a-fA-F]{32}$/.test(text)) return text.toLowerCase(); // some clients send hex
  const bytes = Buffer.from(text, 'base64');
  if (bytes.byteLength === 16) return bytes.toString('hex');
  throw new AppError('invalid', 'Content-MD5 must be the base64 text of 16 bytes');
}

function longer(bytes: number): () => AppError {
  return () => new AppError('invalid', `the body has more than the ${bytes} bytes announced`);
}

function brokenOff(cause: unknown): AppError {
  return new AppError('invalid', 'the upload broke off', undefined, cause);
}

function check(written: Written, expected: Expectation): void {
  if (expected.bytes !== undefined && written.bytes !== expected.bytes) {
    const message = `the body has ${written.bytes} bytes, but the file was announced with ${expected.bytes}`;
    throw new AppError('invalid', message);
  }
  const wrong = expected.md5s.find((md5) => md5 !== written.md5);
  if (wrong === undefined) return;
  throw new AppError('invalid', `the body's md5 is ${written.md5}, but ${wrong} was announced`);
}

/** Each upload gets a name of its own, so that one never touches the bytes of another; the last one wins. */
async function publish(
  context: AppContext,
  id: number,
  aside: string,
  written: Written,
): Promise<void> {
  let moved: string | undefined;
  const published = context.catalog.transaction(async (tx) => {
    const object = await tx.objects.get(id);
    if (!object) throw notFound(); // deleted meanwhile
    const revision = object.revision + 1;
    const path = context.data.object(id, revision);
    await moveFile(aside, path);
    moved = path;
    await syncFolder(context.data.objects);
    crashpoint('upload.renamed');
    await tx.objects.update(id, {
      revision,
      size: written.bytes,
      md5: written.md5,
      availability: 'available',
    });
    return object.revision;
  });
  const replaced = await published.catch(async (error: unknown) => {
    if (moved !== undefined) await removeQuietly(moved);
    throw error;
  });
  if (replaced === 0) return;
  await removeQuietly(context.data.object(id, replaced));
  await context.scheduler.fileTables.drop(id);
}
