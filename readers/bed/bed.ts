import { buildParam } from '../genome-build.js';
import type { Reader } from '../reader.js';
import { readBedHeader, startsLikeBed, type BedHeader, type BedParams } from './bed-header.js';
import { BedParser } from './bed-parser.js';

/**
 * BED3 to BED12 (UCSC Genome Browser FAQ, "BED format"; GA4GH BED v1): one record per feature line, with the fields of the
 * specification under their names, and `genomic_coordinates` when the genome build is known.
 */
export const bed: Reader<BedParams, BedHeader> = {
  name: 'bed',
  extensions: ['bed'],
  endsLinesAtReturn: true,
  recognizes: startsLikeBed,
  parameters: {},
  params: (input) => ({ build: buildParam(input['genome_build']) }),
  header: readBedHeader,
  read: (chunk, { build }, _params, out, report, options) =>
    new BedParser(build, out, report, options.columns).read(chunk),
};
