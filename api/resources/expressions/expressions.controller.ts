import { Body, Controller, Req, Res, type OnModuleDestroy } from '@nestjs/common';
import { fullName } from '../../../engine/catalog/users.js';
import { builtinDeclarations } from '../../../engine/expression/builtins/declarations.js';
import { libraryFunctions } from '../../../engine/expression/library/library.js';
import { AppError } from '../../../engine/core/errors.js';
import {
  ExpressionThreads,
  type ExpressionRun,
} from '../../../scheduler/expressions/expression-threads.js';
import { Access, CurrentCaller } from '../../http/access.js';
import { AppContext } from '../../http/app-context.js';
import { jsonTextOf } from '../../http/body.js';
import { Operation } from '../../http/operation.js';
import { JsonText } from '../../http/reply.js';
import {
  abortOnDisconnect,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/request.js';
import { answerHostCall } from './dataset-functions.js';
import { expressionOperations } from './expressions.operations.js';
import { readAnnotate, readEvaluate } from './read-requests.js';

/** The longest time of a request once it has a thread, with that of dataset functions. */
const evaluateMs = 30_000;
const annotateMs = 120_000;
/** The largest body, in characters: a thread makes values of it, which take many times as much memory. */
const maxBodyLength = 16_000_000;

/** Expressions over values and records (contract 19). */
@Controller()
export class ExpressionsController implements OnModuleDestroy {
  readonly #threads = new ExpressionThreads();

  constructor(private readonly context: AppContext) {}

  @Operation(expressionOperations.evaluate)
  @Access('read')
  async evaluate(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const task = { ...readEvaluate(body), ...this.#shared(caller, request) };
    const run = this.#run(caller, request, reply, { timeoutMs: evaluateMs, isUrgent: true });
    return new JsonText(await this.#threads.run('evaluate', task, run));
  }

  @Operation(expressionOperations.annotate)
  @Access('read')
  async annotate(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const task = { ...readAnnotate(body), ...this.#shared(caller, request) };
    const run = this.#run(caller, request, reply, { timeoutMs: annotateMs, isUrgent: false });
    return new JsonText(await this.#threads.run('annotate', task, run));
  }

  @Operation(expressionOperations.functions)
  @Access('read')
  functions(): object {
    const all = [...libraryFunctions.values(), ...builtinDeclarations];
    return {
      functions: all.map(({ name, signature, text, example }) => ({
        name,
        signature,
        text,
        example,
      })),
    };
  }

  onModuleDestroy(): Promise<void> {
    return this.#threads.close();
  }

  #shared({ user }: Caller, request: ApiRequest) {
    const body = jsonTextOf(request);
    if (body.length > maxBodyLength)
      throw new AppError('too-large', 'The request is larger than 16 MB: send fewer records at a time.'); // prettier-ignore
    return { body, user: { name: fullName(user), email: user.email }, now: Date.now() };
  }

  #run(
    caller: Caller,
    request: ApiRequest,
    reply: ApiReply,
    limits: Pick<ExpressionRun, 'timeoutMs' | 'isUrgent'>,
  ): ExpressionRun {
    const { context } = this;
    return {
      ...limits,
      userId: caller.user.id,
      signal: abortOnDisconnect(request, reply),
      answer: (call, signal) => answerHostCall({ context, caller, signal }, call),
    };
  }
}
