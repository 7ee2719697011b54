import type { Reader } from '../reader.js';
import { declaredColumns, declaredFields } from './columns.js';
import { readHeader, type VcfHeader } from './vcf-header.js';
import { meaningsJson, keyMeanings } from './known-sources.js';
import { estimateMemoryPerByte } from './memory-estimate.js';
import { vcfParameterDescriptions, parseVcfParams, type VcfParams } from './vcf-params.js';
import { VcfParser } from './vcf-parser.js';

/**
 * The reader of VCF 4.0 to 4.5: one record per alternate allele, or per allele and annotation with `explode_annotations` (contract 10.6).
 */
export const vcfReader: Reader<VcfParams, VcfHeader> = {
  name: 'vcf',
  extensions: ['vcf'],
  recognizes: (start) =>
    start.startsWith('##fileformat=VCF') || /^#CHROM\tPOS\tID\tREF\tALT/m.test(start),
  endsLinesOnlyAtLineFeed: true,
  parameters: vcfParameterDescriptions,
  params: parseVcfParams,
  async header(source, params) {
    const { bytes, isWhole } = await source.firstBytes(1);
    if (bytes.length === 0 && isWhole) return emptyFileHeader;
    const { header: parsedHeader, ...rest } = await readHeader(source, params.build);
    const header = { ...parsedHeader, meanings: keyMeanings(parsedHeader, params) };
    const columns = declaredColumns(header, params);
    const explodedKey = params.explodes ? params.annotationsKey : null;
    return {
      header,
      ...rest,
      memoryPerByte: await estimateMemoryPerByte(
        source,
        rest.bodyOffset,
        columns,
        header.samples,
        explodedKey,
      ),
      fields: declaredFields(header, params),
      genomeBuild: header.build,
      meanings: meaningsJson(header.meanings),
    };
  },
  read(chunk, header, params, out, report, options) {
    // Choice: some headers declare the type Integer for a key whose values are fractions. The key is then stored as a double, and
    // the chunk is read again, which happens at most once per key, as for a key without a declaration whose flags get a value.
    const widenedNames = new Set<string>();
    for (;;) {
      const countBefore = widenedNames.size;
      const parser = new VcfParser({
        header,
        params,
        out,
        report,
        existingColumns: options.columns,
        widenedNames,
      });
      const lines = parser.read(chunk);
      if (widenedNames.size === countBefore) return lines;
      out.clear();
      report.restart();
    }
  },
};

/** The header of a file without bytes, which holds no records. */
const emptyFileHeader = {
  header: {
    version: 4.2,
    info: [],
    format: [],
    hasFormat: false,
    samples: [],
    build: 'GRCh37',
    meta: [],
    meanings: [],
  },
  bodyOffset: 0,
  bodyLine: 0,
  fields: [],
  genomeBuild: null,
  warnings: ['the file is empty'],
} as const;
