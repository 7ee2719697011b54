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
 * name (`db=hg38`), if they name only one; otherwise records have no `genomic_coordinates`.
 */
export async function readBedHeader(
  source: HeaderSource,
  params: BedParams,
): Promise<Header<BedHeader>> {
  const { bytes, isWhole } = await source.firstBytes(maxHeaderBytes);
  rejectOtherFormats(source.name, bytes);
  const start = Buffer.from(bytes.subarray(0, maxHeaderBytes)).toString();
  const { lines, features } = splitHeaderLines(start);
  if (features[0]?.trimStart().startsWith('<'))
    throw new InputError({ file: source.name, line: lines.length + 1 }, 'this is XML, not BED');
  // The last line of the sample may be incomplete, unless the sample is the whole file.
  const sample = isWhole && bytes.length <= maxHeaderBytes ? features : features.slice(0, -1);
  const split = sample.map((line) =>
    line.includes('\t') ? line.split('\t') : line.trim().split(/ +/),
  );
  const format = detectBedFormat(source.name, lines, split);
  const build = params.build ?? buildNamedInLines(lines) ?? null;
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
  const { lines, features } = splitHeaderLines(start);
  const tracks = lines.filter((line) => /^(?:track|browser)\s/.test(line));
  return (
    tracks.length > 0 &&
    tracks.every((line) => bedFormatByTrackType.has(trackTypeOfLine(line) ?? 'bed')) &&
    features[0] !== undefined &&
    /^\S+[\t ]+\d+[\t ]+\d+(?:[\t ]|$)/.test(features[0])
  );
}

function buildNamedInLines(lines: readonly string[]): GenomeBuild | undefined {
  const buildNames = new Set(lines.flatMap(buildsNamedIn));
  return buildNames.size === 1 ? [...buildNames][0] : undefined;
}

/** Returns the lines before the first feature, and the features. */
function splitHeaderLines(start: string): {
  readonly lines: readonly string[];
  readonly features: readonly string[];
} {
  const all = start.split(/\r\n|\n|\r/);
  const isFeature = (line: string) =>
    line.trim() !== '' && !/^(?:#|(?:track|browser)(?:\s|$))/.test(line);
  const count = all.findIndex(isFeature);
  return {
    lines: all.slice(0, count < 0 ? undefined : count),
    features: count < 0 ? [] : all.slice(count).filter(isFeature),
  };
}
