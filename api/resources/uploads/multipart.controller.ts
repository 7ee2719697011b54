import { Body, Controller, Req, Res } from '@nestjs/common';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { MultipartUploadRow } from '../../../engine/catalog/multipart-uploads.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form, isObject, readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import {
  answerSchema,
  bodySchema,
  integer,
  integers,
  jsonObjects,
  text,
} from '../../http/json-schema.js';
import { object } from '../shared/object.js';
import { presenterFor } from '../shared/presenter.js';
import {
  abortMultipart,
  completeMultipart,
  presignParts,
  type UploadedPart,
} from './multipart-upload.js';

const uploadIdProperty = {
  type: text,
  description: 'As in the answer that created the file.',
  example: '6f0e8c1e-5d2b-4f5e-9c1a-0d8f3a6b7c21',
  required: true,
};
const uploadKeyProperty = { type: text, description: 'The `upload_key`.', example: '4811' };
const examplePart = {
  part_number: 1,
  start_byte: 0,
  end_byte: 67_108_863,
  size: 67_108_864,
  upload_url: 'http://localhost:7878/v2/uploads/4811/parts/1?expires=1772530841&signature=q0…',
  etag: null,
};

const completionBody = bodySchema('MultipartComplete', 'Completes an upload in parts.', {
  upload_id: uploadIdProperty,
  physical_object_id: uploadKeyProperty,
  parts: {
    type: jsonObjects,
    description: 'The number and the `ETag` of every part.',
    example: [{ part_number: 1, etag: '9e107d9d372bb6826bd81d3542a419d6' }],
    required: true,
  },
});
const completedAnswer = answerSchema('MultipartCompleted', 'That an upload in parts is complete.', {
  message: { type: text, example: 'The file is complete.' },
  object_id: { type: integer, example: 4811 },
});
const refreshBody = bodySchema('PresignedUrlsCreate', 'Asks for new addresses of parts.', {
  upload_id: uploadIdProperty,
  key: uploadKeyProperty,
  total_size: { type: integer, description: 'The size of the file.', example: 7_000_000_000 },
  part_numbers: { type: integers, description: 'All parts when absent.', example: [1] },
});
const refreshedAnswer = answerSchema('PresignedUrls', 'Addresses of the parts of a file.', {
  presigned_urls: {
    type: jsonObjects,
    description: '`etag` is the MD5 of a part that has arrived, else null.',
    example: [examplePart],
  },
});

/** The schemas of the bodies and answers of uploads in parts. */
export const multipartSchemas = [completionBody, completedAnswer, refreshBody, refreshedAnswer];

/** The HTTP operations on uploads in parts. */
export const multipartOperations = declareOperations('multipart', 'Objects', {
  refresh: {
    method: 'POST',
    paths: ['/v2/presigned_urls'],
    summary: 'Returns new addresses for the parts of a file, and tells which have arrived.',
    body: refreshBody,
    answer: refreshedAnswer,
  },
  complete: {
    method: 'POST',
    paths: ['/v2/complete_multi_part'],
    summary: 'Joins the parts of a file. Answers when the file is available.',
    body: completionBody,
    answer: completedAnswer,
  },
  abort: {
    method: 'DELETE',
    paths: ['/v2/objects/:id/multipart-upload'],
    summary: 'Ends an upload in parts and removes its parts; the file stays without content.',
    answer: object.schema,
  },
});

/**
 * Uploads in parts (contract 6.5).
 * Choice: files of 5 GiB and more, or of `--multipart-mb` and more, are uploaded in parts of at most 64 MiB, or of larger parts if there
 * would otherwise be more than 10,000. The `ETag` of a part is its MD5. An upload to which nothing has been sent for seven days is aborted.
 * If joining the parts takes more than 20 seconds, the answer begins with status 200 and continues with a space from time to time, because
 * one client waits at most 80 seconds; if the parts then prove wrong, the connection is closed before the answer is complete.
 */
@Controller()
export class MultipartController {
  constructor(private readonly context: AppContext) {}

  @Operation(multipartOperations.complete)
  @Access('write')
  async complete(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const form = new Form(body);
    const parts = readParts(form);
    const upload = await this.#uploadNamed(form, 'physical_object_id', caller);
    const answer = { message: 'The file is complete.', object_id: upload.id };
    const done = completeMultipart(this.context, upload, caller.user.id, parts).then(() => answer);
    const { keepAliveMs } = this.context.limits;
    const early = await Promise.race([done, setTimeout(keepAliveMs, undefined, { ref: false })]);
    if (early !== undefined) return early;
    reply.header('Content-Type', 'application/json');
    return Readable.from(streamKeepAliveAnswer(done, keepAliveMs), { objectMode: false });
  }

  @Operation(multipartOperations.refresh)
  @Access('write')
  async refresh(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const numbers = readNumbers(form);
    const size = form.integer('total_size');
    const upload = await this.#uploadNamed(form, 'key', caller);
    if (upload.isComplete) throw notFoundError();
    if (size !== undefined && size !== upload.bytes)
      form.fail('total_size', `The file was announced with ${upload.bytes} bytes, not ${size}.`);
    form.throwIfInvalid();
    return { presigned_urls: await presignParts(this.context, upload, request, numbers) };
  }

  @Operation(multipartOperations.abort)
  @Access('write', 'object')
  async abort(@Resource() row: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    await abortMultipart(this.context, row.id);
    return presenterFor(this.context, request).objectView(row);
  }

  /** Returns the upload that a form names by its id, and possibly also by its key. */
  async #uploadNamed(form: Form, keyName: string, caller: Caller): Promise<MultipartUploadRow> {
    const givenUploadId = form.requiredText('upload_id');
    const key = form.text(keyName);
    form.throwIfInvalid();
    const upload = await this.context.catalog.multipartUploads.byUploadId(givenUploadId);
    if (upload === undefined) throw notFoundError();
    await requireResource(this.context.catalog, caller, 'object', upload.id, 'write');
    if (key !== undefined && readId(key) !== upload.id)
      form.fail(keyName, `The upload has the key ${upload.id}, not ${JSON.stringify(key.slice(0, 50))}.`); // prettier-ignore
    form.throwIfInvalid();
    return upload;
  }
}

/** Yields the text of an answer, preceded by a space for every `everyMs` that passes before `done` resolves. Throws the error of `done`. */
async function* streamKeepAliveAnswer(
  done: Promise<object>,
  everyMs: number,
): AsyncGenerator<Uint8Array> {
  done.catch(() => undefined); // if the client has left, nobody awaits this promise
  for (;;) {
    yield Buffer.from(' ');
    const answer = await Promise.race([done, setTimeout(everyMs, undefined, { ref: false })]);
    if (answer === undefined) continue;
    yield Buffer.from(stringifyJson(answer));
    return;
  }
}

/** Returns the parts that a request names, with their etags in lower case and without quotes. */
function readParts(form: Form): readonly UploadedPart[] {
  if (form.raw('parts') === undefined) form.fail('parts', 'This field is required.');
  return (form.objectList('parts') ?? []).map((part, i): UploadedPart => {
    const number = isObject(part) ? readId(part['part_number']) : undefined;
    const rawEtag = part['etag'];
    const etag = typeof rawEtag === 'string' ? rawEtag.replaceAll('"', '').toLowerCase() : '';
    if (number === undefined) form.fail('parts', `parts[${i}] needs a part_number of 1 or more.`);
    if (!/^[0-9a-f]{32}$/.test(etag))
      form.fail('parts', `parts[${i}] needs the etag of the part, 32 hex digits.`);
    return { number: number ?? 0, etag };
  });
}

function readNumbers(form: Form): readonly number[] | undefined {
  const numberTexts = form.textList('part_numbers');
  return numberTexts?.map((text) => {
    const number = readId(text);
    if (number === undefined) form.fail('part_numbers', `${JSON.stringify(text.slice(0, 50))} is not the number of a part.`); // prettier-ignore
    return number ?? 0;
  });
}
