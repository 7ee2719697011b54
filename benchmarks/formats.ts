import { csv } from './csv.js';
import { type Format, compareFormats } from './format.js';
import { gff3, gtf } from './features.js';
import { jsonl } from './jsonl.js';
import { nirvana } from './nirvana.js';
import { profileFormats } from './profile.js';
import { vcf, vcfSamples } from './vcf.js';
import { xml } from './xml.js';

/** Every input format. Each is a benchmark of its own; the benchmark `formats` runs all of them. */
export const formats: readonly Format[] = [vcf, vcfSamples, csv, jsonl, gff3, gtf, xml, nirvana];

/** Returns the benchmark of one format, or of all formats for the name `formats`. */
export function runFormats(name: string): (flags: ReadonlySet<string>) => Promise<void> {
  const chosenFormats =
    name === 'formats' ? formats : formats.filter((format) => format.name === name);
  return (flags) =>
    flags.has('--profile')
      ? profileFormats(chosenFormats, flags)
      : compareFormats(name, chosenFormats, flags);
}
