import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { AppError, invalidError } from '../../../engine/core/errors.js';
import type { DataType, JsonObject } from '../../../engine/core/types.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { indexFields, uncataloguedField } from '../../../engine/query/request/field-index.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/query-request.js';
import { computedNamesIn, partsWithComputedFields, positionInQuery, separateQuery, unseparateQuery, type SeparatedQuery } from '../../../engine/query/request/separated-query.js'; // prettier-ignore
import { requiredFieldsOf, annotationSettingsToRow, type AnnotationSettings } from '../../expressions/plan-annotation.js'; // prettier-ignore
import type { ComputedTableSpec } from './computed-types.js';

/** A query that filters, sorts or counts by fields that it computes: plain data. */
export interface ComputedQuery {
  readonly settings: AnnotationSettings;
  readonly query: JsonObject;
  /** The computed fields that the query names. */
  readonly named: ReadonlySet<string>;
  readonly fields: readonly DatasetField[];
}

/**
 * Returns the query if it filters, sorts or counts by fields that `settings` say to compute. Throws a 400 for an expression that changes
 * records before their fields are computed.
 * Choice: where a query computes anew a field that the dataset has, filters, ordering and facets see the stored value.
 */
export function computedQuery(
  settings: AnnotationSettings,
  query: JsonObject,
  fields: readonly DatasetField[],
): ComputedQuery | undefined {
  const stored = indexFields(fields);
  const computedNames = settings.fields.map(({ name }) => name).filter((name) => stored.find(name) === undefined); // prettier-ignore
  const names = new Set(computedNames);
  const [part] = partsWithComputedFields(query, names);
  if (part === undefined) return undefined;
  const namesUsed = computedNamesIn(query, names);
  if (settings.preExpression.trim() === '') return { settings, query, named: namesUsed, fields };
  throw invalidError(
    part,
    `${[...namesUsed].join(', ')} is computed of the records that pre_annotation_expression makes: filters, ordering and facets can name it only without that expression.`,
  );
}

/**
 * Returns the ways in which the query may be separated into a part over stored fields and a part over computed fields, in the order in
 * which they are tried. Relevance for computed text depends on all records, so a query that ranks by it is not separated; that is known
 * only when the types of the fields are known. Throws a 400 for mistakes, as far as the types are known.
 * Choice: the fields are computed for the records that the stored part of the query finds. The table of computed fields is kept like the
 * tables of uploaded files if the expressions read nothing but the record. Terms of a query string without a field are searched in stored
 * fields; if another term names a computed field, they are also searched in computed fields.
 */
export async function querySeparations(
  fullQuery: ComputedQuery,
): Promise<readonly SeparatedQuery[]> {
  const { query, named, fields } = fullQuery;
  const wholeParts = unseparateQuery(query);
  const parts = separateQuery(query, named, fields);
  const genes = await loadGenesForQuery(query);
  const declaredOnes = declaredFields(fullQuery);
  if (declaredOnes === undefined) checkStoredPart(parts, fields, genes);
  else {
    parseQuery(wholeParts.computed, declaredOnes, genes);
    if (isRanking(parseQuery(parts.computed, declaredOnes, genes))) return [wholeParts];
  }
  return partsWithComputedFields({ query: query['query'] }, named).length > 0
    ? [wholeParts]
    : [parts, wholeParts];
}

/**
 * Returns what to compute for the table that the computed part of a query needs, in a version of the dataset, and whether the table is the
 * same for every user and time.
 */
export async function computedOrderOf(
  fullQuery: ComputedQuery,
  { stored, paths }: SeparatedQuery,
  version: number,
): Promise<{ readonly order: ComputedTableSpec; readonly isRepeatable: boolean }> {
  const { names, isRepeatable } = requiredFieldsOf(fullQuery.settings, fullQuery.named);
  const { targetFields, annotatorParams } = annotationSettingsToRow(fullQuery.settings);
  const { scoreClauses } = parseQuery(stored, fullQuery.fields, await loadGenesForQuery(stored));
  const order = {
    version,
    conditions: stored,
    isRanked: scoreClauses.length > 0 && !isOrdered(fullQuery.query),
    fields: targetFields.filter(({ name }) => names.has(String(name))),
    data: annotatorParams['data'] as JsonObject,
    paths,
  };
  return { order, isRepeatable };
}

/**
 * Parses the computed part of a query over a table in which the fields `computed` have values. The table may have only the records that the
 * stored part finds; returns undefined if the computed part can be answered only over all records.
 */
export async function parseComputedPart(
  fullQuery: ComputedQuery,
  parts: SeparatedQuery,
  computed: readonly DatasetField[],
): Promise<ComputedTableQuery | undefined> {
  const fields = computedTableFields(fullQuery, parts, computed);
  try {
    const request = parseQuery(parts.computed, fields, await loadGenesForQuery(parts.computed));
    return parts.paths !== null && isRanking(request) ? undefined : { request, fields };
  } catch (error) {
    // The error may be due to the selection of records by the stored part: a field may be missing in them or have another type. So it is
    // ignored here, and the query is tried over all records.
    if (parts.paths !== null && error instanceof AppError) return undefined;
    throw error;
  }
}

/** A query of a table of computed fields, and the fields of the table. */
interface ComputedTableQuery {
  readonly request: QueryRequest;
  readonly fields: readonly DatasetField[];
}

/**
 * Returns the fields of a table of computed fields: stored fields as the dataset has them, and computed fields with the types of their
 * values, or with their declared types if no record has a value.
 */
function computedTableFields(
  fullQuery: ComputedQuery,
  { paths }: SeparatedQuery,
  tableFields: readonly DatasetField[],
): readonly DatasetField[] {
  const { names } = requiredFieldsOf(fullQuery.settings, fullQuery.named);
  const isStored = ({ path }: DatasetField): boolean =>
    !names.has(path[0]!) &&
    (paths === null || paths.some((one) => one.every((name, i) => path[i] === name)));
  const computedFields = tableFields.filter(({ path }) => names.has(path[0]!));
  const fieldsWithout = fullQuery.settings.fields.filter(
    ({ name }) => names.has(name) && !computedFields.some(({ path }) => path[0] === name),
  );
  return [
    ...fullQuery.fields.filter(isStored),
    ...computedFields,
    // The computed fields in which no record has a value.
    ...fieldsWithout.map(({ name, dataType, isList }) => uncataloguedField([name], dataType as DataType, { isList })), // prettier-ignore
  ];
}

/**
 * Returns the fields of the dataset and the computed fields that the query names; undefined if the type of one of the latter depends on its
 * values (`auto`, `object`).
 */
function declaredFields({
  settings,
  named,
  fields,
}: ComputedQuery): readonly DatasetField[] | undefined {
  const ownFields = settings.fields.filter(({ name }) => named.has(name));
  if (ownFields.some(({ dataType }) => dataType === 'auto' || dataType === 'object'))
    return undefined;
  return [
    ...fields.filter(({ path }) => !named.has(path[0]!)),
    ...ownFields.map(({ name, dataType, isList }) => uncataloguedField([name], dataType as DataType, { isList })), // prettier-ignore
  ];
}

/**
 * Checks the conditions of a query on stored fields, which are evaluated before those on computed fields. Throws a 400 for a mistake; the
 * error has the position in the whole query.
 */
function checkStoredPart(
  { stored, positions }: SeparatedQuery,
  fields: readonly DatasetField[],
  genes: Parameters<typeof parseQuery>[2],
): void {
  try {
    parseQuery(stored, fields, genes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const placeFilters = (text: string): string =>
      text.replace(/(?<=\(at )filters[^)]*/g, (at) => positionInQuery(at, positions.stored));
    const errors = Object.entries(error.fields ?? {}).map(([key, texts]) => [key, Array.isArray(texts) ? texts.map((one) => placeFilters(String(one))) : texts]); // prettier-ignore
    throw new AppError(error.code, placeFilters(error.message), Object.fromEntries(errors), error);
  }
}

function isOrdered({ ordering }: JsonObject): boolean {
  return typeof ordering === 'string' ? ordering !== '' : Array.isArray(ordering) && ordering.length > 0; // prettier-ignore
}

/** Whether the order of the records depends on the relevance of their values. */
function isRanking({ scoreClauses, ordering }: QueryRequest): boolean {
  return scoreClauses.length > 0 && ordering.length === 0;
}
