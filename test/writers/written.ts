import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Columns, Value } from '../../engine/core/types.js';
import { all } from '../../engine/query/predicate/predicate.js';
import type { QueryRequest } from '../../engine/query/request/query-request.js';
import { cellColumns } from '../../engine/query/results/cells.js';
import { project } from '../../engine/query/results/projection.js';
import { encodeSchemaFile } from '../../engine/store/schema-file.js';
import { encodePart, maxListLengths } from '../../scheduler/jobs/export/part.js';
import { writerNamed } from '../../writers/index.js';
import type { FileContext, FileWarning, Writer } from '../../writers/writer.js';
import {
  fieldRows,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from '../engine/query/dataset.js';
import { batchOf } from '../engine/store/random.js';
import { writeSegment } from '../engine/store/write-segment.js';

export const wholeRequest: QueryRequest = { predicate: all, scoreClauses: [], fields: null, excludeFields: [], ordering: [], limit: 10_000_000, offset: 0, facets: null }; // prettier-ignore

/** The provenance in the metadata of the files that tests write. */
export const provenance = { dataset_id: 7, query: { filters: [['gene', '>', 'a&b']] } };

/** Options for writing a file in a test. */
export interface ExportTestOptions {
  readonly request?: Partial<QueryRequest>;
  readonly isFormulaSafe?: boolean;
  /** Whether each segment becomes a part of the file. */
  readonly bySegment?: boolean;
}

/** An engine with a folder to which tests write datasets and files. */
export class WriterFixture {
  readonly engineFixture: EngineFixture;
  readonly folder: string;
  #lastNumber = 0;

  private constructor(engineFixture: EngineFixture) {
    this.engineFixture = engineFixture;
    this.folder = join(engineFixture.folder, 'datasets', 'own');
    mkdirSync(this.folder, { recursive: true });
  }

  static async open(): Promise<WriterFixture> {
    return new WriterFixture(await openEngineFixture());
  }

  close(): Promise<void> {
    return this.engineFixture.close();
  }

  newFilePath(name: string): string {
    return join(this.folder, `${++this.#lastNumber}-${name}`);
  }

  /** Creates a dataset of up to two segments with the given values, by column. */
  async writeDataset(
    columns: Columns,
    values: readonly (readonly Value[])[],
  ): Promise<TestDataset> {
    const id = ++this.#lastNumber;
    const files = [this.newFilePath('schema.parquet')];
    writeFileSync(files[0]!, encodeSchemaFile(columns));
    const segments = [];
    const rows = values[0]!.length;
    const middle = Math.ceil(rows / 2);
    for (const [from, to] of [[0, middle] as const, [middle, rows] as const]) {
      if (from === to) continue;
      const segmentValues = values.map((each) => each.slice(from, to));
      const data = batchOf(columns, segmentValues, to - from, BigInt(id));
      const path = this.newFilePath('segment.parquet');
      segments.push(await writeSegment({ columns, data, rows: to - from }, path));
      files.push(path);
    } // prettier-ignore
    const snapshot = { datasetId: id, version: 1, columns, segments, rows, bytes: 0, files };
    return { snapshot, fields: fieldRows(columns, []) };
  }
}

/** Returns the properties of a file other than its records. */
export function fileContextOf(
  { snapshot, fields }: TestDataset,
  { request, isFormulaSafe = false }: ExportTestOptions,
): FileContext {
  const projection = project(snapshot.columns, fields, { ...wholeRequest, ...request });
  const columns = cellColumns(projection).map(({ path }) => ({ name: path.join('.'), title: path.join('.') })); // prettier-ignore
  return { projection, columns, longest: null, options: { isFormulaSafe }, provenance };
}

/** Exports a dataset in parts of 700 records, or of one segment each; appends the writer's warnings to `warnings`. */
export async function writeExport(
  format: string | Writer,
  dataset: TestDataset,
  options: ExportTestOptions = {},
  warnings: FileWarning[] = [],
): Promise<Buffer> {
  const writer = typeof format === 'string' ? writerNamed(format)! : format;
  const { snapshot } = dataset;
  const baseContext = fileContextOf(dataset, options);
  const files = snapshot.files.slice(1).map((path) => ({ path: realpathSync(path) }));
  const refs = snapshot.segments.flatMap(({ rows }, segment) => Array.from({ length: rows }, (_, row) => [segment, row])); // prettier-ignore
  const allRefs = Int32Array.from(refs.flat());
  const longest = writer.expandsLists === true ? maxListLengths({ files, rows: allRefs, projection: baseContext.projection }) : null; // prettier-ignore
  const context = { ...baseContext, longest };
  async function* parts(): AsyncGenerator<unknown> {
    const ends = snapshot.segments.map((_, i) => snapshot.segments.slice(0, i + 1).reduce((sum, { rows }) => sum + rows, 0)); // prettier-ignore
    const nextStart = (at: number): number => options.bySegment === true ? ends.find((end) => end > at)! : at + 700; // prettier-ignore
    for (let at = 0; at < refs.length; at = nextStart(at)) {
      const rows = Int32Array.from(refs.slice(at, nextStart(at)).flat());
      const job = { format: writer.format, context, files, rows, first: at, annotation: null };
      // The part is cloned, because the product sends parts between threads.
      yield structuredClone(encodePart(structuredClone(job), writer).part);
    }
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of writer.join(parts(), context, (warning) => warnings.push(warning)))
    pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}
