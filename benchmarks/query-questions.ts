import { commonWord, rareWord } from './query-data.js';
import type { PeerStatement } from './peers/query-peer.js';

/** The parts of the server's answer that are compared with the peers. */
export interface QueryAnswer {
  readonly total: number;
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly facets?: Readonly<Record<string, unknown>>;
}

/** Values of the data that queries ask for. */
export interface Sample {
  readonly variant: string;
  readonly chromosome: string;
  readonly start: number;
  readonly gene: string;
  readonly rowId: string;
  /** 10,000 random variants. */
  readonly variants: readonly string[];
}

/** One query for all three engines. The last statement of a peer counts the matching records, as every answer of the server does. */
export interface Question {
  readonly name: string;
  /** Highest allowed ratio to the faster peer. */
  readonly bar: number;
  readonly request: Readonly<Record<string, unknown>>;
  readonly duckdb: readonly PeerStatement[];
  readonly chdb: readonly PeerStatement[];
  /** Values that must be equal besides the total: of the server's answer, and of the peer's first statement. */
  readonly ours?: (answer: QueryAnswer) => unknown;
  readonly theirs?: (rows: readonly (readonly unknown[])[]) => unknown;
}

const usual = 1.5;
/** Limit for queries that the peers answer by an index: the server must not be slower at all. */
const indexed = 1;

/** Queries of the benchmark. */
export function questions(sample: Sample): readonly Question[] {
  const { variant, chromosome, start, gene, rowId } = sample;
  const variants = sample.variants.slice(0, 1000);
  const [from, to] = [start - 500_000, start + 500_000];
  const part = rowId.slice(2, 7);
  const list = variants.map((one) => `'${one}'`).join(', ');
  return [
    count('count, no filter', [], 'true'),
    count('count, one filter', [['info.DP__gt', 50]], 'DP > 50'),
    page('equality, rare value', usual, [['row_id', rowId]], `row_id = '${rowId}'`),
    page('equality, common value', usual, [['reference_allele', 'A']], `reference_allele = 'A'`),
    page('in 1,000 variants', usual, [['variant__in', variants]], `variant IN (${list})`),
    page('variant lookup', indexed, [['variant', variant]], `variant = '${variant}'`),
    page('gene lookup', usual, [['info.GENE', gene]], `GENE = '${gene}'`),
    page(
      'region of 1 Mb',
      indexed,
      [
        {
          and: [
            ['genomic_coordinates.chromosome', chromosome],
            ['genomic_coordinates.start__lte', to],
            ['genomic_coordinates.stop__gte', from],
          ],
        },
      ],
      `chromosome = '${chromosome}' AND "start" <= ${to} AND stop >= ${from}`,
    ),
    page('numeric range', usual, [['info.DP__range', [40, 42]]], 'DP BETWEEN 40 AND 42'),
    page('prefix', usual, [['row_id__prefix', `rs${part}`]], `row_id LIKE 'rs${part}%'`),
    page('contains', usual, [['row_id__contains', part]], `row_id LIKE '%${part}%'`),
    page(
      'regular expression',
      usual,
      [['row_id__regexp', `rs${part}[0-4]*9[0-9]*`]],
      `regexp_full_match(row_id, 'rs${part}[0-4]*9[0-9]*')`,
      `match(row_id, '^rs${part}[0-4]*9[0-9]*$')`,
    ),
    word('word search, rare word', rareWord),
    word('word search, common word', commonWord),
    terms('terms facet, 5 values', 'info.CLNSIG', 10),
    terms('terms facet, 10 of 20,000 values', 'info.GENE', 10),
    terms('terms facet, all 20,000 values', 'info.GENE', 0),
    terms('filtered facet', 'info.CLNSIG', 10, [['info.DP__gt', 50]], 'DP > 50'),
    facet(
      'stats',
      'info.MQ',
      { facet_type: 'stats' },
      'SELECT count(MQ), min(MQ), max(MQ), avg(MQ), sum(MQ) FROM t',
      (values) => {
        const stats = values as Readonly<Record<string, number>>;
        return ['count', 'min', 'max', 'avg', 'sum'].map((key) => rounded(stats[key]!));
      },
      ([row]) => row!.map((value) => rounded(Number(value))),
    ),
    facet(
      'histogram',
      'qual',
      { facet_type: 'histogram', interval: 10 },
      'SELECT floor(qual / 10) * 10 AS k, count(*) FROM t WHERE qual IS NOT NULL GROUP BY k ORDER BY k',
      (bins) => bins,
      numbers,
    ),
    {
      name: 'sort, first 20',
      bar: usual,
      request: { ordering: ['-info.MQ'], limit: 20 },
      ...same([records('SELECT * FROM t ORDER BY MQ DESC LIMIT 20'), total()]),
    },
    {
      name: 'page at offset 100,000',
      bar: usual,
      request: { limit: 100, offset: 100_000 },
      duckdb: [records('SELECT * FROM t LIMIT 100 OFFSET 100000'), total()],
      // DuckDB's pages would differ from run to run without an ordering.
      chdb: [
        records('SELECT * FROM t ORDER BY chromosome, "start" LIMIT 100 OFFSET 100000'),
        total(),
      ],
    },
  ];
}

function count(name: string, filters: readonly unknown[], where: string): Question {
  return { name, bar: usual, request: { filters, limit: 0 }, ...same([total(where)]) };
}

/** Statements for a page of whole records and for the total. */
function page(
  name: string,
  bar: number,
  filters: readonly unknown[],
  where: string,
  chdbWhere = where,
): Question {
  const statements = (condition: string): readonly PeerStatement[] => [
    records(`SELECT * FROM t WHERE ${condition} LIMIT 100`),
    total(condition),
  ];
  return {
    name,
    bar,
    request: { filters, limit: 100 },
    duckdb: statements(where),
    chdb: statements(chdbWhere),
  };
}

/** The server answers the hundred most relevant records, the peers any hundred. */
function word(name: string, wanted: string): Question {
  return page(
    name,
    indexed,
    [['info.CLNDN__contains', wanted]],
    `regexp_matches(CLNDN, '\\b${wanted}\\b', 'i')`,
    `hasAnyTokens(CLNDN, '${wanted}')`,
  );
}

function terms(
  name: string,
  field: string,
  limit: number,
  filters: readonly unknown[] = [],
  where = 'true',
): Question {
  const column = field.split('.').at(-1)!;
  return {
    ...facet(
      name,
      field,
      { facet_type: 'terms', limit },
      `SELECT ${column} AS k, count(*) AS n FROM t WHERE ${where} AND ${column} IS NOT NULL
        GROUP BY k ORDER BY n DESC, k${limit > 0 ? ` LIMIT ${limit}` : ''}`,
      (values) => values,
      (rows) => rows.map(([key, n]) => [key, Number(n)]),
      where,
    ),
    request: { filters, limit: 0, facets: { [field]: { facet_type: 'terms', limit } } },
  };
}

function facet(
  name: string,
  field: string,
  options: object,
  sql: string,
  ours: (value: unknown) => unknown,
  theirs: (rows: readonly (readonly unknown[])[]) => unknown,
  where = 'true',
): Question {
  return {
    name,
    bar: usual,
    request: { limit: 0, facets: { [field]: options } },
    ...same([{ sql, shape: 'values' }, total(where)]),
    ours: ({ facets }) => ours(facets?.[field]),
    theirs,
  };
}

function same(statements: readonly PeerStatement[]): Pick<Question, 'duckdb' | 'chdb'> {
  return { duckdb: statements, chdb: statements };
}

function records(sql: string): PeerStatement {
  return { sql, shape: 'records' };
}

function total(where = 'true'): PeerStatement {
  const condition = where === 'true' ? '' : ` WHERE ${where}`;
  return { sql: `SELECT count(*) FROM t${condition}`, shape: 'values' };
}

function numbers(rows: readonly (readonly unknown[])[]): readonly (readonly number[])[] {
  return rows.map((row) => row.map(Number));
}

/** Rounds a sum: adding the same numbers in another order changes the last digits. */
function rounded(value: number): string {
  return value.toPrecision(9);
}
