import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { AppError } from '../../engine/core/errors.js';
import { BatchBuilder, type Batch } from '../../engine/ingest/batch.js';
import {
  errorMessage,
  FindingCollector,
  mergeFindings,
  settledFindings,
  type Findings,
  type ValidationParams,
} from '../../engine/ingest/findings.js';
import { joinColumns, needsRewrite, unifyColumns } from '../../engine/ingest/unify-columns.js';
import type { Columns, GenomeBuild, Row } from '../../engine/core/types.js';
import { readerNamed } from '../../readers/index.js';
import { startOf } from '../../readers/source/chunks.js';
import type { ChunkStart } from '../../readers/source/splitter.js';
import { loadChunk } from '../../readers/source/load-chunk.js';
import { openSource } from '../../readers/source/open.js';
import type { Random } from '../random.js';
import { bgzf } from './source/bgzf.js';
import { lenient, rowsOf } from './import-lines.js';

/** What a source came to. */
export interface SourceImport {
  readonly rows: readonly Row[];
  readonly columns: Columns;
  /** What the import would fail with, or null. */
  readonly error: string | null;
  readonly findings: Findings;
  readonly warnings: readonly string[];
  readonly about: unknown;
  /** What the reader found out for all chunks. */
  readonly header: unknown;
  readonly genomeBuild: GenomeBuild | null;
  readonly chunks: number;
  /** Records of the chunks that count: those that would be stored, and those that were refused. */
  readonly stored: number;
  readonly rejected: number;
}

/** How a source is packed, cut and read. */
export interface SourceOptions {
  readonly name?: string;
  readonly params?: Record<string, unknown>;
  readonly layer?: keyof typeof layers;
  readonly targetBytes?: number;
  readonly known?: Columns;
  readonly validation?: ValidationParams;
  /** The order in which chunks are read, as threads might; in order without it. */
  readonly shuffle?: Random;
  /** Reads every chunk a second time with the final columns, not only those that need it. */
  readonly isReadTwice?: boolean;
  /** Is shown each batch as it would be stored, and where in the source it stands. */
  readonly onBatch?: (batch: Batch, index: number) => void;
}

const layers = {
  plain: (bytes: Uint8Array) => bytes,
  gzip: (bytes: Uint8Array) => gzipSync(bytes, { level: 1 }),
  bgzf: (bytes: Uint8Array) => bgzf(bytes, 700),
};

/** What the import task does with a source, without a scheduler, chunks behind the end of the records included. */
export async function importSource(
  text: string | Uint8Array,
  readerName: string,
  options: SourceOptions = {},
): Promise<SourceImport> {
  const { name = 'file', known = [], validation = lenient } = options;
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-source-'));
  const path = join(folder, 'source');
  writeFileSync(path, layers[options.layer ?? 'plain'](bytes));
  const source = await openSource(path, name);
  try {
    const reader = readerNamed(readerName);
    const params = reader.params(options.params ?? {});
    const head = await reader.header(source.head, params);
    const chunks: Piece[] = [];
    const { targetBytes = 1 << 20 } = options;
    const splitter = reader.splitter?.(head.header, params);
    // Where the source cannot be read on does not matter if the records end before.
    let failure: unknown;
    try {
      for await (const { ref } of source.chunks(head.bodyOffset, targetBytes, undefined, splitter))
        chunks.push({ bytes: await loadChunk(ref), ...startOf(ref) });
    } catch (error) {
      failure = error;
    }
    let hints: Columns = [];
    const read = ({ bytes: chunk, ...start }: Piece, columns: Columns, isFinal: boolean) => {
      const out = new BatchBuilder();
      const report = new FindingCollector(validation, isFinal);
      const lines = reader.read(chunk, head.header, params, out, report, {
        columns,
        isFinal,
        hints,
        ...start,
      });
      const { hasEnded, rejected } = report;
      return { batch: out.finish(), findings: report.result(), lines, hasEnded, rejected };
    };
    const all: ReadChunk[] = [];
    let hinting = 0;
    for (const i of order(chunks.length, options.shuffle)) {
      all[i] = read(chunks[i]!, known, false);
      if (!reader.usesHints) continue;
      for (let next; (next = all[hinting]) !== undefined; hinting++)
        hints = joinColumns(hints, next.batch.seen);
    }
    const last = all.findIndex(({ hasEnded }) => hasEnded);
    if (last < 0 && failure !== undefined) throw failure as Error;
    const firsts = last < 0 ? all : all.slice(0, last + 1);
    const { columns } = unifyColumns(
      known,
      firsts.map(({ batch }) => batch.seen),
    );
    const hasErrors = firsts.some(({ findings }) => findings.errors > 0);
    const missing = head.unended !== undefined && last < 0 && !hasErrors ? head.unended : null;
    const parts: { findings: Findings; linesBefore: number }[] = [];
    const rows: Row[] = [];
    let linesBefore = head.bodyLine;
    let stored = 0;
    let rejected = 0;
    firsts.forEach((first, i) => {
      const isAsked = options.isReadTwice === true || needsRewrite(first.batch.seen, columns);
      const isRewritten = !hasErrors && isAsked;
      const kept = isRewritten ? read(chunks[i]!, columns, true) : first;
      parts.push({ findings: first.findings, linesBefore });
      if (isRewritten) parts.push({ findings: kept.findings, linesBefore });
      // An import with errors publishes nothing, so nothing is read again for it and some of it cannot be shown.
      if (!hasErrors || !needsRewrite(first.batch.seen, columns))
        rows.push(...rowsOf(kept.batch, columns));
      stored += kept.batch.rows;
      rejected += kept.rejected;
      options.onBatch?.(kept.batch, i);
      linesBefore += first.lines;
    });
    const findings = settledFindings(
      mergeFindings(parts),
      firsts.map(({ batch }) => batch.seen),
    );
    return {
      rows,
      columns,
      error: missing === null ? errorMessage(name, findings) : `${name}: ${missing}`,
      findings,
      warnings: [...head.warnings, ...source.warnings],
      about: head.about,
      header: head.header,
      genomeBuild: head.genomeBuild,
      chunks: chunks.length,
      stored,
      rejected,
    };
  } finally {
    await source.close();
    rmSync(folder, { recursive: true });
  }
}

/** The message that a source is refused with before it is read. */
export async function refusal(text: string, reader: string): Promise<string> {
  try {
    const { error } = await importSource(text, reader);
    return error ?? 'accepted';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.message;
  }
}

/** A record without its `genomic_coordinates`, to compare it with what the line says. */
export function withoutCoordinates(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'genomic_coordinates'));
}

interface Piece {
  readonly bytes: Uint8Array;
  readonly start?: ChunkStart;
}

interface ReadChunk {
  readonly batch: Batch;
  readonly findings: Findings;
  readonly lines: number;
  readonly hasEnded: boolean;
  readonly rejected: number;
}

function order(count: number, shuffle: Random | undefined): number[] {
  const indices = Array.from({ length: count }, (_, i) => i);
  return shuffle ? indices.sort(() => shuffle() - 0.5) : indices;
}
