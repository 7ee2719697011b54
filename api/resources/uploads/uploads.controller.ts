import { Controller, Headers, Param, Req, Res } from '@nestjs/common';
import { Public } from '../../http/access.js';
import { readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { uploadOperations } from '../objects/objects.operations.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiReply, ApiRequest } from '../../http/request.js';
import { receiveUpload } from './receive-upload.js';

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
