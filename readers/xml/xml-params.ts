import type { JsonObject } from '../../engine/core/types.js';
import { budgets } from '../../engine/core/budgets.js';
import { invalidError } from '../../engine/core/errors.js';

/** Reader parameters (specification, "XML parameters"). */
export interface XmlParams {
  /** The depth of the elements that are records; 0 is the root element. */
  readonly itemDepth: number;
  /** Keys that the record itself must have (attributes with their prefix); records without them are skipped. */
  readonly requiredKeys: readonly string[];
  readonly textKey: string;
  readonly attributePrefix: string;
}

/** The reader parameters of XML files and their descriptions. */
export const xmlParameterDescriptions = {
  item_depth: 'Depth of the elements that are records, 0 for the root; 1 when absent.',
  required_keys: 'List of keys that an element must have to be a record.',
  cdata_key: 'The field of the text of an element; text when absent.',
  attr_prefix: 'What the fields of attributes begin with; @ when absent.',
};

/** Parses `reader_params`; throws `invalid` for the field `reader_params`. */
export function parseXmlParams(input: JsonObject): XmlParams {
  return {
    itemDepth: readItemDepth(input['item_depth']),
    requiredKeys: readRequiredKeys(input['required_keys']),
    textKey: readKeyText(input, 'cdata_key', 'text'),
    attributePrefix: readKeyText(input, 'attr_prefix', '@'),
  };
}

function readItemDepth(value: unknown): number {
  if (value === undefined || value === null) return 1;
  const depth = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (
    typeof depth === 'number' &&
    Number.isInteger(depth) &&
    depth >= 0 &&
    depth < budgets.xmlDepth
  )
    return depth;
  throw invalidParamError(
    'item_depth',
    `expected a depth from 0 to ${budgets.xmlDepth - 1}`,
    value,
  );
}

/** Parses `required_keys`; a single key may be given without a list around it. */
function readRequiredKeys(value: unknown): readonly string[] {
  const keys = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  if (keys.every((key) => typeof key === 'string' && key !== '')) return [...new Set(keys)];
  throw invalidParamError('required_keys', 'expected a list of keys', value);
}

function readKeyText(input: JsonObject, name: string, fallback: string): string {
  const value = input[name];
  if (value === undefined || value === null) return fallback;
  const isKey = typeof value === 'string' && value.isWellFormed() && value.length <= 100;
  // `cdata_key`, the key of texts, may not be empty; `attr_prefix`, the prefix of attributes, may.
  if (isKey && (value !== '' || name === 'attr_prefix')) return value;
  throw invalidParamError(name, 'expected a string of at most 100 characters', value);
}

function invalidParamError(name: string, problem: string, value: unknown): Error {
  const valueText = (JSON.stringify(value) ?? 'nothing').slice(0, 40);
  return invalidError('reader_params', `${name}: ${problem}, found ${valueText}`);
}
