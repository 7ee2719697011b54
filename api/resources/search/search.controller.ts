import { Body, Controller, Req, Res } from '@nestjs/common';
import { Access, Who } from '../../http/access.js';
import { Operation } from '../../http/operation.js';
import { Parts } from '../../http/app-context.js';
import {
  abortOnDisconnect,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/request.js';
import { searchAnswer } from './search-catalog.js';

/** The search of everything that the caller may read (contract 8.7). */
@Controller()
export class SearchController {
  constructor(private readonly parts: Parts) {}

  @Operation('search.find')
  @Access('read')
  find(
    @Who() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return searchAnswer(this.parts, caller, body, abortOnDisconnect(request, reply));
  }
}
