import type { Row } from '../../engine/core/types.js';
import { jsonAgrees } from '../fuzz/oracles.js';
import { recordsOf } from '../readers/csv/oracle.js';
import type { SourceImport } from '../readers/import-source.js';

/** Describes the first record that differs from the reading of another tool; null when all are equal. */
export function difference(
  kind: string,
  read: SourceImport,
  second: readonly unknown[],
  hasHeader: boolean,
): string | null {
  const pairs = comparisons[kind] ?? comparisons['json']!;
  let i = 0;
  for (const [found, want, isSame] of pairs(read, second, hasHeader)) {
    const [a, b] = [JSON.stringify(found), JSON.stringify(want)];
    if (isSame === false || (isSame === undefined && a !== b))
      return `record ${i}: ${a?.slice(0, 500)}, and the other tool ${b?.slice(0, 500)}`;
    i++;
  }
  return null;
}

/** Pairs of actual and expected records; `isSame` is set where the comparison is not plain equality. */
type Pairs = Iterable<readonly [found: unknown, want: unknown, isSame?: boolean]>;
type Compared = (read: SourceImport, second: readonly unknown[], hasHeader: boolean) => Pairs;

const table: Compared = ({ rows }, second, hasHeader) => {
  const lines = (second as string[][]).filter(([first]) => !first!.startsWith('#'));
  const names = hasHeader ? lines[0]! : lines[0]!.map((_, k) => `column_${k}`);
  const expectedRecords = recordsOf(names, hasHeader ? lines.slice(1) : lines);
  return rows.map((row, i) => [row, expectedRecords[i]]);
};

const features: Compared = ({ rows }, second) => {
  const number = (cell: string | undefined) => (cell === '.' ? null : Number(cell));
  return rows.map((row, i) => {
    const [, , , start, end, score, strand, phase] = second[i] as string[];
    return [
      [row['start'], row['end'], row['score'], row['strand'], row['phase']],
      [number(start), number(end), number(score), strand === '.' ? null : strand, number(phase)],
    ];
  });
};

const variants: Compared = ({ rows }, second) => {
  const expectedRecords = (second as string[][]).flatMap(
    ([chromosome, position, id, ref, alts, qual, filter]) =>
      alts!
        .split(',')
        .map((allele) => [
          chromosome!.replace(/^chr/i, ''),
          Number(position),
          id === '.' ? null : id,
          ref,
          allele === '.' ? ref : allele,
          qual === '.' ? null : Number(qual),
          filter === '.' ? null : filter === 'PASS' ? [] : filter!.split(';'),
        ]),
  );
  return rows.map((row, i) => {
    const { chromosome, start } = row['genomic_coordinates'] as Row;
    const { row_id: id, reference_allele: ref, allele, qual, filter } = row;
    // bcftools stores QUAL as a 32-bit float and prints six digits.
    const printedQuality = qual === null ? null : Number(Math.fround(Number(qual)).toPrecision(6));
    return [[chromosome, start, id, ref, allele, printedQuality, filter], expectedRecords[i]];
  });
};

/** Reserved names: fields of records with these names are discarded. */
const reservedNames = ['_id', '_commit'];

const objects: Compared = ({ rows, columns }, second) => {
  // `genomic_coordinates` is added by the reader.
  const isOwn = (name: string) => name !== 'genomic_coordinates';
  const knownColumns = columns.filter(({ name }) => isOwn(name));
  return rows.map((row, i) => {
    const ownRecord = Object.fromEntries(Object.entries(row).filter(([name]) => isOwn(name)));
    const all = Object.entries(second[i] as Row).filter(([name]) => !reservedNames.includes(name));
    const expectedRecord = Object.fromEntries(all);
    return [ownRecord, expectedRecord, jsonAgrees(expectedRecord, ownRecord, knownColumns)];
  });
};

const comparisons: Readonly<Record<string, Compared>> = {
  csv: table,
  tsv: table,
  maf: table,
  vcf: variants,
  gtf: features,
  gff3: features,
  json: objects,
};
