import { lacksAction, splitKey } from '../../../engine/query/request/actions.js';
import { isObject } from '../../http/form.js';

/**
 * Returns the names of the fields that the parameters of a query mention, each once: first those of the filters, then those of the
 * ordering, `fields`, `exclude_fields` and the facets; the text `query` is not searched. `isField` tells whether a name is that of a
 * field, because the name of a field may itself contain `__`; by default, a name is that of a field unless it ends with an action.
 */
export function fieldNamesOfQuery(
  params: Readonly<Record<string, unknown>>,
  isField: (name: string) => boolean = lacksAction,
): readonly string[] {
  const names = [
    ...fieldNamesInFilters(params['filters'], isField),
    ...listOrEmpty(params['ordering']).map((name) => name.replace(/^-/, '')),
    ...listOrEmpty(params['fields']),
    ...listOrEmpty(params['exclude_fields']),
    ...fieldNamesInFacets(params['facets']),
  ];
  return [...new Set(names)];
}

function listOrEmpty(value: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === 'string' && item !== '');
}

function fieldNamesInFilters(
  value: unknown,
  isField: (name: string) => boolean,
): readonly string[] {
  if (isObject(value))
    return Object.entries(value).flatMap(([operator, operand]) =>
      fieldNamesInOperator(operator, operand, isField),
    );
  if (!Array.isArray(value)) return [];
  const [firstMember] = value as readonly unknown[];
  return value.length === 2 && typeof firstMember === 'string'
    ? [splitKey(firstMember, isField).name]
    : value.flatMap((one) => fieldNamesInFilters(one, isField));
}

/** Returns the names of the fields in the operand of an operator. Filters inside `any` name fields relative to its list. */
function fieldNamesInOperator(
  operator: string,
  operand: unknown,
  isField: (name: string) => boolean,
): readonly string[] {
  if (operator.toLowerCase() !== 'any' || !isObject(operand))
    return fieldNamesInFilters(operand, isField);
  const listPath = String(operand['path']);
  const fullName = (name: string): string => `${listPath}.${name}`;
  const names = fieldNamesInFilters(operand['filters'], (name) => isField(fullName(name)));
  return names.length === 0 ? [listPath] : names.map(fullName);
}

function fieldNamesInFacets(value: unknown): readonly string[] {
  if (!isObject(value)) return listOrEmpty(value);
  return Object.entries(value).flatMap(([name, options]) => [
    name,
    ...(isObject(options) ? fieldNamesInFacets(options['facets']) : []),
  ]);
}
