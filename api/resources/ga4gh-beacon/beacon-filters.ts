import { AppError, invalidError } from '../../../engine/core/errors.js';
import { indexFields, unknownFieldMessage } from '../../../engine/query/request/field-index.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { isObject, type Form } from '../../http/form.js';
import { anyType, boolean, openObjectType, text, withReader } from '../../http/json-schema.js';
import { quoteText } from './alleles.js';

/** An alphanumeric filter (Beacon v2, AlphanumericFilter): a field, an operator and the value to compare with. */
export interface BeaconFilter {
  readonly id: string;
  readonly operator: keyof typeof actionByOperator;
  readonly value: string;
}

/** The filter action of queries that corresponds to each operator of Beacon v2. */
const actionByOperator = {
  '=': '',
  '!': '',
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
} as const;

/** The form of a filter in the query string of a GET request: `info.AF:<0.01`. */
const filterPattern = /^(.+?):(<=|>=|[=<>!])(.*)$/s;

/** Returns a filter in the form that GET requests have. */
export function beaconFilterText({ id, operator, value }: BeaconFilter): string {
  return `${id}:${operator}${value}`;
}

/** The type of the filters of a request, as a body has them. */
export const filtersType = withReader(
  {
    schema: {
      type: 'array',
      items: {
        anyOf: [
          openObjectType({
            id: { type: text },
            operator: { type: anyType },
            value: { type: anyType },
            scope: { type: text },
            includeDescendantTerms: { type: boolean },
            similarity: { type: text },
          }).schema,
          text.schema,
        ],
      },
    },
  },
  readFilters,
);

/**
 * Reads the filters of a request: objects in a body, texts in a query string. Notes mistakes in the form.
 * Choice: a beacon has alphanumeric filters over the fields of its datasets. A filter that is a term of an ontology is a 400: the server
 * knows no ontologies, and an answer without the filter would be about other records.
 */
function readFilters(form: Form, key: string): readonly BeaconFilter[] {
  const rawFilters = form.raw(key);
  if (rawFilters === undefined) return [];
  const list: readonly unknown[] = Array.isArray(rawFilters) ? rawFilters : [rawFilters];
  return list.flatMap((one, i) => {
    const filter = readFilter(one);
    if (typeof filter !== 'string') return [filter];
    form.fail(key, `${key}[${i}]: ${filter}`);
    return [];
  });
}

/** Parses a filter; returns its problem as a string if it is invalid. */
function readFilter(rawFilter: unknown): BeaconFilter | string {
  if (typeof rawFilter === 'string') {
    const [, id, operator, value] = filterPattern.exec(rawFilter) ?? [];
    if (id === undefined) return unsupportedTermsMessage(rawFilter);
    return { id, operator: operator as BeaconFilter['operator'], value: value! };
  }
  if (!isObject(rawFilter)) return 'Must be an object with id, operator and value.';
  const { id, operator = '=', value } = rawFilter;
  if (typeof id !== 'string' || id === '') return 'Must have an id, the name of a field.';
  if (value === undefined || value === null) return unsupportedTermsMessage(id);
  if (typeof operator !== 'string' || !Object.hasOwn(actionByOperator, operator))
    return `operator must be one of ${Object.keys(actionByOperator).join(' ')}, not ${JSON.stringify(operator)}.`; // prettier-ignore
  if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value))
    return 'value must be a string.';
  return { id, operator: operator as BeaconFilter['operator'], value: String(value as string) };
}

function unsupportedTermsMessage(id: string): string {
  return (
    `${JSON.stringify(id.slice(0, 100))} has no operator and value, and terms of ontologies are not known here: ` +
    'filter a field that filtering_terms lists, as in {"id": "info.AF", "operator": "<", "value": "0.01"} or info.AF:<0.01.'
  );
}

/**
 * Returns the query condition for a filter. Throws an `invalid` error if the dataset does not have the field, or if a filter by `=` or `!`
 * on a field of the type `text` has wildcards.
 */
export function conditionOfBeaconFilter(
  { id, operator, value }: BeaconFilter,
  fields: readonly DatasetField[],
): unknown {
  const index = indexFields(fields);
  const field = index.find(id);
  if (field === undefined) throw invalidError('filters', unknownFieldMessage(id, index));
  const isText = field.dataType === 'string' || field.dataType === 'text';
  const action = actionByOperator[operator];
  if (action !== '') return [`${id}__${action}`, value];
  if (value.includes('%') && field.dataType === 'text')
    throw new AppError('invalid', `filters: ${id} is a long text, whose values have no wildcards.`);
  const condition =
    value.includes('%') && isText
      ? [`${id}__regexp`, `(?is)${value.split('%').map(quoteText).join('.*')}`]
      : [isText ? `${id}__iexact` : id, value];
  return operator === '!' ? { not: condition } : condition;
}
