import { csvFormat } from './csv.js';
import { type Format, compareFormats } from './format.js';
import { gff3Format, gtfFormat } from './features.js';
import { jsonlFormat } from './jsonl.js';
import { nirvanaFormat } from './nirvana.js';
import { profileFormats } from './profile.js';
import { vcfFormat, vcfSamplesFormat } from './vcf.js';
import { xmlFormat } from './xml.js';

/** The input formats. Each one is a benchmark; the benchmark `formats` runs all of them. */
export const formats: readonly Format[] = [
  vcfFormat,
  vcfSamplesFormat,
  csvFormat,
  jsonlFormat,
  gff3Format,
  gtfFormat,
  xmlFormat,
  nirvanaFormat,
];

/** Returns the benchmark of one format, or of all formats for the name `formats`. */
export function runFormats(name: string): (flags: ReadonlySet<string>) => Promise<void> {
  const chosenFormats =
    name === 'formats' ? formats : formats.filter((format) => format.name === name);
  return (flags) =>
    flags.has('--profile')
      ? profileFormats(chosenFormats, flags)
      : compareFormats(name, chosenFormats, flags);
}
