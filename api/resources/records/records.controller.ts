import { Body, Controller, Headers, Param, Query, Req, Res } from '@nestjs/common';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { invalidError } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { answerAnnotatedQuery, answerAnnotatedPage, isAnnotatedQuery } from './annotated-query.js';
import { answerBatchQuery } from './batch-query.js';
import { KnownKeys, reportIgnoredKeys } from '../../http/known-keys.js';
import { Operation } from '../../http/operation.js';
import { batchItem } from './record-schemas.js';
import { recordOperations } from './records.operations.js';
import { firstParamValue } from '../../http/list-query.js';
import type { QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { answerDiff } from './diff.js';
import {
  answerLookup,
  answerTypedPage,
  pageTypes,
  streamAnswer,
  type PageType,
  type TypedPage,
} from '../queries/query-records.js';
import { ByteStream, type JsonText } from '../../http/reply.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';

/** Returns the first supported media type of `Accept`; undefined for JSON, which is also the default. */
function requestedPageType(accept: string | undefined): PageType | undefined {
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const type = range.split(';', 1)[0]!.trim();
    if (type === 'application/json') return undefined;
    if (Object.hasOwn(pageTypes, type)) return type as PageType;
  }
  return undefined;
}

/**
 * Maximum number of characters of a cursor in a header. Proxies and clients limit the total size of the headers of an answer, the strictest
 * of them (nginx) to 4 kB. A cursor is longer only if the values by which the records are ordered are long.
 */
const maxCursorHeaderLength = 3_000;

/**
 * Returns the headers with the total, the next offset and cursor and the version of a page. Throws if the cursor is too long for a header.
 */
function pageHeaders({ total, offset, next, asOf }: TypedPage): readonly [string, string][] {
  if (next !== null && next.length > maxCursorHeaderLength)
    throw invalidError(
      'cursor',
      'The values by which the records are ordered make a cursor that is too long for a header: request the pages as application/json, or order by another field.',
    );
  const headers: readonly [string, string | number | null | undefined][] = [
    ['X-Total', total],
    ['X-Next-Offset', offset],
    ['X-Next-Cursor', next],
    ['X-As-Of-Version', asOf?.version],
    ['X-As-Of-Commit', asOf?.commit_id],
  ];
  return headers.flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));
}

/** The records of datasets (contract 8). */
@Controller()
export class RecordsController {
  constructor(
    private readonly context: AppContext,
    private readonly knownKeys: KnownKeys,
  ) {}

  @Operation(recordOperations.query)
  @Access('read', 'dataset')
  async query(
    @Resource() dataset: DatasetRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Headers('accept') accept: string | undefined,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText | ByteStream | Buffer> {
    const signal = connectionClosedSignal(request, reply);
    const type = requestedPageType(accept);
    const scope = { context: this.context, caller, signal };
    if (type === undefined)
      return isAnnotatedQuery(body)
        ? answerAnnotatedQuery(scope, dataset, body)
        : streamAnswer(this.context, dataset, body, signal);
    const page = isAnnotatedQuery(body)
      ? await answerAnnotatedPage(scope, dataset, body, type)
      : await answerTypedPage(this.context, dataset, body, type, signal);
    reply.header('Content-Type', type);
    for (const [name, value] of pageHeaders(page)) reply.header(name, value);
    if (!ArrayBuffer.isView(page.body)) return new ByteStream(page.body);
    return Buffer.from(page.body.buffer, page.body.byteOffset, page.body.length);
  }

  @Operation(recordOperations.batch)
  @Access('read')
  batch(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const checkKeys = (query: unknown, index: number): void => {
      const ignoredKeys = this.knownKeys.checkPart(batchItem, query, request);
      const ignoredPaths = ignoredKeys.map((key) => `queries[${index}].${key}`);
      reportIgnoredKeys(this.context, request, reply, ignoredPaths);
    };
    return answerBatchQuery(
      this.context,
      caller,
      body,
      checkKeys,
      connectionClosedSignal(request, reply),
    );
  }

  @Operation(recordOperations.lookup)
  @Access('read', 'dataset')
  lookup(
    @Resource() dataset: DatasetRow,
    @Param('ids') ids: string,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const signal = connectionClosedSignal(request, reply);
    return answerLookup(
      this.context,
      dataset,
      ids.split(','),
      firstParamValue(query, 'as_of'),
      signal,
    );
  }

  @Operation(recordOperations.diff)
  @Access('read', 'dataset')
  diff(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText | ByteStream> {
    return answerDiff(this.context, dataset, query, connectionClosedSignal(request, reply));
  }
}
