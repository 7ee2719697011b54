import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Columns, Value } from '../../engine/core/types.js';
import { all } from '../../engine/query/predicate/predicate.js';
import type { QueryRequest } from '../../engine/query/request/request.js';
import { cellColumns } from '../../engine/query/results/cells.js';
import { project } from '../../engine/query/results/projection.js';
import { schemaFile } from '../../engine/store/schema-file.js';
import { encodePart, partLengths } from '../../scheduler/jobs/export/part.js';
import { writerNamed } from '../../writers/index.js';
import type { FileContext, FileWarning, Writer } from '../../writers/writer.js';
import { fieldRows, openBench, type Bench, type Dataset } from '../engine/query/dataset.js';
import { batchOf } from '../engine/store/random.js';
import { writeSegment } from '../engine/store/write-segment.js';

export const wholeRequest: QueryRequest = { predicate: all, scores: [], fields: null, excludeFields: [], ordering: [], limit: 10_000_000, offset: 0, facets: null }; // prettier-ignore

/** The provenance in the metadata of the test files. */
export const provenance = { dataset_id: 7, query: { filters: [['gene', '>', 'a&b']] } };

/** How a file is written. */
export interface WantedExport {
  readonly request?: Partial<QueryRequest>;
  readonly isFormulaSafe?: boolean;
  /** Whether each segment is a part. */
  readonly bySegment?: boolean;
}

/** Datasets of a folder of its own, and files of their records. */
export class WriterBench {
  readonly bench: Bench;
  readonly folder: string;
  #last = 0;

  private constructor(bench: Bench) {
    this.bench = bench;
    this.folder = join(bench.folder, 'datasets', 'own');
    mkdirSync(this.folder, { recursive: true });
  }

  static async open(): Promise<WriterBench> {
    return new WriterBench(await openBench());
  }

  close(): Promise<void> {
    return this.bench.close();
  }

  /** A new name in the folder. */
  path(name: string): string {
    return join(this.folder, `${++this.#last}-${name}`);
  }

  /** A dataset of two segments with the given values, by column. */
  async dataset(columns: Columns, values: readonly (readonly Value[])[]): Promise<Dataset> {
    const id = ++this.#last;
    const files = [this.path('schema.parquet')];
    writeFileSync(files[0]!, schemaFile(columns));
    const segments = [];
    const rows = values[0]!.length;
    const middle = Math.ceil(rows / 2);
    for (const [from, to] of [[0, middle] as const, [middle, rows] as const]) {
      if (from === to) continue;
      const some = values.map((each) => each.slice(from, to));
      const data = batchOf(columns, some, to - from, BigInt(id));
      const path = this.path('segment.parquet');
      segments.push(await writeSegment({ columns, data, rows: to - from }, path));
      files.push(path);
    } // prettier-ignore
    const snapshot = { datasetId: id, version: 1, columns, segments, rows, bytes: 0, files };
    return { snapshot, fields: fieldRows(columns, []) };
  }
}

/** The properties of a file besides its records. */
export function contextOf(
  { snapshot, fields }: Dataset,
  { request, isFormulaSafe = false }: WantedExport,
): FileContext {
  const projection = project(snapshot.columns, fields, { ...wholeRequest, ...request });
  const columns = cellColumns(projection).map(({ path }) => ({ name: path.join('.'), title: path.join('.') })); // prettier-ignore
  return { projection, columns, longest: null, options: { isFormulaSafe }, provenance };
}

/** The export of a dataset, in parts of 700 records or one per segment; the writer's warnings are added to `warnings`. */
export async function writeExport(
  format: string | Writer,
  from: Dataset,
  wanted: WantedExport = {},
  warnings: FileWarning[] = [],
): Promise<Buffer> {
  const writer = typeof format === 'string' ? writerNamed(format)! : format;
  const { snapshot } = from;
  const plain = contextOf(from, wanted);
  const files = snapshot.files.slice(1).map((path) => ({ path: realpathSync(path) }));
  const refs = snapshot.segments.flatMap(({ rows }, segment) => Array.from({ length: rows }, (_, row) => [segment, row])); // prettier-ignore
  const every = Int32Array.from(refs.flat());
  const longest = writer.expandsLists === true ? partLengths({ files, rows: every, projection: plain.projection }) : null; // prettier-ignore
  const context = { ...plain, longest };
  async function* parts(): AsyncGenerator<unknown> {
    const ends = snapshot.segments.map((_, i) => snapshot.segments.slice(0, i + 1).reduce((sum, { rows }) => sum + rows, 0)); // prettier-ignore
    const next = (at: number): number => wanted.bySegment === true ? ends.find((end) => end > at)! : at + 700; // prettier-ignore
    for (let at = 0; at < refs.length; at = next(at)) {
      const rows = Int32Array.from(refs.slice(at, next(at)).flat());
      const job = { format: writer.format, context, files, rows, first: at, annotation: null };
      // Parts are sent between threads.
      yield structuredClone(encodePart(structuredClone(job), writer).part);
    }
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of writer.join(parts(), context, (warning) => warnings.push(warning)))
    pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}
