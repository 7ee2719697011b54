import { fieldsOf } from './blame.js';
import type { ExplainLeaf, ExplainNode } from './node.js';
import type { Explaining } from './tree.js';
import type { Verified } from './verify.js';

/** A likely cause of an empty answer; what it says of records has been counted. */
export interface Cause {
  readonly path: string;
  readonly condition: string;
  readonly cause: string;
  readonly hint: string;
  /** The condition that would find something, as a request would have it. */
  readonly instead?: string;
  /** Records that satisfy it, by itself and together with the rest of the request. */
  readonly matches?: number;
  readonly left?: number;
  /** Stored values that say more. */
  readonly values?: readonly unknown[];
}

/** A cause at a node. */
export function about(node: ExplainNode, cause: string, hint: string): Cause {
  const condition = node.kind === 'condition' ? node.text : node.kind;
  return { path: node.path, condition, cause, hint };
}

/** A number of records in words. */
export function records(count: number): string {
  return count === 1 ? '1 record' : `${count} records`;
}

/** A condition that nothing could satisfy, whatever its value. */
export function impossible(
  leaf: ExplainLeaf,
  { index }: Explaining,
  verified: Verified,
): readonly Cause[] {
  const { source, predicate } = leaf;
  if (source.kind === 'term' && source.atom.field !== null && !index.find(source.atom.field)) {
    const wanted = source.atom.field.toLowerCase();
    const values = index.rows.map(({ name }) => name).filter((name) => isLike(name.toLowerCase(), wanted)).slice(0, 5); // prettier-ignore
    return [{ ...about(leaf, 'unknown_field', `There is no field ${source.atom.field}.`), values }];
  }
  const fields = fieldsOf(predicate);
  if (fields.length > 0 && verified.present.get(leaf) === 0 && predicate.kind !== 'missing') {
    const names = fields.slice(0, 5).map(({ name }) => name);
    return [about(leaf, 'no_values', `No record has a value of ${names.join(', ')}.`)];
  }
  if (predicate.kind === 'missing')
    return [about(leaf, 'none_missing', `Every record has a value of ${predicate.field.name}.`)];
  if (predicate.kind === 'none')
    return [about(leaf, 'impossible', 'No value of the field’s type could satisfy this.')];
  return [];
}

/** True of names that a slip of the pen makes of each other, or one of which is part of the other. */
function isLike(name: string, wanted: string): boolean {
  if (name.includes(wanted) || wanted.includes(name)) return true;
  const plain = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '');
  const [a, b] = [plain(name), plain(wanted)];
  const shorter = Math.min(a.length, b.length);
  let from = 0;
  while (from < shorter && a[from] === b[from]) from += 1;
  let to = 0;
  while (to < shorter - from && a.at(-1 - to) === b.at(-1 - to)) to += 1;
  return Math.max(a.length, b.length) - from - to <= 2;
}
