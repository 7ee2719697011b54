import { type InfoKey, vcfLines } from './data.js';
import { generateFile } from './generate.js';

const seed = 20_261_121;

/** Parts of invented medical words; all combinations make 20,000 words. */
const wordPrefixes = (
  'cardio neuro osteo hepato nephro gastro dermo hemo myo chondro angio cyto cranio ' +
  'opto oto pneumo psycho rhino thyro uro veno adeno arthro audio broncho cholo colpo dento encephalo ' +
  'fibro glyco hydro immuno kerato leuko lipo mammo melano mucos onco'
).split(' ');
const wordMiddles = (
  'bla cla dys ecta fer gen hyla iso kine lys mala nec oxi pla que rota scle tro uma vas ' +
  'xan yti zo pheno stri'
).split(' ');
const wordSuffixes = (
  'sis tic pathy oma itis emia plasia trophy genesis megaly penia rrhea scopy stasis tomy uria ' +
  'ectasis lysis phagia philia'
).split(' ');
const inventedWords = wordMiddles.flatMap((middle) =>
  wordSuffixes.flatMap((suffix) => wordPrefixes.map((prefix) => `${prefix}${middle}${suffix}`)),
);

/** A word in about a sixth of the records. */
export const commonWord = inventedWords[0]!;
/** A second word, in about one of 27 records, for searches of two words. */
export const secondCommonWord = inventedWords[1]!;
/** A word in about thirty of one million records. */
export const rareWord = inventedWords.at(-2)!;

/** Words that each occur in one of 1,000 to one of 6,000 records, for benchmarks in which every search has a different word. */
export const moderateWords = inventedWords.slice(200, 2_000);

/** Names of conditions in the style of ClinVar: a few words each, mostly common ones. */
const clndnKey: InfoKey = {
  id: 'CLNDN',
  number: '1',
  type: 'String',
  make: (random) => {
    if (random.next() < 0.4) return undefined;
    const text = Array.from(
      { length: 1 + random.below(7) },
      () => inventedWords[random.below(inventedWords.length, 4)]!,
    );
    text[0] = text[0]!.charAt(0).toUpperCase() + text[0]!.slice(1);
    return text.join('%20'); // %20 stands for a blank in values of VCF 4.3
  },
};

/** Returns the path of the VCF of the import benchmark with one more INFO key, a text in most records. */
export function generateTextVcfFile(records: number): Promise<string> {
  return generateFile(
    `${records}-${seed}.text.vcf.gz`,
    () => vcfLines(records, [clndnKey]),
    'bgzf',
  );
}

/** Target fields of the import: the text is stored with the type `text`, which has an index of its words. */
export const targetFields: readonly object[] = [{ name: 'info.CLNDN', data_type: 'text' }];
