import { Body, Controller, Headers, Param, Req, Res } from '@nestjs/common';
import type { DatasetRow } from '../../engine/catalog/rows.js';
import { Access, Subject, Who } from '../access.js';
import { batchAnswer } from '../batch.js';
import { Operation } from '../operation.js';
import { Parts } from '../parts.js';
import { arrowAnswer, lookupAnswer, queryAnswer } from '../querying.js';
import type { JsonText } from '../reply.interceptor.js';
import { abortOnDisconnect, type ApiReply, type ApiRequest, type Caller } from '../request.js';

const arrowType = 'application/vnd.apache.arrow.stream';

/** The records of datasets (contract 8). */
@Controller()
export class DataController {
  constructor(private readonly parts: Parts) {}

  @Operation('datasets.query')
  @Access('read', 'dataset')
  async query(
    @Subject() dataset: DatasetRow,
    @Body() body: unknown,
    @Headers('accept') accept: string | undefined,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText | Buffer> {
    const signal = abortOnDisconnect(request, reply);
    if (!accept?.toLowerCase().includes(arrowType)) {
      return queryAnswer(this.parts, dataset, body, signal);
    }
    const { bytes, total, offset } = await arrowAnswer(this.parts, dataset, body, signal);
    reply.header('Content-Type', arrowType);
    // What the JSON answer has beside the records.
    reply.header('X-Total', String(total));
    if (offset !== null) reply.header('X-Next-Offset', String(offset));
    return bytes;
  }

  @Operation('datasets.batch')
  @Access('read')
  batch(
    @Who() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    return batchAnswer(this.parts, caller, body, abortOnDisconnect(request, reply));
  }

  @Operation('datasets.lookup')
  @Access('read', 'dataset')
  lookup(
    @Subject() dataset: DatasetRow,
    @Param('ids') ids: string,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const signal = abortOnDisconnect(request, reply);
    return lookupAnswer(this.parts, dataset, ids.split(','), signal);
  }
}
