import { BatchBuilder, type Batch } from '../../engine/ingest/batch.js';
import {
  errorMessage,
  FindingCollector,
  mergeFindings,
  type Findings,
  type ValidationParams,
} from '../../engine/ingest/findings.js';
import { toErrorValue } from '../../engine/core/errors.js';
import { needsRewrite, unifyColumns } from '../../engine/ingest/unify-columns.js';
import type { Columns, Row } from '../../engine/core/types.js';
import { readerNamed } from '../../readers/index.js';
import { loadChunk } from '../../readers/source/load-chunk.js';
import { openSource } from '../../readers/source/open.js';
import { lenient, rowsOf } from './import-lines.js';

export interface FileImport {
  /** What the import would fail with, null when it completes. */
  readonly error: string | null;
  readonly columns: Columns;
  readonly rows: readonly Row[];
  readonly findings: Findings;
  readonly warnings: readonly string[];
  readonly ordering: readonly (readonly [name: string, ordering: number | null | undefined])[];
  readonly chunks: number;
  readonly rewritten: number;
}

export interface FileImportOptions {
  readonly params?: Record<string, unknown>;
  readonly targetBytes?: number;
  readonly known?: Columns;
  readonly validation?: ValidationParams;
}

const nothing = {
  columns: [],
  rows: [],
  findings: mergeFindings([]),
  warnings: [],
  ordering: [],
  chunks: 0,
  rewritten: 0,
};

/** What the import task does with a file, without a scheduler: every piece read, columns unified, losers read again. */
export async function importFile(
  path: string,
  name: string,
  readerName: string,
  options: FileImportOptions = {},
): Promise<FileImport> {
  try {
    return await imported(path, name, readerName, options);
  } catch (error) {
    return { ...nothing, error: toErrorValue(error).message };
  }
}

async function imported(
  path: string,
  name: string,
  readerName: string,
  {
    params: given = {},
    targetBytes = 1 << 20,
    known = [],
    validation = lenient,
  }: FileImportOptions,
): Promise<FileImport> {
  const reader = readerNamed(readerName);
  const params = reader.params(given);
  const source = await openSource(path, name);
  try {
    const head = await reader.header(source.head, params);
    const chunks: Uint8Array[] = [];
    const splitter = reader.splitter?.(head.header, params);
    for await (const { ref } of source.chunks(head.bodyOffset, targetBytes, undefined, splitter))
      chunks.push(await loadChunk(ref));
    const read = (chunk: Uint8Array, columns: Columns, isFinal: boolean) => {
      const out = new BatchBuilder();
      const report = new FindingCollector(validation, isFinal);
      const lines = reader.read(chunk, head.header, params, out, report, { columns, isFinal });
      return { batch: out.finish(), findings: report.result(), lines };
    };
    const firsts = chunks.map((chunk) => read(chunk, known, false));
    const { columns } = unifyColumns(
      known,
      firsts.map(({ batch }) => batch.seen),
    );
    const hasErrors = firsts.some(({ findings }) => findings.errors > 0);
    let linesBefore = head.bodyLine;
    let rewritten = 0;
    const parts: { findings: Findings; linesBefore: number }[] = [];
    const batches: Batch[] = [];
    for (const [i, first] of firsts.entries()) {
      parts.push({ findings: first.findings, linesBefore });
      if (!hasErrors && needsRewrite(first.batch.seen, columns)) {
        const second = read(chunks[i]!, columns, true);
        parts.push({ findings: second.findings, linesBefore });
        batches.push(second.batch);
        rewritten++;
      } else batches.push(first.batch);
      linesBefore += first.lines;
    }
    const findings = mergeFindings(parts);
    return {
      error: errorMessage(name, findings),
      columns,
      // An import with errors publishes nothing, so nothing is read again for it.
      rows: hasErrors ? [] : batches.flatMap((batch) => rowsOf(batch, columns)),
      findings,
      warnings: [...head.warnings, ...source.warnings],
      ordering: head.fields.map((field) => [field.name!, field.ordering] as const),
      chunks: chunks.length,
      rewritten,
    };
  } finally {
    await source.close();
  }
}
