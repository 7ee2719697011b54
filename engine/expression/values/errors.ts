/** The exceptions of Python that an expression can raise, and two of our own: of `error()` and of a limit. */
export type ExceptionName =
  | 'AttributeError'
  | 'DatasetError'
  | 'FunctionError'
  | 'IndexError'
  | 'KeyError'
  | 'LimitError'
  | 'NameError'
  | 'OverflowError'
  | 'RecursionError'
  | 'RuntimeError'
  | 'StopIteration'
  | 'SyntaxError'
  | 'TypeError'
  | 'ValueError'
  | 'ZeroDivisionError';

/**
 * What goes wrong in an expression: `message` is the text for users, which for an exception of Python is `str(exception)` of
 * CPython 3.11 (specification of expressions, section 6). It concerns one field of one record.
 */
export class ExpressionError extends Error {
  readonly exception: ExceptionName;
  constructor(exception: ExceptionName, message: string) {
    super(message);
    this.name = 'ExpressionError';
    this.exception = exception;
  }
}

/** A syntax error of the source text; `line` and `column` count from 1, columns in code points. */
export class ExpressionSyntaxError extends ExpressionError {
  readonly reason: string;
  readonly line: number;
  readonly column: number;
  constructor(reason: string, line: number, column: number) {
    super('SyntaxError', `Syntax error: ${reason} (line ${line}, column ${column})`);
    this.reason = reason;
    this.line = line;
    this.column = column;
  }
}

/** An operation on a value of the wrong type. */
export function typeError(message: string): ExpressionError {
  return new ExpressionError('TypeError', message);
}

/** A value of the right type that is not accepted. */
export function valueError(message: string): ExpressionError {
  return new ExpressionError('ValueError', message);
}

/** A number that a float or an index cannot hold. */
export function overflowError(message: string): ExpressionError {
  return new ExpressionError('OverflowError', message);
}

/** A division or modulo by zero. */
export function zeroDivision(message: string): ExpressionError {
  return new ExpressionError('ZeroDivisionError', message);
}

/** An index outside a sequence. */
export function indexError(message: string): ExpressionError {
  return new ExpressionError('IndexError', message);
}

/** An attribute that a value does not have. */
export function attributeError(message: string): ExpressionError {
  return new ExpressionError('AttributeError', message);
}

/** A failing function of the library, in words of its own. */
export function functionError(message: string): ExpressionError {
  return new ExpressionError('FunctionError', message);
}
