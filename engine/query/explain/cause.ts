import { distinctFields } from './emptiness-causes.js';
import type { ExplainLeaf, ExplainNode } from '../request/condition-node.js';
import type { ExplainedRequest } from '../request/condition-tree.js';
import type { MatchCounts } from './count-matches.js';
import { requirementOf } from '../predicate/kinds/index.js';

/** A likely cause of an empty answer. Its numbers of records are exact. */
export interface Cause {
  readonly path: string;
  readonly condition: string;
  readonly cause: string;
  readonly hint: string;
  /** The corrected condition, or several separated by commas, in the syntax of the request. */
  readonly instead?: string;
  /**
   * Number of records that satisfy the correction alone (`matches`), and together with the rest of the request (`left`). In the cause
   * `removes_last`, `left` is the number of records that match without the condition.
   */
  readonly matches?: number;
  readonly left?: number;
  /**
   * Stored values that illustrate the cause; names of similar fields in `unknown_field`, and the path of the other condition in
   * `never_together`.
   */
  readonly values?: readonly unknown[];
}

/** Returns a cause that is located at a node. */
export function causeAt(node: ExplainNode, cause: string, hint: string): Cause {
  const condition = node.kind === 'condition' ? node.text : node.kind;
  return { path: node.path, condition, cause, hint };
}

/** Returns a count with its noun: `1 record`, `2 records`. */
export function recordCountText(count: number): string {
  return count === 1 ? '1 record' : `${count} records`;
}

/**
 * Returns why a condition that matches no record cannot match any: its field is unknown, its fields have no values, the field that must be
 * missing has a value in every record, or the condition was parsed as `none`. Empty if none of these applies.
 */
export function causeOfImpossibleCondition(
  leaf: ExplainLeaf,
  { index }: ExplainedRequest,
  verified: MatchCounts,
): readonly Cause[] {
  const { source, predicate } = leaf;
  if (source.kind === 'term' && source.atom.field !== null && !index.find(source.atom.field)) {
    const fieldName = source.atom.field.toLowerCase();
    const values = index.fields.map(({ name }) => name).filter((name) => isSimilarName(name.toLowerCase(), fieldName)).slice(0, 5); // prettier-ignore
    return [
      { ...causeAt(leaf, 'unknown_field', `There is no field ${source.atom.field}.`), values },
    ];
  }
  const { isMissing } = requirementOf(predicate);
  const fields = distinctFields(predicate);
  if (fields.length > 0 && verified.present.get(leaf) === 0 && !isMissing) {
    const names = fields.slice(0, 5).map(({ name }) => name);
    return [causeAt(leaf, 'no_values', `No record has a value of ${names.join(', ')}.`)];
  }
  if (isMissing)
    return [causeAt(leaf, 'none_missing', `Every record has a value of ${fields[0]!.name}.`)];
  if (predicate.kind === 'none')
    return [
      causeAt(leaf, 'impossible', 'No value of the field’s type can satisfy this condition.'),
    ];
  return [];
}

/**
 * Returns true if one name contains the other, or if they differ, ignoring all but letters and digits, in one stretch of at most two
 * characters.
 */
function isSimilarName(name: string, wanted: string): boolean {
  if (name.includes(wanted) || wanted.includes(name)) return true;
  const lettersAndDigits = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, '');
  const [a, b] = [lettersAndDigits(name), lettersAndDigits(wanted)];
  const shorter = Math.min(a.length, b.length);
  let from = 0;
  while (from < shorter && a[from] === b[from]) from += 1;
  let to = 0;
  while (to < shorter - from && a.at(-1 - to) === b.at(-1 - to)) to += 1;
  return Math.max(a.length, b.length) - from - to <= 2;
}
