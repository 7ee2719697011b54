import { budgets } from '../core/budgets.js';
import { codes } from './validation-codes.js';

/** Receives the errors and warnings about values: the part of a reader's `Report` that columns need. */
export interface FaultReport {
  reject(line: number, code: number, field: string | null, message: string): void;
  warn(line: number, code: number, field: string | null, message: string): boolean;
  readonly isDisabled: boolean;
}

/** Thrown in place of reporting an error or warning while records are read in a trial (`RecordContext.isTrial`). */
export class TrialReadFailed extends Error {}

/** The record being read: its line, whether it has failed, and where its errors are reported. All columns of a chunk share one context. */
export class RecordContext {
  line = 0;
  /**
   * The number of records begun; readers compare it with the `lastRecordNumber` of a column to find out whether the current record already
   * has the field.
   */
  recordNumber = 0;
  /** The number of fields of the current record; an object counts as its members. */
  keyCount = 0;
  /** Whether the record has an error and is to be rolled back at its end. */
  hasFailed = false;
  /** Number of fields of this chunk that neither the dataset nor the request has. */
  newFieldCount = 0;
  /** Number of columns of this chunk whose values cannot all be stored in this pass, so that the chunk has to be read again. */
  mixedColumnCount = 0;
  /**
   * Whether records are read in a trial: an error or warning then throws `TrialReadFailed`, and the records are read again without a trial.
   */
  isTrial = false;
  readonly #report: FaultReport;

  constructor(report: FaultReport) {
    this.#report = report;
  }

  /** Whether validation is off. */
  get isLenient(): boolean {
    return this.#report.isDisabled;
  }

  /** Reports a value that does not fit its field; the record fails unless validation is switched off. */
  rejectUnlessLenient(code: number, field: string | null, message: string): void {
    if (!this.#report.isDisabled) this.reject(code, field, message);
  }

  /** Reports an error that makes the record fail even if validation is switched off. */
  reject(code: number, field: string | null, message: string): void {
    if (this.isTrial) throw new TrialReadFailed();
    this.hasFailed = true;
    this.#report.reject(this.line, code, field, message);
  }

  /** Reports a warning; with strict validation, it makes the record fail. */
  warn(code: number, field: string | null, message: string): void {
    if (this.isTrial) throw new TrialReadFailed();
    if (this.#report.warn(this.line, code, field, message)) this.hasFailed = true;
  }

  /** Reports a warning about an integer that does not fit into 64 bits. */
  warnBeyondLong(field: string, value: bigint): void {
    const message = `${value} is beyond 64 bits: a field without strings stores the nearest double`;
    this.warn(codes.invalidValue, field, message);
  }

  /**
   * Reports code 400 for a record with many fields: a warning if it has at least `budgets.recordKeysWarning`; if it has at least
   * `budgets.recordKeysError`, an error instead, or nothing if validation is off.
   */
  checkFieldCount(keys = this.keyCount): void {
    const { recordKeysError: limit, recordKeysWarning: many } = budgets;
    if (keys < many) return;
    const message = `the record has ${keys} columns, and one with ${limit} or more is an error`;
    if (keys < limit) return this.warn(codes.tooManyColumns, null, message);
    const fix = 'split it into several records, or set validation_params.disable to store it';
    this.rejectUnlessLenient(codes.tooManyColumns, null, `${message}: ${fix}`);
  }
}
