import { AppError } from '../../core/errors.js';

/** A mistake at one node of a request. The parser that knows the path of the node converts it into an AppError. */
export class Problem extends Error {
  readonly isOverBudget: boolean;
  constructor(message: string, budget = false) {
    super(message);
    this.name = 'Problem';
    this.isOverBudget = budget;
  }
}

/** Returns the error `400 {"<key>": ["<message> (at <path>)"]}`; if the path is the key, the message does not repeat it. */
export function errorOfProblem(key: string, path: string, problem: Problem): AppError {
  const message = path === key ? problem.message : `${problem.message} (at ${path})`;
  return new AppError(problem.isOverBudget ? 'budget' : 'invalid', message, { [key]: [message] });
}

/** Formats a value from a request for a message: short, and safe to log. */
export function valueForMessage(value: unknown): string {
  const text =
    typeof value === 'string'
      ? JSON.stringify(value)
      : typeof value === 'object' && value !== null
        ? Array.isArray(value)
          ? `a list of ${value.length}`
          : 'an object'
        : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
