import type { RecordBatch } from 'apache-arrow';
import { resolve } from 'node:path';
import { FindingCollector, type ValidationParams } from '../../engine/ingest/findings.js';
import type { Columns } from '../../engine/core/types.js';
import { importFileOrThrow, type FileOptions } from './import-source.js';
import { lenientParams } from './import-pieces.js';
import { rowsAsPlainObjects } from './rows.js';

/** A call of `reject` or `warn`. The line is counted from the start of the chunk, and in a `WholeFileRead` from that of the file. */
export interface NotedFinding {
  readonly level: 'reject' | 'warn';
  readonly line: number;
  readonly code: number;
  readonly field: string | null;
  readonly message: string;
}

/** A collector that also stores every call, whereas the collector of the product counts similar calls. */
export class RecordingCollector extends FindingCollector {
  notedFindings: NotedFinding[] = [];

  constructor(validation: ValidationParams = lenientParams) {
    super(validation);
  }

  override reject(line: number, code: number, field: string | null, message: string): void {
    this.notedFindings.push({ level: 'reject', line, code, field, message });
    super.reject(line, code, field, message);
  }
  override warn(line: number, code: number, field: string | null, message: string): boolean {
    this.notedFindings.push({ level: 'warn', line, code, field, message });
    return super.warn(line, code, field, message);
  }
  override restart(): void {
    this.notedFindings = [];
    super.restart();
  }
}

export interface WholeFileRead {
  /** The records of all chunks, in the order of the chunks, without null values. */
  readonly rows: readonly Record<string, unknown>[];
  readonly lines: number;
  readonly chunks: number;
  /** The columns of each chunk. */
  readonly columns: readonly Columns[];
  readonly notes: readonly NotedFinding[];
  readonly warnings: readonly string[];
  readonly genomeBuild: string | null;
}

/** Reads all chunks of a file as the first pass of an import does; also returns what each chunk reported. */
export async function readWholeFile(
  path: string,
  reader: string,
  {
    name,
    ...options
  }: Pick<FileOptions, 'params' | 'targetBytes' | 'known'> & { name?: string } = {},
): Promise<WholeFileRead> {
  const batches: { data: RecordBatch; columns: Columns }[] = [];
  const notes: NotedFinding[] = [];
  const { lines, chunks, warnings, genomeBuild } = await importFileOrThrow(
    resolve(path),
    name ?? path.split('/').at(-1)!,
    reader,
    {
      ...options,
      collector: () => new RecordingCollector(),
      onRead: ({ firsts }, bodyLine) => {
        let linesBefore = bodyLine;
        for (const { batch, report, lines: lineCount } of firsts) {
          const { notedFindings } = report as RecordingCollector;
          for (const each of notedFindings) notes.push({ ...each, line: each.line + linesBefore });
          batches.push(batch);
          linesBefore += lineCount;
        }
      },
    },
  );
  const rows = batches.flatMap(({ data }) => rowsAsPlainObjects(data));
  const columns = batches.map((batch) => batch.columns);
  return { rows, lines, chunks, columns, notes, warnings, genomeBuild };
}
