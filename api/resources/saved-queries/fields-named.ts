import { isObject } from '../../http/form.js';

/** Returns the names of the fields that the parameters of a query mention, each once, in the order of their first mention. */
export function fieldNamesOfQuery(params: Readonly<Record<string, unknown>>): readonly string[] {
  const names = [
    ...fieldNamesInFilters(params['filters']),
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

function fieldNamesInFilters(value: unknown): readonly string[] {
  if (isObject(value)) return Object.entries(value).flatMap(([key, operand]) => fieldNamesInOperator(key, operand)); // prettier-ignore
  if (!Array.isArray(value)) return [];
  const [first] = value as readonly unknown[];
  if (value.length !== 2 || typeof first !== 'string') return value.flatMap(fieldNamesInFilters);
  const separatorAt = first.lastIndexOf('__');
  // In `FIELD__length__gte`, the suffix after the field has two parts.
  return [separatorAt <= 0 ? first : first.slice(0, separatorAt).replace(/__length$/, '')];
}

/** Returns the names of the fields in the operand of an operator. Filters inside `any` name fields relative to its list. */
function fieldNamesInOperator(operator: string, operand: unknown): readonly string[] {
  if (operator.toLowerCase() !== 'any' || !isObject(operand)) return fieldNamesInFilters(operand);
  const list = String(operand['path']);
  const namesInside = fieldNamesInFilters(operand['filters']).map((name) => `${list}.${name}`);
  return namesInside.length === 0 ? [list] : namesInside;
}

function fieldNamesInFacets(value: unknown): readonly string[] {
  if (!isObject(value)) return listOrEmpty(value);
  return Object.entries(value).flatMap(([name, options]) => [
    name,
    ...(isObject(options) ? fieldNamesInFacets(options['facets']) : []),
  ]);
}
