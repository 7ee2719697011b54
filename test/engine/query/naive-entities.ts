import type { Columns, Value } from '../../../engine/core/types.js';
import type { Test } from './naive-filter.js';
import { fieldNamed, isWritten, naiveFields, valuesOf, type MadeDataset, type NaiveField } from './naive-fields.js'; // prettier-ignore
import { lowerCase, numberIn, Refused, textIn } from './naive-values.js';

/** The test that `entities` stand for (query language 5), without a table of genes: any entity of one type, and each of several types. */
export function entitiesTest(input: unknown, { columns, entities }: MadeDataset): Test {
  if (input === null || input === undefined) return () => true;
  const list = input as readonly unknown[];
  const pairs = (typeof list[0] === 'string' ? [list] : list) as readonly (readonly [string, unknown])[]; // prettier-ignore
  const fields = naiveFields(columns).filter(({ name }) => Object.hasOwn(entities, name));
  const byType = new Map<string, Test[]>();
  for (const [type, given] of pairs) {
    const values = Array.isArray(given) ? (given as unknown[]) : [given];
    const ownFields = fields.filter(({ name }) => entities[name] === type);
    const places = fields.filter(({ name, column }) => ['variant', 'genomic_region'].includes(entities[name]!) && isWritten(column.type)); // prettier-ignore
    const tests = values.map((value) =>
      type === 'genomic_region'
        ? overlap(value, columns, places)
        : amongFields(type, value, ownFields),
    );
    byType.set(type, [...(byType.get(type) ?? []), ...tests]);
  }
  return (row) => [...byType.values()].every((tests) => tests.some((test) => test(row)));
}

function amongFields(type: string, value: unknown, fields: readonly NaiveField[]): Test {
  const name = textIn(value).trim();
  if (name === '' || fields.length === 0) throw new Refused('no such entity');
  const spellings = new Set(spellingsOf(type, name).map(lowerCase));
  return (row) =>
    fields.some(({ path, column }) =>
      valuesOf(row, path).some((found) =>
        isWritten(column.type)
          ? spellings.has(lowerCase(found as string))
          : [...spellings].some((each) => isNumber(each, found)),
      ),
    );
}

function isNumber(text: string, found: Value): boolean {
  try {
    return numberIn(text) === BigInt(found as bigint);
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

/** The record's coordinates, or a region or variant that it names, shares a base with the region. */
function overlap(value: unknown, columns: Columns, places: readonly NaiveField[]): Test {
  const wantedRegion = regionOf(value);
  const meets = ({ build, chromosome, start, stop }: Region): boolean =>
    (wantedRegion.build === null || build === null || build === wantedRegion.build) &&
    chromosome === wantedRegion.chromosome &&
    start <= wantedRegion.stop &&
    stop >= wantedRegion.start;
  const at = (name: string): NaiveField | undefined =>
    fieldNamed(columns, `genomic_coordinates.${name}`);
  const hasCoordinates = ['chromosome', 'start', 'stop'].every((name) => at(name));
  if (!hasCoordinates && places.length === 0) throw new Refused('no region');
  return (row) => {
    const part = (name: string): Value | undefined => valuesOf(row, at(name)?.path ?? ['\n'])[0];
    const [chromosome, start, stop] = ['chromosome', 'start', 'stop'].map(part);
    const isHere =
      hasCoordinates &&
      ![chromosome, start, stop].includes(undefined) &&
      meets({
        build: at('build') ? ((part('build') as string | undefined)?.toLowerCase() ?? null) : null,
        chromosome: lowerCase(chromosome as string),
        start: BigInt(start as number),
        stop: BigInt(stop as number),
      });
    const texts = places.flatMap(({ path }) => valuesOf(row, path) as string[]);
    return isHere || texts.some((text) => isRegion(text) && meets(textRegion(text, true)));
  };
}

const regionText = /^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-(\d+)-(\d+)(?:-.*)?$/i;
const isRegion = (text: string): boolean => regionText.test(text);

function textRegion(text: string, hasAllele: boolean): Region {
  const match = (hasAllele ? regionText : /^(t2t-chm13|[^-]+)-(?:chr)?(.+)-(\d+)-(\d+)$/i).exec(
    text,
  );
  if (!match) throw new Refused('no region');
  const [, build, chromosome, start, stop] = match as unknown as [string, string, string, string, string]; // prettier-ignore
  return { build: lowerCase(build), chromosome: lowerCase(chromosome), start: BigInt(start), stop: BigInt(stop) }; // prettier-ignore
}

function regionOf(value: unknown): Region {
  if (typeof value === 'string') return checkedRegion(textRegion(value.trim(), false));
  const { build = null, chromosome, start, stop } = value as Record<string, unknown>;
  return checkedRegion({
    build: build === null ? null : lowerCase(textIn(build)),
    chromosome: lowerCase(textIn(chromosome).replace(/^chr/i, '')),
    start: BigInt(numberIn(start)),
    stop: BigInt(numberIn(stop)),
  });
}

function checkedRegion(region: Region): Region {
  if (region.start > region.stop) throw new Refused('stops before it starts');
  if (region.build !== null && !['grch37', 'grch38', 't2t-chm13'].includes(region.build)) throw new Refused('no build'); // prettier-ignore
  return region;
}
