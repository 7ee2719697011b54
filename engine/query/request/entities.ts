import { budgets } from '../../core/budgets.js';
import { entityTypes, genomeBuilds, type EntityType } from '../../core/types.js';
import { entityFieldsEqualAny, fieldsOfEntities, fieldEqualsAny } from './entity-fields.js';
import { fieldRef, indexFields, uncataloguedField, type FieldIndex } from './field-index.js';
import { genomicNotation, type GenomicNotation } from './genomic-notation.js';
import { all, and, freezePredicate, or, type Predicate } from '../predicate/predicate.js';
import { Problem, errorOfProblem, valueForMessage } from './problem.js';
import {
  chromosomeNames,
  hasRegionFields,
  overlapPredicate,
  parseRegion,
  unknownBuildProblem,
} from './region.js';
import { readText } from './request-values.js';

/** Resolves names of genes. */
export interface GeneNames {
  /** Returns the approved symbol of a symbol or alias, ignoring case; undefined for any other text. */
  resolve(text: string): string | undefined;
  /** Returns the synonyms of an approved symbol. */
  synonyms?(symbol: string): readonly string[];
}

/** The context in which names of entities are resolved. */
export interface EntityNames {
  readonly genes?: GeneNames | undefined;
  /** The build, in upper case, of regions and variants that name none; null or absent: any build of the dataset. */
  readonly build?: string | null;
}

/**
 * Parses `entities` (query language 5): pairs of a type and a value or list of values. A record must have one of the values of each type.
 * Choice: a gene, variant or region may be given in any notation of genomics, whatever its type: `13:32315086-32400268`, `13-32316461-A-G`,
 * `rs80359550`. Without a build, the build of the request applies, or else those of the dataset. Throws a 400 with the key `entities` that
 * names the pair.
 */
export function parseEntities(
  input: unknown,
  fields: FieldIndex,
  names: EntityNames = {},
): Predicate {
  if (input === undefined || input === null || input === '') return all;
  const byType = new Map<EntityType, Predicate[]>();
  for (const [i, pair] of entityPairs(input).entries()) {
    try {
      const [type, values] = readPair(pair);
      const predicates = byType.get(type) ?? [];
      predicates.push(...values.map((value) => predicateOfEntityType[type](value, fields, names)));
      byType.set(type, predicates);
    } catch (error) {
      if (error instanceof Problem) throw errorOfProblem('entities', `entities[${i}]`, error);
      throw error;
    }
  }
  return and([...byType.values()].map(or));
}

/** A pair of `entities`: an entity type and its values. */
export interface EntityCondition {
  readonly type: EntityType;
  readonly values: readonly unknown[];
}

/**
 * Parses the `entities` of a request over many datasets: pairs of an entity type and values. Throws an `invalid` or `budget` error that
 * names the pair if no dataset can answer it.
 */
export function readEntities(input: unknown, genes?: GeneNames): readonly EntityCondition[] {
  if (input === undefined || input === null || input === '') return [];
  return entityPairs(input).map((pair, i) => {
    try {
      const [type, values] = readPair(pair);
      for (const value of values)
        predicateOfEntityType[type](value, fieldsOfEveryEntityType, { genes });
      return { type, values };
    } catch (error) {
      if (error instanceof Problem) throw errorOfProblem('entities', `entities[${i}]`, error);
      throw error;
    }
  });
}

/** The fields of an imaginary dataset that has entities of every type. */
const fieldsOfEveryEntityType = indexFields([
  ...entityTypes.map((type) => uncataloguedField([type], 'string', { entityType: type })),
  ...['chromosome', 'start', 'stop'].map((name) => uncataloguedField(['genomic_coordinates', name], 'string')),
]); // prettier-ignore

/** Returns the pairs of a request, which is a list of pairs or a single pair. */
function entityPairs(input: unknown): readonly unknown[] {
  const isPair = Array.isArray(input) && input.length === 2 && typeof input[0] === 'string';
  const pairs: unknown = isPair ? [input] : input;
  if (!Array.isArray(pairs)) {
    throw errorOfProblem('entities', 'entities', new Problem(`Expected a list of [type, value] pairs, not ${valueForMessage(input)}`)); // prettier-ignore
  }
  if (pairs.length > budgets.filterNodes) {
    const message = `A request takes at most ${budgets.filterNodes} entities, not ${pairs.length}: split them over several requests`;
    throw errorOfProblem('entities', 'entities', new Problem(message, true));
  }
  return pairs;
}

function readPair(pair: unknown): readonly [EntityType, readonly unknown[]] {
  if (!Array.isArray(pair) || pair.length !== 2)
    throw new Problem(`Expected [type, value], not ${valueForMessage(pair)}`);
  const [name, givenValues] = pair as [unknown, unknown];
  const type = typeof name === 'string' ? (name.toLowerCase() as EntityType) : undefined;
  if (type === undefined || !Object.hasOwn(predicateOfEntityType, type)) {
    throw new Problem(
      `Unknown entity type ${valueForMessage(name)}: expected ${Object.keys(predicateOfEntityType).join(', ')}`,
    );
  }
  const values: readonly unknown[] = Array.isArray(givenValues) ? givenValues : [givenValues];
  if (values.length === 0) throw new Problem(`No value of type ${type}`);
  if (values.length > budgets.filterNodes)
    throw new Problem(
      `An entity takes at most ${budgets.filterNodes} values, not ${values.length}: give the others as a second pair of the same type`,
      true,
    );
  return [type, values];
}

/** Builds the predicate that a record has one entity of a type. */
type EntityPredicate = (value: unknown, fields: FieldIndex, names: EntityNames) => Predicate;

const predicateOfEntityType: Readonly<Record<EntityType, EntityPredicate>> = {
  gene: (value, fields, names) => {
    const name = requireName(value);
    const isGene = names.genes?.resolve(name) !== undefined;
    const notation = isGene ? undefined : readNotation(name);
    return notation
      ? predicateOfNotation(notation, fields, names)
      : genePredicate(name, fields, names);
  },
  variant: (value, fields, names) => {
    const name = requireName(value);
    const notation = readNotation(name);
    if (notation?.kind === 'variant') return variantPredicate(notation, fields, names, [name]);
    if (notation) return predicateOfNotation(notation, fields, names);
    if (
      names.genes?.resolve(name) !== undefined &&
      fieldsOfEntities(fields, 'gene', 'variant').length > 0
    )
      return genePredicate(name, fields, names);
    return entityFieldsEqualAny(fields, 'variant', variantSpellings(name));
  },
  literature: (value, fields) => {
    const name = requireName(value);
    const number = /^(?:PMID:? ?)?(\d+)$/i.exec(name)?.[1];
    const forms = number === undefined ? [name] : [number, `PMID:${number}`, `PMID: ${number}`];
    return entityFieldsEqualAny(fields, 'literature', forms);
  },
  sample: (value, fields) => entityFieldsEqualAny(fields, 'sample', [requireName(value)]),
  dataset: (value, fields) => entityFieldsEqualAny(fields, 'dataset', [requireName(value)]),
  genomic_region(value, fields, names) {
    const overlaps = (): Predicate => {
      const region = parseRegion(value);
      return overlapPredicate({ ...region, build: region.build ?? names.build ?? null }, fields);
    };
    if (typeof value !== 'string') return overlaps();
    const name = requireName(value);
    const notation = readNotation(name);
    if (notation?.kind === 'variant') {
      const stop = notation.start + BigInt(notation.reference.length) - 1n;
      return predicateOfNotation({ ...notation, kind: 'region', stop }, fields, names);
    }
    if (notation) return predicateOfNotation(notation, fields, names);
    return names.genes?.resolve(name) === undefined
      ? overlaps()
      : genePredicate(name, fields, names);
  },
};

/** Matches a text that begins like the name of a genome build; the second group is the text after it. */
const otherBuildPattern =
  /^((?:grc[a-z]?|ncbi|build|hg|hs|b|t2t-?chm|chm|mm|rn)\d[\w.]*)[-:](.+)$/i;

/** Parses a notation of genomics; undefined for other texts. Throws a problem if it begins with an unknown build. */
function readNotation(name: string): GenomicNotation | undefined {
  const notation = genomicNotation(name);
  if (notation !== undefined) return notation;
  const [, build, locus] = otherBuildPattern.exec(name) ?? [];
  const notationBehind = locus === undefined ? undefined : genomicNotation(locus);
  if (notationBehind !== undefined && notationBehind.kind !== 'rs' && notationBehind.build === null)
    throw unknownBuildProblem(build);
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
      return variantPredicate(notation, fields, names, []);
    case 'rs':
      return rsIdPredicate(notation.id, fields);
  }
}

/**
 * Matches records of a gene. Choice: a gene that is given as an entity of the type `genomic_region` or `variant` is looked up in the
 * fields of genes, because the coordinates of genes are not known.
 */
function genePredicate(name: string, fields: FieldIndex, { genes }: EntityNames): Predicate {
  const symbol = genes?.resolve(name);
  if (fieldsOfEntities(fields, 'gene').length === 0 && hasRegionFields(fields))
    throw new Problem(
      `The dataset has no field of the entity type gene, and where a gene lies is not known: give the region of ${valueForMessage(name)} by its positions, as in 13:32315086-32400268`,
    );
  return entityFieldsEqualAny(fields, 'gene', symbol === undefined ? [name] : [name, symbol]);
}

/**
 * Matches records with a variant that is stored as readers name it, `BUILD-CHROMOSOME-START-STOP-ALLELE`, or with both alleles,
 * `CHROMOSOME-START-REFERENCE-ALTERNATE`, or as one of `written`.
 */
function variantPredicate(
  { build, chromosome, start, reference, alternate }: Extract<GenomicNotation, { kind: 'variant' }>,
  fields: FieldIndex,
  names: EntityNames,
  written: readonly string[],
): Predicate {
  const ownBuild = build ?? names.build ?? null;
  const builds = ownBuild === null ? genomeBuilds.map((one) => one.toUpperCase()) : [ownBuild];
  const stop = start + BigInt(reference.length) - 1n;
  const forms = chromosomeNames(chromosome).flatMap((name) => [
    ...builds.flatMap((one) => variantSpellings(`${one}-${name}-${start}-${stop}-${alternate}`)),
    ...['', 'CHR'].map((prefix) => `${prefix}${name}-${start}-${reference}-${alternate}`),
  ]);
  return entityFieldsEqualAny(fields, 'variant', [...written, ...forms]);
}

/** Matches the names of fields that hold rs ids; `row_id` is the ID of a VCF record. */
const rsFieldPattern =
  /^(?:(?:rs|dbsnp)(?:_?(?:rs|ids?|rs_?ids?|number))?|avsnp\d*|(?:row_|snp_?|variant_)?id|snp|existing_variation)$/i;
/** Matches the names of fields that may store the number of an rs id without its prefix, as the key RS of ClinVar and dbSNP does. */
const rsNumberFieldPattern = /^(?:rs|dbsnp)/i;

/** Matches records with an rs id, alone or among several in one text, in a field of variants or in a field whose name indicates rs ids. */
function rsIdPredicate(id: string, fields: FieldIndex): Predicate {
  const rsFieldRefs = fields.fields
    .filter(({ path }) => rsFieldPattern.test(path.at(-1)!))
    .map(fieldRef);
  const conditions = [...fieldsOfEntities(fields, 'variant'), ...rsFieldRefs].flatMap(
    (field): Predicate[] => {
      const number = rsNumberFieldPattern.test(field.path.at(-1)!)
        ? [fieldEqualsAny(field, [id.slice(2)])]
        : [];
      const isText = field.type === 'string' || field.type === 'text';
      return isText ? [freezePredicate({ kind: 'phrase', field, terms: [id] }), ...number] : number;
    },
  );
  if (conditions.length === 0)
    throw new Problem(
      'The dataset has no field of the entity type variant, and none whose name tells rs ids',
    );
  return or(conditions.filter(({ kind }) => kind !== 'none'));
}

function requireName(value: unknown): string {
  const name = readText(value).trim();
  if (name === '') throw new Problem('Expected a name, not an empty text');
  return name;
}

const variantNamePattern = /^(GRCH3[78]|T2T-CHM13)-(?:CHR)?(.+)$/i;

/**
 * Returns the forms in which records may store the name of a variant: with and without `CHR` before the chromosome or, if the name does not
 * begin with a genome build, only the name itself.
 */
function variantSpellings(name: string): readonly string[] {
  const match = variantNamePattern.exec(name);
  if (!match) return [name];
  const [build, locus] = [match[1]!.toUpperCase(), match[2]!.toUpperCase()];
  return [`${build}-${locus}`, `${build}-CHR${locus}`];
}
