import { infoKeys } from '../data.js';

/** The same columns with the same types as our import makes from the file's header, as the peer would name them. */
export interface PeerColumn {
  readonly name: string;
  /** How bcftools prints it. */
  readonly format: string;
  /** The DuckDB expression over the text column of that name. */
  readonly expression: string;
}

const types = { Integer: 'INTEGER', Float: 'DOUBLE', String: 'VARCHAR', Flag: 'BOOLEAN' } as const;

const fixed: readonly (readonly [string, string, string])[] = [
  ['chromosome', '%CHROM', 'chromosome'],
  ['position', '%POS', 'CAST(position AS INTEGER)'],
  ['row_id', '%ID', 'row_id'],
  ['reference_allele', '%REF', 'reference_allele'],
  ['alternate_alleles', '%ALT', `string_split(alternate_alleles, ',')`],
  ['qual', '%QUAL', 'CAST(qual AS DOUBLE)'],
  ['filter', '%FILTER', `string_split(filter, ';')`],
];

/** What bcftools writes and DuckDB reads, in order. */
export const peerColumns: readonly PeerColumn[] = [
  ...fixed.map(([name, format, expression]) => ({ name, format, expression })),
  ...infoKeys.map(({ id, number, type }) => ({
    name: id,
    format: `%INFO/${id}`,
    expression:
      type === 'Flag'
        ? `${id} IS NOT NULL`
        : number === '1'
          ? `CAST(${id} AS ${types[type]})`
          : `CAST(string_split(${id}, ',') AS ${types[type]}[])`,
  })),
];
