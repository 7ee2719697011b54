import { AppError } from '../../core/errors.js';
import { genomeBuilds, isNumeric } from '../../core/types.js';
import {
  findEmptinessCauses,
  distinctFields,
  predicateWithReplacements,
  type EmptinessCauses,
} from './emptiness-causes.js';
import { causeAt, causeOfImpossibleCondition, recordCountText, type Cause } from './cause.js';
import { countMatches, type ClashingGroup } from './count-matches.js';
import type {
  Interval,
  NodeCounts,
  RecordInspector,
  ValuesAround,
} from '../executor/record-inspector.js';
import { guessesAtLeaf, guessesAcrossLeaves } from './guesses.js';
import type { ConditionGuess } from './reword.js';
import {
  positiveLeaves,
  type ExplainGroup,
  type ExplainLeaf,
  type ExplainNode,
} from '../request/condition-node.js';
import type { ExplainedRequest } from '../request/condition-tree.js';
import { fieldRef } from '../request/field-index.js';
import { fieldsRead, requirementOf } from '../predicate/kinds/index.js';
import { all, alternativesOf, not, freezePredicate, operandsOf, type Predicate } from '../predicate/predicate.js'; // prettier-ignore

/** The records in which causes are searched. */
interface CauseScope {
  readonly recordCount: number;
  readonly inspector: RecordInspector;
}

const maxSearchedLeaves = 20;
const maxVerifiedGuesses = 200;

/** Returns the causes for which a query matches no record. A corrected condition is among them only if records satisfy it. */
export async function findCausesOfNoMatch(
  scope: CauseScope,
  explaining: ExplainedRequest,
  counts: ReadonlyMap<ExplainNode, NodeCounts>,
): Promise<readonly Cause[]> {
  if (scope.recordCount === 0)
    return [{ path: '', condition: '', cause: 'no_records', hint: 'The dataset has no records.' }];
  const causes: Cause[] = [];
  try {
    await searchCauses(scope, explaining, findEmptinessCauses(explaining.root, counts), causes);
  } catch (error) {
    // The query itself has been answered, so an `AppError` of the search for causes, such as an exceeded time limit, only becomes a cause,
    // unless the client has left.
    if (!(error instanceof AppError) || error.code === 'canceled') throw error;
    causes.push({ path: '', condition: '', cause: 'not_known', hint: `The search for causes ended early: ${error.message}` }); // prettier-ignore
  }
  return causes;
}

async function searchCauses(
  scope: CauseScope,
  explaining: ExplainedRequest,
  blamed: EmptinessCauses,
  causes: Cause[],
): Promise<void> {
  const { root } = explaining;
  const empty = blamed.leaves.slice(0, maxSearchedLeaves);
  const clashing = blamed.clashes.flatMap(({ nodes }) => nodes.flatMap(positiveLeaves)).slice(0, maxSearchedLeaves); // prettier-ignore
  const guesses = [
    ...guessesAcrossLeaves(root, explaining),
    ...empty.flatMap((leaf) => guessesAtLeaf(leaf, explaining)),
    ...clashing.flatMap((leaf) => guessesAtLeaf(leaf, explaining)),
  ].slice(0, maxVerifiedGuesses);
  const verified = await countMatches(scope.inspector, root, {
    empty,
    guesses,
    clashes: blamed.clashes,
  });
  for (const leaf of empty) causes.push(...causeOfImpossibleCondition(leaf, explaining, verified));
  const explainedPaths = new Set(causes.map(({ path }) => path));
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
    // If a guess corrects several conditions, these need not be joined by AND, so only the count of the whole request is meaningful for it.
    const isOne = guess.changes.size === 1;
    const cause = await findCauseOfGuess(scope, guess, isOne ? matches : left);
    causes.push({ ...cause, ...(isOne && { matches }), left });
  }
  // Corrections with which the whole request matches records come first.
  causes.sort((a, b) => Number((b.left ?? 0) > 0) - Number((a.left ?? 0) > 0));
  for (const leaf of empty) {
    if (explainedPaths.has(leaf.path) || confirmed.some(({ guess }) => guess.changes.has(leaf)))
      continue;
    causes.push(
      ...((await findCauseOfOtherBuild(scope, leaf, explaining)) ??
        (await findNearestCauses(scope, leaf))),
    );
  }
  for (const node of blamed.excluding)
    causes.push(causeAt(node, 'excludes_all', 'Every record satisfies the negated condition.'));
  for (const clash of verified.clashes)
    causes.push(...(await findCausesTogether(scope, root, clash)));
}

/** For each cause, the causes that it implies; an implied cause of the same condition is not reported. */
const impliedCauses: Readonly<Record<string, readonly string[]>> = {
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

/** Returns whether the first guess makes the second redundant. */
function isSuperseding(one: ConfirmedGuess, other: ConfirmedGuess, isEarlier: boolean): boolean {
  if (one.guess.leaf !== other.guess.leaf) return false;
  const { cause, instead } = other.guess;
  if (one.guess.cause === cause)
    return (one.left > 0 && other.left === 0) || (isEarlier && one.guess.instead === instead);
  return impliedCauses[one.guess.cause]?.includes(cause) === true;
}

/** Returns a confirmed guess as a cause; `matches` is the number of records that its hint names. */
async function findCauseOfGuess(
  scope: CauseScope,
  guess: ConditionGuess,
  matches: number,
): Promise<Cause> {
  const { leaf, cause, because, instead, shows } = guess;
  const predicate = guess.changes.get(leaf)!;
  const values = shows ? await scope.inspector.frequentStrings(shows, predicate) : [];
  const corrected = instead === null ? 'the other form' : instead;
  return {
    ...causeAt(leaf, cause, `${because}: ${corrected} has ${recordCountText(matches)}.`),
    ...(instead !== null && { instead }),
    ...(values.length > 0 && { values }),
  };
}

/**
 * Returns the cause of an entity condition that names genome builds if the records have only other builds; undefined if this is not the
 * case, or if no record has a build.
 */
async function findCauseOfOtherBuild(
  scope: CauseScope,
  leaf: ExplainLeaf,
  { index }: ExplainedRequest,
): Promise<readonly Cause[] | undefined> {
  const row = index.find('genomic_coordinates.build');
  const askedBuilds =
    leaf.source.kind === 'entity' ? [...new Set(genomeBuildsIn(leaf.predicate))] : [];
  if (row?.dataType !== 'string' || askedBuilds.length === 0) return undefined;
  const field = fieldRef(row);
  const isAsked = freezePredicate({ kind: 'in', field, values: askedBuilds, ignoreCase: true });
  const stringsWhere = (scoped: Predicate) => scope.inspector.frequentStrings(field, scoped);
  const values = await stringsWhere(not(freezePredicate({ kind: 'missing', field })));
  if (values.length === 0 || (await stringsWhere(isAsked)).length > 0) return undefined;
  const hint = `The records are of ${values.join(', ')}, and this asks for ${askedBuilds.join(', ')}.`;
  return [{ ...causeAt(leaf, 'wrong_build', hint), values }];
}

/** Returns the genome builds of the positions that a condition asks for, in upper case. */
function genomeBuildsIn(predicate: Predicate): readonly string[] {
  const builds = genomeBuilds.map((one) => one.toUpperCase());
  return operandsOf(predicate).flatMap((condition) => {
    const { values = [], build } = requirementOf(condition);
    if (build !== undefined) return [build];
    return values.flatMap((value) =>
      builds.filter((each) => value === each || String(value).startsWith(`${each}-`)),
    );
  });
}

/**
 * Returns the causes of a condition without a confirmed guess: the nearest stored values, the range of the stored values, similar strings,
 * or that there are none.
 */
async function findNearestCauses(scope: CauseScope, leaf: ExplainLeaf): Promise<readonly Cause[]> {
  const around = await findValuesAround(scope, leaf.predicate, all);
  if (around)
    return [{ ...causeAt(leaf, ...nearestCause(around)), values: nearestValueList(around) }];
  const fields = distinctFields(leaf.predicate);
  const strings = fields.filter(({ type }) => type === 'string').slice(0, maxSearchedFields);
  for (const field of strings) {
    for (const text of searchedStrings(leaf.predicate).slice(0, maxSearchedStrings)) {
      const values = await scope.inspector.similarStrings(field, text);
      if (values.length > 0)
        return [{ ...causeAt(leaf, 'similar_values', `${field.name} has similar values.`), values }]; // prettier-ignore
    }
  }
  const names = fields.slice(0, maxSearchedFields).map(({ name }) => name);
  const moreText = fields.length > names.length ? ` and ${fields.length - names.length} more fields` : ''; // prettier-ignore
  const cause = causeAt(
    leaf,
    'no_such_value',
    `No value of ${names.join(', ')}${moreText} matches or is similar.`,
  );
  const [field] = fields;
  if (fields.length !== 1 || field?.type !== 'string') return [cause];
  const isPresent = not(freezePredicate({ kind: 'missing', field }));
  const values = await scope.inspector.frequentStrings(field, isPresent);
  return [values.length === 0 ? cause : { ...cause, values }];
}

/**
 * Returns the stored values next to those that a condition on a number or date asks for, among the records that satisfy `among`; undefined
 * for other conditions, and if no record stores the field.
 */
async function findValuesAround(
  { inspector }: CauseScope,
  predicate: Predicate,
  among: Predicate,
): Promise<ValuesAround | undefined> {
  const interval = intervalOf(predicate);
  return interval && inspector.valuesAround(interval, among);
}

/**
 * Returns the interval that a condition on a number or date asks for; undefined for other conditions. Of alternatives and of listed values,
 * only the first counts.
 */
function intervalOf(predicate: Predicate): Interval | undefined {
  const first = alternativesOf(predicate)[0]!;
  const [field] = fieldsRead(first);
  if (field === undefined || (!isNumeric(field.type) && field.type !== 'date')) return undefined;
  const { values: [value] = [], ends } = requirementOf(first);
  if (ends) return { field, low: ends.low?.value ?? null, high: ends.high?.value ?? null };
  return value === undefined ? undefined : { field, low: value, high: value };
}

/**
 * Maximum number of string fields in which similar values are searched, and of fields that the cause names; a term without a field concerns
 * all string and text fields.
 */
const maxSearchedFields = 5;
const maxSearchedStrings = 3;

function searchedStrings(predicate: Predicate): readonly string[] {
  return operandsOf(predicate).flatMap((condition) => {
    const { values = [], text } = requirementOf(condition);
    return text === undefined ? values.map(String) : [text];
  });
}

function nearestCause({
  field,
  below,
  above,
  least,
  most,
}: ValuesAround): [cause: string, hint: string] {
  const name = field.name;
  if (below !== null && above !== null)
    return ['nearest_values', `The nearest values of ${name} are ${displayText(below)} and ${displayText(above)}.`]; // prettier-ignore
  return [
    'out_of_range',
    `The values of ${name} range from ${displayText(least)} to ${displayText(most)}.`,
  ];
}

function nearestValueList({ below, above, least, most }: ValuesAround): readonly unknown[] {
  return below !== null && above !== null ? [below, above] : [least, most];
}

function displayText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns why nodes that match records individually match none together. */
async function findCausesTogether(
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
    const withoutChild = predicateWithReplacements(root, new Map([[child, all]]));
    const around = child.kind === 'condition' ? await findValuesAround(scope, child.predicate, withoutChild) : undefined; // prettier-ignore
    const values = around && [around.least, around.most];
    const range = around ? ` Their values of ${around.field.name} range from ${displayText(around.least)} to ${displayText(around.most)}.` : ''; // prettier-ignore
    causes.push({
      ...causeAt(
        child,
        'removes_last',
        `Without this condition, ${recordCountText(left)} would match.${range}`,
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
