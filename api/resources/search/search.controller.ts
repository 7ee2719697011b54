import { Body, Controller, Req, Res } from '@nestjs/common';
import { Access, CurrentCaller } from '../../http/access.js';
import { Operation } from '../../http/operation.js';
import { searchOperations } from './search.operations.js';
import { AppContext } from '../../http/app-context.js';
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
  constructor(private readonly context: AppContext) {}

  @Operation(searchOperations.find)
  @Access('read')
  find(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return searchAnswer(this.context, caller, body, abortOnDisconnect(request, reply));
  }
}
