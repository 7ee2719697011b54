import type { Columns, Value } from '../../../engine/core/types.js';
import type { RowPredicate } from './naive-filter.js';
import { resolveField, isTextType, naiveFields, valuesOf, type GeneratedDataset, type NaiveField } from './naive-fields.js'; // prettier-ignore
import { lowerCase, numberOrRefuse, RefusedRequest, textOrRefuse } from './naive-values.js';

/**
 * Returns the predicate that the key `entities` of a request means (query language 5), without a table of genes: a record matches if, for
 * each type, it has any of the entities of that type.
 */
export function entitiesPredicate(
  input: unknown,
  { columns, entities }: GeneratedDataset,
): RowPredicate {
  if (input === null || input === undefined) return () => true;
  const pairOrPairs = input as readonly unknown[];
  const pairs = (typeof pairOrPairs[0] === 'string' ? [pairOrPairs] : pairOrPairs) as readonly (readonly [string, unknown])[]; // prettier-ignore
  const fields = naiveFields(columns).filter(({ name }) => Object.hasOwn(entities, name));
  const testsByType = new Map<string, RowPredicate[]>();
  for (const [type, valueOrValues] of pairs) {
    const values = Array.isArray(valueOrValues) ? (valueOrValues as unknown[]) : [valueOrValues];
    const ownFields = fields.filter(({ name }) => entities[name] === type);
    const placeFields = fields.filter(
      ({ name, column }) =>
        ['variant', 'genomic_region'].includes(entities[name]!) && isTextType(column.type),
    );
    const tests = values.map((value) =>
      type === 'genomic_region'
        ? overlapPredicate(value, columns, placeFields)
        : entityPredicate(type, value, ownFields),
    );
    testsByType.set(type, [...(testsByType.get(type) ?? []), ...tests]);
  }
  return (row) => [...testsByType.values()].every((tests) => tests.some((test) => test(row)));
}

function entityPredicate(
  type: string,
  value: unknown,
  fields: readonly NaiveField[],
): RowPredicate {
  const name = textOrRefuse(value).trim();
  if (name === '' || fields.length === 0) throw new RefusedRequest('no such entity');
  const spellings = new Set(spellingsOf(type, name).map(lowerCase));
  return (row) =>
    fields.some(({ path, column }) =>
      valuesOf(row, path).some((storedValue) =>
        isTextType(column.type)
          ? spellings.has(lowerCase(storedValue as string))
          : [...spellings].some((each) => denotesNumber(each, storedValue)),
      ),
    );
}

function denotesNumber(text: string, storedValue: Value): boolean {
  try {
    return numberOrRefuse(text) === BigInt(storedValue as bigint);
  } catch {
    return false;
  }
}

function spellingsOf(type: string, name: string): readonly string[] {
  if (type === 'variant') {
    const [, build, rest] = /^(grch3[78]|t2t-chm13)-(?:chr)?(.+)$/is.exec(name) ?? [];
    return build === undefined ? [name] : [`${build}-${rest!}`, `${build}-chr${rest!}`];
  }
  const number = type === 'literature' ? /^(?:pmid:? ?)?(\d+)$/i.exec(name)?.[1] : undefined;
  return number === undefined ? [name] : [number, `PMID:${number}`, `PMID: ${number}`];
}

interface Region {
  readonly build: string | null;
  readonly chromosome: string;
  readonly start: bigint;
  readonly stop: bigint;
}

/**
 * Returns a predicate that is true if the coordinates of a record, or a region or variant that the record names, share a base with a
 * region, in the same genome build or if one of the builds is unknown.
 */
function overlapPredicate(
  value: unknown,
  columns: Columns,
  placeFields: readonly NaiveField[],
): RowPredicate {
  const wantedRegion = parseRegion(value);
  const overlaps = ({ build, chromosome, start, stop }: Region): boolean =>
    (wantedRegion.build === null || build === null || build === wantedRegion.build) &&
    chromosome === wantedRegion.chromosome &&
    start <= wantedRegion.stop &&
    stop >= wantedRegion.start;
  const coordinateField = (name: string): NaiveField | undefined =>
    resolveField(columns, `genomic_coordinates.${name}`);
  const hasCoordinates = ['chromosome', 'start', 'stop'].every((name) => coordinateField(name));
  if (!hasCoordinates && placeFields.length === 0) throw new RefusedRequest('no region');
  return (row) => {
    const coordinateOf = (name: string): Value | undefined =>
      valuesOf(row, coordinateField(name)?.path ?? ['\n'])[0];
    const [chromosome, start, stop] = ['chromosome', 'start', 'stop'].map(coordinateOf);
    const isHere =
      hasCoordinates &&
      ![chromosome, start, stop].includes(undefined) &&
      overlaps({
        build: coordinateField('build')
          ? ((coordinateOf('build') as string | undefined)?.toLowerCase() ?? null)
          : null,
        chromosome: lowerCase(chromosome as string),
        start: BigInt(start as number),
        stop: BigInt(stop as number),
      });
    const texts = placeFields.flatMap(({ path }) => valuesOf(row, path) as string[]);
    return isHere || texts.some((text) => isRegion(text) && overlaps(parseRegionText(text, true)));
  };
}

const variantOrRegionPattern = /^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-(\d+)-(\d+)(?:-.*)?$/i;
const isRegion = (text: string): boolean => variantOrRegionPattern.test(text);

function parseRegionText(text: string, hasAllele: boolean): Region {
  const match = (
    hasAllele ? variantOrRegionPattern : /^(t2t-chm13|[^-]+)-(?:chr)?(.+)-(\d+)-(\d+)$/i
  ).exec(text);
  if (!match) throw new RefusedRequest('no region');
  const [, build, chromosome, start, stop] = match as unknown as [string, string, string, string, string]; // prettier-ignore
  return { build: lowerCase(build), chromosome: lowerCase(chromosome), start: BigInt(start), stop: BigInt(stop) }; // prettier-ignore
}

function parseRegion(value: unknown): Region {
  if (typeof value === 'string') return requireValidRegion(parseRegionText(value.trim(), false));
  const { build = null, chromosome, start, stop } = value as Record<string, unknown>;
  return requireValidRegion({
    build: build === null ? null : lowerCase(textOrRefuse(build)),
    chromosome: lowerCase(textOrRefuse(chromosome).replace(/^chr/i, '')),
    start: BigInt(numberOrRefuse(start)),
    stop: BigInt(numberOrRefuse(stop)),
  });
}

function requireValidRegion(region: Region): Region {
  if (region.start > region.stop) throw new RefusedRequest('stops before it starts');
  if (region.build !== null && !['grch37', 'grch38', 't2t-chm13'].includes(region.build)) throw new RefusedRequest('no build'); // prettier-ignore
  return region;
}
