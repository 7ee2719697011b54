import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Format } from './format.js';
import { generateFile } from './generate.js';
import { nodeProgram, pythonProgram } from './peers/peer.js';
import { seededRandom } from './random.js';

const seed = 20_261_122;

/** Ensembl's genes as GFF3. */
export const gff3Format: Format = {
  name: 'gff3',
  title: 'GFF3, Ensembl human',
  records: 1_320_000,
  file: (records) => generateFile(`${records}-${seed}.gff3`, () => gff3Lines(records)),
  reader: 'gff3',
  limit: 0.2,
  peers: [
    nodeProgram('@gmod/gff by line to JSON', '2.0.0', './gff3-to-jsonl.js', 'peer.jsonl'),
    pythonProgram('Python csv to json', 'features_to_jsonl.py', ['gff3']),
  ],
};

/** Ensembl's genes as GTF. */
export const gtfFormat: Format = {
  name: 'gtf',
  title: 'GTF, Ensembl human',
  records: 730_000,
  file: (records) => generateFile(`${records}-${seed}.gtf`, () => gtfLines(records)),
  reader: 'gtf',
  limit: 0.2,
  peers: [pythonProgram('Python csv to json', 'features_to_jsonl.py', ['gtf'])],
};

function* gff3Lines(records: number): Generator<string> {
  yield '##gff-version 3\n#!genome-build GRCh38.p14\n#!genome-version GRCh38\n';
  const files = ['ensembl_grch38_97.gff3', 'ensembl_MYC.gff3'];
  const genes = files.flatMap((file) =>
    groupLinesByGene(readFileSync(`test/fixtures/gff3/${file}`, 'utf8'), /\tchromosome\t/, (line) =>
      /\tID=gene:/.test(line),
    ),
  );
  yield* copyGenes(genes, records, '###\n');
}

function* gtfLines(records: number): Generator<string> {
  yield '#!genome-build GRCh38.p14\n#!genome-version GRCh38\n';
  const bytes = readFileSync('test/fixtures/gtf/ensembl_grch37_head.gtf.gz');
  const genes = groupLinesByGene(gunzipSync(bytes).toString(), /^$/, (line) =>
    /\tgene\t/.test(line),
  );
  yield* copyGenes(genes, records, '');
}

/** Returns the lines of a GFF3 or GTF file, grouped by gene, without comments and lines that match `droppedLinePattern`. */
function groupLinesByGene(
  text: string,
  droppedLinePattern: RegExp,
  isGene: (line: string) => boolean,
): string[][] {
  const genes: string[][] = [[]];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#') || droppedLinePattern.test(line)) continue;
    if (isGene(line)) genes.push([]);
    genes.at(-1)!.push(line);
  }
  return genes.filter((gene) => gene.length > 0);
}

/** Yields real genes with their real structure, in random order along the genome, with new coordinates, identifiers and names. */
function* copyGenes(
  genes: readonly string[][],
  records: number,
  terminator: string,
): Generator<string> {
  const random = seededRandom(seed);
  const step = 3.1e9 / Math.max(1, records);
  let writtenCount = 0;
  for (let copy = 1; writtenCount < records; copy++) {
    const gene = random.pick(genes).slice(0, records - writtenCount);
    const chromosome = Math.min(22, 1 + Math.floor((writtenCount * step) / 140e6));
    const copyStart = 1 + Math.floor((writtenCount * step) % 140e6);
    const originalStart = Number(gene[0]!.split('\t')[3]);
    let text = '';
    for (const line of gene) {
      const [, source, type, start, stop, score, strand, phase, attributes = ''] = line.split('\t');
      const [low, high] = [start, stop].map(
        (at) => Number(at) - originalStart + copyStart + 50_000,
      );
      const ownAttributes = attributes
        .replace(
          /(ENS[GTEP])(\d{11})/g,
          (_, kind, id) => `${kind}${((Number(id) * 7 + copy * 997) % 9e10) + 1e10}`,
        )
        .replace(/((?:Name=|_name "))([A-Z][A-Z0-9]+)(?=[-.;"])/g, (all, key, name) =>
          name.startsWith('ENS') ? all : `${key}${name.slice(0, 4)}${copy}`,
        );
      text += `${[chromosome, source, type, low, high, score, strand, phase, ownAttributes].join('\t')}\n`;
    }
    writtenCount += gene.length;
    yield text + terminator;
  }
}
