/** A column of the table that bcftools and DuckDB write, with the type that Strandlake's import derives from the header of the VCF file. */
export interface PeerColumn {
  readonly name: string;
  /** The format string with which bcftools writes the column. */
  readonly format: string;
  /** The DuckDB expression that converts the text column of this name. */
  readonly expression: string;
}

/** A definition of an INFO or FORMAT field in the header of a VCF file. */
export interface VcfFieldDefinition {
  readonly id: string;
  readonly number: '0' | '1' | 'A' | 'R' | '.';
  readonly type: 'Integer' | 'Float' | 'String' | 'Flag';
}

const duckdbTypeByVcfType = {
  Integer: 'INTEGER',
  Float: 'DOUBLE',
  String: 'VARCHAR',
  Flag: 'BOOLEAN',
} as const;

const fixedVcfFields: readonly (readonly [string, string, string])[] = [
  ['chromosome', '%CHROM', 'chromosome'],
  ['position', '%POS', 'CAST(position AS INTEGER)'],
  ['row_id', '%ID', 'row_id'],
  ['reference_allele', '%REF', 'reference_allele'],
  ['alternate_alleles', '%ALT', `string_split(alternate_alleles, ',')`],
  ['qual', '%QUAL', 'CAST(qual AS DOUBLE)'],
  ['filter', '%FILTER', `string_split(filter, ';')`],
];

/** The columns for the fixed fields of a VCF line, without INFO. */
export const fixedColumns: readonly PeerColumn[] = fixedVcfFields.map(
  ([name, format, expression]) => ({
    name,
    format,
    expression,
  }),
);

/** Returns one column per INFO key. */
export function infoColumns(keys: readonly VcfFieldDefinition[]): readonly PeerColumn[] {
  return keys.map(({ id, number, type }) => ({
    name: id,
    format: `%INFO/${id}`,
    expression:
      type === 'Flag'
        ? `${id} IS NOT NULL`
        : number === '1'
          ? `CAST(${id} AS ${duckdbTypeByVcfType[type]})`
          : `CAST(string_split(${id}, ',') AS ${duckdbTypeByVcfType[type]}[])`,
  }));
}

/** Returns one column per FORMAT key, which holds the list of all samples' values. */
export function sampleColumns(keys: readonly VcfFieldDefinition[]): readonly PeerColumn[] {
  return keys.map(({ id, number, type }) => {
    const list = `string_split(sample_${id}, ';')`;
    const castOne = (value: string): string => `TRY_CAST(${value} AS ${duckdbTypeByVcfType[type]})`;
    return {
      name: `sample_${id}`,
      format: `[;%${id}]`,
      expression:
        number === '1'
          ? `list_transform(${list}[2:], x -> ${castOne('x')})`
          : `list_transform(${list}[2:], x -> list_transform(string_split(x, ','), y -> ${castOne('y')}))`,
    };
  });
}
