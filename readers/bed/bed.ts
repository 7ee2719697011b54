import { readBuildParam } from '../genome-build.js';
import type { Reader } from '../reader.js';
import { bedFormatByExtension } from './bed-formats.js';
import { readBedHeader, startsLikeBed, type BedHeader, type BedParams } from './bed-header.js';
import { BedParser } from './bed-parser.js';

/**
 * The reader of BED3 to BED12, bedGraph, narrowPeak, broadPeak and gappedPeak (UCSC Genome Browser FAQ, "Data File Formats"; GA4GH BED v1):
 * one record per feature line, with UCSC's field names, and `genomic_coordinates` if the genome build is known.
 */
export const bedReader: Reader<BedParams, BedHeader> = {
  name: 'bed',
  extensions: [...bedFormatByExtension.keys()],
  recognizes: startsLikeBed,
  parameters: {},
  params: (input) => ({ build: readBuildParam(input['genome_build']) }),
  header: readBedHeader,
  read: (chunk, header, _params, out, report, options) =>
    new BedParser(header, out, report, options.columns).read(chunk),
};
