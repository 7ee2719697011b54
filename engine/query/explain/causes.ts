import { AppError } from '../../core/errors.js';
import { genomeBuilds } from '../../core/types.js';
import { blameNode, distinctFields, replaceNode, type Blame } from './blame.js';
import { causeAt, impossibleCause, recordCount, type Cause } from './cause.js';
import { countMatches, type ClashingGroup } from './count-matches.js';
import type { RunSelect } from '../sql/statement.js';
import type { NodeCounts } from './counts.js';
import { guessesAt, guessesAtAll } from './guesses.js';
import type { ConditionGuess } from './reword.js';
import {
  frequentStrings,
  similarStrings,
  valuesAround,
  type NearestValues,
  type Begin,
} from './nearest.js';
import { positiveLeaves, type ExplainGroup, type ExplainLeaf, type ExplainNode } from './node.js';
import type { Explaining } from './tree.js';
import { fieldRef } from '../request/fields.js';
import { all, not, node, type Predicate } from '../predicate/predicate.js';

/** The records to search for causes, and how statements run. */
export interface CauseScope {
  readonly records: number;
  readonly begin: Begin;
  readonly rows: RunSelect;
}

const maxLeaves = 20;
const maxGuesses = 200;

/** The causes for which a query matches no record. Every cause has been verified on the records. */
export async function causesOf(
  scope: CauseScope,
  explaining: Explaining,
  counts: ReadonlyMap<ExplainNode, NodeCounts>,
): Promise<readonly Cause[]> {
  if (scope.records === 0)
    return [{ path: '', condition: '', cause: 'no_records', hint: 'The dataset has no records.' }];
  const found: Cause[] = [];
  try {
    await searchCauses(scope, explaining, blameNode(explaining.root, counts), found);
  } catch (error) {
    // The query itself has been answered: a search that exceeds its time or memory only leaves out causes.
    if (!(error instanceof AppError) || error.code === 'canceled') throw error;
    found.push({ path: '', condition: '', cause: 'not_known', hint: `The search for causes ended early: ${error.message}` }); // prettier-ignore
  }
  return found;
}

async function searchCauses(
  scope: CauseScope,
  explaining: Explaining,
  blamed: Blame,
  found: Cause[],
): Promise<void> {
  const { root } = explaining;
  const empty = blamed.leaves.slice(0, maxLeaves);
  const clashing = blamed.clashes.flatMap(({ nodes }) => nodes.flatMap(positiveLeaves)).slice(0, maxLeaves); // prettier-ignore
  const guesses = [
    ...guessesAtAll(root, explaining),
    ...empty.flatMap((leaf) => guessesAt(leaf, explaining)),
    ...clashing.flatMap((leaf) => guessesAt(leaf, explaining)),
  ].slice(0, maxGuesses);
  const verified = await countMatches(scope.begin(), root, { empty, guesses, clashes: blamed.clashes }, scope.rows); // prettier-ignore
  for (const leaf of empty) found.push(...impossibleCause(leaf, explaining, verified));
  const explainedPaths = new Set(found.map(({ path }) => path));
  const candidates = guesses.flatMap((guess, i): readonly ConfirmedGuess[] => {
    const { matches, left } = verified.guesses[i]!;
    const isSingle = empty.includes(guess.leaf) && guess.changes.size === 1;
    const isConfirmed = !explainedPaths.has(guess.leaf.path) && (isSingle ? matches : left) > 0;
    return isConfirmed ? [{ guess, matches, left }] : [];
  });
  const confirmed = candidates.filter(
    (one, i) => !candidates.some((other, j) => i !== j && isSuperseding(other, one, j < i)),
  );
  for (const { guess, matches, left } of confirmed) {
    // Several conditions need not be joined by AND, so only the count of the whole request is meaningful.
    const isOne = guess.changes.size === 1;
    const cause = await causeOfGuess(scope, guess, isOne ? matches : left);
    found.push({ ...cause, ...(isOne && { matches }), left });
  }
  // Corrections that make the whole answer non-empty come first.
  found.sort((a, b) => Number((b.left ?? 0) > 0) - Number((a.left ?? 0) > 0));
  for (const leaf of empty) {
    if (explainedPaths.has(leaf.path) || confirmed.some(({ guess }) => guess.changes.has(leaf)))
      continue;
    found.push(
      ...((await ofOtherBuild(scope, leaf, explaining)) ?? (await nearestCauses(scope, leaf))),
    );
  }
  for (const node of blamed.excluding)
    found.push(causeAt(node, 'excludes_all', 'Every record satisfies the negated condition.'));
  for (const clash of verified.clashes) found.push(...(await causesTogether(scope, root, clash)));
}

/** For each cause, the implied causes, which are omitted beside it. */
const impliedActions: Readonly<Record<string, readonly string[]>> = {
  letter_case: ['spaces', 'separators', 'part_of_value'],
  spaces: ['separators', 'part_of_value'],
  separators: ['part_of_value'],
  chr_prefix: ['part_of_value'],
  number_format: ['part_of_value'],
};

interface ConfirmedGuess {
  readonly guess: ConditionGuess;
  readonly matches: number;
  readonly left: number;
}

/** True if the first guess makes the second redundant. */
function isSuperseding(one: ConfirmedGuess, other: ConfirmedGuess, isEarlier: boolean): boolean {
  if (one.guess.leaf !== other.guess.leaf) return false;
  const { cause, instead } = other.guess;
  if (one.guess.cause === cause)
    return (one.left > 0 && other.left === 0) || (isEarlier && one.guess.instead === instead);
  return impliedActions[one.guess.cause]?.includes(cause) === true;
}

/** The cause of a guess that the records confirm. */
async function causeOfGuess(
  scope: CauseScope,
  guess: ConditionGuess,
  matches: number,
): Promise<Cause> {
  const { leaf, cause, because, instead, shows } = guess;
  const predicate = guess.changes.get(leaf)!;
  const values = shows ? await frequentStrings(scope.begin, shows, predicate, scope.rows) : [];
  const corrected = instead === null ? 'the other form' : instead;
  return {
    ...causeAt(leaf, cause, `${because}: ${corrected} has ${recordCount(matches)}.`),
    ...(instead !== null && { instead }),
    ...(values.length > 0 && { values }),
  };
}

/** The cause of a place in a build that no record has; undefined for other conditions. */
async function ofOtherBuild(
  scope: CauseScope,
  leaf: ExplainLeaf,
  { index }: Explaining,
): Promise<readonly Cause[] | undefined> {
  const row = index.find('genomic_coordinates.build');
  const askedBuilds = leaf.source.kind === 'entity' ? [...new Set(buildsIn(leaf.predicate))] : [];
  if (row?.dataType !== 'string' || askedBuilds.length === 0) return undefined;
  const field = fieldRef(row);
  const isAsked = node({ kind: 'in', field, values: askedBuilds, ignoreCase: true });
  const stringsWhere = (scoped: Predicate) =>
    frequentStrings(scope.begin, field, scoped, scope.rows);
  const values = await stringsWhere(not(node({ kind: 'missing', field })));
  if (values.length === 0 || (await stringsWhere(isAsked)).length > 0) return undefined;
  const hint = `The records are of ${values.join(', ')}, and this asks for ${askedBuilds.join(', ')}.`;
  return [{ ...causeAt(leaf, 'wrong_build', hint), values }];
}

/** The builds of the places that a condition asks for, in upper case. */
function buildsIn(predicate: Predicate): readonly string[] {
  if (predicate.kind === 'and' || predicate.kind === 'or') return predicate.items.flatMap(buildsIn);
  if (predicate.kind === 'overlap') return predicate.build === null ? [] : [predicate.build];
  if (predicate.kind !== 'in') return [];
  const builds = genomeBuilds.map((one) => one.toUpperCase());
  return predicate.values.flatMap((value) =>
    builds.filter((build) => value === build || String(value).startsWith(`${build}-`)),
  );
}

/** The cause of a condition without a confirmed guess: the nearest stored values, or that the field has no values. */
async function nearestCauses(scope: CauseScope, leaf: ExplainLeaf): Promise<readonly Cause[]> {
  const around = await valuesAround(scope.begin, leaf.predicate, all, scope.rows);
  if (around) return [{ ...causeAt(leaf, ...nearestCause(around)), values: valuesOf(around) }];
  const fields = distinctFields(leaf.predicate);
  const strings = fields.filter(({ type }) => type === 'string').slice(0, maxFields);
  for (const field of strings) {
    for (const text of stringsOf(leaf.predicate).slice(0, maxStrings)) {
      const values = await similarStrings(scope.begin, field, text, scope.rows);
      if (values.length > 0)
        return [{ ...causeAt(leaf, 'similar_values', `${field.name} has similar values.`), values }]; // prettier-ignore
    }
  }
  const names = fields.slice(0, maxFields).map(({ name }) => name);
  const moreText = fields.length > names.length ? ` and ${fields.length - names.length} more fields` : ''; // prettier-ignore
  const cause = causeAt(
    leaf,
    'no_such_value',
    `No value of ${names.join(', ')}${moreText} matches or is similar.`,
  );
  const [field] = fields;
  if (fields.length !== 1 || field?.type !== 'string') return [cause];
  const isPresent = not(node({ kind: 'missing', field }));
  const values = await frequentStrings(scope.begin, field, isPresent, scope.rows);
  return [values.length === 0 ? cause : { ...cause, values }];
}

/** The most text fields in which similar values are searched; a term without a field concerns all of them. */
const maxFields = 5;
const maxStrings = 3;

function stringsOf(predicate: Predicate): readonly string[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.items.flatMap(stringsOf);
    case 'in':
      return predicate.values.map(String);
    case 'prefix':
    case 'contains':
      return [predicate.text];
    case 'phrase':
      return [predicate.terms.join(' ')];
    default:
      return [];
  }
}

function nearestCause({
  field,
  below,
  above,
  least,
  most,
}: NearestValues): [cause: string, hint: string] {
  const name = field.name;
  if (below !== null && above !== null)
    return ['nearest_values', `The nearest values of ${name} are ${shownValue(below)} and ${shownValue(above)}.`]; // prettier-ignore
  return [
    'out_of_range',
    `The values of ${name} range from ${shownValue(least)} to ${shownValue(most)}.`,
  ];
}

function valuesOf({ below, above, least, most }: NearestValues): readonly unknown[] {
  return below !== null && above !== null ? [below, above] : [least, most];
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Why nodes that match records individually match none together. */
async function causesTogether(
  scope: CauseScope,
  root: ExplainGroup,
  { group, apart, without }: ClashingGroup,
): Promise<readonly Cause[]> {
  const causes = apart.slice(0, 5).map(([one, other]): Cause => ({
    ...causeAt(other, 'never_together', `No record satisfies both this and ${nodeName(one)}.`),
    values: [one.path],
  }));
  for (const [child, left] of without) {
    if (left === 0) continue;
    const withoutChild = replaceNode(root, new Map([[child, all]]));
    const around = child.kind === 'condition' ? await valuesAround(scope.begin, child.predicate, withoutChild, scope.rows) : undefined; // prettier-ignore
    const values = around && [around.least, around.most];
    const range = around ? ` Their values of ${around.field.name} range from ${shownValue(around.least)} to ${shownValue(around.most)}.` : ''; // prettier-ignore
    causes.push({
      ...causeAt(
        child,
        'removes_last',
        `Without this condition, ${recordCount(left)} would match.${range}`,
      ),
      left,
      ...(values && { values }),
    });
  }
  if (causes.length === 0)
    causes.push(causeAt(group, 'never_together', 'Each of these conditions matches records, but no record satisfies all of them.')); // prettier-ignore
  return causes;
}

function nodeName(node: ExplainNode): string {
  return node.kind === 'condition' ? `${node.text} (${node.path})` : node.path;
}
