import { Body, Controller, Req, Res } from '@nestjs/common';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { MultipartUploadRow } from '../../../engine/catalog/multipart-uploads.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { invalidError, notFoundError } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { isObject, readId, type Form } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import {
  answerSchema,
  bodySchema,
  filledText,
  integer,
  integers,
  jsonObjects,
  text,
  withReader,
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
  type: filledText,
  description: 'As in the answer that created the file.',
  example: '6f0e8c1e-5d2b-4f5e-9c1a-0d8f3a6b7c21',
  required: true,
} as const;
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
    type: withReader(jsonObjects, readParts),
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
  part_numbers: {
    type: withReader(integers, readNumbers),
    description: 'All parts when absent.',
    example: [1],
  },
});
const refreshedAnswer = answerSchema('PresignedUrls', 'Addresses of the parts of a file.', {
  presigned_urls: {
    type: jsonObjects,
    description: '`etag` is the MD5 of a part that has arrived, else null.',
    example: [examplePart],
  },
});

export const multipartSchemas = [completionBody, completedAnswer, refreshBody, refreshedAnswer];

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
    const { parts, uploadId, physicalObjectId } = completionBody.parse(body);
    const upload = await this.#uploadNamed(caller, uploadId, 'physical_object_id', physicalObjectId); // prettier-ignore
    const answer = { message: 'The file is complete.', object_id: upload.id };
    const completion = completeMultipart(this.context, upload, caller.user.id, parts).then(
      () => answer,
    );
    const { keepAliveMs } = this.context.limits;
    const earlyAnswer = await Promise.race([
      completion,
      setTimeout(keepAliveMs, undefined, { ref: false }),
    ]);
    if (earlyAnswer !== undefined) return earlyAnswer;
    reply.header('Content-Type', 'application/json');
    return Readable.from(streamKeepAliveAnswer(completion, keepAliveMs), { objectMode: false });
  }

  @Operation(multipartOperations.refresh)
  @Access('write')
  async refresh(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const { partNumbers, totalSize, uploadId, key } = refreshBody.parse(body);
    const upload = await this.#uploadNamed(caller, uploadId, 'key', key);
    if (upload.isComplete) throw notFoundError();
    if (totalSize !== undefined && totalSize !== upload.bytes)
      throw invalidError('total_size', `The file was announced with ${upload.bytes} bytes, not ${totalSize}.`); // prettier-ignore
    return { presigned_urls: await presignParts(this.context, upload, request, partNumbers) };
  }

  @Operation(multipartOperations.abort)
  @Access('write', 'object')
  async abort(@Resource() row: ObjectRow, @Req() request: ApiRequest): Promise<object> {
    await abortMultipart(this.context, row.id);
    return presenterFor(this.context, request).objectView(row);
  }

  /** Returns the upload with an id, and also with the key that the request gives under the name `keyName`, if it gives one. */
  async #uploadNamed(
    caller: Caller,
    uploadId: string,
    keyName: string,
    key: string | undefined,
  ): Promise<MultipartUploadRow> {
    const upload = await this.context.catalog.multipartUploads.byUploadId(uploadId);
    if (upload === undefined) throw notFoundError();
    await requireResource(this.context.catalog, caller, 'object', upload.id, 'write');
    if (key !== undefined && readId(key) !== upload.id)
      throw invalidError(keyName, `The upload has the key ${upload.id}, not ${JSON.stringify(key.slice(0, 50))}.`); // prettier-ignore
    return upload;
  }
}

/**
 * Yields a space at once and another one after each `everyMs`, until `completion` resolves, and then the text of the answer to which it
 * resolves. Throws the error of `completion`.
 */
async function* streamKeepAliveAnswer(
  completion: Promise<object>,
  everyMs: number,
): AsyncGenerator<Uint8Array> {
  completion.catch(() => undefined); // if the client has left, nobody awaits this promise
  for (;;) {
    yield Buffer.from(' ');
    const answer = await Promise.race([completion, setTimeout(everyMs, undefined, { ref: false })]);
    if (answer === undefined) continue;
    yield Buffer.from(stringifyJson(answer));
    return;
  }
}

/** Returns the parts that a request names, with their etags in lower case and without quotes. */
function readParts(form: Form, key: string): readonly UploadedPart[] | undefined {
  return form.objectList(key)?.map((part, i): UploadedPart => {
    const number = isObject(part) ? readId(part['part_number']) : undefined;
    const rawEtag = part['etag'];
    const etag = typeof rawEtag === 'string' ? rawEtag.replaceAll('"', '').toLowerCase() : '';
    if (number === undefined) form.fail(key, `${key}[${i}] needs a part_number of 1 or more.`);
    if (!/^[0-9a-f]{32}$/.test(etag))
      form.fail(key, `${key}[${i}] needs the etag of the part, 32 hex digits.`);
    return { number: number ?? 0, etag };
  });
}

function readNumbers(form: Form, key: string): readonly number[] | undefined {
  return form.textList(key)?.map((text) => {
    const number = readId(text);
    if (number === undefined) form.fail(key, `${JSON.stringify(text.slice(0, 50))} is not the number of a part.`); // prettier-ignore
    return number ?? 0;
  });
}
