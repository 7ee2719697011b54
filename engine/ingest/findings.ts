import type { Columns } from '../core/types.js';
import type { RejectionSink } from './rejected-lines.js';

/** `validation_params` of an import, with the defaults filled in. */
export interface ValidationParams {
  readonly disable: boolean;
  readonly raiseOnErrors: boolean;
  readonly strict: boolean;
  readonly allowNewFields: boolean;
}

/**
 * What was found wrong with one field, one or many times. `line` and `message` are of the first time; a line counts from 1
 * within the chunk until the task adds the lines before it, and is 0 for what concerns a column and no single line.
 */
export interface Finding {
  readonly code: number; // specification, "Validation codes"; 0 = the line cannot be read as it stands
  readonly level: 'warning' | 'error';
  readonly line: number;
  readonly field: string | null;
  readonly message: string;
  readonly count: number;
  /** The file's name to people; null for what concerns the import as a whole. */
  readonly file?: string | null;
}

export interface Findings {
  /** How often each code occurred, errors and warnings. */
  readonly counts: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly warnings: number;
  /** Records with at least one error. */
  readonly records: number;
  /** One for each code, level and field, in the order of their lines. */
  readonly examples: readonly Finding[];
}

export const noFindings: Findings = {
  counts: {},
  errors: 0,
  warnings: 0,
  records: 0,
  examples: [],
};

const names: ReadonlyMap<number, string> = new Map([
  [0, 'Unreadable Line'],
  [202, 'Column Name Warning'],
  [203, 'New Column added'],
  [301, 'Invalid Value for Field'],
  [302, 'List Expected'],
  [303, 'Unexpected List'],
  [304, 'NaN Value for Field'],
  [305, 'Infinity Value for Field'],
  [306, 'Max String Length for Field'],
  [400, 'Too Many Columns'],
]);

/** Kept per chunk; far above what answers show, so that the merged counts do not depend on how the source was cut. */
const keptExamples = 2_000;
/** Shown per code in an import's metadata. */
const shownExamples = 20;

/** Collects what a reader reports about one chunk. */
export class FindingCollector {
  readonly isDisabled: boolean;
  /** Nothing more needs to be read: `raise_on_errors` and an error has come. */
  isStopped = false;
  /** The reader has come to the end of the records; what later chunks hold is none. */
  hasEnded = false;
  /** Records with an error; each counts once. */
  rejected = 0;
  #errors = 0;
  #warnings = 0;
  #lastRejected = -1;
  #counts: Record<string, number> = {};
  readonly #examples = new Map<string, Finding & { count: number }>();
  readonly #params: ValidationParams;
  readonly #isFinal: boolean;
  readonly #rejected: RejectionSink | undefined;

  /** In a final pass the warnings of the first are known, so only errors are collected. */
  constructor(params: ValidationParams, isFinal = false, rejected?: RejectionSink) {
    this.#params = params;
    this.#isFinal = isFinal;
    this.#rejected = rejected;
    this.isDisabled = params.disable;
  }

  /** An error: the record on this line is not stored. */
  reject(line: number, code: number, field: string | null, message: string): void {
    if (line !== this.#lastRejected) {
      this.#lastRejected = line;
      this.rejected++;
    }
    this.#rejected?.add(line, code, field, message);
    this.#add('error', line, code, field, message);
    if (this.#params.raiseOnErrors) this.isStopped = true;
  }

  /** A warning: the record is stored, unless strict validation makes it an error (true): then the reader takes it back. */
  warn(line: number, code: number, field: string | null, message: string): boolean {
    if (this.#isFinal || this.isDisabled) return false;
    if (this.#params.strict) {
      this.reject(line, code, field, message);
      return true;
    }
    this.#add('warning', line, code, field, message);
    return false;
  }

  /** The records end in this chunk. */
  end(): void {
    this.hasEnded = true;
  }

  /** Forgets all that was reported: the reader begins the chunk again. */
  restart(): void {
    this.isStopped = false;
    this.hasEnded = false;
    this.rejected = 0;
    this.#errors = 0;
    this.#warnings = 0;
    this.#lastRejected = -1;
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
    const key = groupKey({ code, level, field });
    const known = this.#examples.get(key);
    if (known) known.count++;
    else if (this.#examples.size < keptExamples)
      this.#examples.set(key, { code, level, line, field, message, count: 1 });
  }
}

/** The findings of all chunks as one; `linesBefore` turns a chunk's line numbers into the file's. */
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
      const known = examples.get(groupKey(example));
      const first = known && known.line <= line ? known : { ...example, line };
      examples.set(groupKey(example), { ...first, count: (known?.count ?? 0) + example.count });
    }
  }
  return {
    ...totals(parts),
    counts,
    examples: [...examples.values()].sort((a, b) => a.line - b.line || a.code - b.code),
  };
}

/** The findings of several files as one, in the files' order; `file` is null for the import as a whole. */
export function joinFindings(
  parts: readonly { readonly findings: Findings; readonly file: string | null }[],
): Findings {
  const counts: Record<string, number> = {};
  const examples = new Map<string, Finding>();
  for (const { findings, file } of parts) {
    for (const [code, count] of Object.entries(findings.counts))
      counts[code] = (counts[code] ?? 0) + count;
    for (const example of findings.examples) {
      const known = examples.get(groupKey(example));
      const first = known ?? { ...example, file };
      examples.set(groupKey(example), { ...first, count: (known?.count ?? 0) + example.count });
    }
  }
  return { ...totals(parts), counts, examples: [...examples.values()] };
}

function totals(
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
 * Codes 202 and 203: what the new columns of an import deserve, found once the columns of all chunks are unified.
 * The first import into an empty dataset defines its fields, so nothing is new there.
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
    const known = new Map(old.map((column) => [column.name, column]));
    for (const column of columns) {
      const path = prefix + column.name;
      if (!known.has(column.name)) {
        if (!isStrictName(column.name))
          collector.warn(0, 202, path, `column name ${JSON.stringify(path)} ${strictNameRule}`);
        if (!isNewAllowed)
          collector.warn(0, 203, path, `new column ${JSON.stringify(path)} (${column.type})`);
      }
      if (column.children)
        visit(known.get(column.name)?.children ?? [], column.children, `${path}.`);
    }
  }
}

// Choice: the specification speaks of "strict column name rules" without naming them; these are what the field operations ask for.
const strictNameRule =
  'should start with a letter, hold letters, digits, `_` and `.` only, and no `__`';
function isStrictName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_.]*$/.test(name) && !name.includes('__');
}

/** `metadata.validation` of an import. */
export function validationJson(findings: Findings): Record<string, unknown> {
  const shown = shownFindings(findings);
  const entry = ({ code, field, line, message, count, file }: Finding) => ({
    code,
    name: names.get(code) ?? 'Unknown',
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

/** `metadata.progress.errors` of an import. */
export function progressErrors(findings: Findings): Record<string, unknown> {
  const errors = findings.examples.filter((finding) => finding.level === 'error');
  const fields = new Set(errors.map(({ field }) => field).filter((field) => field !== null));
  return {
    records: findings.records,
    fields: fields.size,
    examples: errors.slice(0, shownExamples).map(({ line, field, message, file }) => ({
      file: file ?? null,
      line: line === 0 ? null : line,
      field,
      message,
    })),
  };
}

/** One sentence that names file, line and cause of the first error and counts the rest; null when there is none. */
export function errorMessage(file: string, findings: Findings): string | null {
  const first = findings.examples.find((finding) => finding.level === 'error');
  if (!first) return null;
  const where = first.file ?? file;
  const place = first.line === 0 ? where : `${where}, line ${first.line}`;
  const code = first.code === 0 ? '' : ` (code ${first.code}, ${names.get(first.code)})`;
  const rest = findings.errors - 1;
  const more = rest === 0 ? '' : `; ${rest} more ${rest === 1 ? 'error' : 'errors'}`;
  return `${place}: ${first.message}${code}${more}`;
}

function shownFindings(findings: Findings): readonly Finding[] {
  const shown = new Map<string, number>();
  return findings.examples.filter(({ code, level }) => {
    const count = (shown.get(`${code} ${level}`) ?? 0) + 1;
    shown.set(`${code} ${level}`, count);
    return count <= shownExamples;
  });
}

function groupKey({ code, level, field }: Pick<Finding, 'code' | 'level' | 'field'>): string {
  return `${code} ${level} ${field === null ? '' : `=${field}`}`;
}
