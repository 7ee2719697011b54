import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { segmentsOf } from './segments.js';
import type { BenchServer } from './server.js';
import { type ResultLine, median } from './table.js';

/** A query as a request to the server, and as SQL for DuckDB on the files of the same dataset. `$t` stands for the table. */
interface ComparedQuery {
  readonly name: string;
  readonly request: object;
  /** The first value of the last statement must equal `total` in the server's answer. */
  readonly sql: readonly string[];
}

interface MiddleRecord {
  readonly variant: string;
  readonly chromosome: string;
  readonly start: number;
}

/** Returns the queries of the benchmark, about a record from the middle of the data. */
function comparedQueries({ variant, chromosome, start }: MiddleRecord): readonly ComparedQuery[] {
  const [from, to] = [start - 500_000, start + 500_000];
  const region = `genomic_coordinates.chromosome = '${chromosome}'
    AND genomic_coordinates."start" <= ${to} AND genomic_coordinates.stop >= ${from}`;
  const filter = `info.CLNSIG = 'Pathogenic' AND info.DP > 50`;
  const pageStatements = (where: string): readonly string[] => [
    `SELECT * FROM $t WHERE ${where} LIMIT 100`,
    `SELECT count(*) FROM $t WHERE ${where}`,
  ];
  return [
    {
      name: 'filtered query, first 100',
      request: {
        filters: [
          ['info.CLNSIG', 'Pathogenic'],
          ['info.DP__gt', 50],
        ],
        limit: 100,
      },
      sql: pageStatements(filter),
    },
    {
      name: 'variant lookup',
      request: { filters: [['variant', variant]], limit: 100 },
      sql: pageStatements(`variant = '${variant}'`),
    },
    {
      name: 'region of 1 Mb, first 100',
      request: {
        filters: [
          {
            and: [
              ['genomic_coordinates.chromosome', chromosome],
              ['genomic_coordinates.start__lte', to],
              ['genomic_coordinates.stop__gte', from],
            ],
          },
        ],
        limit: 100,
      },
      sql: pageStatements(region),
    },
    {
      name: 'terms facet, 10 of 20,000 genes',
      request: { limit: 0, facets: { 'info.GENE': { facet_type: 'terms', limit: 10 } } },
      sql: [
        `SELECT info.GENE, count(*) AS n FROM $t WHERE info.GENE IS NOT NULL
           GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10`,
        'SELECT count(*) FROM $t',
      ],
    },
  ];
}

/** Times every query `runs` times, the server and DuckDB in turn: the server over HTTP with JSON, DuckDB in this process. */
export async function timeQueries(
  server: BenchServer,
  datasetId: number,
  runs: number,
): Promise<ResultLine[]> {
  const path = `/v2/datasets/${datasetId}/data`;
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const files = segmentsOf(server.data, datasetId);
  const table = `read_parquet([${files.map((file) => `'${file}'`).join(', ')}])`;
  const { total } = await server.call('POST', path, { limit: 0 });
  const middleRecord = await server.call('POST', path, { limit: 1, offset: Math.floor(total / 2) });
  const sample = middleRecordOf(middleRecord.results[0] ?? {});
  const lines: ResultLine[] = [];
  for (const { name, request, sql } of comparedQueries(sample)) {
    const [ours, theirs]: [number[], number[]] = [[], []];
    const totals: [number, number] = [0, 0];
    for (let run = 0; run < runs; run++) {
      const oursFrom = performance.now();
      totals[0] = (await server.call('POST', path, request)).total;
      ours.push(performance.now() - oursFrom);
      const theirsFrom = performance.now();
      for (const text of sql)
        totals[1] = await queryFirstValue(connection, text.replaceAll('$t', table));
      theirs.push(performance.now() - theirsFrom);
    }
    if (totals[0] !== totals[1]) throw new Error(`${name}: ${totals[0]} is not ${totals[1]}`);
    const [a, b] = [median(ours), median(theirs)];
    lines.push({
      measurement: name,
      ours: millisecondsText(a),
      peer: `DuckDB ${millisecondsText(b)}`,
      ratio: a / b,
      limit: 1.3,
    });
  }
  connection.closeSync();
  return lines;
}

function middleRecordOf(record: Readonly<Record<string, unknown>>): MiddleRecord {
  const coordinates = record['genomic_coordinates'] as {
    readonly chromosome: string;
    readonly start: number;
  };
  return {
    variant: String(record['variant']),
    chromosome: coordinates.chromosome,
    start: coordinates.start,
  };
}

async function queryFirstValue(connection: DuckDBConnection, sql: string): Promise<number> {
  const result = await connection.runAndReadAll(sql);
  return Number(result.getRowsJson()[0]?.[0]);
}

function millisecondsText(value: number): string {
  return `${value.toFixed(1)} ms`;
}
