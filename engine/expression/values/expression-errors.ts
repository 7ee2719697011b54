import { didYouMean, KnownNames } from '../../core/suggestion.js';

/** A position in the source of an expression; both count from 1, columns in code points. */
export interface SyntaxPosition {
  readonly line: number;
  readonly column: number;
}

/** The exceptions of Python that an expression can raise, and those that only Strandlake has. `RaisedError` is raised by `error()`. */
type ExceptionName =
  | 'AttributeError'
  | 'DatasetError'
  | 'FunctionError'
  | 'IndexError'
  | 'KeyError'
  | 'LimitError'
  | 'NameError'
  | 'OverflowError'
  | 'RaisedError'
  | 'RecursionError'
  | 'RuntimeError'
  | 'StopIteration'
  | 'SyntaxError'
  | 'TypeError'
  | 'ValueError'
  | 'ZeroDivisionError';

/**
 * An error in an expression. `message` says what happened; for an exception of Python other than a syntax error, it is `str(exception)` of
 * CPython 3.11 (specification of expressions, section 6).
 */
export class ExpressionError extends Error {
  readonly exception: ExceptionName;
  /** The position of the innermost part of the expression that failed; undefined if it is not known. */
  position: SyntaxPosition | undefined;
  /** The text for users: the message, until `Expression.locateError` sets the text that `errorText` returns. */
  text: string;
  readonly #suggest: () => readonly string[];

  /** `suggest` returns known names that are similar to an unknown one. */
  constructor(
    exception: ExceptionName,
    message: string,
    suggest: () => readonly string[] = () => [],
  ) {
    super(message);
    this.name = 'ExpressionError';
    this.exception = exception;
    this.text = message;
    this.#suggest = suggest;
  }

  /** The names that the unknown name in the message may stand for. */
  get suggestions(): readonly string[] {
    return this.#suggest();
  }
}

/** A syntax error in the source text; its message contains the position. */
export class ExpressionSyntaxError extends ExpressionError {
  readonly reason: string;
  constructor(reason: string, position: SyntaxPosition) {
    super('SyntaxError', `Syntax error: ${reason} ${positionText(position)}`);
    this.reason = reason;
    this.position = position;
  }
}

/**
 * Returns the text for users of an error in an expression that has been evaluated.
 * Choice: the text of an error in an expression is the prescribed message, the position as in syntax errors, and the names that were
 * probably meant: `name 'recrod' is not defined (line 1, column 14). Did you mean "record"?`. The message of `error()` is shown without
 * additions, because the author of the expression chose the words.
 */
export function errorText({ exception, message, position, suggestions }: ExpressionError): string {
  if (position === undefined || exception === 'RaisedError') return message;
  const meant = didYouMean(suggestions);
  return `${message} ${positionText(position)}${meant && `.${meant}`}`;
}

function positionText({ line, column }: SyntaxPosition): string {
  return `(line ${line}, column ${column})`;
}

/**
 * Returns a function for the constructor of an error that finds at most three known names similar to an unknown one; `names` is called only
 * when needed.
 */
export function suggestSimilar(
  unknown: PropertyKey,
  names: () => Iterable<unknown>,
): () => readonly string[] {
  return () => {
    if (typeof unknown !== 'string') return [];
    const texts = Array.from(names()).filter((name) => typeof name === 'string');
    return new KnownNames(texts).suggestionsFor(unknown).slice(0, 3);
  };
}

/** Returns the error for an operation on a value of the wrong type, or for a call with the wrong arguments. */
export function typeError(message: string, suggest?: () => readonly string[]): ExpressionError {
  return new ExpressionError('TypeError', message, suggest);
}

/** Returns the error for a value of the right type that is not accepted. */
export function valueError(message: string): ExpressionError {
  return new ExpressionError('ValueError', message);
}

/** Returns the error for a number that is too large for a float or an index. */
export function overflowError(message: string): ExpressionError {
  return new ExpressionError('OverflowError', message);
}

/** Returns the error for a division or modulo by zero, or for a negative power of zero. */
export function zeroDivisionError(message: string): ExpressionError {
  return new ExpressionError('ZeroDivisionError', message);
}

/** Returns the error for an index outside of a sequence. */
export function indexError(message: string): ExpressionError {
  return new ExpressionError('IndexError', message);
}

/** Returns the error for an attribute that a value does not have. */
export function attributeError(
  message: string,
  suggest?: () => readonly string[],
): ExpressionError {
  return new ExpressionError('AttributeError', message, suggest);
}

/** Returns the error of a library function, with its own message. */
export function functionError(message: string): ExpressionError {
  return new ExpressionError('FunctionError', message);
}
