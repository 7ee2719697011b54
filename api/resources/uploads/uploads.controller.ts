import { Controller, Headers, Param, Query, Req, Res } from '@nestjs/common';
import { Public } from '../../http/access-rule.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { requireSignedUrl, userIdOfSignedUrl } from '../downloads/signed-addresses.js';
import { uploadOperations } from '../downloads/content.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiReply, ApiRequest } from '../../http/api-request.js';
import { receivePart } from './multipart-upload.js';
import { receiveUpload } from './receive-upload.js';

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
    const target = {
      id: readId(id) ?? 0,
      revision: readId(revision) ?? 0,
      userId: userIdOfSignedUrl(request),
    };
    return this.receive(id, request, reply, () =>
      receiveUpload(this.context, target, request.raw, contentMd5),
    );
  }

  @Operation(uploadOperations.part)
  @Public()
  async part(
    @Param('id') id: string,
    @Param('number') number: string,
    @Query() query: QueryParams,
    @Headers('content-md5') contentMd5: string | undefined,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<string> {
    const revision = readId(query['version']) ?? 1; // without `version`, the first version
    const target = { id: readId(id) ?? 0, revision, number: readId(number) ?? 0 };
    return this.receive(id, request, reply, () =>
      receivePart(this.context, target, request.raw, contentMd5),
    );
  }

  /** Checks the signed address of an object; `work` receives the body and returns its MD5, which becomes the `ETag` of the answer. */
  private async receive(
    id: string,
    request: ApiRequest,
    reply: ApiReply,
    work: () => Promise<string>,
  ): Promise<string> {
    try {
      await requireSignedUrl(this.context, request, 'object', id, 'write');
      reply.header('ETag', `"${await work()}"`);
    } catch (error) {
      // The rest of the request body stays unread, so the connection cannot be reused.
      if (!request.raw.complete) reply.header('Connection', 'close');
      throw error;
    }
    reply.header('Content-Type', 'text/plain');
    return '';
  }
}
