/** The kinds of errors that callers distinguish; `api/http/errors.filter.ts` maps each to the HTTP status given here. */
export type ErrorCode =
  | 'invalid' // HTTP status 400
  | 'unauthenticated' // HTTP status 401
  | 'forbidden' // HTTP status 403
  | 'not-found' // HTTP status 404
  | 'method-not-allowed' // HTTP status 405
  | 'conflict' // HTTP status 409
  | 'too-large' // HTTP status 413
  | 'unsupported-media' // HTTP status 415
  | 'range' // HTTP status 416
  | 'reused-key' // HTTP status 422: the Idempotency-Key was used for another request
  | 'rate-limited' // HTTP status 429
  | 'budget' // HTTP status 400: a limit was exceeded, most often one of engine/core/budgets.ts; the message names it
  | 'canceled' // HTTP status 400: the work was canceled, for example because the client disconnected
  | 'input' // HTTP status 400: the records or files to process are wrong; an `InputError` has the position in a file
  | 'damaged' // HTTP status 500: a stored file is missing or not as it was written
  | 'no-space' // HTTP status 507: the disk has too little free space
  | 'internal'; // HTTP status 500

/** The body of a validation error: messages by field name (contract 2.2). */
export type FieldErrors = Readonly<Record<string, unknown>>;

/**
 * An error with a code that decides how it is answered. If its HTTP status is below 500, the body of the answer is `fields` if present,
 * else `{ detail: message }`; otherwise the client does not see the message.
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

/** A validation error of one field: status 400, body `{"<field>": ["<message>"]}`. */
export function invalidError(field: string, message: string): AppError {
  return new AppError('invalid', message, { [field]: [message] });
}

/** The error of work that was canceled. */
export function canceledError(): AppError {
  return new AppError('canceled', 'canceled');
}

/**
 * Returns an error with status 404 and the body `{"detail": "Not found"}`; also used if the resource exists but the caller may not read it.
 */
export function notFoundError(): AppError {
  return new AppError('not-found', 'Not found');
}

/**
 * A position in a source file. `line` and `column` count from 1, `byte` from 0: in the decompressed file or, if the compression is damaged,
 * in the file as stored.
 */
interface SourcePosition {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly byte?: number;
}

/** A malformed source file. The message begins with the file and, if it is known, the line. */
export class InputError extends AppError {
  readonly position: SourcePosition;
  constructor(position: SourcePosition, message: string, cause?: unknown) {
    const line = position.line === undefined ? '' : `, line ${position.line}`;
    super('input', `${position.file}${line}: ${message}`, undefined, cause);
    this.name = 'InputError';
    this.position = position;
  }
}

/** An error as plain data, the form in which errors are sent between threads and processes (structured clone loses their class). */
export interface ErrorValue {
  readonly code: ErrorCode;
  readonly message: string;
  readonly fields?: FieldErrors;
  readonly position?: SourcePosition;
}

/** Converts anything thrown to plain data; an error other than `AppError` becomes `internal` with its message. */
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

/** Converts the result of `toErrorValue` back to an error, without the position of an `InputError`. */
export function fromErrorValue(value: ErrorValue): AppError {
  return new AppError(value.code, value.message, value.fields);
}
