import { readFileSync } from 'node:fs';
import type { Format } from './format.js';
import { generateFile } from './generate.js';
import { pythonProgram } from './peers/peer.js';
import { type RandomGenerator, seededRandom } from './random.js';

const seed = 20_260_402;

/** ClinVar's XML release, one record per variation. */
export const xmlFormat: Format = {
  name: 'xml',
  title: 'XML, ClinVar release',
  records: 16_500,
  file: (records) => generateFile(`${records}-${seed}.xml`, () => xmlPieces(records)),
  reader: 'xml',
  limit: 0.5,
  peers: [pythonProgram('Python iterparse to json', 'xml_to_jsonl.py')],
};

/** Ten real records of ClinVar's release format (ClinVar, public domain, by way of clinvar-this, MIT). */
const clinvarReleaseXml = readFileSync('test/fixtures/xml/clinvar_ten_records.xml', 'utf8');
const firstRecordOffset = clinvarReleaseXml.indexOf('<VariationArchive');
const closingTagOffset = clinvarReleaseXml.lastIndexOf('</ClinVarVariationRelease>');

/** The text of each record, divided at the dates and numbers that are replaced. */
const recordTemplates = clinvarReleaseXml
  .slice(firstRecordOffset, closingTagOffset)
  .split(/(?<=<\/VariationArchive>\s*)(?=<VariationArchive)/)
  .map((record) => record.split(/(\b\d{4}-\d\d-\d\d\b|\d{4,})/));

/** Yields the text of the generated XML file in parts. The same number of records gives the same text. */
function* xmlPieces(records: number): Generator<string> {
  yield clinvarReleaseXml.slice(0, firstRecordOffset);
  const random = seededRandom(seed);
  for (let row = 0; row < records; row++) {
    yield random
      .pick(recordTemplates)
      .map((part, i) => (i % 2 === 0 ? part : varyText(part, random)))
      .join('');
  }
  yield clinvarReleaseXml.slice(closingTagOffset);
}

/** Returns a random date for a date, and for a number a random one with the same first digit and length. */
function varyText(text: string, random: RandomGenerator): string {
  if (!text.includes('-')) {
    let digits = text[0]!;
    while (digits.length < text.length) digits += random.below(10);
    return digits;
  }
  const twoDigits = (number: number): string => String(number).padStart(2, '0');
  return `20${10 + random.below(15)}-${twoDigits(1 + random.below(12))}-${twoDigits(1 + random.below(28))}`;
}
