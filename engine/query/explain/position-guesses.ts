import type { ExplainGroup, ExplainLeaf, ExplainNode } from '../request/condition-node.js';
import {
  filterParts,
  reparseSource,
  rewordLeaf,
  type RewordedCondition,
  type Rewording,
  type ConditionGuess,
} from './reword.js';
import type { ExplainContext } from '../request/condition-tree.js';
import { fieldsRead, requirementOf } from '../predicate/kinds/index.js';
import type { Predicate } from '../predicate/predicate.js';

const positionNamePattern = /(^|[._ ])(start|stop|end|pos|position)$/i;
const startNamePattern = /(^|[._ ])(start|pos|position)$/i;

/**
 * Returns guesses that shift by one either the start positions or all positions in the filters among `leaves`, because the request may
 * count from 0 and the records from 1, or the reverse. Positions are whole numbers of fields whose name ends with a word for a position.
 */
export function shiftPositions(
  leaves: readonly ExplainLeaf[],
  context: ExplainContext,
): readonly ConditionGuess[] {
  const guesses: ConditionGuess[] = [];
  for (const [which, names] of [
    ['start', startNamePattern],
    ['position', positionNamePattern],
  ] as const) {
    for (const by of [1n, -1n]) {
      const at = leaves.filter(({ source }) => {
        const field = source.kind === 'filter' && filterParts(source.key, context)?.field;
        return field && names.test(field.name) && (field.type === 'long' || field.type === 'integer'); // prettier-ignore
      });
      const movedLeaves = at.map(
        (leaf) => [leaf, rewordLeaf(leaf, context, addNumber(by))] as const,
      );
      if (movedLeaves.length === 0 || movedLeaves.some(([, other]) => other === undefined))
        continue;
      guesses.push({
        leaf: at[0]!,
        cause: 'off_by_one',
        because: `With every ${which} one ${by > 0n ? 'higher' : 'lower'} (the request and the records may count from different numbers)`,
        changes: new Map(movedLeaves.map(([leaf, other]) => [leaf, other!.predicate])),
        instead: listConditions(movedLeaves.map(([, other]) => other!)),
      });
    }
  }
  return guesses;
}

/** Lists corrected conditions in the syntax of the request; null if the syntax cannot express one, or one is too long to show. */
function listConditions(conditions: readonly RewordedCondition[]): string | null {
  const texts = conditions.map(({ text }) => text);
  return texts.includes(null) ? null : texts.join(', ');
}

function addNumber(by: bigint): Rewording {
  return (text) => (/^-?\d{1,18}$/.test(text) ? String(BigInt(text) + by) : undefined);
}

const positionPattern =
  /^((?:(?:GRCh3[78]|T2T-CHM13)[-:])?[^-:]+[-:])(\d{1,15})(?:(-)(\d{1,15}))?((?:-[^-\d][^-]*)*)$/i;

/**
 * Shifts the start, and with `isBoth` also the stop, of a region or variant such as `GRCH37-13-32890598-32890599-C` or `13:32890598`.
 * Returns undefined for other texts, and with `isBoth` if there is no stop.
 */
export function shiftedText(text: string, by: bigint, isBoth: boolean): string | undefined {
  const match = positionPattern.exec(text);
  if (!match) return undefined;
  const [, before, start, dash, stop, after = ''] = match;
  if (dash === undefined) return isBoth ? undefined : `${before!}${BigInt(start!) + by}${after}`;
  return `${before!}${BigInt(start!) + by}-${BigInt(stop!) + (isBoth ? by : 0n)}${after}`;
}

/**
 * Returns guesses that exchange the values of two filters, joined by AND, of which one is a lower bound and the other a smaller upper bound
 * of the same field, such as `gte` 5 and `lte` 3. Negated groups are left out.
 */
export function swapBounds(
  group: ExplainGroup,
  context: ExplainContext,
): readonly ConditionGuess[] {
  const ends = group.nodes.filter((node): node is ExplainLeaf => node.kind === 'condition');
  const guesses = ends.flatMap((low) =>
    ends.flatMap((high) => (areBoundsCrossed(low.predicate, high.predicate) ? exchangeValues(low, high, context) : [])),
  ); // prettier-ignore
  const groupsInside = group.nodes.filter((node: ExplainNode): node is ExplainGroup => node.kind === 'and' || node.kind === 'or'); // prettier-ignore
  return [
    ...(group.kind === 'and' ? guesses : []),
    ...groupsInside.flatMap((node) => swapBounds(node, context)),
  ];
}

/** Returns true if the first condition has only a lower bound, and the second only an upper bound of the same field that is smaller. */
function areBoundsCrossed(one: Predicate, other: Predicate): boolean {
  const [low, high] = [requirementOf(one).ends, requirementOf(other).ends];
  if (!low?.low || low.high || !high?.high || high.low) return false;
  return fieldsRead(one)[0]!.name === fieldsRead(other)[0]!.name && low.low.value > high.high.value;
}

function exchangeValues(
  low: ExplainLeaf,
  high: ExplainLeaf,
  context: ExplainContext,
): readonly ConditionGuess[] {
  if (low.source.kind !== 'filter' || high.source.kind !== 'filter') return [];
  const first = reparseSource({ ...low.source, value: high.source.value }, context);
  const second = reparseSource({ ...high.source, value: low.source.value }, context);
  if (!first || !second) return [];
  return [
    {
      leaf: low,
      cause: 'swapped_ends',
      because: 'The ends of the range are swapped',
      changes: new Map([
        [low, first.predicate],
        [high, second.predicate],
      ]),
      instead: listConditions([first, second]),
    },
  ];
}
