import { ExpressionError } from './expression-errors.js';

/** The limits of one evaluation (specification of expressions, section 9). */
export interface ExpressionLimits {
  readonly steps: number;
  readonly timeoutMs: number;
  /** If the functions that `runOutsideTimeLimit` has run have taken more than this time in total, it runs no further one. */
  readonly outsideMs: number;
  readonly stringLength: number;
  readonly collectionLength: number;
  readonly memoryBytes: number;
  readonly integerBits: number;
  readonly callDepth: number;
  readonly datasetCalls: number;
}

/** The limits that apply if the caller gives none. */
export const defaultLimits: ExpressionLimits = {
  steps: 5_000_000,
  timeoutMs: 2000,
  outsideMs: 30_000,
  stringLength: 10_000_000,
  collectionLength: 1_000_000,
  memoryBytes: 64 * 1024 * 1024,
  integerBits: 65_536,
  callDepth: 100,
  datasetCalls: 100,
};

/** Maximum length of a source text, in UTF-16 code units. */
export const maxSourceLength = 100_000;
/** Maximum depth of nested parts of a source, and of the syntax tree. */
export const maxNesting = 200;

/** Returns the error for an exceeded limit, which its message names. */
export function limitExceededError(what: string): ExpressionError {
  return new ExpressionError('LimitError', `Expression limit exceeded: ${what}`);
}

/**
 * The steps, time and memory that an evaluation has used. Code without loops and calls is charged once, when it is entered; each pass of a
 * loop and each call is charged again. Therefore, a node itself charges nothing but the size of what it handles. Memory is an estimate that
 * only grows, except if a loop is known to keep nothing of a pass.
 */
export class Budget {
  readonly limits: ExpressionLimits;
  /** The steps that the evaluation may still take. */
  remainingSteps = 0;
  memory = 0;
  depth = 0;
  datasetCalls = 0;
  /** The number of changes of lists, dicts and sets. If it changes during a pass of a loop, the memory of the pass is not given back. */
  mutations = 0;
  readonly #clock: () => number;
  readonly #maxMemory: number;
  readonly #maxText: number;
  #deadline = 0;
  #outside = 0;
  /** The clock is read when fewer steps than this remain. */
  #checkpoint = 0;

  constructor(limits: ExpressionLimits, clock: () => number) {
    this.limits = limits;
    this.#maxMemory = limits.memoryBytes;
    this.#maxText = limits.stringLength;
    this.#clock = clock;
    this.start(0);
  }

  /** Starts the evaluation of another record. `cost` is the number of nodes outside loops and lambdas. */
  start(cost: number): void {
    this.remainingSteps = this.limits.steps - cost;
    this.memory = 0;
    this.depth = 0;
    this.datasetCalls = 0;
    this.#deadline = 0;
    this.#outside = 0;
    this.#checkpoint = this.remainingSteps - stepsBeforeClock;
    if (this.remainingSteps < 0) throw limitExceededError(`more than ${this.limits.steps} steps`);
  }

  /** Whether the current or last evaluation may have taken long: it has read the clock, or has run functions outside the time limit. */
  get mayHaveTakenLong(): boolean {
    return this.#deadline > 0 || this.#outside > 0;
  }

  charge(steps: number): void {
    this.remainingSteps -= steps;
    if (this.remainingSteps < this.#checkpoint) this.#look();
  }

  /** Charges the characters of a text before the text is created. */
  chargeText(length: number): void {
    if (length > this.#maxText)
      throw limitExceededError(`a string of more than ${this.limits.stringLength} characters`);
    this.memory += 2 * length + 16;
    if (this.memory > this.#maxMemory) this.#exceed();
    if (length >= 64) this.charge(length >>> 6);
  }

  /** Charges `added` characters that are appended to a text, whose length is `length` afterwards. */
  chargeGrownText(length: number, added: number): void {
    if (length > this.#maxText)
      throw limitExceededError(`a string of more than ${this.limits.stringLength} characters`);
    this.memory += 2 * added;
    if (this.memory > this.#maxMemory) this.#exceed();
    this.charge(1 + (added >>> 6));
  }

  /** Charges the search of a text in another one: the JavaScript engine may compare each character of one with each of the other. */
  chargeSearch(length: number, wanted: number): void {
    if (length >= 64) this.charge((length >>> 6) + (wanted > 8 ? (length * wanted) / 1024 : 0));
  }

  /** Charges the comparison of two texts of the same length. */
  chargeComparison(length: number): void {
    if (length >= 1024) this.charge(length >>> 8);
  }

  /** Charges the elements of a list, tuple, set or dict before it is created or extended. */
  chargeElements(length: number): void {
    if (length > this.limits.collectionLength)
      throw limitExceededError(
        `a collection of more than ${this.limits.collectionLength} elements`,
      );
    this.memory += 16 * length + 32;
    if (this.memory > this.#maxMemory) this.#exceed();
    this.charge(length);
  }

  /** Charges one element that is added to a collection of `length` elements. */
  chargeOneElement(length: number): void {
    if (length >= this.limits.collectionLength)
      throw limitExceededError(
        `a collection of more than ${this.limits.collectionLength} elements`,
      );
    this.memory += 16;
    if (this.memory > this.#maxMemory) this.#exceed();
  }

  /** Charges the bits of an integer before the integer is created. */
  chargeInteger(bits: number): void {
    if (bits > this.limits.integerBits)
      throw limitExceededError(`an integer of more than ${this.limits.integerBits} bits`);
    if (bits > 1000) {
      this.memory += bits >>> 3;
      if (this.memory > this.#maxMemory) this.#exceed();
      this.charge(bits >>> 8);
    }
  }

  /** Charges bytes of working memory. */
  chargeWorkspace(bytes: number): void {
    this.memory += bytes;
    if (this.memory > this.#maxMemory) this.#exceed();
  }

  /** Whether the evaluation may still use this much memory and this many steps. */
  hasBudgetFor(bytes: number, steps: number): boolean {
    return this.memory + bytes <= this.#maxMemory && this.remainingSteps >= steps;
  }

  /** Charges the call of a lambda whose body has `cost` nodes. */
  enterCall(cost: number): void {
    if (++this.depth > this.limits.callDepth)
      throw limitExceededError(`more than ${this.limits.callDepth} calls inside each other`);
    this.memory += 64;
    this.charge(cost);
  }

  countDatasetCall(): void {
    if (++this.datasetCalls > this.limits.datasetCalls)
      throw limitExceededError(`more than ${this.limits.datasetCalls} dataset calls`);
  }

  /** Runs a function whose time does not count as evaluation time. Throws if such functions have already taken more than `outsideMs`. */
  runOutsideTimeLimit<T>(run: () => T): T {
    if (this.#outside > this.limits.outsideMs)
      throw limitExceededError(`more than ${this.limits.outsideMs / 1000} s in dataset functions`);
    const before = this.#clock();
    try {
      return run();
    } finally {
      const outsideMs = this.#clock() - before;
      this.#outside += outsideMs;
      if (this.#deadline > 0) this.#deadline += outsideMs;
    }
  }

  #exceed(): never {
    throw limitExceededError(`more than ${this.limits.memoryBytes >>> 20} MB of memory`);
  }

  #look(): void {
    if (this.remainingSteps < 0) throw limitExceededError(`more than ${this.limits.steps} steps`);
    const now = this.#clock();
    if (this.#deadline === 0) this.#deadline = now + this.limits.timeoutMs;
    else if (now > this.#deadline)
      throw limitExceededError(`more than ${this.limits.timeoutMs / 1000} s`);
    this.#checkpoint = Math.max(0, this.remainingSteps - stepsPerClockCheck);
  }
}

/** The number of steps after which the clock is first read: reading it for each record would cost more than most expressions. */
const stepsBeforeClock = 1000;
const stepsPerClockCheck = 1000;
