import { stringifyJson } from '../../core/json.js';
import { all, any, and, type FieldRef, type Predicate } from '../predicate/predicate.js';
import { fieldsRead } from '../predicate/kinds/index.js';
import { elementFields, fieldRef, type FieldIndex } from '../request/field-index.js';
import type { RecordInspector } from '../executor/record-inspector.js';
import { predicateWithReplacements } from './emptiness-causes.js';
import { recordCountText } from './cause.js';
import {
  leavesOf,
  type ExplainGroup,
  type ExplainLeaf,
  type ExplainNode,
} from '../request/condition-node.js';
import { atomText } from '../request/query-nodes.js';
import { splitKey } from '../request/actions.js';

/** Conditions on one list of objects that different elements may satisfy, and the condition that a single element satisfies all of them. */
export interface Hint {
  readonly paths: readonly string[];
  readonly hint: string;
  /** The condition on one element, in the syntax of the request. */
  readonly instead: string;
  /** Number of records in which any elements, not necessarily the same, satisfy the conditions. */
  readonly apart: number;
  /** Number of records that satisfy `instead` alone (`matches`), and together with the rest of the request (`left`). */
  readonly matches: number;
  readonly left: number;
}

/** Conditions that an AND joins and that concern fields inside one list of objects. */
interface ListElementConditions {
  readonly leaves: readonly ExplainLeaf[];
  readonly list: FieldRef;
  readonly instead: string;
  readonly predicate: Predicate;
}

/** The maximum number of hints that are counted. */
const maxHints = 10;

/** Returns the hints about a request, at most `maxHints`. */
export async function findHints(
  root: ExplainGroup,
  index: FieldIndex,
  inspector: RecordInspector,
): Promise<readonly Hint[]> {
  const elementConditions = listElementConditionsIn(root, index).slice(0, maxHints);
  if (elementConditions.length === 0) return [];
  const countedConditions = elementConditions.flatMap(({ leaves, predicate }) => {
    // To count the records that the request would match with the hint, the first of the conditions is replaced by the condition on one
    // element, and the other conditions by true.
    const replacements = new Map(
      leaves.map((leaf, i) => [leaf, i === 0 ? predicate : all] as const),
    );
    return [
      leaves.map((leaf) => leaf.predicate),
      [predicate],
      [predicateWithReplacements(root, replacements)],
    ];
  });
  const conditions = leavesOf(root).map(({ predicate }) => predicate);
  const counts = await inspector.countConjunctions(countedConditions, conditions);
  return elementConditions.map(({ leaves, list, instead }, i): Hint => {
    const [apart, matches, left] = counts.slice(3 * i, 3 * i + 3);
    return {
      paths: leaves.map(({ path }) => path),
      hint: `Different elements of ${list.name} may satisfy these conditions: ${matches!} of the ${recordCountText(apart!)} have one element that satisfies all of them.`,
      instead,
      apart: apart!,
      matches: matches!,
      left: left!,
    };
  });
}

function listElementConditionsIn(
  node: ExplainNode,
  index: FieldIndex,
): readonly ListElementConditions[] {
  if (node.kind === 'condition') return [];
  const groupsInside = node.nodes.flatMap((child) => listElementConditionsIn(child, index));
  if (node.kind === 'or') return groupsInside;
  const leaves = node.nodes.filter((child): child is ExplainLeaf => child.kind === 'condition');
  const byList = new Map<string, ExplainLeaf[]>();
  for (const leaf of leaves) {
    const [list] = enclosingListFields(leaf, index);
    if (list === undefined) continue;
    const key = `${leaf.source.kind} ${list.name}`;
    byList.set(key, [...(byList.get(key) ?? []), leaf]);
  }
  const ownGroups = [...byList.values()].flatMap((same) =>
    same.length > 1 ? [oneElementCondition(same, index)] : [],
  );
  return [...ownGroups, ...groupsInside];
}

/** Returns one condition on an element of the innermost list that the given conditions have in common. */
function oneElementCondition(
  leaves: readonly ExplainLeaf[],
  index: FieldIndex,
): ListElementConditions {
  const common = enclosingListFields(leaves[0]!, index).filter((list) =>
    leaves.every((leaf) => enclosingListFields(leaf, index).some(({ name }) => name === list.name)),
  );
  const list = common.at(-1)!;
  const predicate = any(list, and(leaves.map((leaf) => leaf.predicate)));
  return { leaves, list, predicate, instead: elementFilterText(leaves, list, index) };
}

function elementFilterText(
  leaves: readonly ExplainLeaf[],
  list: FieldRef,
  index: FieldIndex,
): string {
  const nameInside = (name: string): string =>
    index.find(name)!.path.slice(list.path.length).join('.');
  const terms: string[] = [];
  const filters: unknown[] = [];
  for (const { source } of leaves) {
    if (source.kind === 'term')
      terms.push(atomText({ ...source.atom, field: nameInside(source.atom.field!) }));
    if (source.kind === 'filter') {
      const { name } = splitKey(source.key, (one) => index.find(one) !== undefined);
      filters.push([nameInside(name) + source.key.slice(name.length), source.value]);
    }
  }
  return terms.length > 0
    ? `${list.name}:{${terms.join(' AND ')}}`
    : stringifyJson({ any: { path: list.name, filters } });
}

/**
 * Returns the lists of objects that contain the field of a condition, from the outermost; empty unless the condition is a filter, or a term
 * with a field.
 */
function enclosingListFields(
  { source, predicate }: ExplainLeaf,
  index: FieldIndex,
): readonly FieldRef[] {
  const namesField =
    source.kind === 'filter' || (source.kind === 'term' && source.atom.field !== null);
  const [field] = fieldsRead(predicate);
  if (!namesField || field === undefined) return [];
  const ancestorPaths = field.path.slice(1).map((_, i) => field.path.slice(0, i + 1));
  return ancestorPaths.flatMap((path) => {
    const row = index.fields.find((each) => each.path.length === path.length && path.every((name, i) => each.path[i] === name)); // prettier-ignore
    return row && elementFields(index, row) ? [fieldRef(row)] : [];
  });
}
