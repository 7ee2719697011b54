import { nameByCode, codes } from './validation-codes.js';
import type { Columns } from '../core/types.js';
import type { RejectionSink } from './rejected-lines.js';

/** `validation_params` of an import or a migration, with the defaults filled in, and `max_rejected`. */
export interface ValidationParams {
  readonly disable: boolean;
  readonly raiseOnErrors: boolean;
  readonly strict: boolean;
  readonly allowNewFields: boolean;
  /**
   * The maximum number of records that may be rejected while the others are stored (`on_error: reject` with `max_rejected`). If absent or
   * 0, one record with an error fails the import or migration.
   */
  readonly maxRejected?: number;
}

/** Returns how many records may be rejected without failing an import or a migration. */
export function maxRejectedRecords({
  maxRejected = 0,
  strict,
  raiseOnErrors,
}: ValidationParams): number {
  return strict || raiseOnErrors ? 0 : maxRejected;
}

/**
 * The errors or warnings with one code in one field. `line` and `message` are those of the first of them. Lines count from 1, within the
 * chunk until `mergeFindings` adds the number of lines before it; 0 stands for a finding about a whole column.
 */
export interface Finding {
  /** The code (specification, "Validation codes"); 0 for a line that cannot be parsed. */
  readonly code: number;
  readonly level: 'warning' | 'error';
  readonly line: number;
  readonly field: string | null;
  readonly message: string;
  readonly count: number;
  /** The name of the file or source in messages; null for a finding about the whole job, absent before `joinFindings`. */
  readonly file?: string | null;
}

/** The findings of a chunk, a file, an import or a migration. */
export interface Findings {
  /** Number of errors and warnings by code. */
  readonly counts: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly warnings: number;
  /** The number of records with at least one error. */
  readonly records: number;
  /** One finding for each code, level and field, at most `maxExamples` per chunk; those of one file are ordered by line. */
  readonly examples: readonly Finding[];
}

/** The findings of a source without errors and warnings. */
export const noFindings: Findings = {
  counts: {},
  errors: 0,
  warnings: 0,
  records: 0,
  examples: [],
};

/**
 * Maximum number of examples per chunk: far more than are shown, so that the merged counts do not depend on how the source was divided into
 * chunks.
 */
const maxExamples = 2_000;
/** Maximum number of findings per code and level in the `validation` of an import or a migration, and of errors in its `progress`. */
const maxShownExamples = 20;

/** Collects the errors and warnings about one chunk, for example those that its reader reports. */
export class FindingCollector {
  readonly isDisabled: boolean;
  /** Whether warnings count as errors. */
  readonly isStrict: boolean;
  /** Whether reading can stop, because an error was reported and `raise_on_errors` is set. */
  isStopped = false;
  /** Whether the records of the source end in this chunk; the content of later chunks is not read. */
  hasEnded = false;
  /** Number of records with at least one error. */
  rejected = 0;
  /** Whether the text after an error cannot be divided into records, so that the number of records in the source is unknown. */
  isDamaged = false;
  /** The lines of the records with an error, in their order. */
  readonly rejectedLines: number[] = [];
  #errors = 0;
  #warnings = 0;
  #lastRejected = -1;
  #counts: Record<string, number> = {};
  readonly #examples = new Map<string, Finding & { count: number }>();
  readonly #params: ValidationParams;
  readonly #isFinal: boolean;
  readonly #rejected: RejectionSink | undefined;

  /** With `isFinal`, the chunk is read for the second time: its warnings are known already, and only errors are collected. */
  constructor(params: ValidationParams, isFinal = false, rejected?: RejectionSink) {
    this.#params = params;
    this.#isFinal = isFinal;
    this.#rejected = rejected;
    this.isDisabled = params.disable;
    this.isStrict = params.strict && !params.disable && !isFinal;
  }

  /** Reports an error: the record on this line is not stored. */
  reject(line: number, code: number, field: string | null, message: string): void {
    if (line !== this.#lastRejected) {
      this.#lastRejected = line;
      this.rejected++;
      this.rejectedLines.push(line);
    }
    this.#rejected?.add(line, code, field, message);
    this.#add('error', line, code, field, message);
    if (this.#params.raiseOnErrors) this.isStopped = true;
  }

  /** Reports a warning. Returns true if strict validation makes it an error; the reader then rolls the record back. */
  warn(line: number, code: number, field: string | null, message: string): boolean {
    if (this.#isFinal || this.isDisabled) return false;
    if (this.#params.strict) {
      this.reject(line, code, field, message);
      return true;
    }
    this.#add('warning', line, code, field, message);
    return false;
  }

  /**
   * Reports a warning about the type of a field. Because the type depends on all chunks together and no record is at fault, the warning
   * never becomes an error.
   */
  warnOfType(code: number, field: string, message: string): void {
    if (!this.#isFinal && !this.isDisabled) this.#add('warning', 0, code, field, message);
  }

  /** Reports that the records end in this chunk. */
  markEndOfRecords(): void {
    this.hasEnded = true;
  }

  markDamaged(): void {
    this.isDamaged = true;
  }

  /** Discards all reports, because the reader starts the chunk again. */
  restart(): void {
    this.isStopped = false;
    this.isDamaged = false;
    this.hasEnded = false;
    this.rejected = 0;
    this.#errors = 0;
    this.#warnings = 0;
    this.#lastRejected = -1;
    this.rejectedLines.length = 0;
    this.#counts = {};
    this.#examples.clear();
    this.#rejected?.clear();
  }

  result(): Findings {
    return {
      counts: { ...this.#counts },
      errors: this.#errors,
      warnings: this.#warnings,
      records: this.rejected,
      examples: [...this.#examples.values()].map((example) => ({ ...example })),
    };
  }

  #add(
    level: Finding['level'],
    line: number,
    code: number,
    field: string | null,
    message: string,
  ): void {
    if (level === 'error') this.#errors++;
    else this.#warnings++;
    this.#counts[code] = (this.#counts[code] ?? 0) + 1;
    const key = findingKey({ code, level, field });
    const example = this.#examples.get(key);
    if (example) example.count++;
    else if (this.#examples.size < maxExamples)
      this.#examples.set(key, { code, level, line, field, message, count: 1 });
  }
}

/** Merges the findings of the chunks of a file; `linesBefore` turns line numbers of a chunk into line numbers of the file. */
export function mergeFindings(
  parts: readonly { readonly findings: Findings; readonly linesBefore: number }[],
): Findings {
  const counts: Record<string, number> = {};
  const examples = new Map<string, Finding>();
  for (const { findings, linesBefore } of parts) {
    for (const [code, count] of Object.entries(findings.counts))
      counts[code] = (counts[code] ?? 0) + count;
    for (const example of findings.examples) {
      const line = example.line === 0 ? 0 : example.line + linesBefore;
      const knownExample = examples.get(findingKey(example));
      const first = knownExample && knownExample.line <= line ? knownExample : { ...example, line };
      examples.set(findingKey(example), {
        ...first,
        count: (knownExample?.count ?? 0) + example.count,
      });
    }
  }
  return {
    ...sumFindings(parts),
    counts,
    examples: [...examples.values()].sort((a, b) => a.line - b.line || a.code - b.code),
  };
}

/** Merges the findings of several files or sources in their order; `file` is null for findings about the whole job. */
export function joinFindings(
  parts: readonly { readonly findings: Findings; readonly file: string | null }[],
): Findings {
  const counts: Record<string, number> = {};
  const examples = new Map<string, Finding>();
  for (const { findings, file } of parts) {
    for (const [code, count] of Object.entries(findings.counts))
      counts[code] = (counts[code] ?? 0) + count;
    for (const example of findings.examples) {
      const knownExample = examples.get(findingKey(example));
      const first = knownExample ?? { ...example, file };
      examples.set(findingKey(example), {
        ...first,
        count: (knownExample?.count ?? 0) + example.count,
      });
    }
  }
  return { ...sumFindings(parts), counts, examples: [...examples.values()] };
}

function sumFindings(
  parts: readonly { readonly findings: Findings }[],
): Pick<Findings, 'errors' | 'warnings' | 'records'> {
  const sum = (of: (findings: Findings) => number) =>
    parts.reduce((total, part) => total + of(part.findings), 0);
  return {
    errors: sum((findings) => findings.errors),
    warnings: sum((findings) => findings.warnings),
    records: sum((findings) => findings.records),
  };
}

/**
 * Returns the findings about the new columns of an import or a migration: code 202 for unusual names, 203 for columns that the dataset does
 * not have. The first one into a dataset without fields defines them, so none of its columns counts as new; nor does any if strict
 * validation allows new fields.
 */
export function columnFindings(
  existing: Columns,
  final: Columns,
  params: ValidationParams,
): Findings {
  const collector = new FindingCollector({ ...params, raiseOnErrors: false });
  const isNewAllowed = existing.length === 0 || (params.strict && params.allowNewFields);
  visit(existing, final, '');
  return { ...collector.result(), records: 0 };

  function visit(old: Columns, columns: Columns, prefix: string): void {
    const oldByName = new Map(old.map((column) => [column.name, column]));
    for (const column of columns) {
      const path = prefix + column.name;
      if (!oldByName.has(column.name)) {
        if (!isStrictName(column.name))
          collector.warn(
            0,
            codes.columnName,
            path,
            `column name ${JSON.stringify(path)} ${strictNameRule}`,
          );
        if (!isNewAllowed)
          collector.warn(
            0,
            codes.newColumn,
            path,
            `new column ${JSON.stringify(path)} (${column.type})`,
          );
      }
      if (column.children)
        visit(oldByName.get(column.name)?.children ?? [], column.children, `${path}.`);
    }
  }
}

// Choice: the specification does not define its "strict column name rules"; a name must begin with a letter and contain only letters,
// digits, `_` and `.`, but not `__`.
const strictNameRule =
  'should start with a letter, hold letters, digits, `_` and `.` only, and no `__`';
function isStrictName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_.]*$/.test(name) && !name.includes('__');
}

/** Returns `metadata.validation` of an import or a migration. */
export function validationJson(findings: Findings): Record<string, unknown> {
  const shown = shownFindings(findings);
  const entry = ({ code, field, line, message, count, file }: Finding) => ({
    code,
    name: nameByCode.get(code) ?? 'Unknown',
    field,
    file: file ?? null,
    line: line === 0 ? null : line,
    message,
    count,
  });
  return {
    errors: shown.filter((finding) => finding.level === 'error').map(entry),
    warnings: shown.filter((finding) => finding.level === 'warning').map(entry),
    errors_count: findings.errors,
    warnings_count: findings.warnings,
    error_codes: [
      ...new Set(shown.filter((finding) => finding.level === 'error').map(({ code }) => code)),
    ].sort((a, b) => a - b),
    detections: null,
  };
}

/** Returns `metadata.progress.errors` of an import or a migration. */
export function progressErrors(findings: Findings): Record<string, unknown> {
  const errors = findings.examples.filter((finding) => finding.level === 'error');
  const fields = new Set(errors.map(({ field }) => field).filter((field) => field !== null));
  return {
    records: findings.records,
    fields: fields.size,
    examples: errors.slice(0, maxShownExamples).map(({ line, field, message, file }) => ({
      file: file ?? null,
      line: line === 0 ? null : line,
      field,
      message,
    })),
  };
}

/**
 * Returns a sentence with the file, line, field and cause of the first error and the number of further errors; null if there is no error.
 */
export function errorMessage(file: string, findings: Findings): string | null {
  const first = findings.examples.find((finding) => finding.level === 'error');
  if (!first) return null;
  const name = first.file ?? file;
  const location = first.line === 0 ? name : `${name}, line ${first.line}`;
  const code =
    first.code === codes.unreadableLine
      ? ''
      : ` (code ${first.code}, ${nameByCode.get(first.code)})`;
  const otherErrors = findings.errors - 1;
  const more =
    otherErrors === 0 ? '' : `; ${otherErrors} more ${otherErrors === 1 ? 'error' : 'errors'}`;
  const field = first.field === null ? '' : `field ${first.field}: `;
  return `${location}: ${field}${first.message}${code}${more}`;
}

function shownFindings(findings: Findings): readonly Finding[] {
  const shown = new Map<string, number>();
  return findings.examples.filter(({ code, level }) => {
    const count = (shown.get(`${code} ${level}`) ?? 0) + 1;
    shown.set(`${code} ${level}`, count);
    return count <= maxShownExamples;
  });
}

function findingKey({ code, level, field }: Pick<Finding, 'code' | 'level' | 'field'>): string {
  return `${code} ${level} ${field === null ? '' : `=${field}`}`;
}
