/** The answer of an executor, or of a part of it, that found out from the data that it cannot carry out what was asked. */
export interface Unsupported {
  /** Why, as a sentence without its full stop. */
  readonly unsupported: string;
}

/** True for the answer of something that cannot carry out what was asked. */
export function isUnsupported(answer: unknown): answer is Unsupported {
  return typeof answer === 'object' && answer !== null && 'unsupported' in answer;
}
