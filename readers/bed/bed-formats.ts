/** BED, and the formats of UCSC tracks that extend its first three or six fields by others. */
export type BedFormat = 'bed' | 'bedGraph' | 'narrowPeak' | 'broadPeak' | 'gappedPeak';

/** How the text of a field is read. */
export const enum Reading {
  Text,
  /** A non-negative integer. */
  Position,
  WholeNumber,
  Number,
  Strand,
  Color,
  /** Whole numbers from 0 on, separated by commas. */
  Positions,
}

/** A field of a line, under the name that UCSC gives it. */
export interface BedField {
  readonly name: string;
  readonly reading: Reading;
}

const placeFields: readonly BedField[] = [
  { name: 'chrom', reading: Reading.Text },
  { name: 'chromStart', reading: Reading.Position },
  { name: 'chromEnd', reading: Reading.Position },
];
const sixFields: readonly BedField[] = [
  ...placeFields,
  { name: 'name', reading: Reading.Text },
  { name: 'score', reading: Reading.Number },
  { name: 'strand', reading: Reading.Strand },
];
const twelveFields: readonly BedField[] = [
  ...sixFields,
  { name: 'thickStart', reading: Reading.Position },
  { name: 'thickEnd', reading: Reading.Position },
  { name: 'itemRgb', reading: Reading.Color },
  { name: 'blockCount', reading: Reading.Position },
  { name: 'blockSizes', reading: Reading.Positions },
  { name: 'blockStarts', reading: Reading.Positions },
];
const signal: readonly BedField[] = [
  { name: 'signalValue', reading: Reading.Number },
  { name: 'pValue', reading: Reading.Number },
  { name: 'qValue', reading: Reading.Number },
];

/** The fields of each format, in the order of the line; later ones have no names. */
export const bedFields: Readonly<Record<BedFormat, readonly BedField[]>> = {
  bed: twelveFields,
  bedGraph: [...placeFields, { name: 'dataValue', reading: Reading.Number }],
  narrowPeak: [...sixFields, ...signal, { name: 'peak', reading: Reading.WholeNumber }],
  broadPeak: [...sixFields, ...signal],
  gappedPeak: [...twelveFields, ...signal],
};

/** The format of each file name extension, in lower case. */
export const bedExtensions: ReadonlyMap<string, BedFormat | null> = new Map([
  ['bed', null],
  ['bedgraph', 'bedGraph'],
  ['bdg', 'bedGraph'],
  ['bg', 'bedGraph'],
  ['narrowpeak', 'narrowPeak'],
  ['broadpeak', 'broadPeak'],
  ['gappedpeak', 'gappedPeak'],
]);

/** The formats by the `type` of a track line, in lower case. */
export const trackTypes: ReadonlyMap<string, BedFormat> = new Map([
  ['bed', 'bed'],
  ['bedgraph', 'bedGraph'],
  ['narrowpeak', 'narrowPeak'],
  ['broadpeak', 'broadPeak'],
  ['gappedpeak', 'gappedPeak'],
]);

/**
 * The format of a file by its name, the lines before its first feature, and the fields of its first features.
 *
 * Choice: a file is bedGraph, narrowPeak, broadPeak or gappedPeak if the type of its last track line before the first feature says so, else if
 * its extension does, else if all its first lines have the fields of such a format and cannot be BED: ten of which the last four are numbers
 * (narrowPeak), nine of which the last three are numbers but not those of BED (broadPeak), four of which the last is a number and
 * not always a whole one (bedGraph). `-1` for a value that is not known is kept.
 */
export function bedFormatOf(
  filename: string,
  lines: readonly string[],
  features: readonly (readonly string[])[],
): BedFormat {
  const types = lines.flatMap((line) => typeOfTrack(line) ?? []);
  const extension = filename
    .toLowerCase()
    .replace(/\.(?:gz|bgz|bgzf|bz2)$/, '')
    .split('.')
    .at(-1)!;
  return (
    trackTypes.get(types.at(-1) ?? '') ?? bedExtensions.get(extension) ?? formatOfFeatures(features)
  );
}

/** The `type` of a track line, in lower case; undefined for any other line, or without a type. */
export function typeOfTrack(line: string): string | undefined {
  return /^track\s(?:.*\s)?type=["']?([^\s"']+)/i.exec(line)?.[1]!.toLowerCase();
}

const isNumber = (text = '') =>
  /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf|infinity)|\.)$/i.test(text);
const isWhole = (text = '') => /^\d+$/.test(text);

function formatOfFeatures(features: readonly (readonly string[])[]): BedFormat {
  const width = features[0]?.length ?? 0;
  if (features.some((fields) => fields.length !== width)) return 'bed';
  const every = (test: (fields: readonly string[]) => boolean) => features.every(test);
  if (
    width === 4 &&
    every((fields) => isNumber(fields[3])) &&
    !every((fields) => isWhole(fields[3]) || fields[3] === '.')
  )
    return 'bedGraph';
  const hasSignal = every((fields) => fields.slice(6, 9).every(isNumber));
  if (width === 10 && hasSignal && every((fields) => /^-?\d+$/.test(fields[9]!)))
    return 'narrowPeak';
  const isBed9 = (fields: readonly string[]) =>
    isWhole(fields[6]) && isWhole(fields[7]) && /^[0.]$/.test(fields[8]!);
  return width === 9 && hasSignal && !every(isBed9) ? 'broadPeak' : 'bed';
}
