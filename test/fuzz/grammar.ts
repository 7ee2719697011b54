import type { Random } from '../random.js';
import { randomText } from '../readers/records.js';
import { randomBelow, pickRandom, timesOf } from './pick.js';

/** Generates a text most of which the reader accepts. */
export function generateText(reader: string, next: Random): Buffer {
  return Buffer.from(textGenerators[reader]!(next));
}

type TextGenerator = (next: Random) => string;

export const textGenerators: Readonly<Record<string, TextGenerator>> = {
  vcf: vcfText,
  json: (next) => `${timesOf(1 + randomBelow(next, 12), () => randomText(next)).join('\n')}\n`,
  csv: (next) => tableText(next, ','),
  tsv: (next) => tableText(next, '\t'),
  xml: (next) =>
    `<?xml version="1.0"?>\n<root>\n${timesOf(randomBelow(next, 20), () => randomXmlElement(next, 0)).join('\n')}\n</root>\n`,
  gtf: (next) => featureText(next, gtfAttributes),
  gff3: (next) => `##gff-version 3\n${featureText(next, gff3Attributes)}`,
  bed: bedText,
  nirvana: nirvanaText,
};

/** Generates feature lines of 2 to 14 fields, some of them invalid, and other kinds of lines that occur in BED files. */
function bedText(next: Random): string {
  const line = (): string => {
    const otherLines = ['track name="a b"', 'browser position chr1:1-9', '# x', ''];
    if (next() < 0.1) return pickRandom(next, otherLines);
    const start = randomBelow(next, 1_000);
    const end = start + randomBelow(next, 1_000) - (next() < 0.05 ? 500 : 0);
    const restOfFields = [
      'name',
      String(randomBelow(next, 1_200)),
      pickRandom(next, ['+', '-', '.', '*']),
    ];
    const thickFields = [
      String(start),
      String(end),
      pickRandom(next, ['0', '255,0,0', '1,2', 'red']),
    ];
    const blockFields = [
      String(randomBelow(next, 3)),
      '10,20,',
      pickRandom(next, ['0,30', '0,x', ',']),
    ];
    const fields = [`chr${randomBelow(next, 25)}`, String(start), String(end), ...restOfFields, ...thickFields, ...blockFields, 'x', '1']; // prettier-ignore
    const count = pickRandom(next, [2, 3, 4, 6, 9, 12, 12, 14]);
    return fields.slice(0, count).join(pickRandom(next, ['\t', '\t', '\t', ' ']));
  };
  return `${timesOf(1 + randomBelow(next, 12), line).join('\n')}\n`;
}

function vcfText(next: Random): string {
  const info = timesOf(randomBelow(next, 6), (i) => ({
    id: pickRandom(next, [`K${i}`, 'AF', 'DP', 'END', `k.${i}`, `${i}X`]),
    number: pickRandom(next, ['0', '1', '1', '2', 'A', 'R', 'G', '.', '.']),
    type: pickRandom(next, ['Integer', 'Float', 'String', 'Flag', 'Character']),
  }));
  const format = ['GT', 'AD', 'DP', 'GQ', 'FT'].slice(0, randomBelow(next, 6));
  const samples =
    format.length === 0
      ? []
      : timesOf(1 + randomBelow(next, 4), (i) => pickRandom(next, [`s${i}`, `s ${i}`, `S${i}`]));
  const numbers: Readonly<Record<string, string>> = { GT: '1', AD: 'R', DP: '1', GQ: '1', FT: '1' };
  const types: Readonly<Record<string, string>> = {
    GT: 'String',
    AD: 'Integer',
    DP: 'Integer',
    GQ: 'Float',
    FT: 'String',
  };
  const headerLines = [
    `##fileformat=VCFv4.${pickRandom(next, [0, 1, 2, 3, 4, 5])}`,
    ...(next() < 0.5 ? ['##contig=<ID=1,length=248956422>'] : []),
    ...info.map(
      ({ id, number, type }) =>
        `##INFO=<ID=${id},Number=${type === 'Flag' ? 0 : number},Type=${type},Description="d">`,
    ),
    ...format.map(
      (id) => `##FORMAT=<ID=${id},Number=${numbers[id]},Type=${types[id]},Description="d">`,
    ),
    [
      '#CHROM',
      'POS',
      'ID',
      'REF',
      'ALT',
      'QUAL',
      'FILTER',
      'INFO',
      ...(format.length > 0 ? ['FORMAT', ...samples] : []),
    ].join('\t'),
  ];
  const randomBase = () => pickRandom(next, ['A', 'C', 'G', 'T', 'AT', 'N']);
  const randomScalar = (type: string): string =>
    type === 'Integer'
      ? String(randomBelow(next, 300))
      : type === 'Float'
        ? pickRandom(next, ['0.25', '1e-7', '3', 'nan', '.'])
        : pickRandom(next, ['x', 'a%3Bb', 'é', '.']);
  const lines = timesOf(randomBelow(next, 40), (i) => {
    const alts = timesOf(1 + randomBelow(next, 3), () =>
      pickRandom(next, [randomBase(), randomBase(), '<DEL>', '*', 'A]2:5]', '.']),
    );
    const values = info
      .filter(() => next() < 0.7)
      .map(({ id, number, type }) => {
        if (type === 'Flag' || number === '0') return id;
        const count =
          number === 'A'
            ? alts.length
            : number === 'R'
              ? alts.length + 1
              : number === '1'
                ? 1
                : number === '2'
                  ? 2
                  : 1 + randomBelow(next, 3);
        return `${id}=${timesOf(count, () => randomScalar(type)).join(',')}`;
      });
    const usedKeys = format.filter(() => next() < 0.9);
    const valueOfKey = (key: string): string =>
      key === 'GT'
        ? pickRandom(next, ['0/1', '1|0', './.', '.', '0'])
        : key === 'AD'
          ? timesOf(alts.length + 1, () => randomScalar('Integer')).join(',')
          : randomScalar(types[key]!);
    const samplesPart =
      format.length === 0
        ? []
        : [
            usedKeys.join(':') || '.',
            ...samples.map(
              () =>
                usedKeys
                  .slice(0, 1 + randomBelow(next, usedKeys.length + 1))
                  .map(valueOfKey)
                  .join(':') || '.',
            ),
          ];
    return [
      pickRandom(next, ['1', 'chr1', 'X', 'MT']),
      i * 7 + 1,
      pickRandom(next, ['.', `rs${i}`]),
      randomBase(),
      alts.join(','),
      pickRandom(next, ['.', '50', '3.5']),
      pickRandom(next, ['PASS', '.', 'q10;s50']),
      values.join(';') || '.',
      ...samplesPart,
    ].join('\t');
  });
  return `${[...headerLines, ...lines].join('\n')}\n`;
}

const cellTexts = [
  '1',
  '-2.5',
  '1e5',
  '',
  '',
  'abc',
  'é',
  'a b',
  '2024-01-02',
  'true',
  'NA',
  '#x',
  '007',
  ' 3 ',
  '"a,b"',
  '"a\nb"',
  '"say ""hi"""',
  '"\t"',
  '""',
  '"é\r\n日本"',
];

function tableText(next: Random, delimiter: string): string {
  const width = 1 + randomBelow(next, 6);
  const names = timesOf(width, (i) =>
    pickRandom(next, [`c${i}`, `c${i}`, 'name', 'Name', '"q ""n"""', '']),
  );
  const kinds = timesOf(width, () => pickRandom(next, [3, 3, cellTexts.length]));
  const row = () =>
    timesOf(width, (i) => pickRandom(next, cellTexts.slice(0, kinds[i]))).join(delimiter);
  const lineEnd = pickRandom(next, ['\n', '\n', '\r\n', '\r']);
  const comments = next() < 0.3 ? [`# a comment${delimiter}"`] : [];
  return (
    [...comments, names.join(delimiter), ...timesOf(randomBelow(next, 40), row)].join(lineEnd) +
    (next() < 0.8 ? lineEnd : '')
  );
}

function randomXmlElement(next: Random, level: number): string {
  const name = pickRandom(next, ['a', 'b', 'item', 'n:x', 'A']);
  const attributes = timesOf(
    randomBelow(next, 3),
    (i) => ` k${i}="${pickRandom(next, ['1', '', 'a &amp; b', '&#233;', "it's", 'é'])}"`,
  ).join('');
  const content = timesOf(level > 3 ? 0 : randomBelow(next, 4), () =>
    next() < 0.5
      ? randomXmlElement(next, level + 1)
      : pickRandom(next, [
          'text',
          ' ',
          '12',
          '1.5',
          '&lt;',
          '<![CDATA[<x>]]>',
          '<!-- c -->',
          '\n  ',
          'é',
          'true',
        ]),
  ).join('');
  return content === '' && next() < 0.5
    ? `<${name}${attributes}/>`
    : `<${name}${attributes}>${content}</${name}>`;
}

function featureText(next: Random, attributes: TextGenerator): string {
  const lines = timesOf(randomBelow(next, 40), (i) =>
    [
      pickRandom(next, ['chr1', '1', 'X', 'chr%201', 'ctg.1']),
      pickRandom(next, ['ensembl', '.', 'a b']),
      pickRandom(next, ['gene', 'exon', 'CDS', '.']),
      i * 10 + 1,
      i * 10 + randomBelow(next, 50),
      pickRandom(next, ['.', '0.5', '1e-3', '12']),
      pickRandom(next, ['+', '-', '.', '?']),
      pickRandom(next, ['.', '0', '1', '2']),
      attributes(next),
    ].join('\t'),
  );
  const extra =
    next() < 0.3 ? [pickRandom(next, ['###', '# a comment', '', '#!genome-build GRCh38'])] : [];
  return `${[...extra, ...lines, ...extra].join('\n')}\n`;
}

function gff3Attributes(next: Random): string {
  return (
    timesOf(randomBelow(next, 5), (i) =>
      pickRandom(next, [
        `ID=g${i}`,
        'Parent=a,b',
        `Name=n%2C${i}`,
        'Note=x y,z',
        `k${i}=`,
        `level=${i}`,
        'score=0.5',
        'Name=é',
      ]),
    ).join(';') + pickRandom(next, ['', ';', ' '])
  );
}

function gtfAttributes(next: Random): string {
  return timesOf(randomBelow(next, 5), (i) =>
    pickRandom(next, [
      `gene_id "g${i}";`,
      'tag "basic";',
      'tag "CCDS";',
      `level ${i};`,
      'note "a; b";',
      'x "";',
      'name "é";',
    ]),
  ).join(' ');
}

function nirvanaText(next: Random): string {
  const header = {
    annotator: 'Nirvana 2.0',
    genomeAssembly: pickRandom(next, ['GRCh37', 'GRCh38', 'SARSCoV2']),
    samples: ['s1'],
  };
  const positions = timesOf(randomBelow(next, 20), (i) =>
    JSON.stringify({
      chromosome: pickRandom(next, ['chr1', '1', 'chrX']),
      position: i * 5 + 1,
      ...(next() < 0.3 && { svEnd: i * 5 + 50 }),
      refAllele: pickRandom(next, ['A', 'ACGT', 'N']),
      altAlleles: [pickRandom(next, ['T', '<DEL>', 'AT'])],
      ...(JSON.parse(randomText(next, 1)) as object),
    }),
  );
  const tail = pickRandom(next, [']}\n', `],"genes":[\n{"name":"A"},\n{"name":"B"}\n]}\n`]);
  return `{"header":${JSON.stringify(header)},"positions":[\n${positions.join(',\n')}${positions.length > 0 ? '\n' : ''}${tail}`;
}
