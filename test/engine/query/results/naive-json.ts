import type { Column, Columns } from '../../../../engine/core/types.js';
import { reservedColumns } from '../../../../engine/store/arrow-columns.js';
import { project, type ProjectedColumn } from '../../../../engine/query/results/projection.js';
import type { QueryRequest } from '../../../../engine/query/request/query-request.js';
import type { EngineFixture, TestDataset } from '../dataset.js';

/** Returns the decimal number with the fewest digits that denotes the same 32-bit float, found by trying. */
export function naiveFloat(value: number): string {
  if (value < 0) return `-${naiveFloat(-value)}`;
  if (value === 0) return '0';
  for (let digits = 1; digits < 10; digits++) {
    const [text, exponent] = value.toExponential(digits - 1).split('e') as [string, string];
    const whole = BigInt(text.replace('.', ''));
    const power = Number(exponent) - digits + 1;
    const candidates = [whole, whole - 1n, whole + 1n]
      .map((each) => [each, Number(`${each}e${power}`)] as const)
      .filter(([, each]) => Math.fround(each) === value);
    // Of the decimal numbers that read back as the float, the nearest is chosen; if two are equally near, the one with an even last digit.
    const distanceTo = (each: bigint): bigint => {
      const unit = 10n ** BigInt(Math.abs(power));
      const [a, b] =
        power < 0
          ? [each, BigInt(value * 2 ** 149) * unit]
          : [each * unit, BigInt(value * 2 ** 149)];
      const difference = (a << 149n) - b;
      return difference < 0n ? -difference : difference;
    };
    candidates.sort(
      ([a], [b]) => Number(distanceTo(a) - distanceTo(b)) || Number((a & 1n) - (b & 1n)),
    );
    if (candidates.length > 0) return String(candidates[0]![1]);
  }
  throw new Error(`${value} is no 32-bit float`);
}

/** Returns a date as `YYYY-MM-DD`, with the time of day if it is not midnight. */
export function naiveDate(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const millisPerDay = 86_400_000n;
  // `Date` reaches only to the year 275760, so other years are shifted by multiples of 400 years (146,097 days).
  let millis = (micros - fraction) / 1000n;
  let years = 0;
  while (millis > 8_000_000_000_000_000n) [millis, years] = [millis - 146_097n * millisPerDay * 100n, years + 40_000]; // prettier-ignore
  while (millis < -8_000_000_000_000_000n) [millis, years] = [millis + 146_097n * millisPerDay * 100n, years - 40_000]; // prettier-ignore
  const date = new Date(Number(millis));
  const year = date.getUTCFullYear() + years;
  const [, rest] = /-(\d\d-\d\dT\d\d:\d\d:\d\d)/.exec(date.toISOString().slice(1)) as unknown as [string, string]; // prettier-ignore
  const text = `${year < 0 ? `-${-year}` : String(year).padStart(4, '0')}-${rest}`;
  if (fraction > 0n) return `${text}.${String(fraction).padStart(6, '0')}`;
  return text.endsWith('T00:00:00') ? text.slice(0, -9) : text;
}

/** Returns the JSON of a value, which has the form that the SQL engine gives its values; undefined if the value has none. */
export function naiveJson(column: Column, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (column.isList) {
    const { items } = value as { readonly items: readonly unknown[] };
    return `[${items.map((item) => naiveJson({ ...column, isList: false }, item) ?? 'null').join(',')}]`;
  }
  switch (column.type) {
    case 'object': {
      const { entries } = value as { readonly entries: Readonly<Record<string, unknown>> };
      const members = column.children!.flatMap((child) => {
        const text = naiveJson(child, Object.hasOwn(entries, child.physical) ? entries[child.physical] : null); // prettier-ignore
        return text === undefined ? [] : [`${JSON.stringify(child.name)}:${text}`];
      });
      return `{${members.join(',')}}`;
    }
    case 'json':
      return value as string;
    case 'date':
      return `"${naiveDate((value as { readonly micros: bigint }).micros)}"`;
    case 'float':
      return Number.isFinite(value) ? naiveFloat(value as number) : undefined;
    case 'double':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'string':
    case 'text':
    case 'blob':
      return upperCaseEscapes(JSON.stringify(value));
    default:
      return String(value as bigint);
  }
}

/** Returns JSON with capital hexadecimal digits in escaped control characters. */
function upperCaseEscapes(json: string): string {
  return json.replaceAll(/\\(?:u[0-9a-f]{4}|.)/g, (escape) =>
    escape.length > 2 ? `\\u${escape.slice(2).toUpperCase()}` : escape,
  );
}

/** Returns the values of a projection in all records of a dataset, in the order of its files, as the SQL engine reads them. */
export async function readRecordsBySql(
  { engine }: EngineFixture,
  { snapshot, fields }: TestDataset,
  request: QueryRequest,
): Promise<{
  readonly projection: readonly ProjectedColumn[];
  readonly rows: readonly (readonly unknown[])[];
}> {
  const projection = project(snapshot.columns, fields, request);
  const all: Columns = [...reservedColumns, ...snapshot.columns];
  const columnIndices = projection.map(({ column, isStored }) =>
    isStored ? all.findIndex(({ physical }) => physical === column.physical) : -1,
  );
  if (snapshot.rows === 0) return { projection, rows: [] };
  const sql = 'SELECT * FROM read_parquet($1, union_by_name = true)';
  const rows = await engine.sql.engine.run(sql, [{ type: 'string', value: snapshot.files }]);
  return { projection, rows: rows.map((row) => columnIndices.map((i) => (i < 0 ? null : row[i]))) };
}

/** Returns the JSON texts of all records. */
export async function readNaiveTexts(
  engineFixture: EngineFixture,
  dataset: TestDataset,
  request: QueryRequest,
): Promise<readonly string[]> {
  const { projection, rows } = await readRecordsBySql(engineFixture, dataset, request);
  return rows.map((row) => {
    const members = projection.map(({ column }, i) => `${JSON.stringify(column.name)}:${naiveJson(column, row[i]) ?? 'null'}`); // prettier-ignore
    return `{${members.join(',')}}`;
  });
}
