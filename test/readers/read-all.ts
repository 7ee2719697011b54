import type { RecordBatch } from 'apache-arrow';
import { resolve } from 'node:path';
import { FindingCollector, type ValidationParams } from '../../engine/ingest/findings.js';
import type { Columns } from '../../engine/core/types.js';
import { importAt, type FileOptions } from './import-source.js';
import { lenientParams } from './import-pieces.js';
import { plainRows } from './rows.js';

/** A call of a report, with the line in the file. */
export interface Noted {
  readonly level: 'reject' | 'warn';
  readonly line: number;
  readonly code: number;
  readonly field: string | null;
  readonly message: string;
}

/** A report that remembers every call, where others count those that are alike. */
export class Notes extends FindingCollector {
  noted: Noted[] = [];

  constructor(validation: ValidationParams = lenientParams) {
    super(validation);
  }

  override reject(line: number, code: number, field: string | null, message: string): void {
    this.noted.push({ level: 'reject', line, code, field, message });
    super.reject(line, code, field, message);
  }
  override warn(line: number, code: number, field: string | null, message: string): boolean {
    this.noted.push({ level: 'warn', line, code, field, message });
    return super.warn(line, code, field, message);
  }
  override restart(): void {
    this.noted = [];
    super.restart();
  }
}

export interface ReadAll {
  /** The records of each chunk, without null values. */
  readonly rows: readonly Record<string, unknown>[];
  readonly lines: number;
  readonly chunks: number;
  /** The columns of each chunk. */
  readonly columns: readonly Columns[];
  readonly notes: readonly Noted[];
  readonly warnings: readonly string[];
  readonly genomeBuild: string | null;
}

/** Reads a whole file as an import does, and tells what each chunk reported. */
export async function readAll(
  path: string,
  reader: string,
  {
    name,
    ...options
  }: Pick<FileOptions, 'params' | 'targetBytes' | 'known'> & { name?: string } = {},
): Promise<ReadAll> {
  const batches: { data: RecordBatch; columns: Columns }[] = [];
  const notes: Noted[] = [];
  const { lines, chunks, warnings, genomeBuild } = await importAt(
    resolve(path),
    name ?? path.split('/').at(-1)!,
    reader,
    {
      ...options,
      collector: () => new Notes(),
      onRead: ({ firsts }, bodyLine) => {
        let before = bodyLine;
        for (const { batch, report, lines: own } of firsts) {
          const { noted } = report as Notes;
          for (const each of noted) notes.push({ ...each, line: each.line + before });
          batches.push(batch);
          before += own;
        }
      },
    },
  );
  const rows = batches.flatMap(({ data }) => plainRows(data));
  const columns = batches.map((batch) => batch.columns);
  return { rows, lines, chunks, columns, notes, warnings, genomeBuild };
}
