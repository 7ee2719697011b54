import { didYouMean, KnownNames } from '../../core/suggestion.js';

/** A position in the source of an expression; both count from 1, columns in code points. */
export interface SyntaxPosition {
  readonly line: number;
  readonly column: number;
}

/** The exceptions of Python that an expression can raise, and those of our own. `RaisedError` is the one of `error()`. */
export type ExceptionName =
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
 * What goes wrong in an expression: `message` is what happened, for an exception of Python `str(exception)` of CPython 3.11 (specification
 * of expressions, section 6). It concerns one field of one record.
 */
export class ExpressionError extends Error {
  readonly exception: ExceptionName;
  /** Where the innermost part of the expression is that failed, as far as that is known. */
  position: SyntaxPosition | undefined;
  /** The text for users: `Expression.failure` makes it of the message, the position and the suggestions. */
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

  /** The names that an unknown one in the message may stand for. */
  get suggestions(): readonly string[] {
    return this.#suggest();
  }
}

/** A syntax error in the source text; its message contains the position. */
export class ExpressionSyntaxError extends ExpressionError {
  readonly reason: string;
  constructor(reason: string, position: SyntaxPosition) {
    super('SyntaxError', `Syntax error: ${reason} ${placeText(position)}`);
    this.reason = reason;
    this.position = position;
  }
}

/**
 * The text for users of an error in an expression that has been evaluated.
 *
 * Choice: it is the prescribed message with the position as in syntax errors, then the names that were probably meant: `name 'recrod' is not
 * defined (line 1, column 14). Did you mean "record"?`. The message of `error()` stands alone, because its author chose the words.
 */
export function errorText({ exception, message, position, suggestions }: ExpressionError): string {
  if (position === undefined || exception === 'RaisedError') return message;
  const meant = didYouMean(suggestions);
  return `${message} ${placeText(position)}${meant && `.${meant}`}`;
}

function placeText({ line, column }: SyntaxPosition): string {
  return `(line ${line}, column ${column})`;
}

/**
 * Finds at most three known names that are similar to an unknown one, for the constructor of an error; `names` is called only when needed.
 */
export function suggestNear(
  unknown: PropertyKey,
  names: () => Iterable<unknown>,
): () => readonly string[] {
  return () => {
    if (typeof unknown !== 'string') return [];
    const texts = Array.from(names()).filter((name) => typeof name === 'string');
    return new KnownNames(texts).suggestionsFor(unknown).slice(0, 3);
  };
}

/** An operation on a value of the wrong type. */
export function typeError(message: string, suggest?: () => readonly string[]): ExpressionError {
  return new ExpressionError('TypeError', message, suggest);
}

/** A value of the right type that is not accepted. */
export function valueError(message: string): ExpressionError {
  return new ExpressionError('ValueError', message);
}

/** The error for a number that is too large for a float or an index. */
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
export function attributeError(
  message: string,
  suggest?: () => readonly string[],
): ExpressionError {
  return new ExpressionError('AttributeError', message, suggest);
}

/** An error of a library function, with a message of its own. */
export function functionError(message: string): ExpressionError {
  return new ExpressionError('FunctionError', message);
}
