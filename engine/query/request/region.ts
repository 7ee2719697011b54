import { genomeBuildNamed, knownBuildsText, buildSuggestionText } from '../../core/build-names.js';
import { fieldsOfEntities, fieldEqualsAny } from './entity-fields.js';
import { fieldRef, type FieldIndex } from './field-index.js';
import { all, and, freezePredicate, or, type Predicate } from '../predicate/predicate.js';
import { Problem, valueForMessage } from './problem.js';
import { readScalar, readText } from './request-values.js';

/** A genomic region; coordinates are 1-based and inclusive. */
interface Region {
  readonly build: string | null;
  readonly chromosome: string;
  readonly start: bigint;
  readonly stop: bigint;
}

/** Parses `BUILD-CHROMOSOME-START-STOP` or an object with these parts (the build is optional). Throws a problem for any other value. */
export function parseRegion(value: unknown): Region {
  const parts = typeof value === 'string' ? regionPartsOfText(value) : regionPartsOfObject(value);
  const [start, stop] = [parts.start, parts.stop].map((end) => readPosition(end));
  if (start! > stop!)
    throw new Problem(`A region stops behind its start, but ${start} comes before ${stop}`);
  const build = parts.build === null ? null : genomeBuildNamed(parts.build)?.toUpperCase();
  if (build === undefined) throw unknownBuildProblem(parts.build);
  const chromosome = readText(parts.chromosome).replace(/^chr/i, '').toUpperCase();
  return { build, chromosome, start: start!, stop: stop! };
}

export function unknownBuildProblem(build: unknown): Problem {
  return new Problem(
    `Expected the build ${knownBuildsText}, not ${valueForMessage(build)}.${buildSuggestionText(build)}`,
  );
}

interface RegionParts {
  readonly build: unknown;
  readonly chromosome: unknown;
  readonly start: unknown;
  readonly stop: unknown;
}

function regionPartsOfText(text: string): RegionParts {
  const match = /^(t2t-chm13|[^-]+)-(.+)-(\d+)-(\d+)$/i.exec(text.trim());
  if (!match)
    throw new Problem(`Expected a region like 7:55000000-56000000 or GRCH37-7-55000000-56000000, not ${valueForMessage(text)}`); // prettier-ignore
  const [, build, chromosome, start, stop] = match;
  return { build, chromosome, start, stop };
}

function regionPartsOfObject(value: unknown): RegionParts {
  if (typeof value !== 'object' || value === null)
    throw new Problem(`Expected a region as text or as {build, chromosome, start, stop}, not ${valueForMessage(value)}`); // prettier-ignore
  const { build = null, chromosome, start, stop } = value as Partial<RegionParts>;
  if (chromosome === undefined || start === undefined || stop === undefined)
    throw new Problem('A region needs chromosome, start and stop');
  return { build, chromosome, start, stop };
}

function readPosition(value: unknown): bigint {
  const number = readScalar('long', value);
  if (typeof number !== 'bigint' || number < 0n)
    throw new Problem(`Expected a position, not ${valueForMessage(value)}`);
  return number;
}

/** Returns all names of a chromosome that is named in upper case and without `chr`; the mitochondrial chromosome has two names. */
export function chromosomeNames(name: string): readonly string[] {
  return name === 'M' || name === 'MT' ? ['M', 'MT'] : [name];
}

/** Matches records that share a base with the region: by their genomic coordinates, or by a field that names a region or variant. */
export function overlapPredicate(region: Region, fields: FieldIndex): Predicate {
  const regionFields = fieldsOfEntities(fields, 'genomic_region', 'variant').filter(
    ({ type }) => type === 'string' || type === 'text',
  );
  const conditions = chromosomeNames(region.chromosome).flatMap((chromosome): Predicate[] => {
    const coordinates = coordinatePredicate({ ...region, chromosome }, fields);
    const overlaps = regionFields.map((field) =>
      freezePredicate({ kind: 'overlap', field, ...region, chromosome }),
    );
    return coordinates === undefined ? overlaps : [coordinates, ...overlaps];
  });
  if (conditions.length === 0) {
    throw new Problem('The dataset has neither genomic_coordinates nor a field of the entity type genomic_region or variant'); // prettier-ignore
  }
  return or(conditions);
}

/** Returns whether the dataset has fields by which regions can be found. */
export function hasRegionFields(fields: FieldIndex): boolean {
  const hasCoordinates = fields.find('genomic_coordinates.chromosome') !== undefined;
  return hasCoordinates || fieldsOfEntities(fields, 'genomic_region', 'variant').length > 0;
}

function coordinatePredicate(region: Region, fields: FieldIndex): Predicate | undefined {
  const [build, chromosome, start, stop] = ['build', 'chromosome', 'start', 'stop'].map((name) => {
    const row = fields.find(`genomic_coordinates.${name}`);
    return row && fieldRef(row);
  });
  if (!chromosome || !start || !stop) return undefined;
  const buildPredicate =
    region.build === null || !build
      ? all
      : or([
          freezePredicate({ kind: 'missing', field: build }),
          fieldEqualsAny(build, [region.build]),
        ]);
  return and([
    fieldEqualsAny(chromosome, [region.chromosome]),
    freezePredicate({
      kind: 'range',
      field: start,
      low: null,
      high: { value: region.stop, inclusive: true },
    }),
    freezePredicate({
      kind: 'range',
      field: stop,
      low: { value: region.start, inclusive: true },
      high: null,
    }),
    buildPredicate,
  ]);
}
