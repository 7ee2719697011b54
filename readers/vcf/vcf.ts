import { invalid } from '../../engine/core/errors.js';
import type { GenomeBuild } from '../../engine/core/types.js';
import { buildParam } from '../genome-build.js';
import type { Reader } from '../reader.js';
import { declaredColumns, declaredFields } from './columns.js';
import { growthOf } from './memory-estimate.js';
import { readHeader, type VcfHeader } from './header.js';
import { VcfParser } from './parser.js';

/** Reader parameters (specification, "VCF parameters"). */
export interface VcfParams {
  readonly build: GenomeBuild | undefined;
  readonly annotationsKey: string;
  readonly sampleKey: string;
  readonly explodes: boolean;
}

/** VCF 4.0 to 4.5: one record per alternate allele (contract 10.6). */
export const vcf: Reader<VcfParams, VcfHeader> = {
  name: 'vcf',
  extensions: ['vcf'],
  recognizes: (start) =>
    start.startsWith('##fileformat=VCF') || /^#CHROM\tPOS\tID\tREF\tALT/m.test(start),
  params(input) {
    return {
      build: buildParam(input.genome_build),
      annotationsKey: key(input, 'annotations_key', 'ANN'),
      sampleKey: key(input, 'sample_key', 'sample'),
      explodes: flag(input, 'explode_annotations'),
    };
  },
  async header(source, params) {
    const { bytes, isWhole } = await source.bytes(1);
    if (bytes.length === 0 && isWhole) return emptyHead;
    const { header, ...rest } = await readHeader(source, params.build);
    const columns = declaredColumns(header, params);
    return {
      header,
      ...rest,
      columns,
      growth: await growthOf(
        source,
        rest.bodyOffset,
        columns,
        header.samples,
        params.explodes ? params.annotationsKey : null,
      ),
      fields: declaredFields(header, params),
      genomeBuild: header.build,
    };
  },
  read(chunk, header, params, out, report, given) {
    // Choice: headers promise Integer for keys that hold fractions now and then: such a key becomes a double and the chunk is read
    // again, which happens once per key at most.
    const widened = new Set<string>();
    for (;;) {
      const before = widened.size;
      const lines = new VcfParser(header, params, out, report, given.columns, widened).read(chunk);
      if (widened.size === before) return lines;
      out.clear();
      report.restart();
    }
  },
};

/** A file of no bytes holds no records. */
const emptyHead = {
  header: {
    version: 4.2,
    info: [],
    format: [],
    hasFormat: false,
    samples: [],
    build: 'GRCh37',
    isBuildGuessed: true,
  },
  bodyOffset: 0,
  bodyLine: 0,
  columns: [],
  fields: [],
  genomeBuild: null,
  warnings: ['the file is empty'],
} as const;

function flag(input: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = input[name] ?? false;
  if (typeof value !== 'boolean') throw invalid('reader_params', `${name}: expected true or false`);
  return value;
}

function key(input: Readonly<Record<string, unknown>>, name: string, fallback: string): string {
  const value = input[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string' || value === '')
    throw invalid('reader_params', `${name}: expected a field name`);
  return value;
}
