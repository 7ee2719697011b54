import { ExpressionError } from './errors.js';

/** The limits of one evaluation (specification of expressions, section 9). */
export interface ExpressionLimits {
  readonly steps: number;
  readonly timeoutMs: number;
  /** The time limit for `outsideTime`. */
  readonly outsideMs: number;
  readonly stringLength: number;
  readonly elements: number;
  readonly memoryBytes: number;
  readonly integerBits: number;
  readonly callDepth: number;
  readonly datasetCalls: number;
}

/** The limits that apply where the caller gives none. */
export const defaultLimits: ExpressionLimits = {
  steps: 5_000_000,
  timeoutMs: 2000,
  outsideMs: 30_000,
  stringLength: 10_000_000,
  elements: 1_000_000,
  memoryBytes: 64 * 1024 * 1024,
  integerBits: 65_536,
  callDepth: 100,
  datasetCalls: 100,
};

/** The longest source text, in characters. */
export const maxSourceLength = 100_000;
/** The deepest nesting of brackets and of the tree. */
export const maxNesting = 200;

/** The error for an exceeded limit, which it names. */
export function limitExceeded(what: string): ExpressionError {
  return new ExpressionError('LimitError', `Expression limit exceeded: ${what}`);
}

/**
 * What an evaluation has used so far. Straight-line code is charged as a whole when it is entered, each pass of a loop and each call
 * again, so that a node itself counts nothing while it runs. Memory is an estimate that only grows, except where a loop is known to
 * keep nothing of a pass.
 */
export class Budget {
  readonly limits: ExpressionLimits;
  /** The remaining steps. */
  steps = 0;
  memory = 0;
  depth = 0;
  datasetCalls = 0;
  /** Counts changes of lists, dicts and sets: a loop that sees one keeps what its pass made. */
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
    this.steps = this.limits.steps - cost;
    this.memory = 0;
    this.depth = 0;
    this.datasetCalls = 0;
    this.#deadline = 0;
    this.#outside = 0;
    this.#checkpoint = this.steps - firstInterval;
    if (this.steps < 0) throw limitExceeded(`more than ${this.limits.steps} steps`);
  }

  /** Whether the evaluation in progress, or the last one, may have taken more than a moment. */
  get tookTime(): boolean {
    return this.#deadline > 0 || this.#outside > 0;
  }

  charge(steps: number): void {
    this.steps -= steps;
    if (this.steps < this.#checkpoint) this.#look();
  }

  /** Counts the characters of a text before the text is created. */
  text(length: number): void {
    if (length > this.#maxText)
      throw limitExceeded(`a string of more than ${this.limits.stringLength} characters`);
    this.memory += 2 * length + 16;
    if (this.memory > this.#maxMemory) this.#exceed();
    if (length >= 64) this.charge(length >>> 6);
  }

  /** Counts `added` characters that join a text, which has `length` ones then. */
  grownText(length: number, added: number): void {
    if (length > this.#maxText)
      throw limitExceeded(`a string of more than ${this.limits.stringLength} characters`);
    this.memory += 2 * added;
    if (this.memory > this.#maxMemory) this.#exceed();
    this.charge(1 + (added >>> 6));
  }

  /** Counts the search of a text in another: engines may compare each character of one with each of the other. */
  search(length: number, wanted: number): void {
    if (length >= 64) this.charge((length >>> 6) + (wanted > 8 ? (length * wanted) / 1024 : 0));
  }

  /** Counts the comparison of two texts of one length. */
  comparison(length: number): void {
    if (length >= 1024) this.charge(length >>> 8);
  }

  /** Counts the elements of a list, tuple, set or dict before it is created or extended. */
  elements(length: number): void {
    if (length > this.limits.elements)
      throw limitExceeded(`a collection of more than ${this.limits.elements} elements`);
    this.memory += 16 * length + 32;
    if (this.memory > this.#maxMemory) this.#exceed();
    this.charge(length);
  }

  /** Counts one element that joins a collection of `length` elements. */
  grow(length: number): void {
    if (length >= this.limits.elements)
      throw limitExceeded(`a collection of more than ${this.limits.elements} elements`);
    this.memory += 16;
    if (this.memory > this.#maxMemory) this.#exceed();
  }

  /** Counts the bits of an integer before the integer is created. */
  integer(bits: number): void {
    if (bits > this.limits.integerBits)
      throw limitExceeded(`an integer of more than ${this.limits.integerBits} bits`);
    if (bits > 1000) {
      this.memory += bits >>> 3;
      if (this.memory > this.#maxMemory) this.#exceed();
      this.charge(bits >>> 8);
    }
  }

  /** Counts bytes of working memory. */
  workspace(bytes: number): void {
    this.memory += bytes;
    if (this.memory > this.#maxMemory) this.#exceed();
  }

  /** Whether the evaluation may still use this much memory and this many steps. */
  hasRoom(bytes: number, steps: number): boolean {
    return this.memory + bytes <= this.#maxMemory && this.steps >= steps;
  }

  /** Enters the call of a lambda whose body has `cost` nodes. */
  enter(cost: number): void {
    if (++this.depth > this.limits.callDepth)
      throw limitExceeded(`more than ${this.limits.callDepth} calls inside each other`);
    this.memory += 64;
    this.charge(cost);
  }

  datasetCall(): void {
    if (++this.datasetCalls > this.limits.datasetCalls)
      throw limitExceeded(`more than ${this.limits.datasetCalls} dataset calls`);
  }

  /** Runs a function that does not count as evaluation time; its own limit is checked before. */
  outsideTime<T>(run: () => T): T {
    if (this.#outside > this.limits.outsideMs)
      throw limitExceeded(`more than ${this.limits.outsideMs / 1000} s in dataset functions`);
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
    throw limitExceeded(`more than ${this.limits.memoryBytes >>> 20} MB of memory`);
  }

  #look(): void {
    if (this.steps < 0) throw limitExceeded(`more than ${this.limits.steps} steps`);
    const now = this.#clock();
    if (this.#deadline === 0) this.#deadline = now + this.limits.timeoutMs;
    else if (now > this.#deadline)
      throw limitExceeded(`more than ${this.limits.timeoutMs / 1000} s`);
    this.#checkpoint = Math.max(0, this.steps - interval);
  }
}

/** The number of steps after which the clock starts: reading it for each record costs more than most expressions. */
const firstInterval = 1000;
const interval = 1000;
