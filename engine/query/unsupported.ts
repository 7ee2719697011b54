/** The result of an executor, or of a part of one, that cannot carry out a step because of the stored data. */
export interface Unsupported {
  /** The reason as a sentence without its full stop. */
  readonly unsupported: string;
}

/** Returns true for the result of an executor that cannot carry out a step. */
export function isUnsupported(answer: unknown): answer is Unsupported {
  return typeof answer === 'object' && answer !== null && 'unsupported' in answer;
}
