import { invalidError, InputError } from '../../engine/core/errors.js';
import type { GenomeBuild } from '../../engine/core/types.js';
import { readBuildParam, buildsNamedIn, judgeBuild } from '../genome-build.js';
import type { Header } from '../reader.js';
import type { HeaderSource } from '../source/source.js';
import { rejectOtherFormats } from '../text/other-formats.js';

/** Reader parameters: `comment`, the text with which comment lines begin, and `genome_build`, which precedes what the file says. */
export interface FeatureParams {
  readonly build: GenomeBuild | undefined;
  readonly comment: string;
}

/** The properties of a file that the parser of each chunk needs. */
export interface FeatureHeader {
  readonly build: GenomeBuild | null;
  /** Whether the file is GVF, in which features have alleles. */
  readonly hasAlleles: boolean;
}

/** Parses `reader_params`; throws `invalid`. `defaultComment` is the value of an absent parameter `comment`. */
export function readFeatureParams(
  input: Readonly<Record<string, unknown>>,
  defaultComment: string,
): FeatureParams {
  const comment = input.comment ?? defaultComment;
  if (typeof comment !== 'string' || comment === '' || /[\t\r\n]/.test(comment))
    throw invalidError(
      'reader_params',
      'comment: expected the text that comment lines begin with, without tabs and line ends',
    );
  return { build: readBuildParam(input.genome_build), comment };
}

/** Reads the lines before the first feature, which may name the genome build. Throws InputError for text of another format. */
export async function readFeatureHeader(
  source: HeaderSource,
  params: FeatureParams,
  format: 'gff3' | 'gtf',
): Promise<Header<FeatureHeader>> {
  const { comments, feature, isEmpty } = await readHeaderLines(source, params.comment);
  if (feature !== null) refuseOtherFeatures(source.name, feature.text, feature.line, format);
  const judgedBuild = judgeBuild({
    requested: params.build,
    contigs: comments.flatMap((line) => {
      const region = /^##sequence-region\s+(\S+)\s+1\s+(\d+)/.exec(line);
      return region ? [[region[1]!, region[2]!] as const] : [];
    }),
    named: buildNamedInComments(comments),
  });
  const build = judgedBuild.build ?? null;
  const hasAlleles = format === 'gff3' && comments.some((line) => line.startsWith('##gvf-version'));
  return {
    header: { build, hasAlleles },
    bodyOffset: 0,
    bodyLine: 0,
    fields:
      hasAlleles && build !== null
        ? [{ name: 'variant', path: ['variant'], entityType: 'variant' }]
        : [],
    genomeBuild: build,
    warnings: [...(isEmpty ? ['the file is empty'] : []), ...judgedBuild.warnings],
  };
}

/**
 * Choice: a GFF3 or GTF file names its genome build in its directives; if these name none, the only build in the comments before the first
 * feature counts. Without a build, records have no `genomic_coordinates`.
 */
function buildNamedInComments(comments: readonly string[]): GenomeBuild | undefined {
  const directives = comments.filter((line) => /^#[#!]\s*genome-(?:build|version)/.test(line));
  for (const lines of [directives, comments]) {
    const namedBuilds = new Set(lines.flatMap(buildsNamedIn));
    if (namedBuilds.size === 1) return [...namedBuilds][0];
  }
  return undefined;
}

interface GffHeaderLines {
  readonly comments: readonly string[];
  readonly feature: { readonly text: string; readonly line: number } | null;
  readonly isEmpty: boolean;
}

/** Returns the lines before the first feature that begin with `#`, and the first feature, as far as they are in the first megabyte. */
async function readHeaderLines(source: HeaderSource, comment: string): Promise<GffHeaderLines> {
  for (let wantedBytes = 1 << 16; ; wantedBytes *= 4) {
    const { bytes, isWhole } = await source.firstBytes(wantedBytes);
    rejectOtherFormats(source.name, bytes);
    const lines = decoder.decode(bytes).split(/\r\n|\n|\r/);
    if (!isWhole) lines.pop();
    const isComment = (line: string) => line.startsWith('#') || line.startsWith(comment);
    const featureIndex = lines.findIndex((line) => line.trim() !== '' && !isComment(line));
    if (featureIndex < 0 && !isWhole && wantedBytes < 1 << 20) continue;
    const comments = lines
      .slice(0, featureIndex < 0 ? undefined : featureIndex)
      .filter((line) => line.startsWith('#'));
    const feature =
      featureIndex < 0 ? null : { text: lines[featureIndex]!, line: featureIndex + 1 };
    return { comments, feature, isEmpty: bytes.length === 0 };
  }
}

/** Throws InputError for a feature that is certainly of another format, so that there is one message and not one per line. */
function refuseOtherFeatures(
  file: string,
  text: string,
  line: number,
  format: 'gff3' | 'gtf',
): void {
  const lineFormat = formatOfFeatureLine(text);
  if (text.trimStart().startsWith('<'))
    throw new InputError({ file, line }, `this is XML, not ${formatNames[format]}`);
  if (format === 'gff3' && lineFormat === 'gtf')
    throw new InputError(
      { file, line },
      'attributes such as gene_id "…" are those of GTF, not GFF3: set reader_params.reader to "gtf"',
    );
  if (format === 'gtf' && lineFormat === 'gff3')
    throw new InputError(
      { file, line },
      'attributes such as ID=… are those of GFF3, not GTF: set reader_params.reader to "gff3"',
    );
}

/** Returns the format in which the attributes of a feature line are written; undefined if they show none, or there are none. */
function formatOfFeatureLine(line: string): 'gff3' | 'gtf' | undefined {
  const attributes = line.split('\t')[8];
  if (attributes === undefined) return undefined;
  if (/^\s*[^\s=;]+ +"/.test(attributes)) return 'gtf';
  return /^\s*[^\s="]+=/.test(attributes) ? 'gff3' : undefined;
}

/**
 * Returns the format of a text whose first line, apart from blank lines and comments, is a feature with coordinates; undefined for other
 * texts, and if both formats are possible.
 */
export function formatOfText(start: string): 'gff3' | 'gtf' | undefined {
  const lines = start.split(/\r\n|\n|\r/);
  const firstLine = lines.find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  return /^[^\t]+\t[^\t]*\t[^\t]+\t\d+\t\d+\t[^\t]*\t[-+.?]\t[012.]\t/.test(firstLine)
    ? formatOfFeatureLine(firstLine)
    : undefined;
}

const formatNames = { gff3: 'GFF3', gtf: 'GTF' } as const;
const decoder = new TextDecoder();
