import { budgets } from '../../core/budgets.js';
import { entityTypes, genomeBuilds, type EntityType } from '../../core/types.js';
import { amongEntityFields, fieldsOfEntities, isOneOf } from './entity-fields.js';
import { fieldRef, indexFields, uncataloguedField, type FieldIndex } from './fields.js';
import { genomicNotation, type GenomicNotation } from './genomic-notation.js';
import { all, and, node, or, type Predicate } from '../predicate/predicate.js';
import { Problem, problemAt, shownValue } from './problem.js';
import { chromosomesOf, hasPlaces, overlapPredicate, regionOf, unknownBuild } from './region.js';
import { textOf } from './values.js';

/** Resolves names of genes. */
export interface GeneNames {
  /** The approved symbol of a symbol or alias, ignoring case; undefined for any other text. */
  resolve(text: string): string | undefined;
  /** The synonyms of an approved symbol. */
  synonyms?(symbol: string): readonly string[];
}

/** The context in which names of entities are resolved. */
export interface EntityNames {
  readonly genes?: GeneNames | undefined;
  /** The build of places that name none, in upper case; null: any build of the dataset. */
  readonly build?: string | null;
}

/**
 * Parses `entities` (query language 5): pairs of a type and a value or list of values. A record must have one of the values of
 * each type. Choice: a gene, variant or region may be given in any notation of genomics, whatever its type: `13:32315086-32400268`,
 * `13-32316461-A-G`, `rs80359550`; without a build, in the build of the request, or in those of the dataset. Throws a 400 under the key
 * `entities` that names the pair.
 */
export function parseEntities(
  input: unknown,
  fields: FieldIndex,
  names: EntityNames = {},
): Predicate {
  if (input === undefined || input === null || input === '') return all;
  const byType = new Map<EntityType, Predicate[]>();
  for (const [i, pair] of pairsOf(input).entries()) {
    try {
      const [type, values] = readPair(pair);
      const found = byType.get(type) ?? [];
      found.push(...values.map((value) => kinds[type](value, fields, names)));
      byType.set(type, found);
    } catch (error) {
      if (error instanceof Problem) throw problemAt('entities', `entities[${i}]`, error);
      throw error;
    }
  }
  return and([...byType.values()].map(or));
}

/** The values of one type in `entities`, one of which a record must have. */
export interface AskedEntity {
  readonly type: EntityType;
  readonly values: readonly unknown[];
}

/** Reads the pairs of `entities` that are asked of many datasets. Throws an `invalid` error that names the pair if no dataset can answer it. */
export function readEntities(input: unknown, genes?: GeneNames): readonly AskedEntity[] {
  if (input === undefined || input === null || input === '') return [];
  return pairsOf(input).map((pair, i) => {
    try {
      const [type, values] = readPair(pair);
      for (const value of values) kinds[type](value, everyField, { genes });
      return { type, values };
    } catch (error) {
      if (error instanceof Problem) throw problemAt('entities', `entities[${i}]`, error);
      throw error;
    }
  });
}

/** The fields of a dataset that has entities of every type. */
const everyField = indexFields([
  ...entityTypes.map((type) => uncataloguedField([type], 'string', { entityType: type })),
  ...['chromosome', 'start', 'stop'].map((name) => uncataloguedField(['genomic_coordinates', name], 'string')),
]); // prettier-ignore

/** The pairs of a request, which is a list of pairs or a single pair. */
function pairsOf(input: unknown): readonly unknown[] {
  const isPair = Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
  const pairs: unknown = isPair ? [input] : input;
  if (!Array.isArray(pairs)) {
    throw problemAt('entities', 'entities', new Problem(`Expected a list of [type, value] pairs, not ${shownValue(input)}`)); // prettier-ignore
  }
  if (pairs.length > budgets.filterNodes) {
    const message = `A request takes at most ${budgets.filterNodes} entities, not ${pairs.length}: split them over several requests`;
    throw problemAt('entities', 'entities', new Problem(message, true));
  }
  return pairs;
}

function readPair(pair: unknown): readonly [EntityType, readonly unknown[]] {
  if (!Array.isArray(pair) || pair.length !== 2)
    throw new Problem(`Expected [type, value], not ${shownValue(pair)}`);
  const [name, given] = pair as [unknown, unknown];
  const type = typeof name === 'string' ? (name.toLowerCase() as EntityType) : undefined;
  if (type === undefined || !Object.hasOwn(kinds, type)) {
    throw new Problem(
      `Unknown entity type ${shownValue(name)}: expected ${Object.keys(kinds).join(', ')}`,
    );
  }
  const values: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (values.length === 0) throw new Problem(`No value of type ${type}`);
  if (values.length > budgets.filterNodes)
    throw new Problem(
      `An entity takes at most ${budgets.filterNodes} values, not ${values.length}: give the others as a second pair of the same type`,
      true,
    );
  return [type, values];
}

/** Builds the predicate for one entity of a type. */
type EntityPredicate = (value: unknown, fields: FieldIndex, names: EntityNames) => Predicate;

const kinds: Readonly<Record<EntityType, EntityPredicate>> = {
  gene: (value, fields, names) => {
    const name = nameOf(value);
    const isGene = names.genes?.resolve(name) !== undefined;
    const notation = isGene ? undefined : notationOf(name);
    return notation ? predicateOfNotation(notation, fields, names) : ofGene(name, fields, names);
  },
  variant: (value, fields, names) => {
    const name = nameOf(value);
    const notation = notationOf(name);
    if (notation?.kind === 'variant') return ofVariant(notation, fields, names, [name]);
    if (notation) return predicateOfNotation(notation, fields, names);
    if (
      names.genes?.resolve(name) !== undefined &&
      fieldsOfEntities(fields, 'gene', 'variant').length > 0
    )
      return ofGene(name, fields, names);
    return amongEntityFields(fields, 'variant', variantForms(name));
  },
  literature: (value, fields) => {
    const name = nameOf(value);
    const number = /^(?:PMID:? ?)?(\d+)$/i.exec(name)?.[1];
    const forms = number === undefined ? [name] : [number, `PMID:${number}`, `PMID: ${number}`];
    return amongEntityFields(fields, 'literature', forms);
  },
  sample: (value, fields) => amongEntityFields(fields, 'sample', [nameOf(value)]),
  dataset: (value, fields) => amongEntityFields(fields, 'dataset', [nameOf(value)]),
  genomic_region(value, fields, names) {
    if (typeof value !== 'string') return overlapPredicate(regionOf(value), fields);
    const name = nameOf(value);
    const notation = notationOf(name);
    if (notation?.kind === 'variant') {
      const stop = notation.start + BigInt(notation.reference.length) - 1n;
      return predicateOfNotation({ ...notation, kind: 'region', stop }, fields, names);
    }
    if (notation) return predicateOfNotation(notation, fields, names);
    return names.genes?.resolve(name) === undefined
      ? overlapPredicate(regionOf(value), fields)
      : ofGene(name, fields, names);
  },
};

/** Names that look like those of builds, and the text that follows them. */
const otherBuilds = /^((?:grc[a-z]?|ncbi|build|hg|hs|b|t2t-?chm|chm|mm|rn)\d[\w.]*)[-:](.+)$/i;

/** Reads a notation of genomics. Throws a problem for one with an unknown build in front. */
function notationOf(name: string): GenomicNotation | undefined {
  const notation = genomicNotation(name);
  if (notation !== undefined) return notation;
  const [, build, place] = otherBuilds.exec(name) ?? [];
  const notationBehind = place === undefined ? undefined : genomicNotation(place);
  if (notationBehind !== undefined && notationBehind.kind !== 'rs' && notationBehind.build === null)
    throw unknownBuild(build);
  return undefined;
}

function predicateOfNotation(
  notation: GenomicNotation,
  fields: FieldIndex,
  names: EntityNames,
): Predicate {
  switch (notation.kind) {
    case 'region': {
      const { start, stop } = notation;
      if (start > stop)
        throw new Problem(`A region stops behind its start, but ${start} comes before ${stop}`);
      const { chromosome } = notation;
      const build = notation.build ?? names.build ?? null;
      return overlapPredicate({ build, chromosome, start, stop }, fields);
    }
    case 'variant':
      return ofVariant(notation, fields, names, []);
    case 'rs':
      return ofRsId(notation.id, fields);
  }
}

/** Matches records of a gene. Choice: a gene asked for as a region or variant is looked for in the fields of genes: coordinates of genes are not known. */
function ofGene(name: string, fields: FieldIndex, { genes }: EntityNames): Predicate {
  const symbol = genes?.resolve(name);
  if (fieldsOfEntities(fields, 'gene').length === 0 && hasPlaces(fields))
    throw new Problem(
      `The dataset has no field of the entity type gene, and where a gene lies is not known: give the region of ${shownValue(name)} by its positions, as in 13:32315086-32400268`,
    );
  return amongEntityFields(fields, 'gene', symbol === undefined ? [name] : [name, symbol]);
}

/** Matches records of a variant: as readers name it, `BUILD-CHROMOSOME-START-STOP-ALLELE`, or as it is often written. */
function ofVariant(
  { build, chromosome, start, reference, alternate }: Extract<GenomicNotation, { kind: 'variant' }>,
  fields: FieldIndex,
  names: EntityNames,
  written: readonly string[],
): Predicate {
  const ownBuild = build ?? names.build ?? null;
  const builds = ownBuild === null ? genomeBuilds.map((one) => one.toUpperCase()) : [ownBuild];
  const stop = start + BigInt(reference.length) - 1n;
  const forms = chromosomesOf(chromosome).flatMap((name) => [
    ...builds.flatMap((one) => variantForms(`${one}-${name}-${start}-${stop}-${alternate}`)),
    ...['', 'CHR'].map((prefix) => `${prefix}${name}-${start}-${reference}-${alternate}`),
  ]);
  return amongEntityFields(fields, 'variant', [...written, ...forms]);
}

/** Fields that hold rs ids, by their names: `row_id` is the ID of a VCF record. */
const rsFields =
  /^(?:(?:rs|dbsnp)(?:_?(?:rs|ids?|rs_?ids?|number))?|avsnp\d*|(?:row_|snp_?|variant_)?id|snp|existing_variation)$/i;
/** Names of variant fields that may store the number of an rs id without the prefix, as the key RS of ClinVar and dbSNP does. */
const numberFields = /^(?:rs|dbsnp)/i;

/** Matches records with an rs id, also among several in one text, in a field of variants or in one whose name says so. */
function ofRsId(id: string, fields: FieldIndex): Predicate {
  const rsFieldRefs = fields.rows.filter(({ path }) => rsFields.test(path.at(-1)!)).map(fieldRef);
  const conditions = [...fieldsOfEntities(fields, 'variant'), ...rsFieldRefs].flatMap(
    (field): Predicate[] => {
      const number = numberFields.test(field.path.at(-1)!) ? [isOneOf(field, [id.slice(2)])] : [];
      const isText = field.type === 'string' || field.type === 'text';
      return isText ? [node({ kind: 'phrase', field, terms: [id] }), ...number] : number;
    },
  );
  if (conditions.length === 0)
    throw new Problem(
      'The dataset has no field of the entity type variant, and none whose name tells rs ids',
    );
  return or(conditions.filter(({ kind }) => kind !== 'none'));
}

function nameOf(value: unknown): string {
  const name = textOf(value).trim();
  if (name === '') throw new Problem('Expected a name, not an empty text');
  return name;
}

const formPattern = /^(GRCH3[78]|T2T-CHM13)-(?:CHR)?(.+)$/i;

/** The forms in which records may hold the name of a variant: with and without `CHR` before the chromosome. */
function variantForms(name: string): readonly string[] {
  const match = formPattern.exec(name);
  if (!match) return [name];
  const [build, rest] = [match[1]!.toUpperCase(), match[2]!.toUpperCase()];
  return [`${build}-${rest}`, `${build}-CHR${rest}`];
}
