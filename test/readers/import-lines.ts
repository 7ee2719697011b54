import type { Data } from 'apache-arrow';
import { BatchBuilder, type Batch } from '../../engine/ingest/batch.js';
import {
  columnFindings,
  FindingCollector,
  mergeFindings,
  type Findings,
  type ValidationParams,
} from '../../engine/ingest/findings.js';
import { needsRewrite, unifyColumns } from '../../engine/ingest/unify-columns.js';
import { parseJson } from '../../engine/core/json.js';
import type { Column, Columns, Row, Value } from '../../engine/core/types.js';
import { jsonl } from '../../readers/jsonl/jsonl.js';

export const lenient: ValidationParams = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: false,
};

export interface Imported {
  readonly columns: Columns;
  readonly rows: readonly Row[];
  readonly findings: Findings;
  readonly lines: number;
  readonly rejected: number;
  /** How many chunks had to be read twice. */
  readonly rewritten: number;
}

export interface ImportOptions {
  readonly chunkBytes?: number;
  readonly existing?: Columns;
  readonly validation?: ValidationParams;
  /** The order in which chunks are read, the second time too. */
  readonly order?: readonly number[];
}

/** What the import task does with JSONL, without files and threads: every chunk read, columns unified, losers read again. */
export function importLines(source: Uint8Array | string, options: ImportOptions = {}): Imported {
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  return importChunks(cutAtLines(bytes, options.chunkBytes ?? Infinity), options);
}

/** The same for a source that is in pieces already. */
export function importChunks(
  chunks: readonly Uint8Array[],
  { existing = [], validation = lenient, order = chunks.map((_, i) => i) }: ImportOptions = {},
): Imported {
  const firsts: ReadChunk[] = [];
  for (const i of order) firsts[i] = readChunk(chunks[i]!, existing, validation, false);
  const { columns, conflicts } = unifyColumns(
    existing,
    firsts.map(({ batch }) => batch.seen),
  );
  if (conflicts.length > 0) throw new Error(`conflicts: ${JSON.stringify(conflicts)}`);
  let linesBefore = 0;
  const parts = [{ findings: columnFindings(existing, columns, validation), linesBefore: 0 }];
  const rows: Row[] = [];
  let rejected = 0;
  let rewritten = 0;
  const hasErrors = firsts.some(({ findings }) => findings.errors > 0);
  const seconds: ReadChunk[] = [];
  for (const i of order) {
    if (hasErrors || !needsRewrite(firsts[i]!.batch.seen, columns)) continue;
    const second = readChunk(chunks[i]!, columns, validation, true);
    if (second.batch.seen.some((column) => column.seen !== undefined))
      throw new Error(`a final pass left ${JSON.stringify(second.batch.seen)}`);
    seconds[i] = second;
    rewritten++;
  }
  firsts.forEach((first, i) => {
    parts.push({ findings: first.findings, linesBefore });
    const kept = seconds[i] ?? first;
    if (kept !== first) parts.push({ findings: kept.findings, linesBefore });
    rejected += kept.rejected;
    rows.push(...rowsOf(kept.batch, columns));
    linesBefore += first.lines;
  });
  const findings = mergeFindings(parts);
  return { columns, rows, findings, lines: linesBefore, rejected, rewritten };
}

/** Pieces of about `size` bytes, each of whole lines. */
export function cutAtLines(bytes: Uint8Array, size: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = from + size >= bytes.length ? -1 : bytes.indexOf(10, from + size - 1);
    const to = end < 0 ? bytes.length : end + 1;
    chunks.push(bytes.subarray(from, to));
    from = to;
  }
  return chunks;
}

interface ReadChunk {
  readonly batch: Batch;
  readonly findings: Findings;
  readonly lines: number;
  readonly rejected: number;
}

function readChunk(
  chunk: Uint8Array,
  columns: Columns,
  validation: ValidationParams,
  isFinal: boolean,
): ReadChunk {
  const out = new BatchBuilder();
  const report = new FindingCollector(validation, isFinal);
  const lines = jsonl.read(chunk, null, null, out, report, { columns, isFinal });
  return { batch: out.finish(), findings: report.result(), lines, rejected: report.rejected };
}

/** The records of a batch as a client would see them: every top-level column, objects without their nulls. */
export function rowsOf(batch: Batch, columns: Columns): Row[] {
  const stored = new Map(
    batch.columns.map((column, i) => [column.name, { column, data: batch.data.data.children[i]! }]),
  );
  return Array.from({ length: batch.rows }, (_, i) => {
    const row: Row = {};
    for (const final of columns) {
      const found = stored.get(final.name);
      define(row, final.name, found ? valueAt(found.data, found.column, final, i) : null);
    }
    return row;
  });
}

/** `final` is the same column of the dataset: its members set the order, whatever the chunk saw first. */
function valueAt(data: Data, column: Column, final: Column, i: number): Value {
  if (!data.getValid(i)) return null;
  if (column.isList) {
    const [from, to] = [data.valueOffsets[i] as number, data.valueOffsets[i + 1] as number];
    const item = { ...column, isList: false };
    return Array.from({ length: to - from }, (_, n) =>
      valueAt(data.children[0]!, item, final, from + n),
    );
  }
  switch (column.type) {
    case 'boolean':
      return (((data.values as Uint8Array)[i >> 3]! >> (i & 7)) & 1) === 1;
    case 'object': {
      const object: Row = {};
      for (const child of final.children!) {
        const n = column.children!.findIndex(({ name }) => name === child.name);
        if (n < 0) continue;
        const value = valueAt(data.children[n]!, column.children![n]!, child, i);
        if (value !== null) define(object, child.name, value);
      }
      return object;
    }
    case 'long': {
      const value = data.values[i] as bigint;
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    }
    case 'date':
      return dateText(data.values[i] as bigint);
    case 'integer':
    case 'float':
    case 'double':
      return data.values[i] as number;
    default: {
      const [from, to] = [data.valueOffsets[i] as number, data.valueOffsets[i + 1] as number];
      const text = decoder.decode((data.values as Uint8Array).subarray(from, to));
      return column.type === 'json' ? parseJson(text) : text;
    }
  }
}

function define(object: Row, name: string, value: Value): void {
  Object.defineProperty(object, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function dateText(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const iso = new Date(Number((micros - fraction) / 1000n)).toISOString().slice(0, 19);
  if (fraction > 0n) return `${iso}.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`;
  return iso.endsWith('T00:00:00') ? iso.slice(0, 10) : iso;
}

/** `name:type` of every column, lists as `[type]`, objects with their members. */
export function typesOf(columns: Columns): string {
  return columns
    .map(({ name, type, isList, children }) => {
      const members = children ? `{${typesOf(children)}}` : type;
      return `${name}:${isList ? `[${members}]` : members}`;
    })
    .join(' ');
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
