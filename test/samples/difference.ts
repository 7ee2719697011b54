import type { Row } from '../../engine/core/types.js';
import { isSameJsonRecord } from '../fuzz/oracles.js';
import { naiveRecordsOf } from '../readers/csv/oracle.js';
import type { SourceImport } from '../readers/import-source.js';

/** Describes the first record that differs from the one that another tool has read; returns null if all are equal. */
export function firstRecordDifference(
  kind: string,
  sourceImport: SourceImport,
  otherRecords: readonly unknown[],
  hasHeader: boolean,
): string | null {
  const pairRecords = pairingByKind[kind] ?? pairingByKind['json']!;
  let i = 0;
  for (const [foundRecord, expectedRecord, isSame] of pairRecords(
    sourceImport,
    otherRecords,
    hasHeader,
  )) {
    const [a, b] = [JSON.stringify(foundRecord), JSON.stringify(expectedRecord)];
    if (isSame === false || (isSame === undefined && a !== b))
      return `record ${i}: ${a?.slice(0, 500)}, and the other tool ${b?.slice(0, 500)}`;
    i++;
  }
  return null;
}

/** Pairs of actual and expected records; `isSame` tells whether they are equal if this is not the equality of their JSON texts. */
type RecordPairs = Iterable<readonly [found: unknown, want: unknown, isSame?: boolean]>;
type PairRecords = (
  read: SourceImport,
  second: readonly unknown[],
  hasHeader: boolean,
) => RecordPairs;

const pairTableRows: PairRecords = ({ rows }, otherRecords, hasHeader) => {
  const lines = (otherRecords as string[][]).filter(([first]) => !first!.startsWith('#'));
  const names = hasHeader ? lines[0]! : lines[0]!.map((_, k) => `column_${k}`);
  const expectedRecords = naiveRecordsOf(names, hasHeader ? lines.slice(1) : lines);
  return rows.map((row, i) => [row, expectedRecords[i]]);
};

const pairGffFeatures: PairRecords = ({ rows }, otherRecords) => {
  const numberOrNull = (cell: string | undefined) => (cell === '.' ? null : Number(cell));
  return rows.map((row, i) => {
    const [, , , start, end, score, strand, phase] = otherRecords[i] as string[];
    return [
      [row['start'], row['end'], row['score'], row['strand'], row['phase']],
      [
        numberOrNull(start),
        numberOrNull(end),
        numberOrNull(score),
        strand === '.' ? null : strand,
        numberOrNull(phase),
      ],
    ];
  });
};

const pairVariants: PairRecords = ({ rows }, otherRecords) => {
  const expectedRecords = (otherRecords as string[][]).flatMap(
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
    // bcftools stores QUAL as a 32-bit float and prints it with six digits, so the expected value is rounded to six digits of a 32-bit
    // float too.
    const printedQuality = qual === null ? null : Number(Math.fround(Number(qual)).toPrecision(6));
    return [[chromosome, start, id, ref, allele, printedQuality, filter], expectedRecords[i]];
  });
};

/** Names that are reserved: the reader discards fields with these names. */
const reservedNames = ['_id', '_commit'];

const pairObjects: PairRecords = ({ rows, columns }, otherRecords) => {
  // The reader adds `genomic_coordinates`, so the field is not compared.
  const isOwn = (name: string) => name !== 'genomic_coordinates';
  const comparedColumns = columns.filter(({ name }) => isOwn(name));
  return rows.map((row, i) => {
    const ownRecord = Object.fromEntries(Object.entries(row).filter(([name]) => isOwn(name)));
    const otherEntries = Object.entries(otherRecords[i] as Row).filter(
      ([name]) => !reservedNames.includes(name),
    );
    const expectedRecord = Object.fromEntries(otherEntries);
    return [
      ownRecord,
      expectedRecord,
      isSameJsonRecord(expectedRecord, ownRecord, comparedColumns),
    ];
  });
};

const pairingByKind: Readonly<Record<string, PairRecords>> = {
  csv: pairTableRows,
  tsv: pairTableRows,
  maf: pairTableRows,
  vcf: pairVariants,
  gtf: pairGffFeatures,
  gff3: pairGffFeatures,
  json: pairObjects,
};
