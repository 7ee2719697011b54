import { splitKey } from '../request/actions.js';
import { stringifyJson } from '../../core/json.js';
import { parseEntities } from '../request/entities.js';
import type { ExplainLeaf, ExplainSource } from './node.js';
import { atomMeaning, atomText } from './query-nodes.js';
import { shortText, type ExplainContext } from './tree.js';
import { fieldRef } from '../request/fields.js';
import { parseFilters } from '../request/filter.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import type { ValueAtom } from '../request/query-string/grammar.js';

/** A condition in other words. */
export interface Reworded {
  /** As a request would have it; null where it has no words for it. */
  readonly text: string | null;
  readonly predicate: Predicate;
}

/** Says one value in another way; undefined where there is none. */
export type Change = (text: string) => string | undefined;

/** Values of a longer list are left as they are. */
const mostValues = 200;

/** The condition with other values; undefined if none of them changes or the request could not be put so. */
export function reword(
  { source }: ExplainLeaf,
  context: ExplainContext,
  change: Change,
): Reworded | undefined {
  if (source.kind === 'presence') return undefined;
  if (source.kind === 'term') {
    const atom = changedAtom(source.atom, change);
    return atom && readAtom(atom, context);
  }
  const value = changed(source.value, change);
  return value === undefined ? undefined : read({ ...source, value } as ExplainSource, context);
}

/** A condition as a request would have it; undefined if it may not. */
export function read(source: ExplainSource, context: ExplainContext): Reworded | undefined {
  const { index, genes, rules } = context;
  return readable(() => {
    if (source.kind === 'filter') {
      const pair = [source.key, source.value];
      return { text: wholeText(pair), predicate: parseFilters([pair], index, rules) };
    }
    if (source.kind === 'entity') {
      const pair = [source.type, source.value];
      return { text: wholeText(pair), predicate: parseEntities([pair], index, genes) };
    }
    return undefined;
  });
}

/** Null where it is too long to show, for a part of a condition would be another one. */
function wholeText(pair: readonly unknown[]): string | null {
  const text = stringifyJson(pair);
  return shortText(pair) === text ? text : null;
}

/** The same of a part of a query string. */
export function readAtom(atom: ValueAtom, { index }: ExplainContext): Reworded | undefined {
  return readable(() => ({ text: atomText(atom), predicate: atomMeaning(atom, index) }));
}

/** The field and the action of a filter. */
export function filterParts(
  key: string,
  { index }: ExplainContext,
): { readonly field: FieldRef; readonly action: string } | undefined {
  const { name, action } = splitKey(key, (one) => index.find(one) !== undefined);
  const row = index.find(name);
  return row && { field: fieldRef(row), action };
}

/** Another wording may be one that requests must not have: then there is none. */
function readable(work: () => Reworded | undefined): Reworded | undefined {
  try {
    const found = work();
    return found?.predicate.kind === 'none' ? undefined : found;
  } catch {
    return undefined;
  }
}

function changed(value: unknown, change: Change): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = change(String(value));
    return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : text;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (entries.length > mostValues) return undefined;
  const after = entries.map(([name, each]) => [name, each, changed(each, change)] as const);
  if (after.every(([, , each]) => each === undefined)) return undefined;
  const kept = after.map(([name, before, each]) => [name, each ?? before] as const);
  return Array.isArray(value) ? kept.map(([, each]) => each) : Object.fromEntries(kept);
}

function changedAtom(atom: ValueAtom, change: Change): ValueAtom | undefined {
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
