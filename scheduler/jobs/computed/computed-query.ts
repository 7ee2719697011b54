import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { AppError, invalid } from '../../../engine/core/errors.js';
import type { DataType, JsonObject } from '../../../engine/core/types.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { indexFields, uncataloguedField } from '../../../engine/query/request/fields.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/request.js';
import { namesIn, partsNaming, positionIn, separateQuery, unseparateQuery, type SeparatedQuery } from '../../../engine/query/request/separated-query.js'; // prettier-ignore
import { fieldsRead, rowAnnotation, type AnnotationSettings } from '../../expressions/plan-annotation.js'; // prettier-ignore
import type { ComputedOrder } from './computed-types.js';

/** A query that finds, sorts or counts by fields that it computes: plain data. */
export interface ComputedQuery {
  readonly settings: AnnotationSettings;
  readonly query: JsonObject;
  /** The computed fields that the query names. */
  readonly named: ReadonlySet<string>;
  /** The fields of the dataset. */
  readonly fields: readonly DatasetField[];
}

/**
 * The query if it finds, sorts or counts by fields that it computes, which `settings` say. Throws a 400 for an expression that changes records
 * before their fields are computed.
 *
 * Choice: where a query computes a field anew that the dataset has, filters, ordering and facets see the stored value.
 */
export function computedQuery(
  settings: AnnotationSettings,
  query: JsonObject,
  fields: readonly DatasetField[],
): ComputedQuery | undefined {
  const stored = indexFields(fields);
  const computedNames = settings.fields.map(({ name }) => name).filter((name) => stored.find(name) === undefined); // prettier-ignore
  const names = new Set(computedNames);
  const [part] = partsNaming(query, names);
  if (part === undefined) return undefined;
  const namesUsed = namesIn(query, names);
  if (settings.preExpression.trim() === '') return { settings, query, named: namesUsed, fields };
  throw invalid(
    part,
    `${[...namesUsed].join(', ')} is computed of the records that pre_annotation_expression makes: filters, ordering and facets can name it only without that expression.`,
  );
}

/**
 * How the query may be separated, one after another. Relevance for computed text depends on all records, so a query that ranks by it is not
 * separated; that is known only when the fields have their types. Throws a 400 for mistakes as far as the types are known.
 *
 * Choice: the fields are computed of the records that the other filters leave, into a table that is kept like those of uploaded
 * files as long as expressions read records alone. Terms of a query string without a field are searched in stored fields, unless another
 * term names a computed field: then in both.
 */
export async function separations(asked: ComputedQuery): Promise<readonly SeparatedQuery[]> {
  const { query, named, fields } = asked;
  const wholeParts = unseparateQuery(query);
  const parts = separateQuery(query, named, fields);
  const genes = await genesForQuery(query);
  const declaredOnes = declaredFields(asked);
  if (declaredOnes === undefined) checkStored(parts, fields, genes);
  else {
    parseQuery(wholeParts.computed, declaredOnes, genes);
    if (isRanking(parseQuery(parts.computed, declaredOnes, genes))) return [wholeParts];
  }
  return partsNaming({ query: query['query'] }, named).length > 0
    ? [wholeParts]
    : [parts, wholeParts];
}

/** The fields to compute of a version of the dataset for the second part of a query, and whether they are the same for every user. */
export async function orderOf(
  asked: ComputedQuery,
  { stored, paths }: SeparatedQuery,
  version: number,
): Promise<{ readonly order: ComputedOrder; readonly isRepeatable: boolean }> {
  const { names, isRepeatable } = fieldsRead(asked.settings, asked.named);
  const { targetFields, annotatorParams } = rowAnnotation(asked.settings);
  const { scores } = parseQuery(stored, asked.fields, await genesForQuery(stored));
  const order = {
    version,
    conditions: stored,
    isRanked: scores.length > 0 && !isOrdered(asked.query),
    fields: targetFields.filter(({ name }) => names.has(String(name))),
    data: annotatorParams['data'] as JsonObject,
    paths,
  };
  return { order, isRepeatable };
}

/**
 * The second part of a query, parsed over a table of which `computed` are the fields that have values; undefined if it can be asked of all
 * records only.
 */
export async function parsedOver(
  asked: ComputedQuery,
  parts: SeparatedQuery,
  computed: readonly DatasetField[],
): Promise<ParsedOver | undefined> {
  const fields = tableFields(asked, parts, computed);
  try {
    const request = parseQuery(parts.computed, fields, await genesForQuery(parts.computed));
    return parts.paths !== null && isRanking(request) ? undefined : { request, fields };
  } catch (error) {
    // An error for a missing field or a wrong type may not occur with other records, so it is ignored here.
    if (parts.paths !== null && error instanceof AppError) return undefined;
    throw error;
  }
}

/** A query of a table, and the fields that the table has. */
export interface ParsedOver {
  readonly request: QueryRequest;
  readonly fields: readonly DatasetField[];
}

/** The fields of a computed table: stored fields as the dataset has them, and computed ones with the types of their values. */
function tableFields(
  asked: ComputedQuery,
  { paths }: SeparatedQuery,
  found: readonly DatasetField[],
): readonly DatasetField[] {
  const { names } = fieldsRead(asked.settings, asked.named);
  const isStored = ({ path }: DatasetField): boolean =>
    !names.has(path[0]!) &&
    (paths === null || paths.some((one) => one.every((name, i) => path[i] === name)));
  const computedFields = found.filter(({ path }) => names.has(path[0]!));
  const fieldsWithout = asked.settings.fields.filter(
    ({ name }) => names.has(name) && !computedFields.some(({ path }) => path[0] === name),
  );
  return [
    ...asked.fields.filter(isStored),
    ...computedFields,
    // Fields in which no record has a value.
    ...fieldsWithout.map(({ name, dataType, isList }) => uncataloguedField([name], dataType as DataType, { isList })), // prettier-ignore
  ];
}

/** Fields of the dataset and computed fields; undefined if a computed field has a type that only its values tell (`auto`, `object`). */
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
    const placeFilters = (text: string): string =>
      text.replace(/(?<=\(at )filters[^)]*/g, (at) => positionIn(at, positions.stored));
    const errors = Object.entries(error.fields ?? {}).map(([key, texts]) => [key, Array.isArray(texts) ? texts.map((one) => placeFilters(String(one))) : texts]); // prettier-ignore
    throw new AppError(error.code, placeFilters(error.message), Object.fromEntries(errors), error);
  }
}

function isOrdered({ ordering }: JsonObject): boolean {
  return typeof ordering === 'string' ? ordering !== '' : Array.isArray(ordering) && ordering.length > 0; // prettier-ignore
}

/** Whether the order of the records depends on the relevance of their values. */
function isRanking({ scores, ordering }: QueryRequest): boolean {
  return scores.length > 0 && ordering.length === 0;
}
