import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { AppError, invalid } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Columns } from '../../../engine/core/types.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import type { RecordBytes } from '../../../engine/query/results/page-format.js';
import { runQuery, streamQuery, streamTexts } from '../../../engine/query/plan/query.js';
import type { QueryAnswer } from '../../../engine/query/results/answer.js';
import { indexFields, unknownField } from '../../../engine/query/request/fields.js';
import type { FieldRef } from '../../../engine/query/predicate/predicate.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/request.js';
import type { VisibleData } from '../../../scheduler/jobs/visible-data.js';
import { datasetByIdOrPath } from '../records/dataset-by-path.js';
import { readableData, unlessDeleted } from '../records/query-records.js';
import type { FunctionScope } from './function-scope.js';

/** The most records of a request over HTTP, which `parseQuery` holds to. */
const pageRecords = 10_000;
/** The longest answer, in characters of JSON: more would exceed the memory of an evaluation. */
export const maxAnswerLength = 16_000_000;

/** The keys of a query. */
export type QueryKeys = Readonly<Record<string, unknown>>;
/** Parts of a parsed query that replace those of the request; the limit may be larger than that of a request over HTTP. */
type RequestReplacement = Partial<QueryRequest> & { readonly limit: number };

/** The records that a query finds, as JSON texts, or the reason why they are not returned. */
export type KeyedTexts =
  { readonly texts: readonly string[]; readonly keys: readonly string[] } | 'tooMany' | 'tooLarge';

/** Opens a dataset for its caller. Throws an `AppError`, the same if it is missing and if the caller may not read it. */
export async function openDataset(scope: FunctionScope, idOrPath: unknown): Promise<OpenedDataset> {
  const { context, caller, signal } = scope;
  signal.throwIfAborted();
  const dataset = await datasetByIdOrPath(context, caller, idOrPath);
  return new OpenedDataset(scope, dataset, await readableData(context, dataset));
}

/** A dataset at one version, as functions read it. */
export class OpenedDataset {
  readonly #scope: FunctionScope;
  readonly #dataset: DatasetRow;
  readonly #data: VisibleData;

  constructor(scope: FunctionScope, dataset: DatasetRow, data: VisibleData) {
    this.#scope = scope;
    this.#dataset = dataset;
    this.#data = data;
  }

  get fields(): readonly FieldRow[] {
    return this.#data.fields;
  }

  field(name: unknown, argument = 'field'): FieldRow {
    const index = indexFields(this.fields);
    const field = typeof name === 'string' ? index.find(name) : undefined;
    if (field !== undefined) return field as FieldRow;
    throw invalid(
      argument,
      unknownField(typeof name === 'string' ? name : shownValue(name), index),
    );
  }

  /** The columns that the version stores. */
  get columns(): Columns {
    return this.#data.snapshot.columns;
  }

  /** The dataset's id and the version that is read. */
  get version(): readonly [datasetId: number, version: number] {
    return [this.#dataset.id, this.#data.snapshot.version];
  }

  /** Number of records of the dataset. */
  get rows(): number {
    return this.#data.snapshot.rows;
  }

  /** Runs a query; `more` replaces parts of the parsed query. */
  async run(body: QueryKeys, more: RequestReplacement): Promise<QueryAnswer> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const request = await this.parsed(body, more);
    return unlessDeleted(context, this.#dataset, () =>
      runQuery(context.queryEngine, snapshot, fields, request, { signal }),
    );
  }

  /** The records that a query finds, as a JSON list. They are made in pieces, so that a list that is too long ends early. */
  async records(body: QueryKeys, limit: number): Promise<string> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const request = await this.parsed(body, { limit });
    return unlessDeleted(context, this.#dataset, async () => {
      const { queryEngine } = context;
      const { results } = await streamQuery(queryEngine, snapshot, fields, request, { signal });
      if (typeof results === 'string') return results;
      const pieces: Uint8Array[] = [];
      let length = 0;
      for await (const piece of results) {
        length += piece.length;
        refuseLarge(length);
        pieces.push(piece);
      }
      return Buffer.concat(pieces).toString('utf8');
    });
  }

  /** Parses a query; `more` replaces parts of the result. */
  async parsed(body: QueryKeys, more: RequestReplacement): Promise<QueryRequest> {
    const limit = Math.min(more.limit, pageRecords);
    const genes = await genesForQuery(body);
    return { ...parseQuery({ ...body, limit }, this.fields, genes), ...more };
  }

  /**
   * The JSON texts of the records that a query finds, none if it asks for no fields, and those with the fields `keys` alone; `tooMany` if
   * it finds more than its limit, and `tooLarge` if the texts have more characters than `maxLength`.
   */
  async keyedTexts(
    request: QueryRequest,
    keys: readonly (readonly string[])[],
    maxLength: number,
  ): Promise<KeyedTexts> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    let lengthLeft = maxLength;
    const collected = async (
      pieces: AsyncIterable<readonly string[]>,
    ): Promise<string[] | null> => {
      const texts: string[] = [];
      for await (const piece of pieces)
        for (const text of piece) {
          lengthLeft -= text.length;
          if (lengthLeft < 0) return null;
          texts.push(text);
        }
      return texts;
    };
    return unlessDeleted(context, this.#dataset, async () => {
      const found = await streamTexts(context.queryEngine, snapshot, fields, request, { signal });
      if (found.total > request.limit) return 'tooMany';
      const keyTexts = await collected(found.texts({ fields: keys, excludeFields: [] }));
      const isKeyed = request.fields?.length === 0;
      const texts = keyTexts && (isKeyed ? [] : await collected(found.texts()));
      return texts === null ? 'tooLarge' : { texts, keys: keyTexts! };
    });
  }

  /**
   * The records that a query finds, with some fields, as lines of JSON. Null if it finds more than its limit, or the lines have more bytes than
   * `maxBytes`.
   */
  async lines(
    request: QueryRequest,
    fields: readonly (readonly string[])[],
    maxBytes: number,
  ): Promise<readonly RecordBytes[] | null> {
    const { context, signal } = this.#scope;
    const { snapshot, fields: known } = this.#data;
    return unlessDeleted(context, this.#dataset, async () => {
      const found = await streamTexts(context.queryEngine, snapshot, known, request, { signal });
      if (found.total > request.limit) return null;
      const pieces: RecordBytes[] = [];
      let bytesLeft = maxBytes;
      for await (const piece of found.lines({ fields, excludeFields: [] })) {
        bytesLeft -= piece.bytes.length;
        if (bytesLeft < 0) return null;
        pieces.push(piece);
      }
      return pieces;
    });
  }

  /** The values of a field in the records that a query finds, each with the number of its records. */
  async terms(
    field: FieldRef,
    request: QueryRequest,
  ): Promise<readonly (readonly [term: unknown, count: number])[]> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const facets = [{ kind: 'terms', field, limit: Infinity, nested: [] }] as const;
    return unlessDeleted(context, this.#dataset, async () => {
      const facetRequest = { ...request, limit: 0, facets };
      const answer = await runQuery(context.queryEngine, snapshot, fields, facetRequest, {
        signal,
      });
      const found = parseJson(answer.facets!) as Readonly<
        Record<string, readonly [unknown, number][]>
      >;
      return found[field.name]!;
    });
  }

  /** Computes a facet of one field. */
  async facet(field: FieldRow, options: object, selection: QueryKeys): Promise<unknown> {
    const facets = { [field.name]: options };
    const answer = await this.run({ ...selection, facets }, { limit: 0 });
    return (parseJson(answer.facets!) as Readonly<Record<string, unknown>>)[field.name];
  }
}

/** Throws the error for an answer of more than 16 MB. */
export function refuseLarge(length: number): void {
  if (length <= maxAnswerLength) return;
  throw new AppError('budget', 'the answer is larger than 16 MB: ask for fewer records or fields');
}

/** A value of a request as messages show it. */
export function shownValue(value: unknown): string {
  return stringifyJson(value).slice(0, 200);
}
