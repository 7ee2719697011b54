import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError, invalid } from '../../../engine/core/errors.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import type { DataType, JsonObject } from '../../../engine/core/types.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { recordsAt, runQuery, type QueryAnswer } from '../../../engine/query/plan/query.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { uncataloguedField } from '../../../engine/query/request/fields.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/request.js';
import type { Snapshot } from '../../../engine/store/store.js';
import { fieldsRead, rowAnnotation, type AnnotationSettings } from '../../../scheduler/expressions/plan-annotation.js'; // prettier-ignore
import type { ComputedTable } from '../../../scheduler/jobs/computed/computed-tables.js';
import { rowOfNumber } from '../../../scheduler/jobs/migration/source-rows.js';
import type { FunctionScope } from '../expressions/function-scope.js';
import { namesIn, partsNaming, positionIn, separated, unseparated, type SeparatedQuery } from './separated-query.js'; // prettier-ignore

/** A query that finds, sorts or counts by fields that it computes. */
export interface ComputedConditions {
  /** The query without the parts that the table answers: which page, and which fields of its records. */
  readonly page: JsonObject;
  readonly run: typeof runQuery;
}

/**
 * What a query needs to find, sort or count by the computed fields in `names`; undefined if it does not. Throws a 400 for an expression that
 * changes records before their fields are computed.
 *
 * Choice: the fields are computed of the records that the other filters leave, into a table that is kept like those of uploaded
 * files as long as expressions read records alone. Terms of a query string without a field are searched in stored fields, unless another
 * term names a computed field: then in both.
 */
export function computedConditions(
  scope: FunctionScope,
  dataset: DatasetRow,
  settings: AnnotationSettings,
  query: JsonObject,
  names: ReadonlySet<string>,
): ComputedConditions | undefined {
  const [part] = partsNaming(query, names);
  if (part === undefined) return undefined;
  if (settings.preExpression.trim() !== '')
    throw invalid(
      part,
      `${[...namesIn(query, names)].join(', ')} is computed of the records that pre_annotation_expression makes: filters, ordering and facets can name it only without that expression.`,
    );
  const { filters: _, query: __, entities: ___, genome_build: ____, ordering: _____, facets: ______, explain: _______, ...page } = query; // prettier-ignore
  const run: typeof runQuery = (engine, snapshot, fields, request, options = {}) =>
    new ComputedQuery(scope, dataset, settings, query, namesIn(query, names), {
      engine,
      snapshot,
      fields,
    }).run(request, options.signal ?? scope.signal);
  return { page, run };
}

/** The data that a query is answered from. */
interface QueriedData {
  readonly engine: QueryEngine;
  readonly snapshot: Snapshot;
  readonly fields: readonly DatasetField[];
}

class ComputedQuery {
  readonly #scope: FunctionScope;
  readonly #dataset: DatasetRow;
  readonly #settings: AnnotationSettings;
  readonly #query: JsonObject;
  readonly #source: QueriedData;
  /** The computed fields that the query names. */
  readonly #named: ReadonlySet<string>;

  constructor(
    scope: FunctionScope,
    dataset: DatasetRow,
    settings: AnnotationSettings,
    query: JsonObject,
    named: ReadonlySet<string>,
    source: QueriedData,
  ) {
    this.#scope = scope;
    this.#dataset = dataset;
    this.#settings = settings;
    this.#query = query;
    this.#source = source;
    this.#named = named;
  }

  async run(page: QueryRequest, signal: AbortSignal): Promise<QueryAnswer> {
    const started = performance.now();
    for (const parts of await this.#attempts()) {
      const answer = await this.#answer(parts, page, signal);
      if (answer !== undefined) return { ...answer, took: Math.round(performance.now() - started) };
    }
    throw new AppError('internal', 'no part of the query answers it');
  }

  /**
   * How the query may be separated, one after another. Relevance for computed text depends on all records, so a query that ranks by it is
   * not separated; that is known only when the fields have their types.
   */
  async #attempts(): Promise<readonly SeparatedQuery[]> {
    const { fields } = this.#source;
    const whole = unseparated(this.#query);
    const parts = separated(this.#query, this.#named, fields);
    const genes = await genesForQuery(this.#query);
    const declared = this.#declared();
    // Mistakes are reported before anything is computed, as far as the types are known.
    if (declared === undefined) checkStored(parts, fields, genes);
    else {
      parseQuery(whole.computed, declared, genes);
      if (ranks(parseQuery(parts.computed, declared, genes))) return [whole];
    }
    return partsNaming({ query: this.#query['query'] }, this.#named).length > 0 ? [whole] : [parts, whole]; // prettier-ignore
  }

  /** Answers the query in these parts; undefined if they cannot answer it. */
  async #answer(
    parts: SeparatedQuery,
    page: QueryRequest,
    signal: AbortSignal,
  ): Promise<QueryAnswer | undefined> {
    const { engine, snapshot, fields } = this.#source;
    const { user } = this.#scope.caller;
    const { names, isRepeatable } = fieldsRead(this.#settings, this.#named);
    const { targetFields, annotatorParams } = rowAnnotation(this.#settings);
    const stored = parseQuery(parts.stored, fields, await genesForQuery(parts.stored));
    const order = {
      version: snapshot.version,
      conditions: parts.stored,
      isRanked: stored.scores.length > 0 && !this.#isOrdered(),
      fields: targetFields.filter(({ name }) => names.has(String(name))),
      data: annotatorParams['data'] as JsonObject,
      paths: parts.paths,
    };
    const request = { datasetId: this.#dataset.id, userId: user.id, order, isRepeatable };
    const { computedTables } = this.#scope.context.scheduler;
    return computedTables.use(request, signal, async (table, wasReady) => {
      const own = this.#fieldsOf(table, parts, names);
      const asked = await this.#asked(parts, own);
      if (asked === undefined) return undefined;
      const { cursor } = page;
      const rows = await runQuery(
        // Its columns are not those that the next start loads.
        { ...engine, hot: undefined },
        table.snapshot,
        own,
        {
          ...asked,
          fields: [[table.rowField]],
          excludeFields: [],
          limit: page.limit,
          offset: page.offset,
          ...(cursor && { cursor }),
          ...(cursor?.after && { facets: null }),
        },
        { signal },
      );
      const found = JSON.parse(rows.results) as readonly Readonly<Record<string, number>>[];
      const refs = found.map((record) => rowOfNumber(record[table.rowField]!));
      const results = await recordsAt(engine, snapshot, fields, page, refs, { signal });
      const { explain, ...answer } = rows;
      if (explain === undefined) return { ...answer, results };
      const costs = {
        fields: order.fields.map(({ name }) => name),
        records: table.snapshot.rows,
        bytes: table.snapshot.bytes,
        ms: Math.round(table.ms),
        is_cached: wasReady,
      };
      const { stored: early, computed: late } = parts.positions;
      const first = explanationAt(await this.#explained(parts.stored, signal), early);
      const second = { ...costs, explain: explanationAt(explain, late) };
      return { ...answer, results, explain: JSON.stringify({ ...first, computed: second }) };
    });
  }

  /** What the query asks of the table; undefined if it can be asked of all records only. */
  async #asked(
    { computed, paths }: SeparatedQuery,
    fields: readonly DatasetField[],
  ): Promise<QueryRequest | undefined> {
    try {
      const asked = parseQuery(computed, fields, await genesForQuery(computed));
      return paths !== null && ranks(asked) ? undefined : asked;
    } catch (error) {
      // Other records may have the member that these lack, or the type.
      if (paths !== null && error instanceof AppError) return undefined;
      throw error;
    }
  }

  /** The explanation of the part that finds the records to compute of. */
  async #explained(stored: JsonObject, signal: AbortSignal): Promise<string> {
    const { engine, snapshot, fields } = this.#source;
    const query = { ...stored, explain: true, limit: 0 };
    const request = parseQuery(query, fields, await genesForQuery(query));
    return (await runQuery(engine, snapshot, fields, request, { signal })).explain!;
  }

  #isOrdered(): boolean {
    const { ordering } = this.#query;
    return typeof ordering === 'string' ? ordering !== '' : Array.isArray(ordering) && ordering.length > 0; // prettier-ignore
  }

  /** The fields of the dataset and those computed, if the query declares types of which the fields follow. */
  #declared(): readonly DatasetField[] | undefined {
    const named = this.#settings.fields.filter(({ name }) => this.#named.has(name));
    if (named.some(({ dataType }) => dataType === 'auto' || dataType === 'object'))
      return undefined;
    return [
      ...this.#source.fields.filter(({ path }) => !this.#named.has(path[0]!)),
      ...named.map(({ name, dataType, isList }) => uncataloguedField([name], dataType as DataType, { isList })), // prettier-ignore
    ];
  }

  /** The fields of a table: those stored as the dataset has them, and the computed ones with the types of their values. */
  #fieldsOf(
    { fields }: ComputedTable,
    { paths }: SeparatedQuery,
    names: ReadonlySet<string>,
  ): readonly DatasetField[] {
    const isStored = ({ path }: DatasetField): boolean =>
      !names.has(path[0]!) &&
      (paths === null || paths.some((one) => one.every((name, i) => path[i] === name)));
    const computed = fields.filter(({ path }) => names.has(path[0]!));
    const without = this.#settings.fields.filter(
      ({ name }) => names.has(name) && !computed.some(({ path }) => path[0] === name),
    );
    return [
      ...this.#source.fields.filter(isStored),
      ...computed,
      // No record has a value.
      ...without.map(({ name, dataType, isList }) => uncataloguedField([name], dataType as DataType, { isList })), // prettier-ignore
    ];
  }
}

/** Throws the 400 of a mistake in the first part of a query, at its position in the query. */
function checkStored(
  { stored, positions }: SeparatedQuery,
  fields: readonly DatasetField[],
  genes: Parameters<typeof parseQuery>[2],
): void {
  try {
    parseQuery(stored, fields, genes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const placed = (text: string): string =>
      text.replace(/(?<=\(at )filters[^)]*/g, (at) => positionIn(at, positions.stored));
    const errors = Object.entries(error.fields ?? {}).map(([key, texts]) => [key, Array.isArray(texts) ? texts.map((one) => placed(String(one))) : texts]); // prettier-ignore
    throw new AppError(error.code, placed(error.message), Object.fromEntries(errors), error);
  }
}

/** An explanation of a part of a query, with the positions of the query. */
function explanationAt(text: string, positions: readonly string[]): object {
  // Positions are the members `path`, and among the `values` of a cause.
  const revive = (key: string, value: unknown): unknown =>
    typeof value === 'string' && (key === 'path' || /^\d+$/.test(key))
      ? positionIn(value, positions)
      : value;
  return JSON.parse(text, revive) as object;
}

/** Whether the order of the records depends on the relevance of their values. */
function ranks({ scores, ordering }: QueryRequest): boolean {
  return scores.length > 0 && ordering.length === 0;
}
