import { isObject } from '../../http/form.js';

/** The names of fields that a query's parameters speak of, each once, in their order. */
export function fieldsNamed(params: Readonly<Record<string, unknown>>): readonly string[] {
  const names = [
    ...inFilters(params['filters']),
    ...listOrEmpty(params['ordering']).map((name) => name.replace(/^-/, '')),
    ...listOrEmpty(params['fields']),
    ...listOrEmpty(params['exclude_fields']),
    ...inFacets(params['facets']),
  ];
  return [...new Set(names)];
}

function listOrEmpty(value: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === 'string' && item !== '');
}

function inFilters(value: unknown): readonly string[] {
  if (isObject(value)) return Object.entries(value).flatMap(([key, operand]) => inOperator(key, operand)); // prettier-ignore
  if (!Array.isArray(value)) return [];
  const [first] = value as readonly unknown[];
  if (value.length !== 2 || typeof first !== 'string') return value.flatMap(inFilters);
  const separatorAt = first.lastIndexOf('__');
  // In `FIELD__length__gte`, two parts follow the field.
  return [separatorAt <= 0 ? first : first.slice(0, separatorAt).replace(/__length$/, '')];
}

/** Names of the fields in the operand of an operator. Filters inside `any` name fields relative to its list. */
function inOperator(operator: string, operand: unknown): readonly string[] {
  if (operator.toLowerCase() !== 'any' || !isObject(operand)) return inFilters(operand);
  const list = String(operand['path']);
  const namesInside = inFilters(operand['filters']).map((name) => `${list}.${name}`);
  return namesInside.length === 0 ? [list] : namesInside;
}

function inFacets(value: unknown): readonly string[] {
  if (!isObject(value)) return listOrEmpty(value);
  return Object.entries(value).flatMap(([name, options]) => [
    name,
    ...(isObject(options) ? inFacets(options['facets']) : []),
  ]);
}
