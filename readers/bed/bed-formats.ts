import { removeCompressionExtension } from '../source/compression.js';

/** BED, and the formats of UCSC tracks that extend the first three or six fields of BED. */
export type BedFormat = 'bed' | 'bedGraph' | 'narrowPeak' | 'broadPeak' | 'gappedPeak';

/** How the text of a field is parsed. */
export const enum FieldKind {
  Text,
  /** A non-negative integer. */
  Position,
  WholeNumber,
  Number,
  Strand,
  Color,
  /** Non-negative integers, separated by commas. */
  Positions,
}

/** A field of a line, with the name that UCSC gives it. */
export interface BedField {
  readonly name: string;
  readonly reading: FieldKind;
}

const coordinateFields: readonly BedField[] = [
  { name: 'chrom', reading: FieldKind.Text },
  { name: 'chromStart', reading: FieldKind.Position },
  { name: 'chromEnd', reading: FieldKind.Position },
];
const sixFields: readonly BedField[] = [
  ...coordinateFields,
  { name: 'name', reading: FieldKind.Text },
  { name: 'score', reading: FieldKind.Number },
  { name: 'strand', reading: FieldKind.Strand },
];
const twelveFields: readonly BedField[] = [
  ...sixFields,
  { name: 'thickStart', reading: FieldKind.Position },
  { name: 'thickEnd', reading: FieldKind.Position },
  { name: 'itemRgb', reading: FieldKind.Color },
  { name: 'blockCount', reading: FieldKind.Position },
  { name: 'blockSizes', reading: FieldKind.Positions },
  { name: 'blockStarts', reading: FieldKind.Positions },
];
const signalFields: readonly BedField[] = [
  { name: 'signalValue', reading: FieldKind.Number },
  { name: 'pValue', reading: FieldKind.Number },
  { name: 'qValue', reading: FieldKind.Number },
];

/** The fields of each format, in the order of the line; further fields have no names. */
export const bedFields: Readonly<Record<BedFormat, readonly BedField[]>> = {
  bed: twelveFields,
  bedGraph: [...coordinateFields, { name: 'dataValue', reading: FieldKind.Number }],
  narrowPeak: [...sixFields, ...signalFields, { name: 'peak', reading: FieldKind.WholeNumber }],
  broadPeak: [...sixFields, ...signalFields],
  gappedPeak: [...twelveFields, ...signalFields],
};

/** The format for each file name extension, in lower case; null if only the content can decide. */
export const bedFormatByExtension: ReadonlyMap<string, BedFormat | null> = new Map([
  ['bed', null],
  ['bedgraph', 'bedGraph'],
  ['bdg', 'bedGraph'],
  ['bg', 'bedGraph'],
  ['narrowpeak', 'narrowPeak'],
  ['broadpeak', 'broadPeak'],
  ['gappedpeak', 'gappedPeak'],
]);

/** The formats by the `type` of a track line, in lower case. */
export const bedFormatByTrackType: ReadonlyMap<string, BedFormat> = new Map([
  ['bed', 'bed'],
  ['bedgraph', 'bedGraph'],
  ['narrowpeak', 'narrowPeak'],
  ['broadpeak', 'broadPeak'],
  ['gappedpeak', 'gappedPeak'],
]);

/**
 * Determines the format of a file from its name, the lines before its first feature, and the fields of its first features.
 *
 * Choice: the type of the last track line with a type before the first feature of a BED file determines the format (BED, bedGraph,
 * narrowPeak, broadPeak or gappedPeak); else the extension does; else the fields of the first lines, if they cannot be BED: ten fields of
 * which the last four are numbers (narrowPeak), nine of which the last three are numbers but not those of BED (broadPeak), or four of which
 * the last is a number, and in some lines neither digits alone nor a dot (bedGraph). The value `-1` for unknown is kept.
 */
export function detectBedFormat(
  filename: string,
  lines: readonly string[],
  features: readonly (readonly string[])[],
): BedFormat {
  const types = lines.flatMap((line) => trackTypeOfLine(line) ?? []);
  const extension = removeCompressionExtension(filename).toLowerCase().split('.').at(-1)!;
  return (
    bedFormatByTrackType.get(types.at(-1) ?? '') ??
    bedFormatByExtension.get(extension) ??
    detectFormatOfFeatures(features)
  );
}

/** Returns the `type` of a track line, in lower case; undefined for any other line, and without a type. */
export function trackTypeOfLine(line: string): string | undefined {
  return /^track\s(?:.*\s)?type=["']?([^\s"']+)/i.exec(line)?.[1]!.toLowerCase();
}

const isNumberText = (text = '') =>
  /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf|infinity)|\.)$/i.test(text);
const isDigits = (text = '') => /^\d+$/.test(text);

function detectFormatOfFeatures(features: readonly (readonly string[])[]): BedFormat {
  const width = features[0]?.length ?? 0;
  if (features.some((fields) => fields.length !== width)) return 'bed';
  const every = (test: (fields: readonly string[]) => boolean) => features.every(test);
  if (
    width === 4 &&
    every((fields) => isNumberText(fields[3])) &&
    !every((fields) => isDigits(fields[3]) || fields[3] === '.')
  )
    return 'bedGraph';
  const hasSignal = every((fields) => fields.slice(6, 9).every(isNumberText));
  if (width === 10 && hasSignal && every((fields) => /^-?\d+$/.test(fields[9]!)))
    return 'narrowPeak';
  const isBed9 = (fields: readonly string[]) =>
    isDigits(fields[6]) && isDigits(fields[7]) && /^[0.]$/.test(fields[8]!);
  return width === 9 && hasSignal && !every(isBed9) ? 'broadPeak' : 'bed';
}
