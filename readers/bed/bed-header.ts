import type { GenomeBuild } from '../../engine/core/types.js';
import { InputError } from '../../engine/core/errors.js';
import { buildsNamed } from '../genome-build.js';
import type { Header, HeaderSource } from '../reader.js';
import { rejectOtherFormats } from '../text/other-formats.js';

/** Reader parameters: `genome_build`, for files that do not name their build. */
export interface BedParams {
  readonly build: GenomeBuild | undefined;
}

/** What every thread needs to know of the file. */
export interface BedHeader {
  readonly build: GenomeBuild | null;
}

/** Bytes in which the lines before the first feature are looked for. */
const headerBytes = 64 << 10;

/**
 * Reads the lines before the first feature.
 *
 * Choice: without `genome_build`, the build of a BED file is the one that its `track`, `browser` and comment lines before the first
 * feature name (`db=hg38`), if they name a single one; else records have no `genomic_coordinates`.
 */
export async function readBedHeader(
  source: HeaderSource,
  params: BedParams,
): Promise<Header<BedHeader>> {
  const { bytes } = await source.bytes(headerBytes);
  rejectOtherFormats(source.name, bytes);
  const { lines, feature } = firstLines(Buffer.from(bytes.subarray(0, headerBytes)).toString());
  if (feature?.trimStart().startsWith('<'))
    throw new InputError({ file: source.name, line: lines.length + 1 }, 'this is XML, not BED');
  const build = params.build ?? namedBuild(lines) ?? null;
  return {
    header: { build },
    bodyOffset: 0,
    bodyLine: 0,
    fields: [],
    genomeBuild: build,
    warnings: bytes.length === 0 ? ['the file is empty'] : [],
  };
}

/** Whether a text begins with a `track` or `browser` line of a BED track and a feature with its coordinates. */
export function startsLikeBed(start: string): boolean {
  const { lines, feature } = firstLines(start);
  const isBedTrack = (line: string) =>
    /^browser\s/.test(line) || (/^track\s/.test(line) && !/\stype=(?!"?bed"?(?:\s|$))/i.test(line));
  const tracks = lines.filter((line) => /^(?:track|browser)\s/.test(line));
  return (
    tracks.length > 0 &&
    tracks.every(isBedTrack) &&
    feature !== undefined &&
    /^\S+[\t ]+\d+[\t ]+\d+(?:[\t ]|$)/.test(feature)
  );
}

function namedBuild(lines: readonly string[]): GenomeBuild | undefined {
  const named = new Set(lines.flatMap(buildsNamed));
  return named.size === 1 ? [...named][0] : undefined;
}

function firstLines(start: string): {
  readonly lines: readonly string[];
  readonly feature: string | undefined;
} {
  const all = start.split(/\r\n|\n|\r/);
  const count = all.findIndex(
    (line) => line.trim() !== '' && !/^(?:#|(?:track|browser)(?:\s|$))/.test(line),
  );
  return { lines: all.slice(0, count < 0 ? undefined : count), feature: all[count] };
}
