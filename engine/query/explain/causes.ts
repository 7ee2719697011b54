import { AppError } from '../../core/errors.js';
import { blame, fieldsOf, replaced, type Blame } from './blame.js';
import { about, impossible, records, type Cause } from './cause.js';
import { verify, type Clash } from './verify.js';
import type { NodeCounts, Rows } from './counts.js';
import { guessesAt, guessesAtAll, type Guess } from './guesses.js';
import { someTexts, similarTexts, valuesAround, type Around, type Begin } from './nearest.js';
import { positiveLeaves, type ExplainGroup, type ExplainLeaf, type ExplainNode } from './node.js';
import type { Explaining } from './tree.js';
import { all, not, node, type Predicate } from '../predicate/predicate.js';

/** How statements about the causes run. */
export interface CauseScope {
  readonly records: number;
  readonly begin: Begin;
  readonly rows: Rows;
}

const mostLeaves = 20;
const mostGuesses = 200;

/** Why a query finds nothing: every cause has been verified with the records. */
export async function causesOf(
  scope: CauseScope,
  explaining: Explaining,
  counts: ReadonlyMap<ExplainNode, NodeCounts>,
): Promise<readonly Cause[]> {
  if (scope.records === 0)
    return [{ path: '', condition: '', cause: 'no_records', hint: 'The dataset has no records.' }];
  const found: Cause[] = [];
  try {
    await search(scope, explaining, blame(explaining.root, counts), found);
  } catch (error) {
    // What took too long or too much memory was not the query, which is answered.
    if (!(error instanceof AppError) || error.code === 'canceled') throw error;
    found.push({ path: '', condition: '', cause: 'not_known', hint: `The search for causes ended early: ${error.message}` }); // prettier-ignore
  }
  return found;
}

async function search(
  scope: CauseScope,
  explaining: Explaining,
  blamed: Blame,
  found: Cause[],
): Promise<void> {
  const { root } = explaining;
  const barren = blamed.leaves.slice(0, mostLeaves);
  const clashing = blamed.clashes.flatMap(({ nodes }) => nodes.flatMap(positiveLeaves)).slice(0, mostLeaves); // prettier-ignore
  const guesses = [
    ...guessesAtAll(root, explaining),
    ...barren.flatMap((leaf) => guessesAt(leaf, explaining)),
    ...clashing.flatMap((leaf) => guessesAt(leaf, explaining)),
  ].slice(0, mostGuesses);
  const verified = await verify(scope.begin(), root, { barren, guesses, clashes: blamed.clashes }, scope.rows); // prettier-ignore
  for (const leaf of barren) found.push(...impossible(leaf, explaining, verified));
  const explained = new Set(found.map(({ path }) => path));
  const right = guesses.flatMap((guess, i): readonly Right[] => {
    const { matches, left } = verified.guesses[i]!;
    const isBarren = barren.includes(guess.leaf) && guess.changes.size === 1;
    const isRight = !explained.has(guess.leaf.path) && (isBarren ? matches : left) > 0;
    return isRight ? [{ guess, matches, left }] : [];
  });
  const told = right.filter(
    (one, i) => !right.some((other, j) => i !== j && says(other, one, j < i)),
  );
  for (const { guess, matches, left } of told) {
    // Several conditions need not be joined by AND, so records that satisfy all of them say nothing.
    const isOne = guess.changes.size === 1;
    const cause = await guessed(scope, guess, isOne ? matches : left);
    found.push({ ...cause, ...(isOne && { matches }), left });
  }
  // What makes the whole answer not empty comes first.
  found.sort((a, b) => Number((b.left ?? 0) > 0) - Number((a.left ?? 0) > 0));
  for (const leaf of barren) {
    if (explained.has(leaf.path) || told.some(({ guess }) => guess.changes.has(leaf))) continue;
    found.push(...(await nearest(scope, leaf)));
  }
  for (const node of blamed.excluding)
    found.push(about(node, 'excludes_all', 'Every record satisfies what is negated here.'));
  for (const clash of verified.clashes) found.push(...(await together(scope, root, clash)));
}

/** What else is found with a cause, and adds nothing to it. */
const implied: Readonly<Record<string, readonly string[]>> = {
  letter_case: ['spaces', 'separators', 'part_of_value'],
  spaces: ['separators', 'part_of_value'],
  separators: ['part_of_value'],
  chr_prefix: ['part_of_value'],
  number_format: ['part_of_value'],
};

interface Right {
  readonly guess: Guess;
  readonly matches: number;
  readonly left: number;
}

/** True if the first says what the other does, and more or earlier. */
function says(one: Right, other: Right, isEarlier: boolean): boolean {
  if (one.guess.leaf !== other.guess.leaf) return false;
  const { cause, instead } = other.guess;
  if (one.guess.cause === cause)
    return (one.left > 0 && other.left === 0) || (isEarlier && one.guess.instead === instead);
  return implied[one.guess.cause]?.includes(cause) === true;
}

/** A guess that records confirm. */
async function guessed(scope: CauseScope, guess: Guess, matches: number): Promise<Cause> {
  const { leaf, cause, because, instead, shows } = guess;
  const predicate = guess.changes.get(leaf)!;
  const values = shows ? await someTexts(scope.begin, shows, predicate, scope.rows) : [];
  const other = instead === null ? 'the other form' : instead;
  return {
    ...about(leaf, cause, `${because}: ${other} has ${records(matches)}.`),
    ...(instead !== null && { instead }),
    ...(values.length > 0 && { values }),
  };
}

/** What is stored near to a value that is not. */
async function nearest(scope: CauseScope, leaf: ExplainLeaf): Promise<readonly Cause[]> {
  const around = await valuesAround(scope.begin, leaf.predicate, all, scope.rows);
  if (around) return [{ ...about(leaf, ...closeness(around)), values: valuesOf(around) }];
  const fields = fieldsOf(leaf.predicate);
  const strings = fields.filter(({ type }) => type === 'string').slice(0, mostFields);
  for (const field of strings) {
    for (const text of textsOf(leaf.predicate).slice(0, mostTexts)) {
      const values = await similarTexts(scope.begin, field, text, scope.rows);
      if (values.length > 0)
        return [{ ...about(leaf, 'similar_values', `${field.name} has values that are nearly the same.`), values }]; // prettier-ignore
    }
  }
  const names = fields.slice(0, mostFields).map(({ name }) => name);
  const more = fields.length > names.length ? ` and ${fields.length - names.length} more fields` : ''; // prettier-ignore
  const cause = about(
    leaf,
    'no_such_value',
    `No value of ${names.join(', ')}${more} is like this.`,
  );
  const [field] = fields;
  if (fields.length !== 1 || field?.type !== 'string') return [cause];
  const present = not(node({ kind: 'missing', field }));
  const values = await someTexts(scope.begin, field, present, scope.rows);
  return [values.length === 0 ? cause : { ...cause, values }];
}

/** A term without a field is asked of every text field: similar values are looked for in a few of them. */
const mostFields = 5;
const mostTexts = 3;

function textsOf(predicate: Predicate): readonly string[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.items.flatMap(textsOf);
    case 'in':
      return predicate.values.map(String);
    case 'prefix':
    case 'contains':
      return [predicate.text];
    case 'phrase':
      return [predicate.words.join(' ')];
    default:
      return [];
  }
}

function closeness({ field, below, above, least, most }: Around): [cause: string, hint: string] {
  const name = field.name;
  if (below !== null && above !== null)
    return ['nearest_values', `The nearest values of ${name} are ${show(below)} and ${show(above)}.`]; // prettier-ignore
  return ['out_of_range', `Values of ${name} go from ${show(least)} to ${show(most)}.`];
}

function valuesOf({ below, above, least, most }: Around): readonly unknown[] {
  return below !== null && above !== null ? [below, above] : [least, most];
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Why nodes that match by themselves do not match together. */
async function together(
  scope: CauseScope,
  root: ExplainGroup,
  { group, apart, without }: Clash,
): Promise<readonly Cause[]> {
  const causes = apart.slice(0, 5).map(([one, other]): Cause => ({
    ...about(other, 'never_together', `No record satisfies both this and ${named(one)}.`),
    values: [one.path],
  }));
  for (const [child, left] of without) {
    if (left === 0) continue;
    const rest = replaced(root, new Map([[child, all]]));
    const around = child.kind === 'condition' ? await valuesAround(scope.begin, child.predicate, rest, scope.rows) : undefined; // prettier-ignore
    const values = around && [around.least, around.most];
    const range = around ? ` There, ${around.field.name} goes from ${show(around.least)} to ${show(around.most)}.` : ''; // prettier-ignore
    causes.push({
      ...about(child, 'removes_last', `Without this, ${records(left)} would be left.${range}`),
      left,
      ...(values && { values }),
    });
  }
  if (causes.length === 0)
    causes.push(about(group, 'never_together', 'Each of these matches records, but no record satisfies all of them.')); // prettier-ignore
  return causes;
}

function named(node: ExplainNode): string {
  return node.kind === 'condition' ? `${node.text} (${node.path})` : node.path;
}
