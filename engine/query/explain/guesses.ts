import { genomeBuilds } from '../../core/types.js';
import type { GeneNames } from '../request/entities.js';
import { positiveLeaves, type ExplainGroup, type ExplainLeaf } from '../request/condition-node.js';
import {
  filterParts,
  reparseSource,
  reparseAtom,
  rewordLeaf,
  type Rewording,
  type ConditionGuess,
  type RewordedCondition,
} from './reword.js';
import type { ExplainContext } from '../request/condition-tree.js';
import { shiftPositions, shiftedText, swapBounds } from './position-guesses.js';
import { partOfValueReason, stringGuesses } from './string-guesses.js';
import { requirementOf } from '../predicate/kinds/index.js';
import { alternativesOf, freezePredicate, or } from '../predicate/predicate.js';

/** Returns possible mistakes in a single condition. */
export function guessesAtLeaf(
  leaf: ExplainLeaf,
  context: ExplainContext,
): readonly ConditionGuess[] {
  const guesses: ConditionGuess[] = [];
  const add = (cause: string, because: string, found: RewordedCondition | undefined, more: Partial<ConditionGuess> = {}): void => {
    if (found)
      guesses.push({ leaf, cause, because, instead: found.text, changes: new Map([[leaf, found.predicate]]), ...more });
  }; // prettier-ignore
  for (const { cause, because, change } of valueCorrections(context.names.genes))
    add(cause, because, rewordLeaf(leaf, context, change));
  const { source, predicate } = leaf;
  const { element } = requirementOf(predicate);
  if (element?.item.kind === 'and')
    add('different_elements', elementsReason(element.list.name), {
      text: null,
      predicate: element.item,
    });
  if (source.kind === 'build')
    for (const step of [1, 2] as const)
      add(
        'wrong_build',
        otherGenomeBuildReason,
        withBuildReplaced(leaf, otherBuildName(source.value, step)),
      );
  if (source.kind === 'entity' && source.type === 'gene')
    add('gene_name', otherGeneNameReason, reparseSource({ ...source, value: geneSynonyms(source.value, context.names.genes) }, context)); // prettier-ignore
  if (source.kind === 'term') {
    const { atom } = source;
    const [only] = atom.kind === 'term' ? atom.parts : [];
    const text = atom.kind === 'phrase' ? atom.text : typeof only === 'object' ? only.text : '';
    if (text !== '' && (atom.kind === 'phrase' || (atom.kind === 'term' && atom.parts.length === 1))) {
      const parts = ['any', { text }, 'any'] as const;
      add('part_of_value', partOfValueReason, reparseAtom({ kind: 'term', field: atom.field, parts }, context));
    }
    if (atom.kind === 'range' && atom.low && atom.high)
      add('swapped_ends', 'The ends of the range are swapped', reparseAtom({ ...atom, low: atom.high, high: atom.low }, context));
  } // prettier-ignore
  if (source.kind === 'filter') {
    const filterPartsOfLeaf = filterParts(source.key, context);
    if (filterPartsOfLeaf) for (const [cause, because, found, shows] of stringGuesses(filterPartsOfLeaf, source.value, context))
      add(cause, because, found, shows ? { shows: filterPartsOfLeaf.field } : {});
  } // prettier-ignore
  return guesses;
}

/** Returns possible mistakes that concern several conditions: positions counted from another number, and swapped ends of a range. */
export function guessesAcrossLeaves(
  root: ExplainGroup,
  context: ExplainContext,
): readonly ConditionGuess[] {
  return [...shiftPositions(positiveLeaves(root), context), ...swapBounds(root, context)];
}

function elementsReason(list: string): string {
  return `Different elements of ${list} satisfy the conditions, and no element all of them`;
}

const otherGenomeBuildReason = 'The records are of another genome build';
const otherGeneNameReason = 'The records use another name of the gene';

interface ValueCorrection {
  readonly cause: string;
  readonly because: string;
  readonly change: Rewording;
}

function valueCorrections(genes: GeneNames | undefined): readonly ValueCorrection[] {
  const chromosome = 'The chromosome is written differently';
  const build = 'The genome build has another name';
  const position = 'Positions are counted from another number';
  return [
    { cause: 'wrong_build', because: otherGenomeBuildReason, change: (text) => otherBuildName(text, 1) },
    { cause: 'wrong_build', because: otherGenomeBuildReason, change: (text) => otherBuildName(text, 2) },
    { cause: 'build_name', because: build, change: (text) => otherNameOfBuild.get(text.toLowerCase()) },
    { cause: 'chr_prefix', because: chromosome, change: withoutChr },
    { cause: 'chr_prefix', because: chromosome, change: withChr },
    { cause: 'chr_prefix', because: chromosome, change: otherMitochondrialName },
    { cause: 'spaces', because: 'The value has spaces around it', change: undefinedIfUnchanged((text) => text.trim()) },
    { cause: 'quotes', because: 'The value has quotation marks around it', change: (text) => /^\s*(["'])(.+)\1\s*$/su.exec(text)?.[2] },
    { cause: 'number_format', because: 'The number is written differently', change: (text) => /^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(',', '') : undefined },
    { cause: 'gene_name', because: otherGeneNameReason, change: undefinedIfUnchanged((text) => genes?.resolve(text)) },
    ...[1n, -1n].flatMap((by) => [false, true].map((isBoth) => (
      { cause: 'off_by_one', because: position, change: (text: string) => shiftedText(text, by, isBoth) }))),
  ]; // prettier-ignore
}

function undefinedIfUnchanged(change: Rewording): Rewording {
  return (text) => {
    const changedText = change(text);
    return changedText === text || changedText === '' ? undefined : changedText;
  };
}

/** The genome builds that may be confused, grouped by naming scheme. */
const buildNamingSchemes: readonly (readonly string[])[] = [
  genomeBuilds,
  ['hg19', 'hg38', 'hs1'],
  ['37', '38'],
];

/**
 * Returns the text with its genome build replaced by another one of the same naming scheme: the one `step` places further in the list,
 * which is cyclic. Undefined if the text does not begin with a build, or if the scheme has no such other build.
 */
function otherBuildName(text: string, step: 1 | 2): string | undefined {
  for (const names of buildNamingSchemes) {
    const at = names.findIndex((name) => text.toLowerCase().startsWith(name.toLowerCase()));
    if (at < 0 || step >= names.length) continue;
    const ownName = text.slice(0, names[at]!.length);
    const restOfText = text.slice(ownName.length);
    if (restOfText !== '' && !restOfText.startsWith('-') && !(restOfText.startsWith(':') && names.length > 2)) continue;
    const otherName = names[(at + step) % names.length]!;
    return `${ownName === ownName.toUpperCase() ? otherName.toUpperCase() : otherName}${restOfText}`;
  }
  return undefined;
} // prettier-ignore

const otherNameOfBuild: ReadonlyMap<string, string> = new Map([
  ['hg19', 'GRCh37'],
  ['hg38', 'GRCh38'],
  ['hs1', 'T2T-CHM13'],
  ['grch37', 'hg19'],
  ['grch38', 'hg38'],
  ['t2t-chm13', 'hs1'],
]);

const withChrPattern = /^((?:GRCh3[78]|T2T-CHM13)-)?chr(?=[0-9XYMU])(.+)$/isu;
const withoutChrPattern = /^((?:GRCh3[78]|T2T-CHM13)-)?(\d{1,2}|X|Y|MT?)([-:_].*)?$/isu;

/** Returns a value such as `chr12`, `chr12:5-7` or `chr12-5-A-T` without `chr`; undefined for other texts. */
function withoutChr(text: string): string | undefined {
  const match = withChrPattern.exec(text);
  return match ? `${match[1] ?? ''}${match[2]!}` : undefined;
}

function withChr(text: string): string | undefined {
  const match = withoutChrPattern.exec(text);
  return match ? `${match[1] ?? ''}chr${match[2]!}${match[3] ?? ''}` : undefined;
}

function otherMitochondrialName(text: string): string | undefined {
  const match = /^(chr)?(MT?)$/i.exec(text);
  if (!match) return undefined;
  const otherName = match[2]!.length === 1 ? 'MT' : 'M';
  return match[1] === undefined ? `chr${otherName}` : otherName;
}

function withBuildReplaced(
  leaf: ExplainLeaf,
  other: string | undefined,
): RewordedCondition | undefined {
  const { predicate } = leaf;
  if (other === undefined || predicate.kind === 'all') return undefined;
  const builds = alternativesOf(predicate).map((each) =>
    'values' in each ? freezePredicate({ ...each, values: [other.toUpperCase()] }) : each,
  );
  return { text: other, predicate: or(builds) };
}

function geneSynonyms(value: unknown, genes: GeneNames | undefined): readonly string[] {
  const names = (Array.isArray(value) ? (value as readonly unknown[]) : [value]).map(String);
  return names.slice(0, 50).flatMap((name) => {
    const symbol = genes?.resolve(name);
    return symbol === undefined ? [] : [...(genes?.synonyms?.(symbol) ?? [])];
  });
}
