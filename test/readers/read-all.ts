import { List, Struct, Vector, type Data, type RecordBatch } from 'apache-arrow';
import { resolve } from 'node:path';
import { BatchBuilder } from '../../engine/ingest/batch.js';
import type { Columns } from '../../engine/core/types.js';
import { readerNamed } from '../../readers/index.js';
import type { Report } from '../../readers/reader.js';
import { loadChunk } from '../../readers/source/load-chunk.js';
import { openSource } from '../../readers/source/open.js';

/** What a report collects in these tests: every call, with the line in the file. */
export interface Noted {
  readonly level: 'reject' | 'warn';
  readonly line: number;
  readonly code: number;
  readonly field: string | null;
  readonly message: string;
}

/** A Report that remembers everything. */
export class Notes implements Report {
  noted: Noted[] = [];
  linesBefore = 0;
  isDisabled = false;
  isStrict = false;
  isStopped = false;
  hasEnded = false;
  #chunk: Noted[] = [];

  reject(line: number, code: number, field: string | null, message: string): void {
    this.#chunk.push({ level: 'reject', line: line + this.linesBefore, code, field, message });
  }
  warn(line: number, code: number, field: string | null, message: string): boolean {
    this.#chunk.push({ level: 'warn', line: line + this.linesBefore, code, field, message });
    return false;
  }
  restart(): void {
    this.#chunk = [];
    this.hasEnded = false;
  }
  damaged(): void {}
  end(): void {
    this.hasEnded = true;
  }
  endChunk(lines: number): void {
    this.noted.push(...this.#chunk);
    this.#chunk = [];
    this.linesBefore += lines;
  }
}

export interface ReadAll {
  readonly rows: readonly Record<string, unknown>[];
  readonly lines: number;
  readonly chunks: number;
  readonly columns: readonly Columns[];
  readonly notes: readonly Noted[];
  readonly warnings: readonly string[];
  readonly genomeBuild: string | null;
}

/** Reads a whole file chunk by chunk into plain rows, for readers without a splitter; `importSource` reads as an import does. */
export async function readAll(
  path: string,
  reader: string,
  options: { targetBytes?: number; params?: Record<string, unknown>; name?: string } = {},
): Promise<ReadAll> {
  const format = readerNamed(reader);
  if (format.splitter) throw new Error(`${reader} has a splitter: use importSource`);
  const source = await openSource(resolve(path), options.name ?? path.split('/').at(-1)!);
  try {
    const params = format.params(options.params ?? {});
    const head = await format.header(source.head, params);
    const notes = new Notes();
    notes.linesBefore = head.bodyLine;
    const rows: Record<string, unknown>[] = [];
    const columns: Columns[] = [];
    let chunks = 0;
    for await (const { ref } of source.chunks(head.bodyOffset, options.targetBytes ?? 1 << 20)) {
      const out = new BatchBuilder();
      const bytes = await loadChunk(ref);
      const given = { columns: [], isFinal: false };
      notes.endChunk(format.read(bytes, head.header, params, out, notes, given));
      const batch = out.finish();
      columns.push(batch.columns);
      rows.push(...plainRows(batch.data));
      chunks++;
      if (notes.hasEnded) break;
    }
    return {
      rows,
      lines: notes.linesBefore - head.bodyLine,
      chunks,
      columns,
      notes: notes.noted,
      warnings: [...head.warnings, ...source.warnings],
      genomeBuild: head.genomeBuild,
    };
  } finally {
    await source.close();
  }
}

/** A batch as plain rows: objects without their nulls, lists as arrays, safe bigints as numbers. */
export function plainRows(batch: RecordBatch): Record<string, unknown>[] {
  return valuesOf(batch.data) as Record<string, unknown>[];
}

/** Straight from the buffers: arrow's row objects lose keys such as `constructor` and `__proto__`. */
function valuesOf(data: Data): unknown[] {
  const isNull = (i: number) =>
    data.nullCount > 0 && ((data.nullBitmap[i >> 3]! >> (i & 7)) & 1) === 0;
  const all = Array.from({ length: data.length }, (_, i) => i);
  const type: unknown = data.type;
  if (type instanceof Struct) {
    const children = data.children.map(valuesOf);
    return all.map((i) => {
      if (isNull(i)) return null;
      const entries = type.children.map((field, k) => [field.name, children[k]![i]] as const);
      return Object.fromEntries(entries.filter(([, value]) => value !== null));
    });
  }
  if (type instanceof List) {
    const items = valuesOf(data.children[0]!);
    return all.map((i) =>
      isNull(i) ? null : items.slice(data.valueOffsets[i], data.valueOffsets[i + 1]),
    );
  }
  const vector = new Vector([data]);
  return all.map((i) => {
    const value: unknown = vector.get(i);
    return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  });
}
