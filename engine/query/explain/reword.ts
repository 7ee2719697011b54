import { AppError } from '../../core/errors.js';
import { splitKey } from '../request/actions.js';
import { stringifyJson } from '../../core/json.js';
import { parseEntities } from '../request/entities.js';
import type { ExplainLeaf, ExplainSource } from '../request/condition-node.js';
import { atomPredicate, atomText } from '../request/query-nodes.js';
import { truncatedJson, type ExplainContext } from '../request/condition-tree.js';
import { fieldRef } from '../request/field-index.js';
import { parseFilters } from '../request/filter.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { ValueAtom } from '../request/query-string-grammar.js';

/** A condition with other values. */
export interface RewordedCondition {
  /** The condition in the syntax of the request; null if that syntax cannot express it, or if it is too long to show. */
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
  /**
   * The corrected condition, or several separated by commas, in the syntax of the request; null if that syntax cannot express it, or if it
   * is too long to show.
   */
  readonly instead: string | null;
  /** The mistake as a sentence without its period. */
  readonly because: string;
  /** The field whose matching values the answer shows as examples. */
  readonly shows?: FieldRef;
}

/** Changes one value of a condition; returns undefined if the change does not apply to the value. */
export type Rewording = (text: string) => string | undefined;

/** Maximum number of members of a list or object in which values are changed. */
const maxRewordedValues = 200;

/**
 * Returns the condition with changed values; undefined if no value changes, if the result is invalid or nothing can satisfy it, or if the
 * source of the condition cannot be parsed again.
 */
export function rewordLeaf(
  { source }: ExplainLeaf,
  context: ExplainContext,
  change: Rewording,
): RewordedCondition | undefined {
  if (source.kind === 'presence' || source.kind === 'element') return undefined;
  if (source.kind === 'term') {
    const atom = rewordAtom(source.atom, change);
    return atom && reparseAtom(atom, context);
  }
  const value = rewordValue(source.value, change);
  return value === undefined
    ? undefined
    : reparseSource({ ...source, value } as ExplainSource, context);
}

/**
 * Parses a filter or a pair of entity type and value again; returns undefined if it is invalid or nothing can satisfy it, and for other
 * sources.
 */
export function reparseSource(
  source: ExplainSource,
  context: ExplainContext,
): RewordedCondition | undefined {
  const { index, names, rules } = context;
  return undefinedIfInvalid(() => {
    if (source.kind === 'filter') {
      const pair = [source.key, source.value];
      return { text: untruncatedJson(pair), predicate: parseFilters([pair], index, rules) };
    }
    if (source.kind === 'entity') {
      const pair = [source.type, source.value];
      return { text: untruncatedJson(pair), predicate: parseEntities([pair], index, names) };
    }
    return undefined;
  });
}

/**
 * Returns a pair (a filter or an entity) as JSON; null if it is too long to show, because a shortened condition would be a different one.
 */
export function untruncatedJson(pair: readonly unknown[]): string | null {
  const text = stringifyJson(pair);
  return truncatedJson(pair) === text ? text : null;
}

/** Parses a term, phrase or range of a query string again; returns undefined if it is invalid or nothing can satisfy it. */
export function reparseAtom(
  atom: ValueAtom,
  { index }: ExplainContext,
): RewordedCondition | undefined {
  return undefinedIfInvalid(() => ({
    text: atomText(atom),
    predicate: atomPredicate(atom, index),
  }));
}

/** Splits the key of a filter into the field and the action; returns undefined if there is no such field. */
export function filterParts(
  key: string,
  { index }: ExplainContext,
): { readonly field: FieldRef; readonly action: string } | undefined {
  const { name, action } = splitKey(key, (one) => index.find(one) !== undefined);
  const row = index.find(name);
  return row && { field: fieldRef(row), action };
}

/**
 * Calls `work` and returns its result; undefined if it throws because the changed condition is invalid, or if nothing can satisfy the
 * condition.
 */
function undefinedIfInvalid(
  work: () => RewordedCondition | undefined,
): RewordedCondition | undefined {
  try {
    const rewordedCondition = work();
    return rewordedCondition?.predicate.kind === 'none' ? undefined : rewordedCondition;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
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
  if (entries.length > maxRewordedValues) return undefined;
  const after = entries.map(([name, each]) => [name, each, rewordValue(each, change)] as const);
  if (after.every(([, , each]) => each === undefined)) return undefined;
  const keptChanges = after.map(([name, before, each]) => [name, each ?? before] as const);
  return Array.isArray(value)
    ? keptChanges.map(([, each]) => each)
    : Object.fromEntries(keptChanges);
}

function rewordAtom(atom: ValueAtom, change: Rewording): ValueAtom | undefined {
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
