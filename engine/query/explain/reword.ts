import { splitKey } from '../request/actions.js';
import { stringifyJson } from '../../core/json.js';
import { parseEntities } from '../request/entities.js';
import type { ExplainLeaf, ExplainSource } from './node.js';
import { atomPredicate, atomText } from './query-nodes.js';
import { shortText, type ExplainContext } from './tree.js';
import { fieldRef } from '../request/fields.js';
import { parseFilters } from '../request/filter.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { ValueAtom } from '../request/query-string/grammar.js';

/** A condition with other values. */
export interface RewordedCondition {
  /** The condition in the syntax of the request; null if that cannot express it. */
  readonly text: string | null;
  readonly predicate: Predicate;
}

/** A possible mistake in a request, and its correction. It becomes a cause only if records satisfy the correction. */
export interface ConditionGuess {
  readonly leaf: ExplainLeaf;
  /** The code of the cause: `chr_prefix`. */
  readonly cause: string;
  /** The corrected predicates of conditions of the request. */
  readonly changes: ReadonlyMap<ExplainLeaf, Predicate>;
  /** The corrected condition in the syntax of the request; null if that cannot express it. */
  readonly instead: string | null;
  /** The mistake as a sentence without its full stop. */
  readonly because: string;
  /** The field whose matching values the answer lists as examples. */
  readonly shows?: FieldRef;
}

/** Changes one value of a condition; undefined if it does not apply to the value. */
export type Rewording = (text: string) => string | undefined;

/** Longer lists of values are not changed. */
const maxValues = 200;

/** The condition with changed values; undefined if no value changes or the result is not a valid condition. */
export function rewordLeaf(
  { source }: ExplainLeaf,
  context: ExplainContext,
  change: Rewording,
): RewordedCondition | undefined {
  if (source.kind === 'presence' || source.kind === 'element') return undefined;
  if (source.kind === 'term') {
    const atom = changedAtom(source.atom, change);
    return atom && readAtom(atom, context);
  }
  const value = rewordValue(source.value, change);
  return value === undefined
    ? undefined
    : parseSource({ ...source, value } as ExplainSource, context);
}

/** Parses a filter or an entity pair again; undefined if it is not valid. */
export function parseSource(
  source: ExplainSource,
  context: ExplainContext,
): RewordedCondition | undefined {
  const { index, names, rules } = context;
  return validOnly(() => {
    if (source.kind === 'filter') {
      const pair = [source.key, source.value];
      return { text: wholeText(pair), predicate: parseFilters([pair], index, rules) };
    }
    if (source.kind === 'entity') {
      const pair = [source.type, source.value];
      return { text: wholeText(pair), predicate: parseEntities([pair], index, names) };
    }
    return undefined;
  });
}

/** The pair as JSON; null if it is too long to show, because a shortened condition would be a different one. */
function wholeText(pair: readonly unknown[]): string | null {
  const text = stringifyJson(pair);
  return shortText(pair) === text ? text : null;
}

/** Parses a term, phrase or range of a query string again; undefined if it is not valid. */
export function readAtom(
  atom: ValueAtom,
  { index }: ExplainContext,
): RewordedCondition | undefined {
  return validOnly(() => ({ text: atomText(atom), predicate: atomPredicate(atom, index) }));
}

/** The field and the action of a filter's key; undefined if there is no such field. */
export function filterParts(
  key: string,
  { index }: ExplainContext,
): { readonly field: FieldRef; readonly action: string } | undefined {
  const { name, action } = splitKey(key, (one) => index.find(one) !== undefined);
  const row = index.find(name);
  return row && { field: fieldRef(row), action };
}

/** Runs `work`; undefined if it throws, because the changed condition is invalid, or if nothing can satisfy the condition. */
function validOnly(work: () => RewordedCondition | undefined): RewordedCondition | undefined {
  try {
    const found = work();
    return found?.predicate.kind === 'none' ? undefined : found;
  } catch {
    return undefined;
  }
}

function rewordValue(value: unknown, change: Rewording): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = change(String(value));
    return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : text;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (entries.length > maxValues) return undefined;
  const after = entries.map(([name, each]) => [name, each, rewordValue(each, change)] as const);
  if (after.every(([, , each]) => each === undefined)) return undefined;
  const keptChanges = after.map(([name, before, each]) => [name, each ?? before] as const);
  return Array.isArray(value)
    ? keptChanges.map(([, each]) => each)
    : Object.fromEntries(keptChanges);
}

function changedAtom(atom: ValueAtom, change: Rewording): ValueAtom | undefined {
  if (atom.kind === 'phrase') {
    const text = change(atom.text);
    return text === undefined ? undefined : { ...atom, text };
  }
  if (atom.kind === 'term') {
    const [only] = atom.parts;
    const text = atom.parts.length === 1 && typeof only === 'object' ? change(only.text) : undefined; // prettier-ignore
    return text === undefined ? undefined : { ...atom, kind: 'phrase', text };
  }
  return undefined;
}
