import type { PeerStatement } from './peers/query-peer.js';
import { commonWord, moderateWords, rareWord, secondCommonWord } from './query-data.js';
import { stringColumns } from './query-tables.js';

/** The parts of the server's answer that are compared with the answers of the other engines. */
export interface QueryAnswer {
  readonly total: number;
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly facets?: Readonly<Record<string, unknown>>;
}

/** Values of the generated data that the queries ask for. */
export interface SampleRecord {
  readonly variant: string;
  readonly chromosome: string;
  readonly start: number;
  readonly gene: string;
  readonly rowId: string;
  /** Random variants, at most 10,000. */
  readonly variants: readonly string[];
}

/**
 * One query in the form for each engine. The last statement of a peer engine counts the matching records, as `total` in the server's
 * answer does.
 */
export interface BenchmarkQuery {
  readonly name: string;
  /** The highest allowed ratio to the faster peer engine with warm caches, if it differs from that of most queries. */
  readonly maxRatio?: number;
  readonly request: Readonly<Record<string, unknown>>;
  /** For a query for words in any field: the request for the same words in the only field that contains them. */
  readonly oneFieldRequest?: Readonly<Record<string, unknown>>;
  /** For a query that asks for something else each time, so that no answer is cached: the query of this number. */
  readonly renew?: (number: number) => BenchmarkQuery;
  /** The statements for DuckDB; without statements, DuckDB is not asked. */
  readonly duckdb?: readonly PeerStatement[];
  readonly chdb?: readonly PeerStatement[];
  /**
   * Returns the values that must be equal besides the total: of the server's answer (`answerValue`), and of the rows of the first statement
   * of a compared engine (`rowsValue`).
   */
  readonly answerValue?: (answer: QueryAnswer) => unknown;
  readonly rowsValue?: (rows: readonly (readonly unknown[])[]) => unknown;
}

/** Highest allowed ratio of a query for words to DuckDB's `ILIKE` over all string columns. */
const maxWordsRatio = 0.2;

/** Returns the queries of the benchmark. */
export function benchmarkQueries(sample: SampleRecord): readonly BenchmarkQuery[] {
  return [...filterQueries(sample), ...wordSearches(), ...facetQueries(), ...pageQueries()];
}

function filterQueries(sample: SampleRecord): readonly BenchmarkQuery[] {
  const { variant, chromosome, start, gene, rowId } = sample;
  const variants = sample.variants.slice(0, 1000);
  const [from, to] = [start - 500_000, start + 500_000];
  const part = rowId.slice(2, 7);
  const list = variants.map((one) => `'${one}'`).join(', ');
  return [
    countQuery('count, no filter', [], 'true'),
    countQuery('count, one filter', [['info.DP__gt', 50]], 'DP > 50'),
    recordPageQuery('equality, rare value', [['row_id', rowId]], `row_id = '${rowId}'`),
    recordPageQuery(
      'equality, common value',
      [['reference_allele', 'A']],
      `reference_allele = 'A'`,
    ),
    recordPageQuery('in 1,000 variants', [['variant__in', variants]], `variant IN (${list})`),
    recordPageQuery('variant lookup', [['variant', variant]], `variant = '${variant}'`),
    recordPageQuery('gene lookup', [['info.GENE', gene]], `GENE = '${gene}'`),
    recordPageQuery(
      'region of 1 Mb',
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
    recordPageQuery('numeric range', [['info.DP__range', [40, 42]]], 'DP BETWEEN 40 AND 42'),
    recordPageQuery('prefix', [['row_id__prefix', `rs${part}`]], `row_id LIKE 'rs${part}%'`),
    recordPageQuery('contains', [['row_id__contains', part]], `row_id LIKE '%${part}%'`),
    recordPageQuery(
      'regular expression',
      [['row_id__regexp', `rs${part}[0-4]*9[0-9]*`]],
      `regexp_full_match(row_id, 'rs${part}[0-4]*9[0-9]*')`,
      `match(row_id, '^rs${part}[0-4]*9[0-9]*$')`,
    ),
  ];
}

const wordSearches = (): readonly BenchmarkQuery[] => [
  wordQuery('word search, rare word', rareWord),
  wordQuery('word search, common word', commonWord),
  wordsInAnyFieldQuery('words without a field, a rare word', [rareWord]),
  wordsInAnyFieldQuery('words without a field, a common word', [commonWord]),
  wordsInAnyFieldQuery('words without a field, two words', [commonWord, secondCommonWord]),
  varyingWordQuery('words without a field, another word each time'),
];

const facetQueries = (): readonly BenchmarkQuery[] => [
  termsFacetQuery('terms facet, 5 values', 'info.CLNSIG', 10),
  termsFacetQuery('terms facet, 10 of 20,000 values', 'info.GENE', 10),
  termsFacetQuery('terms facet, all 20,000 values', 'info.GENE', 0),
  termsFacetQuery('filtered facet', 'info.CLNSIG', 10, [['info.DP__gt', 50]], 'DP > 50'),
  facetQuery(
    'stats',
    'info.MQ',
    { facet_type: 'stats' },
    'SELECT count(MQ), min(MQ), max(MQ), avg(MQ), sum(MQ) FROM t',
    (values) => {
      const stats = values as Readonly<Record<string, number>>;
      return ['count', 'min', 'max', 'avg', 'sum'].map((key) => roundedText(stats[key]!));
    },
    ([row]) => row!.map((value) => roundedText(Number(value))),
  ),
  facetQuery(
    'histogram',
    'qual',
    { facet_type: 'histogram', interval: 10 },
    'SELECT floor(qual / 10) * 10 AS k, count(*) FROM t WHERE qual IS NOT NULL GROUP BY k ORDER BY k',
    (bins) => bins,
    numbersIn,
  ),
];

const pageQueries = (): readonly BenchmarkQuery[] => [
  {
    name: 'sort, first 20',
    request: { ordering: ['-info.MQ'], limit: 20 },
    ...sameStatements([
      recordsStatement('SELECT * FROM t ORDER BY MQ DESC LIMIT 20'),
      totalStatement(),
    ]),
  },
  {
    name: 'page at offset 100,000',
    request: { limit: 100, offset: 100_000 },
    duckdb: [recordsStatement('SELECT * FROM t LIMIT 100 OFFSET 100000'), totalStatement()],
    // Without an ordering, ClickHouse's pages would differ from run to run; DuckDB keeps the order of insertion.
    chdb: [
      recordsStatement('SELECT * FROM t ORDER BY chromosome, "start" LIMIT 100 OFFSET 100000'),
      totalStatement(),
    ],
  },
  {
    name: '10,000 records as JSON',
    maxRatio: 1,
    request: { limit: 10_000 },
    duckdb: [recordsStatement('SELECT * FROM t LIMIT 10000'), totalStatement()],
    ...recordCountComparison,
  },
];

function countQuery(name: string, filters: readonly unknown[], where: string): BenchmarkQuery {
  return {
    name,
    maxRatio: 1.2,
    request: { filters, limit: 0 },
    ...sameStatements([totalStatement(where)]),
  };
}

/** Returns a query whose statements give a page of whole records and the total. */
function recordPageQuery(
  name: string,
  filters: readonly unknown[],
  where: string,
  chdbWhere = where,
): BenchmarkQuery {
  const statements = (condition: string): readonly PeerStatement[] => [
    recordsStatement(`SELECT * FROM t WHERE ${condition} LIMIT 100`),
    totalStatement(condition),
  ];
  return {
    name,
    request: { filters, limit: 100 },
    duckdb: statements(where),
    chdb: statements(chdbWhere),
    ...recordCountComparison,
  };
}

/** Compares the answers of the engines by the number of records in their pages. */
const recordCountComparison: Pick<BenchmarkQuery, 'answerValue' | 'rowsValue'> = {
  answerValue: ({ results }) => results.length,
  rowsValue: ([row]) => row![1],
};

/** Returns a search for a word, for which the server returns the hundred most relevant records and the peer engines return any hundred. */
function wordQuery(name: string, word: string): BenchmarkQuery {
  return recordPageQuery(
    name,
    [['info.CLNDN__contains', word]],
    `regexp_matches(CLNDN, '\\b${word}\\b', 'i')`,
    `hasAnyTokens(CLNDN, '${word}')`,
  );
}

/** Returns a query whose query string has one or more words; a record matches if any of its strings contains any of the words. */
function wordsInAnyFieldQuery(name: string, words: readonly string[]): BenchmarkQuery {
  const texts = stringColumns.map(({ name: column, isList }) =>
    isList ? `array_to_string("${column}", ' ')` : `"${column}"`,
  );
  const like = texts.flatMap((text) => words.map((one) => `${text} ILIKE '%${one}%'`));
  const { chdb: _, ...query } = recordPageQuery(name, [], like.join(' OR '));
  return {
    ...query,
    maxRatio: maxWordsRatio,
    request: { query: words.join(' '), limit: 100 },
    oneFieldRequest: { query: `info.CLNDN:(${words.join(' ')})`, limit: 100 },
  };
}

/** Returns a query for one word in any field, another word each time. */
function varyingWordQuery(name: string): BenchmarkQuery {
  const queryOf = (number: number): BenchmarkQuery =>
    wordsInAnyFieldQuery(name, [moderateWords[number % moderateWords.length]!]);
  return { ...queryOf(0), renew: queryOf };
}

function termsFacetQuery(
  name: string,
  field: string,
  limit: number,
  filters: readonly unknown[] = [],
  where = 'true',
): BenchmarkQuery {
  const column = field.split('.').at(-1)!;
  return {
    ...facetQuery(
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

function facetQuery(
  name: string,
  field: string,
  options: object,
  sql: string,
  answerValue: (value: unknown) => unknown,
  rowsValue: (rows: readonly (readonly unknown[])[]) => unknown,
  where = 'true',
): BenchmarkQuery {
  return {
    name,
    request: { limit: 0, facets: { [field]: options } },
    ...sameStatements([{ sql, shape: 'values' }, totalStatement(where)]),
    answerValue: ({ facets }) => answerValue(facets?.[field]),
    rowsValue,
  };
}

function sameStatements(
  statements: readonly PeerStatement[],
): Pick<BenchmarkQuery, 'duckdb' | 'chdb'> {
  return { duckdb: statements, chdb: statements };
}

function recordsStatement(sql: string): PeerStatement {
  return { sql, shape: 'records' };
}

function totalStatement(where = 'true'): PeerStatement {
  const condition = where === 'true' ? '' : ` WHERE ${where}`;
  return { sql: `SELECT count(*) FROM t${condition}`, shape: 'values' };
}

function numbersIn(rows: readonly (readonly unknown[])[]): readonly (readonly number[])[] {
  return rows.map((row) => row.map(Number));
}

/** Returns a statistic with nine digits, because adding the same numbers in another order changes the last digits of a sum. */
function roundedText(value: number): string {
  return value.toPrecision(9);
}
