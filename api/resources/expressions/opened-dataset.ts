import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { AppError, invalidError } from '../../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import type { Columns } from '../../../engine/core/types.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import type { RecordBytes } from '../../../engine/query/results/page-format.js';
import { runQuery, streamQuery, openQueryResult } from '../../../engine/query/plan/run-query.js';
import type { QueryAnswer } from '../../../engine/query/results/answer.js';
import { indexFields, unknownFieldMessage } from '../../../engine/query/request/field-index.js';
import type { FieldRef } from '../../../engine/query/predicate/predicate.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/query-request.js';
import type { VisibleDatasetVersion } from '../../../scheduler/jobs/visible-data.js';
import { findDatasetByIdOrPath } from '../queries/dataset-by-path.js';
import { loadReadableData, runUnlessDeleted } from '../queries/query-records.js';
import type { FunctionScope } from './function-scope.js';

/** The most records that an HTTP request may ask for; `parseQuery` enforces it. */
const maxPageRecords = 10_000;
/** The greatest length of an answer as JSON; a longer one would exceed the memory of an expression thread. */
export const maxAnswerLength = 16_000_000;

/** The JSON body of a query request, by its keys; its values are not checked yet. */
export type QueryBody = Readonly<Record<string, unknown>>;
/** Parts that replace those of the parsed query; `limit` may be larger than an HTTP request may have. */
type RequestReplacement = Partial<QueryRequest> & { readonly limit: number };

/** The records that a query finds, as JSON texts, or the reason why they are not returned. */
type KeyedTexts =
  { readonly texts: readonly string[]; readonly keys: readonly string[] } | 'tooMany' | 'tooLarge';

/** Opens a dataset for the caller. Throws the same `AppError` if the dataset does not exist and if the caller may not read it. */
export async function openDataset(scope: FunctionScope, idOrPath: unknown): Promise<OpenedDataset> {
  const { context, caller, signal } = scope;
  signal.throwIfAborted();
  const dataset = await findDatasetByIdOrPath(context, caller, idOrPath);
  return new OpenedDataset(scope, dataset, await loadReadableData(context, dataset));
}

/** A dataset at one version, as the dataset functions read it. */
export class OpenedDataset {
  readonly #scope: FunctionScope;
  readonly #dataset: DatasetRow;
  readonly #data: VisibleDatasetVersion;

  constructor(scope: FunctionScope, dataset: DatasetRow, data: VisibleDatasetVersion) {
    this.#scope = scope;
    this.#dataset = dataset;
    this.#data = data;
  }

  get fields(): readonly FieldRow[] {
    return this.#data.fields;
  }

  requireField(name: unknown, argument = 'field'): FieldRow {
    const index = indexFields(this.fields);
    const field = typeof name === 'string' ? index.find(name) : undefined;
    if (field !== undefined) return field as FieldRow;
    throw invalidError(
      argument,
      unknownFieldMessage(typeof name === 'string' ? name : valueForMessage(name), index),
    );
  }

  /** The columns that the version stores. */
  get columns(): Columns {
    return this.#data.snapshot.columns;
  }

  /** The id of the dataset, and the version of it that is read. */
  get datasetAndVersion(): readonly [datasetId: number, version: number] {
    return [this.#dataset.id, this.#data.snapshot.version];
  }

  /** Number of records of the dataset. */
  get rowCount(): number {
    return this.#data.snapshot.rows;
  }

  /** Runs a query; `replacement` replaces parts of the parsed query. */
  async executeQuery(body: QueryBody, replacement: RequestReplacement): Promise<QueryAnswer> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const request = await this.parseRequest(body, replacement);
    return runUnlessDeleted(context, this.#dataset, () =>
      runQuery(context.queryEngine, snapshot, fields, request, { signal }),
    );
  }

  /** Returns the records that a query finds, as a JSON list. The list is built in pieces, so that one that is too long is refused early. */
  async queryRecordsJson(body: QueryBody, limit: number): Promise<string> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const request = await this.parseRequest(body, { limit });
    return runUnlessDeleted(context, this.#dataset, async () => {
      const { queryEngine } = context;
      const { results } = await streamQuery(queryEngine, snapshot, fields, request, { signal });
      if (typeof results === 'string') return results;
      const pieces: Uint8Array[] = [];
      let length = 0;
      for await (const piece of results) {
        length += piece.length;
        refuseLargeAnswer(length);
        pieces.push(piece);
      }
      return Buffer.concat(pieces).toString('utf8');
    });
  }

  /** Parses a query; `replacement` replaces parts of the result. */
  async parseRequest(body: QueryBody, replacement: RequestReplacement): Promise<QueryRequest> {
    const limit = Math.min(replacement.limit, maxPageRecords);
    const genes = await loadGenesForQuery(body);
    return { ...parseQuery({ ...body, limit }, this.fields, genes), ...replacement };
  }

  /**
   * Returns the records that a query finds as two lists of JSON texts: `texts` with the fields of the query, empty if its list of fields is
   * empty, and `keys` with only the fields `keys`. Returns `tooMany` if the query finds more than its limit, `tooLarge` if the texts have
   * more than `maxLength` characters.
   */
  async readKeyedTexts(
    request: QueryRequest,
    keys: readonly (readonly string[])[],
    maxLength: number,
  ): Promise<KeyedTexts> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    let lengthLeft = maxLength;
    const collectTexts = async (
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
    return runUnlessDeleted(context, this.#dataset, async () => {
      const result = await openQueryResult(context.queryEngine, snapshot, fields, request, {
        signal,
      });
      if (result.total > request.limit) return 'tooMany';
      const keyTexts = await collectTexts(result.texts({ fields: keys, excludeFields: [] }));
      const wantsNoTexts = request.fields?.length === 0;
      const texts = keyTexts && (wantsNoTexts ? [] : await collectTexts(result.texts()));
      return texts === null ? 'tooLarge' : { texts, keys: keyTexts! };
    });
  }

  /**
   * Returns the records that a query finds, with some fields, as JSON lines; null if it finds more than its limit, or if the lines have
   * more than `maxBytes` bytes.
   */
  async recordLines(
    request: QueryRequest,
    fields: readonly (readonly string[])[],
    maxBytes: number,
  ): Promise<readonly RecordBytes[] | null> {
    const { context, signal } = this.#scope;
    const { snapshot, fields: datasetFields } = this.#data;
    return runUnlessDeleted(context, this.#dataset, async () => {
      const result = await openQueryResult(context.queryEngine, snapshot, datasetFields, request, {
        signal,
      });
      if (result.total > request.limit) return null;
      const pieces: RecordBytes[] = [];
      let bytesLeft = maxBytes;
      for await (const piece of result.lines({ fields, excludeFields: [] })) {
        bytesLeft -= piece.bytes.length;
        if (bytesLeft < 0) return null;
        pieces.push(piece);
      }
      return pieces;
    });
  }

  /** Returns the values of a field in the records that a query finds, each with the number of records that have it. */
  async countTerms(
    field: FieldRef,
    request: QueryRequest,
  ): Promise<readonly (readonly [term: unknown, count: number])[]> {
    const { context, signal } = this.#scope;
    const { snapshot, fields } = this.#data;
    const facets = [{ kind: 'terms', field, limit: Infinity, nested: [] }] as const;
    return runUnlessDeleted(context, this.#dataset, async () => {
      const facetRequest = { ...request, limit: 0, facets };
      const answer = await runQuery(context.queryEngine, snapshot, fields, facetRequest, {
        signal,
      });
      const countsByField = parseJson(answer.facets!) as Readonly<
        Record<string, readonly [unknown, number][]>
      >;
      return countsByField[field.name]!;
    });
  }

  /** Computes a facet of one field. */
  async computeFacet(field: FieldRow, options: object, selection: QueryBody): Promise<unknown> {
    const facets = { [field.name]: options };
    const answer = await this.executeQuery({ ...selection, facets }, { limit: 0 });
    return (parseJson(answer.facets!) as Readonly<Record<string, unknown>>)[field.name];
  }
}

/** Throws an error if the length of an answer is greater than `maxAnswerLength`. */
export function refuseLargeAnswer(length: number): void {
  if (length <= maxAnswerLength) return;
  throw new AppError('budget', 'the answer is larger than 16 MB: ask for fewer records or fields');
}

/** Returns the text by which messages show a value of a request. */
export function valueForMessage(value: unknown): string {
  return stringifyJson(value).slice(0, 200);
}
