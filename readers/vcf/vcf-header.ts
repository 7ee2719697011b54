import { budgets, byteSizeText } from '../../engine/core/budgets.js';
import { AppError, InputError } from '../../engine/core/errors.js';
import type { GenomeBuild } from '../../engine/core/types.js';
import { type BuildEvidence, buildsNamedIn, judgeBuild } from '../genome-build.js';
import type { HeaderSource } from '../source/source.js';

/** The interpretation of an INFO key's values, beyond what the header declares. */
export interface InfoInterpretation {
  /** The name of the INFO key. */
  readonly id: string;
  /** The character that separates the values, or two characters, each of which separates values; undefined for the comma of VCF. */
  readonly separator?: string;
  /**
   * The character that ends the gene symbol at the beginning of each value, such as the colon of `BRCA1:672`. If it is given, the gene
   * symbols are also stored in a list field of their own.
   */
  readonly symbolTerminator?: string;
  /** The path, below `info`, of the field that holds gene symbols. */
  readonly genesPath?: readonly string[];
  /** The name of the known source that gives this interpretation; null if the request gives it. */
  readonly source: string | null;
}

/** An `##INFO` or `##FORMAT` line. */
export interface KeyDefinition {
  readonly id: string;
  readonly number: string;
  readonly type: 'Integer' | 'Float' | 'Flag' | 'Character' | 'String';
  readonly description: string;
}

/** The content of the meta lines and of the `#CHROM` line: plain data that is sent to every thread. */
export interface VcfHeader {
  /** The version of VCF, such as 4.3; 4.2 if the file names none. */
  readonly version: number;
  readonly info: readonly KeyDefinition[];
  readonly format: readonly KeyDefinition[];
  /** Whether the `#CHROM` line has the column FORMAT. */
  readonly hasFormat: boolean;
  /** The names of the samples, in the order of the `#CHROM` line. */
  readonly samples: readonly string[];
  readonly build: GenomeBuild;
  /** The meta lines that describe the origin of the file, cut at 200 characters. */
  readonly meta: readonly string[];
  /** The interpretations of INFO keys. */
  readonly meanings: readonly InfoInterpretation[];
}

/** The header, and the offset and line number of its end. */
interface ParsedHeader {
  readonly header: VcfHeader;
  readonly bodyOffset: number;
  readonly bodyLine: number;
  readonly warnings: readonly string[];
}

/** Reads the header up to the `#CHROM` line and the comments after it (VCF 4.5, sections 1.4 and 1.5). Throws InputError with the line. */
export async function readHeader(
  source: HeaderSource,
  build: GenomeBuild | undefined,
): Promise<ParsedHeader> {
  const lines = new HeaderLines(source);
  const warnings: string[] = [];
  const info = new Map<string, KeyDefinition>();
  const format = new Map<string, KeyDefinition>();
  const evidenceLines: string[] = [];
  const meta: string[] = [];
  let version = 4.2;
  let hasVersion = false;
  for (;;) {
    const text = await lines.nextLine();
    const errorAtLine = (message: string) =>
      new InputError({ file: source.name, line: lines.lineCount }, message);
    // Choice: lines of a VCF header that are empty, or begin with `#` and are neither meta lines nor the #CHROM line, are comments;
    // so are the empty lines and lines with `#` between the #CHROM line and the first record, unless they begin another header.
    if (text === '' || (text?.startsWith('#') && !/^#(?:#|CHROM\b)/.test(text))) continue;
    if (text === null || !text.startsWith('#')) {
      const foundText = text === null ? 'the end of the file' : `"${text.slice(0, 40)}"`;
      throw errorAtLine(`a line "#CHROM\tPOS\t…" must come before the records, found ${foundText}`);
    }
    if (!text.startsWith('##')) {
      const columnLine = parseColumnLine(text, errorAtLine);
      if (!hasVersion) warnings.push('the line ##fileformat is missing: read as VCF 4.2');
      await lines.skipComments();
      const judgedBuild = judgeBuild({
        ...buildEvidence(evidenceLines),
        requested: build,
        fallback: 'GRCh37',
      });
      warnings.push(...judgedBuild.warnings);
      return {
        header: {
          version,
          info: [...info.values()],
          format: [...format.values()],
          ...columnLine,
          build: judgedBuild.build,
          meta,
          meanings: [],
        },
        bodyOffset: lines.offset,
        bodyLine: lines.lineCount,
        warnings,
      };
    }
    if (/^##(?:source|reference|dbSNP|SnpEff|VEP|gnomad|ID=)/i.test(text))
      meta.push(text.slice(0, 200));
    if (text.startsWith('##fileformat=')) {
      const versionMatch = /^##fileformat=VCFv?(\d\.\d)/.exec(text);
      if (!versionMatch)
        throw errorAtLine(
          `unknown file format "${text.slice(13, 60)}": expected VCFv4.0 to VCFv4.5`,
        );
      version = Number(versionMatch[1]);
      if (version < 4 || version >= 5)
        throw errorAtLine(`VCF ${versionMatch[1]} is not supported: expected VCFv4.0 to VCFv4.5`);
      hasVersion = true;
    } else if (text.startsWith('##INFO=<'))
      addKeyDefinition(info, text.slice(7), 'INFO', errorAtLine, warnings);
    else if (text.startsWith('##FORMAT=<'))
      addKeyDefinition(format, text.slice(9), 'FORMAT', errorAtLine, warnings);
    else if (/^##(contig|reference|assembly|source|commandline|GATK)/i.test(text))
      evidenceLines.push(text);
  }
}

/** Reads the lines of the header one by one, within the budgets for headers. */
class HeaderLines {
  /** Number of lines read so far; `offset` is the offset of the next line. */
  lineCount = 0;
  offset = 0;
  readonly #source: HeaderSource;
  #bytes: Uint8Array = new Uint8Array(0);
  #isWhole = false;

  constructor(source: HeaderSource) {
    this.#source = source;
  }

  /** Returns the next line without its line end; null at the end of the file. */
  async nextLine(): Promise<string | null> {
    let end = this.#bytes.indexOf(10, this.offset);
    while (end < 0 && !this.#isWhole) {
      if (this.#bytes.length > budgets.vcfHeaderBytes) break;
      const wantedBytes = Math.max(65_536, this.#bytes.length * 2);
      const maxBytes = Math.min(wantedBytes, budgets.vcfHeaderBytes + 1);
      ({ bytes: this.#bytes, isWhole: this.#isWhole } = await this.#source.firstBytes(maxBytes));
      end = this.#bytes.indexOf(10, this.offset);
    }
    if (end < 0 && this.offset >= this.#bytes.length) return null;
    this.lineCount++;
    if (this.lineCount > budgets.vcfHeaderLines)
      throw headerTooLargeError(this.#source.name, `${budgets.vcfHeaderLines} lines`);
    const stop = end < 0 ? this.#bytes.length : end;
    if (stop > budgets.vcfHeaderBytes)
      throw headerTooLargeError(this.#source.name, byteSizeText(budgets.vcfHeaderBytes));
    const text = decoder.decode(this.#bytes.subarray(this.offset, stop));
    this.offset = end < 0 ? stop : end + 1;
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }

  /** Moves past empty lines and comments, but not past the start of another header. */
  async skipComments(): Promise<void> {
    for (;;) {
      if (this.offset >= this.#bytes.length && !this.#isWhole) {
        const { bytes, isWhole } = await this.#source.firstBytes(this.offset + 1);
        [this.#bytes, this.#isWhole] = [bytes, isWhole];
      }
      const firstByte = this.#bytes[this.offset];
      if (firstByte !== 35 && firstByte !== 10 && firstByte !== 13) return;
      const { lineCount, offset } = this;
      const text = await this.nextLine();
      const isComment =
        text === '' || (text?.startsWith('#') && !/^#(?:CHROM\b|#fileformat)/.test(text));
      if (isComment) continue;
      [this.lineCount, this.offset] = [lineCount, offset];
      return;
    }
  }
}

const decoder = new TextDecoder();

function headerTooLargeError(file: string, limitText: string): AppError {
  return new AppError(
    'budget',
    `${file}: the VCF header has more than ${limitText}, the most that one may have: remove lines that begin with ## and describe no INFO or FORMAT key`,
  );
}

const fixedColumnNames = ['#CHROM', 'POS', 'ID', 'REF', 'ALT', 'QUAL', 'FILTER', 'INFO'];

function parseColumnLine(
  text: string,
  errorAtLine: (message: string) => InputError,
): { hasFormat: boolean; samples: string[] } {
  const names = text.split('\t');
  // Choice: if all columns after INFO are empty, they are ignored, because files of dbSNP end the #CHROM line with a tab. Otherwise, an
  // empty sample name is an error, even the last one.
  while (names.length > 8 && names.slice(8).every((name) => name === '')) names.pop();
  if (names.length === 1 && /^#CHROM\s+POS\s/.test(text))
    throw errorAtLine('the columns of the #CHROM line must be separated by tabs, not spaces');
  for (const [i, name] of fixedColumnNames.entries()) {
    if (names[i] !== name)
      throw errorAtLine(
        `column ${i + 1} of the #CHROM line must be ${name}, found "${(names[i] ?? 'nothing').slice(0, 40)}"`,
      );
  }
  if (names.length > 8 && names[8] !== 'FORMAT')
    throw errorAtLine(
      `column 9 of the #CHROM line must be FORMAT, found "${names[8]!.slice(0, 40)}"`,
    );
  const samples = names.slice(9);
  if (samples.length > budgets.vcfSamples)
    throw errorAtLine(
      `the file has ${samples.length} samples, and ${budgets.vcfSamples} are the most that one may have: split it by samples, for example with bcftools view -S`,
    );
  const seenNames = new Set<string>();
  for (const [i, sample] of samples.entries()) {
    if (sample === '') throw errorAtLine(`sample ${i + 1} has no name`);
    if (seenNames.has(sample)) throw errorAtLine(`two samples are named "${sample.slice(0, 40)}"`);
    seenNames.add(sample);
  }
  return { hasFormat: names.length > 8, samples };
}

const keyTypes = new Set(['Integer', 'Float', 'Flag', 'Character', 'String']);

function addKeyDefinition(
  into: Map<string, KeyDefinition>,
  text: string,
  kind: string,
  errorAtLine: (message: string) => InputError,
  warnings: string[],
): void {
  const values = parseStructuredLine(text);
  const id = values.get('ID');
  if (id === undefined || id === '') throw errorAtLine(`this ##${kind} line has no ID`);
  const number = values.get('Number') ?? '.';
  const type = values.get('Type') ?? 'String';
  // -1 meant "unknown" before VCF 4.1; P came with 4.4, M, LA, LR and LG with 4.5 (section 1.4.2).
  if (!/^(?:-1|\d+|\.|[ARGPM]|L[ARG])$/.test(number))
    throw errorAtLine(`##${kind} ${id} has Number=${number}: expected a count, A, R, G or "."`);
  if (!keyTypes.has(type))
    throw errorAtLine(
      `##${kind} ${id} has Type=${type}: expected Integer, Float, Flag, Character or String`,
    );
  if (into.has(id)) {
    warnings.push(`##${kind} ${id} is defined twice: the first definition holds`);
    return;
  }
  into.set(id, {
    id,
    number,
    type: type as KeyDefinition['type'],
    description: values.get('Description') ?? '',
  });
}

/** Returns the contigs in some meta lines, and the build named by a reference, assembly or contig line, or else by any other of them. */
function buildEvidence(metaLines: readonly string[]): Pick<BuildEvidence, 'contigs' | 'named'> {
  const contigs = metaLines
    .filter((line) => line.startsWith('##contig='))
    .map((line) => {
      const contig = parseStructuredLine(line.slice(9));
      return [contig.get('ID') ?? '', contig.get('length') ?? ''] as const;
    });
  for (const prefix of ['##reference', '##assembly', '##contig', '##']) {
    for (const line of metaLines) {
      const [named] = line.startsWith(prefix) ? buildsNamedIn(line) : [];
      if (named !== undefined) return { contigs, named };
    }
  }
  return { contigs, named: undefined };
}

/** Returns the keys and values of a structured meta line (VCF 4.5, section 1.4): `<ID=…,Description="…">`. */
function parseStructuredLine(text: string): Map<string, string> {
  const values = new Map<string, string>();
  const body = text.startsWith('<') ? text.slice(1, text.endsWith('>') ? -1 : undefined) : text;
  const pairPattern = /([^=,\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^,]*))\s*(?:,|$)/g;
  for (const [, key, quoted, plain] of body.matchAll(pairPattern)) {
    values.set(key!, quoted === undefined ? plain! : quoted.replaceAll(/\\(["\\])/g, '$1'));
  }
  return values;
}
