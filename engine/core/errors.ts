/** What went wrong, in words a caller can act on; `api/http/errors.filter.ts` maps each to one HTTP status. */
export type ErrorCode =
  | 'invalid' // 400
  | 'unauthenticated' // 401
  | 'forbidden' // 403
  | 'not-found' // 404
  | 'method-not-allowed' // 405
  | 'conflict' // 409
  | 'too-large' // 413
  | 'unsupported-media' // 415
  | 'range' // 416
  | 'reused-key' // 422: an Idempotency-Key that was used for something else
  | 'rate-limited' // 429
  | 'budget' // 400: a limit of engine/core/budgets.ts, named in the message
  | 'canceled' // the task or the client gave up
  | 'input' // a source file is wrong; carries its position
  | 'damaged' // 500: a stored file fails its checksum or is missing
  | 'no-space' // 507: the disk is full; nothing has changed
  | 'internal'; // 500

/** The body of a field error: field name to messages (contract 2.2). */
export type FieldErrors = Readonly<Record<string, readonly string[] | object>>;

/**
 * An error that the caller can act on. Anything else that is thrown is a bug and surfaces as one.
 * `fields` becomes the answer's body when present; else the body is `{ detail: message }`.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly fields: FieldErrors | undefined;
  constructor(code: ErrorCode, message: string, fields?: FieldErrors, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'AppError';
    this.code = code;
    this.fields = fields;
  }
}

/** `400 {"<field>": ["message"]}`. */
export function invalid(field: string, message: string): AppError {
  return new AppError('invalid', message, { [field]: [message] });
}

/** The error of work that was told to stop. */
export function canceled(): AppError {
  return new AppError('canceled', 'canceled');
}

/** `404 {"detail": "Not found"}`: also for what exists but may not be read. */
export function notFound(): AppError {
  return new AppError('not-found', 'Not found');
}

/** Where in a source file something stands. `line` and `column` count from 1, `byte` from 0 (decoded bytes). */
interface Position {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly byte?: number;
}

/** A malformed source file: the message names file, line and cause. */
export class InputError extends AppError {
  readonly position: Position;
  constructor(position: Position, message: string, cause?: unknown) {
    const line = position.line === undefined ? '' : `, line ${position.line}`;
    super('input', `${position.file}${line}: ${message}`, undefined, cause);
    this.name = 'InputError';
    this.position = position;
  }
}

/** An error as plain data: what leaves a thread or a process (thrown errors lose their class on the way). */
export interface ErrorValue {
  readonly code: ErrorCode;
  readonly message: string;
  readonly fields?: FieldErrors;
  readonly position?: Position;
}

/** Turns anything thrown into plain data; an unknown error becomes `internal` with its message. */
export function toErrorValue(error: unknown): ErrorValue {
  if (error instanceof AppError) {
    return {
      code: error.code,
      message: error.message,
      ...(error.fields && { fields: error.fields }),
      ...(error instanceof InputError && { position: error.position }),
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'internal', message };
}

/** The error again, on the other side of a thread or process border. */
export function fromErrorValue(value: ErrorValue): AppError {
  return new AppError(value.code, value.message, value.fields);
}
