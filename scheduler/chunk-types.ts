import type { Columns } from '../engine/types.js';
import type { Segment } from '../engine/store/store.js';
import type { ChunkRef } from '../readers/source/chunks.js';

/** One chunk's work for a pool thread: plain data. */
export interface ChunkJob {
  readonly ref: ChunkRef;
  readonly index: number;
  readonly reader: string;
  readonly header: unknown;
  readonly params: unknown;
  /** Columns to store values as; the rest is found from the values. In a second pass: all columns, final. */
  readonly columns: Columns;
  readonly isFinal: boolean;
  readonly validation: ValidationParams;
  readonly commitId: number;
  /** Absolute path of the segment to write, inside the task's scratch folder. */
  readonly file: string;
}

export interface ValidationParams {
  readonly disable: boolean;
  readonly raiseOnErrors: boolean;
  readonly strict: boolean;
  readonly allowNewFields: boolean;
}

/** One validation finding; `line` counts from 1 within the chunk until the task adds the lines before it. */
export interface Finding {
  readonly code: number; // specification, "Validation codes"; 0 = the line cannot be read at all
  readonly level: 'warning' | 'error';
  readonly line: number;
  readonly field: string | null;
  readonly message: string;
}
export interface Findings {
  /** How often each code occurred, errors and warnings. */
  readonly counts: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly warnings: number;
  /** The first few of each code. */
  readonly examples: readonly Finding[];
}

/** What a chunk came to; `read = stored + rejected` always. */
export interface ChunkResult {
  readonly index: number;
  readonly segment: Segment | null; // null when no record was stored
  readonly columns: Columns;
  readonly lines: number;
  readonly bytes: number; // decoded
  readonly read: number;
  readonly stored: number;
  readonly rejected: number;
  readonly findings: Findings;
}
