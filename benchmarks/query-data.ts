import { type InfoKey, lines } from './data.js';
import { generated } from './generate.js';

const seed = 20_261_121;

/** Parts of words that sound like medicine: put together, 20,000 different ones. */
const starts = (
  'cardio neuro osteo hepato nephro gastro dermo hemo myo chondro angio cyto cranio ' +
  'opto oto pneumo psycho rhino thyro uro veno adeno arthro audio broncho cholo colpo dento encephalo ' +
  'fibro glyco hydro immuno kerato leuko lipo mammo melano mucos onco'
).split(' ');
const middles = (
  'bla cla dys ecta fer gen hyla iso kine lys mala nec oxi pla que rota scle tro uma vas ' +
  'xan yti zo pheno stri'
).split(' ');
const ends = (
  'sis tic pathy oma itis emia plasia trophy genesis megaly penia rrhea scopy stasis tomy uria ' +
  'ectasis lysis phagia philia'
).split(' ');
const words = middles.flatMap((middle) =>
  ends.flatMap((end) => starts.map((start) => `${start}${middle}${end}`)),
);

/** In about a fifth of the records, */
export const commonWord = words[0]!;
/** and in about thirty of a million. */
export const rareWord = words.at(-2)!;

/** Names of conditions as ClinVar gives them: a sentence of a few words, most of them common ones. */
const conditions: InfoKey = {
  id: 'CLNDN',
  number: '1',
  type: 'String',
  make: (random) => {
    if (random.next() < 0.4) return undefined;
    const text = Array.from(
      { length: 1 + random.below(7) },
      () => words[random.below(words.length, 4)]!,
    );
    text[0] = text[0]!.charAt(0).toUpperCase() + text[0]!.slice(1);
    return text.join('%20'); // a blank, in VCF 4.3
  },
};

/** The VCF of the import's benchmark, with a text in most records. */
export function textVcfFile(records: number): Promise<string> {
  return generated(`${records}-${seed}.text.vcf.gz`, () => lines(records, [conditions]), 'bgzf');
}

/** What makes the import store that text as text, whose words can be searched. */
export const targetFields: readonly object[] = [{ name: 'info.CLNDN', data_type: 'text' }];
