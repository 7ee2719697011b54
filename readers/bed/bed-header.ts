import type { GenomeBuild } from '../../engine/core/types.js';
import { InputError } from '../../engine/core/errors.js';
import { buildsNamedIn } from '../genome-build.js';
import type { Header } from '../reader.js';
import type { HeaderSource } from '../source/source.js';
import { rejectOtherFormats } from '../text/other-formats.js';
import {
  detectBedFormat,
  bedFormatByTrackType,
  trackTypeOfLine,
  type BedFormat,
} from './bed-formats.js';

/** Reader parameters: `genome_build`, which takes precedence over a build that the file names. */
export interface BedParams {
  readonly build: GenomeBuild | undefined;
}

/** The properties of a file that the parser of each chunk needs. */
export interface BedHeader {
  readonly build: GenomeBuild | null;
  readonly format: BedFormat;
}

/** Number of bytes at the start of a file from which the format and the genome build are determined. */
const maxHeaderBytes = 64 << 10;

/**
 * Reads the lines before the first feature.
 *
 * Choice: without `genome_build`, the build of a BED file is the one that the `track`, `browser` and comment lines before its first feature
 * name (`db=hg38`) within its first 64 KB, if they name only one; otherwise records have no `genomic_coordinates`.
 */
export async function readBedHeader(
  source: HeaderSource,
  params: BedParams,
): Promise<Header<BedHeader>> {
  const { bytes, isWhole } = await source.firstBytes(maxHeaderBytes);
  rejectOtherFormats(source.name, bytes);
  const start = Buffer.from(bytes.subarray(0, maxHeaderBytes)).toString();
  const { headerLines, featureLines } = splitHeaderLines(start);
  if (featureLines[0]?.trimStart().startsWith('<'))
    throw new InputError(
      { file: source.name, line: headerLines.length + 1 },
      'this is XML, not BED',
    );
  // The last line of the sample may be incomplete, unless the sample is the whole file.
  const completeLines =
    isWhole && bytes.length <= maxHeaderBytes ? featureLines : featureLines.slice(0, -1);
  const featureFields = completeLines.map((line) =>
    line.includes('\t') ? line.split('\t') : line.trim().split(/ +/),
  );
  const format = detectBedFormat(source.name, headerLines, featureFields);
  const build = params.build ?? buildNamedInLines(headerLines) ?? null;
  return {
    header: { build, format },
    bodyOffset: 0,
    bodyLine: 0,
    fields: [],
    genomeBuild: build,
    warnings: bytes.length === 0 ? ['the file is empty'] : [],
  };
}

/**
 * Returns whether a text begins like BED or a format that extends it: with `track` or `browser` lines, none of which has the type of any
 * other format, and a feature with coordinates.
 */
export function startsLikeBed(start: string): boolean {
  const { headerLines, featureLines } = splitHeaderLines(start);
  const trackLines = headerLines.filter((line) => /^(?:track|browser)\s/.test(line));
  return (
    trackLines.length > 0 &&
    trackLines.every((line) => bedFormatByTrackType.has(trackTypeOfLine(line) ?? 'bed')) &&
    featureLines[0] !== undefined &&
    /^\S+[\t ]+\d+[\t ]+\d+(?:[\t ]|$)/.test(featureLines[0])
  );
}

function buildNamedInLines(lines: readonly string[]): GenomeBuild | undefined {
  const namedBuilds = new Set(lines.flatMap(buildsNamedIn));
  return namedBuilds.size === 1 ? [...namedBuilds][0] : undefined;
}

/** Returns the lines before the first feature, and the lines of the features. */
function splitHeaderLines(start: string): {
  readonly headerLines: readonly string[];
  readonly featureLines: readonly string[];
} {
  const allLines = start.split(/\r\n|\n|\r/);
  const isFeature = (line: string) =>
    line.trim() !== '' && !/^(?:#|(?:track|browser)(?:\s|$))/.test(line);
  const firstFeatureIndex = allLines.findIndex(isFeature);
  return {
    headerLines: allLines.slice(0, firstFeatureIndex < 0 ? undefined : firstFeatureIndex),
    featureLines: firstFeatureIndex < 0 ? [] : allLines.slice(firstFeatureIndex).filter(isFeature),
  };
}
