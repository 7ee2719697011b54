import { budgets } from '../core/budgets.js';
import { codes } from './validation-codes.js';

/** Receives the faults of values: the part of a reader's `Report` that columns need. */
export interface FaultReport {
  reject(line: number, code: number, field: string | null, message: string): void;
  warn(line: number, code: number, field: string | null, message: string): boolean;
  readonly isDisabled: boolean;
}

/** Thrown in a trial instead of a report. */
export class TrialEnded extends Error {}

/** The record being read: its line, whether it has failed, and where its faults go. All columns of a chunk share one. */
export class RecordContext {
  line = 0;
  /** Number of records begun; a column compares it with `lastRecord` to see whether this record already has the field. */
  record = 0;
  /** Fields of this record; an object counts as its members. */
  keys = 0;
  /** The record has an error and is to be rolled back at its end. */
  hasFailed = false;
  /** Number of fields of this chunk that the dataset does not have. */
  newFields = 0;
  /** Number of columns of this chunk whose values share no builder, so that the chunk has to be read again. */
  mixedColumns = 0;
  /** A report ends the work with `TrialEnded`: the records are then read again, without a trial. */
  isTrial = false;
  readonly #report: FaultReport;

  constructor(report: FaultReport) {
    this.#report = report;
  }

  /** Whether validation is off. */
  get isLenient(): boolean {
    return this.#report.isDisabled;
  }

  /** Reports a value that does not fit its field; the record fails unless validation is off. */
  fault(code: number, field: string | null, message: string): void {
    if (!this.#report.isDisabled) this.reject(code, field, message);
  }

  /** Reports an error that fails the record even when validation is off. */
  reject(code: number, field: string | null, message: string): void {
    if (this.isTrial) throw new TrialEnded();
    this.hasFailed = true;
    this.#report.reject(this.line, code, field, message);
  }

  /** Reports a warning; with strict validation it fails the record. */
  warn(code: number, field: string | null, message: string): void {
    if (this.isTrial) throw new TrialEnded();
    if (this.#report.warn(this.line, code, field, message)) this.hasFailed = true;
  }

  /** Reports an integer that 64 bits cannot hold. */
  warnBeyondLong(field: string, value: bigint): void {
    const message = `${value} is beyond 64 bits: a field without strings stores the nearest double`;
    this.warn(codes.invalidValue, field, message);
  }

  /** Reports code 400 when the record has more fields than the budgets allow. */
  checkWidth(keys = this.keys): void {
    const { recordKeysError: limit, recordKeysWarning: many } = budgets;
    if (keys < many) return;
    const message = `the record has ${keys} columns, and one with ${limit} or more is an error`;
    if (keys < limit) return this.warn(codes.tooManyColumns, null, message);
    const fix = 'split it into several records, or set validation_params.disable to store it';
    this.fault(codes.tooManyColumns, null, `${message}: ${fix}`);
  }
}
