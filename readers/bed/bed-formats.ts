import { removeCompressionExtension } from '../source/compression.js';

/** BED, and the formats of UCSC tracks that extend the first three, six or twelve fields of BED. */
export type BedFormat = 'bed' | 'bedGraph' | 'narrowPeak' | 'broadPeak' | 'gappedPeak';

/** How the text of a field is parsed. */
export const enum FieldKind {
  Text,
  NonNegativeInteger,
  Integer,
  Number,
  Strand,
  Color,
  /** Non-negative integers, separated by commas. */
  IntegerList,
}

/** A field of a line, with the name that UCSC gives it. */
export interface BedField {
  readonly name: string;
  readonly kind: FieldKind;
}

const coordinateFields: readonly BedField[] = [
  { name: 'chrom', kind: FieldKind.Text },
  { name: 'chromStart', kind: FieldKind.NonNegativeInteger },
  { name: 'chromEnd', kind: FieldKind.NonNegativeInteger },
];
const sixFields: readonly BedField[] = [
  ...coordinateFields,
  { name: 'name', kind: FieldKind.Text },
  { name: 'score', kind: FieldKind.Number },
  { name: 'strand', kind: FieldKind.Strand },
];
const twelveFields: readonly BedField[] = [
  ...sixFields,
  { name: 'thickStart', kind: FieldKind.NonNegativeInteger },
  { name: 'thickEnd', kind: FieldKind.NonNegativeInteger },
  { name: 'itemRgb', kind: FieldKind.Color },
  { name: 'blockCount', kind: FieldKind.NonNegativeInteger },
  { name: 'blockSizes', kind: FieldKind.IntegerList },
  { name: 'blockStarts', kind: FieldKind.IntegerList },
];
const signalFields: readonly BedField[] = [
  { name: 'signalValue', kind: FieldKind.Number },
  { name: 'pValue', kind: FieldKind.Number },
  { name: 'qValue', kind: FieldKind.Number },
];

/** The fields of each format, in the order of the line; further fields have no names. */
export const bedFields: Readonly<Record<BedFormat, readonly BedField[]>> = {
  bed: twelveFields,
  bedGraph: [...coordinateFields, { name: 'dataValue', kind: FieldKind.Number }],
  narrowPeak: [...sixFields, ...signalFields, { name: 'peak', kind: FieldKind.Integer }],
  broadPeak: [...sixFields, ...signalFields],
  gappedPeak: [...twelveFields, ...signalFields],
};

/** The format for each file name extension, which is in lower case; null if only the content can decide. */
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
 * narrowPeak, broadPeak or gappedPeak); else the extension does, unless it is `.bed`; else the fields of the first lines, if they cannot be
 * BED: ten fields of which the last four are numbers, and the very last an integer (narrowPeak), nine of which the last three are numbers
 * but in some line not those of BED (broadPeak), or four of which the last is a number, and in some lines neither digits alone nor a dot
 * (bedGraph). The value `-1` for unknown is kept.
 */
export function detectBedFormat(
  filename: string,
  headerLines: readonly string[],
  featureFields: readonly (readonly string[])[],
): BedFormat {
  const trackTypes = headerLines.flatMap((line) => trackTypeOfLine(line) ?? []);
  const extension = removeCompressionExtension(filename).toLowerCase().split('.').at(-1)!;
  return (
    bedFormatByTrackType.get(trackTypes.at(-1) ?? '') ??
    bedFormatByExtension.get(extension) ??
    detectFormatOfFeatures(featureFields)
  );
}

/** Returns the `type` of a track line, in lower case; undefined for any other line, and without a type. */
export function trackTypeOfLine(line: string): string | undefined {
  return /^track\s(?:.*\s)?type=["']?([^\s"']+)/i.exec(line)?.[1]!.toLowerCase();
}

const isNumberText = (text = '') =>
  /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf|infinity)|\.)$/i.test(text);
const isDigits = (text = '') => /^\d+$/.test(text);

function detectFormatOfFeatures(featureFields: readonly (readonly string[])[]): BedFormat {
  const fieldCount = featureFields[0]?.length ?? 0;
  if (featureFields.some((fields) => fields.length !== fieldCount)) return 'bed';
  const everyFeature = (test: (fields: readonly string[]) => boolean) => featureFields.every(test);
  if (
    fieldCount === 4 &&
    everyFeature((fields) => isNumberText(fields[3])) &&
    !everyFeature((fields) => isDigits(fields[3]) || fields[3] === '.')
  )
    return 'bedGraph';
  const hasSignal = everyFeature((fields) => fields.slice(6, 9).every(isNumberText));
  if (fieldCount === 10 && hasSignal && everyFeature((fields) => /^-?\d+$/.test(fields[9]!)))
    return 'narrowPeak';
  const isBed9 = (fields: readonly string[]) =>
    isDigits(fields[6]) && isDigits(fields[7]) && /^[0.]$/.test(fields[8]!);
  return fieldCount === 9 && hasSignal && !everyFeature(isBed9) ? 'broadPeak' : 'bed';
}
