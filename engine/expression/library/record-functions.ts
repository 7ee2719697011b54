import { copyDict, dictOf, getItem, keysOf, setItem } from '../values/dict.js';
import { functionError, typeError } from '../values/expression-errors.js';
import { copyItems, itemsIn } from '../values/iteration.js';
import { stripWhiteSpace } from '../values/unicode-characters.js';
import { strOf } from '../values/repr.js';
import { isTruthy } from '../values/truth.js';
import { typeName } from '../values/type-name.js';
import { PyDict, PyList, PySet, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { methodOfType } from '../methods/tables.js';
import { valueAt } from './paths.js';
import { splitByPattern } from './regex-functions.js';

export function coerceList(runtime: Runtime, value: PyValue): PyValue {
  if (value === null) return new PyList([]);
  if (value instanceof PyList) return value;
  if (value instanceof PyTuple || value instanceof PySet)
    return new PyList(copyItems(runtime, value));
  return new PyList([value]);
}

export function concat(runtime: Runtime, values: PyValue, delimiter: PyValue | undefined): PyValue {
  const texts: string[] = [];
  let length = 0;
  const add = (value: PyValue) => {
    runtime.budget.charge(1);
    if (value === null) return;
    if (value instanceof PyList || value instanceof PyTuple || value instanceof PySet) {
      for (const item of itemsIn(runtime, value)) add(item);
      return;
    }
    const text = strOf(runtime, value);
    length += text.length;
    runtime.budget.chargeGrownText(length, text.length);
    texts.push(text);
  };
  if (typeof values === 'string') add(values);
  else for (const value of itemsIn(runtime, values)) add(value);
  const separator = delimiter === undefined || delimiter === null ? '' : strOf(runtime, delimiter);
  runtime.budget.chargeText(length + separator.length * texts.length);
  return texts.join(separator);
}

export function splitText(
  runtime: Runtime,
  value: PyValue,
  delimiter: PyValue | undefined,
  regex: PyValue | undefined,
  strip: PyValue | undefined,
  ...flags: readonly (PyValue | undefined)[]
): PyValue {
  if (value === null) return new PyList([]);
  if (typeof value !== 'string') throw typeError(`split() needs a text, not ${typeName(value)}`);
  const parts: readonly PyValue[] =
    regex === undefined || regex === null
      ? itemsIn(runtime, methodOfType('str', 'split')!.code(runtime, value, delimiter ?? null))
      : splitByPattern(runtime, regex, value, flags);
  const isStripped = strip === undefined || isTruthy(strip);
  return new PyList(
    parts.map((part) => (isStripped && typeof part === 'string' ? stripWhiteSpace(part) : part)),
  );
}

function recordArgument(name: string, value: PyValue): PyDict {
  if (!(value instanceof PyDict))
    throw functionError(`${name}() needs a record, not ${typeName(value)}`);
  return value;
}

/** Returns the names in an argument that lists fields; a text is a single name. */
function fieldNamesArgument(runtime: Runtime, name: string, value: PyValue): string[] {
  const values = typeof value === 'string' ? [value] : itemsIn(runtime, value);
  return values.map((one) => {
    if (typeof one !== 'string')
      throw functionError(`${name}() needs names of fields, not ${typeName(one)}`);
    return one;
  });
}

/**
 * Returns one record per element of the longest of the named lists, which are iterated in parallel; one record if there is no element.
 * Choice: `explode` appends the index of the element to `_id`, after a `-`, if the record has an `_id` that is not null.
 */
export function explode(runtime: Runtime, value: PyValue, fields: PyValue): PyValue {
  const record = recordArgument('explode', value);
  const names = fieldNamesArgument(runtime, 'explode', fields);
  const columns = names.map((name) => {
    const column = getItem(record, name) ?? null;
    const isList = column instanceof PyList || column instanceof PyTuple;
    return { name, column, items: isList ? column.items : undefined };
  });
  const lists = columns.flatMap(({ items }) => (items === undefined ? [] : [items.length]));
  const length = Math.max(1, ...lists);
  runtime.budget.chargeElements(length * (record.map.size + 1));
  const id = getItem(record, '_id');
  const recordCopies: PyValue[] = [];
  for (let i = 0; i < length; i++) {
    const recordCopy = copyDict(record);
    for (const { name, column, items } of columns)
      setItem(recordCopy, name, items === undefined ? column : (items[i] ?? null));
    if (id !== undefined && id !== null) setItem(recordCopy, '_id', `${strOf(runtime, id)}-${i}`);
    recordCopies.push(recordCopy);
  }
  return new PyList(recordCopies);
}

export function melt(
  runtime: Runtime,
  value: PyValue,
  fields: PyValue,
  keyField: PyValue | undefined,
  valueField: PyValue | undefined,
  meltsLists: PyValue | undefined,
): PyValue {
  const record = recordArgument('melt', value);
  const names = fieldNamesArgument(runtime, 'melt', fields);
  const key = strOf(runtime, keyField ?? 'key');
  const target = strOf(runtime, valueField ?? 'value');
  const meltedRecords: PyValue[] = [];
  for (const name of names) {
    const melted = getItem(record, name) ?? null;
    const isList = melted instanceof PyList && meltsLists !== undefined && isTruthy(meltsLists);
    for (const value of isList ? melted.items : [melted]) {
      runtime.budget.chargeElements(record.map.size + 2);
      const copy = new PyDict();
      for (const field of keysOf(record))
        if (!names.includes(field as string)) setItem(copy, field, getItem(record, field)!);
      setItem(copy, key, name);
      setItem(copy, target, value);
      meltedRecords.push(copy);
    }
  }
  return new PyList(meltedRecords);
}

export function tabulate(
  runtime: Runtime,
  objects: PyValue,
  fields: PyValue | undefined,
  header: PyValue | undefined,
): PyValue {
  const rows = itemsIn(runtime, objects).map((one) => recordArgument('tabulate', one));
  const columns =
    fields === undefined || fields === null
      ? keysOf(dictOf(rows.flatMap((row) => keysOf(row).map((key) => [key as string, null]))))
      : itemsIn(runtime, fields);
  const isShown = header === undefined || isTruthy(header);
  const table: PyValue[] = isShown ? [new PyList(columns.slice())] : [];
  for (const row of rows) {
    runtime.budget.chargeElements(columns.length);
    table.push(
      new PyList(
        columns.map((column) => getItem(row, column) ?? valueAt(runtime, row, column) ?? null),
      ),
    );
  }
  return new PyList(table);
}
