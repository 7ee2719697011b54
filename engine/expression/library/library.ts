import { AppError } from '../../core/errors.js';
import { dictOf } from '../values/dict.js';
import { ExpressionError, functionError } from '../values/expression-errors.js';
import { strOf } from '../values/repr.js';
import { Native } from '../values/python-values.js';
import type { NativeCode, PyValue, Runtime } from '../values/python-values.js';
import { currentTime, formatDateTime } from './dates.js';
import { libraryDeclarations } from './library-declarations.js';
import { valueAt } from './paths.js';
import { findAll, searchGroups, regexSearch, substitute } from './regex-functions.js';
import { coerceList, concat, explode, melt, splitText, tabulate } from './record-functions.js';
import { entityIds, normalizeAminoAcidChange, normalizeVariant } from './variant-functions.js';

/** A function of the library: what users read about it, and its implementation. */
interface LibraryFunction {
  readonly name: string;
  readonly signature: string;
  readonly text: string;
  readonly example: string;
  readonly native: Native;
}

/** The library functions that are implemented here. The other functions of `libraryDeclarations` are implemented by the host. */
const functionImplementations: Readonly<Record<string, NativeCode>> = {
  get: (runtime, object: PyValue, path: PyValue, missing) => {
    const value = valueAt(runtime, object, path);
    return value === undefined ? (missing ?? null) : value;
  },
  coerce_list: coerceList,
  concat,
  split: splitText,
  findall: findAll,
  search: regexSearch,
  search_groups: searchGroups,
  sub: substitute,
  datetime_format: formatDateTime,
  now: (runtime, zone, template) => currentTime(runtime, zone, template, '%Y-%m-%dT%H:%M:%S'),
  today: (runtime, zone, template) => currentTime(runtime, zone, template, '%Y-%m-%d'),
  error: (runtime, message: PyValue) => {
    throw new ExpressionError('RaisedError', strOf(runtime, message));
  },
  explode,
  melt,
  tabulate,
  user: ({ host }) => {
    if (host.user === undefined) throw functionError('There is no user here');
    const { name, email } = host.user();
    return dictOf([
      ['name', name],
      ['email', email],
    ]);
  },
  entity_ids: entityIds,
  normalize_variant: normalizeVariant,
  normalize_aa_change: normalizeAminoAcidChange,
};

/** Returns a function that the host implements. If the host does not, it fails with the error for its kind. */
function hostFunction(name: string, kind: 'dataset' | 'genome' | 'host'): NativeCode {
  return (runtime, ...args) => {
    const implementation = runtime.host.functions?.get(name);
    if (kind === 'dataset') runtime.budget.countDatasetCall();
    if (implementation === undefined) throw missingFunctionError(runtime, name, kind, args);
    try {
      return runtime.budget.runOutsideTimeLimit(() => implementation(runtime, args));
    } catch (error) {
      if (kind === 'dataset' && error instanceof AppError)
        throw new ExpressionError('DatasetError', `Dataset query failed: ${error.message}`);
      throw error;
    }
  };
}

function missingFunctionError(
  runtime: Runtime,
  name: string,
  kind: 'dataset' | 'genome' | 'host',
  args: readonly (PyValue | undefined)[],
): ExpressionError {
  if (kind === 'dataset')
    return new ExpressionError(
      'DatasetError',
      `Dataset query failed: ${name}() cannot be used here`,
    );
  if (kind === 'host') return functionError(`${name}() cannot be used here`);
  const text = args.map((one) => (one === undefined ? '' : strOf(runtime, one))).join(' ');
  return functionError(
    `No reference data for ${/GRCH3[78]/i.exec(text)?.[0].toUpperCase() ?? 'GRCH38'}`,
  );
}

/** Returns the names of the parameters of a signature, and the number of required ones. */
function parametersOf(signature: string): { readonly names: string[]; readonly min: number } {
  const list = /\((.*)\)$/.exec(signature)![1]!.replaceAll(/\[[^\]]*\]/g, '');
  const parameters = list === '' ? [] : list.split(', ');
  return {
    names: parameters.map((parameter) => parameter.split('=')[0]!),
    min: parameters.filter((parameter) => !parameter.includes('=')).length,
  };
}

/** The functions of the library by name. */
export const libraryFunctionByName: ReadonlyMap<string, LibraryFunction> = new Map(
  libraryDeclarations.map(({ signature, text, example, kind }) => {
    const name = signature.slice(0, signature.indexOf('('));
    const { names, min } = parametersOf(signature);
    const code = functionImplementations[name] ?? hostFunction(name, kind ?? 'host');
    const native = new Native(name, { min, max: names.length, names, wording: 'clinic' }, code);
    return [name, { name, signature, text, example, native }];
  }),
);
