import { Body, Controller, Req, Res, type OnModuleDestroy } from '@nestjs/common';
import { builtinDeclarations } from '../../../engine/expression/builtins/builtin-declarations.js';
import { libraryFunctionByName } from '../../../engine/expression/library/library.js';
import { AppError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { jsonTextOf } from '../../http/body-parsers.js';
import { Operation } from '../../http/operation.js';
import { JsonText } from '../../http/reply.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import { expressionOperations } from './expressions.operations.js';
import { readAnnotate, readEvaluate } from './read-requests.js';
import { runExpressions } from './run-expressions.js';

/** Maximum size of a request body, in characters; the values that an expression thread creates from it take many times as much memory. */
const maxBodyLength = 16_000_000;

/** Expressions over values and records (contract 19). */
@Controller()
export class ExpressionsController implements OnModuleDestroy {
  constructor(private readonly context: AppContext) {}

  @Operation(expressionOperations.evaluate)
  @Access('read')
  async evaluate(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const scope = { context: this.context, caller, signal: connectionClosedSignal(request, reply) };
    const task = { ...readEvaluate(body), body: requestBodyText(request) };
    return new JsonText(await runExpressions(scope, 'evaluate', task));
  }

  @Operation(expressionOperations.annotate)
  @Access('read')
  async annotate(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const scope = { context: this.context, caller, signal: connectionClosedSignal(request, reply) };
    const task = { ...readAnnotate(body), body: requestBodyText(request) };
    return new JsonText(await runExpressions(scope, 'annotate', task));
  }

  @Operation(expressionOperations.functions)
  @Access('read')
  functions(): object {
    const declarations = [...libraryFunctionByName.values(), ...builtinDeclarations];
    return {
      functions: declarations.map(({ name, signature, text, example }) => ({
        name,
        signature,
        text,
        example,
      })),
    };
  }

  onModuleDestroy(): Promise<void> {
    return this.context.expressions.close();
  }
}

/** Returns the text of the body, from which an expression thread reads values. */
function requestBodyText(request: ApiRequest): string {
  const body = jsonTextOf(request);
  if (body.length > maxBodyLength)
    throw new AppError('too-large', 'The request is larger than 16 MB: send fewer records at a time.'); // prettier-ignore
  return body;
}
