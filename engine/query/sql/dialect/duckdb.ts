import { reservedColumns } from '../../../store/arrow-columns.js';
import type { Column, Columns, StoredType } from '../../../core/types.js';
import { deletedRows } from '../../../store/deletion-vector.js';
import { rowIdColumn, storesRowIds } from '../../../store/row-ids.js';
import type { Snapshot } from '../../../store/store.js';
import { deletedIds } from './deleted-ids.js';
import type { Dialect } from './dialect.js';
import type { BoundParams } from './params.js';
import { separators } from '../../../text/text-tokenizer.js';
import { numberTextPattern } from '../../predicate/text-patterns.js';

/**
 * Returns the SQL dialect of DuckDB over these columns. Each statement needs a dialect of its own, because the dialect numbers the
 * variables of lambdas. Their names differ from those of all columns, which would take precedence.
 */
export function duckdbDialect(columns: Columns): Dialect {
  let variables = 0;
  let isJoined = false;
  let isInterleaved = false;
  let prefix = '_e';
  while (columns.some((column) => column.physical.toLowerCase().startsWith(prefix)))
    prefix = `_${prefix}`;
  const lambda = (call: string, list: string, body: (element: string) => string): string => {
    variables += 1;
    const element = `${prefix}${variables}`;
    return `${call}(${list}, lambda ${element}: ${body(element)})`;
  };
  // A stored column with the name of one of DuckDB's virtual columns, `file_index` or `file_row_number`, hides that column.
  const hidesRowNumbers = columns.some(({ physical }) =>
    /^file_(index|row_number)$/i.test(physical),
  );
  const each: Dialect['each'] = (list, expression) => lambda('list_transform', list, expression);
  return {
    bound: (number) => `$${number}`,
    relation: 'r',
    source: (snapshot, params) => {
      const { rows, files, segments } = snapshot;
      // Segments may have different columns, so they are combined by name; the first file contains the whole schema.
      const stored = (): string =>
        `read_parquet(${params.add('string', files)}, union_by_name = true) AS r`;
      isJoined = segments.some(({ deletion }) => deletion !== undefined);
      isInterleaved = snapshot.isInterleaved === true && rows > 0 && !hidesRowNumbers;
      if (isInterleaved)
        return `(${rowsWithIdsSql(liveRowsSql(stored(), segments, params), segments, params)}) AS r`;
      if (rows > 0 && isJoined)
        return `(${hidesRowNumbers ? liveRowsByIdSql(stored(), segments, params) : liveRowsSql(stored(), segments, params)}) AS r`;
      if (rows > 0) return stored();
      const nulls = [...reservedColumns, ...columns].map(
        (column) => `CAST(NULL AS ${typeName(column)}) AS ${quoteName(column.physical)}`,
      );
      return `(SELECT ${nulls.join(', ')} WHERE false) AS r`;
    },
    // The joins with the bitmaps of deleted rows and with the row ids may change the order.
    get keepsOrder() {
      return !isJoined && !isInterleaved;
    },
    get rowId() {
      return isInterleaved ? `r."${rowIdColumn.physical}~"` : undefined;
    },
    insertionOrder: () => (hidesRowNumbers ? 'r."_id"' : 'r.file_index, r.file_row_number'),
    // Without row numbers, rows are referred to by their `_id`s, which also order them: generated ones ascend as their commits were begun.
    rowRef: () =>
      hidesRowNumbers
        ? { file: '0', row: 'r."_id"', type: 'string' }
        : { file: 'r.file_index', row: 'r.file_row_number', type: 'long' },

    column: (name) => `r.${quoteName(name)}`,
    member: (object, name) => `${object}.${quoteName(name)}`,
    literal: textLiteral,

    each,
    flatten: (list) => `flatten(${list})`,
    some: (list, test) => `len(${lambda('list_filter', list, test)}) > 0`,
    someRow(list, test) {
      variables += 1;
      const row = `${prefix}${variables}`;
      return `EXISTS (SELECT 1 FROM (SELECT unnest(${list}) AS e) AS ${row} WHERE ${test(`${row}.e`)})`;
    },
    listHas: (list, value) => `list_contains(${list}, ${value})`,
    missing: (value) => `${value} IS NULL`,
    present: (value) => `${value} IS NOT NULL`,
    listMissing: (list) => `coalesce(list_count(${list}), 0) = 0`,
    listCount: (list) => `coalesce(list_count(${list}), 0)`,
    smallest: (list) => `list_min(${list})`,
    largest: (list) => `list_max(${list})`,
    spread: (list) => `unnest(list_distinct(${list}))`,
    spreadAll: (list) => `unnest(${list})`,

    isOneOf: (value, placeholders) =>
      placeholders.length === 1
        ? `${value} = ${placeholders[0]!}`
        : `${value} IN (${placeholders.join(', ')})`,
    isInList: (value, list, _, isFolded) => inListSql(value, list, isFolded),
    // The alternative `list_has_any` would hash the bound list again for every record.
    someInList: (values, list, _, isFolded) =>
      `EXISTS (SELECT 1 FROM (SELECT unnest(${values}) AS e) AS q WHERE ${inListSql('q.e', list, isFolded)})`,
    // `strlen` counts bytes, so it differs from the number of characters if the text is not ASCII.
    isNotAsciiInCase: (text, letters) =>
      `(${text} <> ${letters}(${text}) OR strlen(${text}) <> length(${text}))`,
    fold: (text) => `lower(${text})`,
    contains: (text, part) => `contains(${text}, ${part})`,
    startsWith: (text, start) => `starts_with(${text}, ${start})`,
    wholePattern: (pattern) => pattern,
    matchesWhole: (text, pattern) => `regexp_full_match(${text}, ${pattern})`,
    patternProblem: (message) => patternErrorMessagePattern.exec(message)?.[1],
    matches: (text, pattern) => `regexp_matches(${text}, ${pattern})`,
    regionPart: (text, part) =>
      `regexp_extract(${text}, '(?i)^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-([0-9]+)-([0-9]+)(?:-.*)?$', ${part})`,
    wholeNumber: (text) => `TRY_CAST(${text} AS BIGINT)`,
    // A cast alone would also accept `1_2` and `inf`.
    number: (text) =>
      `CASE WHEN regexp_full_match(${text}, '${numberTextPattern}') AND isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) END`,
    textLength: (text) => `len(${extractWordsSql(text)})`,
    editDistance: (text, other, most) =>
      `CASE WHEN abs(strlen(${text}) - strlen(${other})) <= ${most} THEN levenshtein(${text}, ${other}) END`,
    phraseCount: (text, pattern) =>
      `len(regexp_extract_all('/' || array_to_string(${extractWordsSql(text)}, '//') || '/', ${pattern}))`,
    indicator: (condition) => `CASE WHEN ${condition} THEN 1 ELSE 0 END`,

    json: jsonValueSql,
    joinList: (list) => `array_to_string(${list}, ',')`,

    with: (isMaterialised) => `AS ${isMaterialised ? '' : 'NOT '}MATERIALIZED`,
    jsonArray: (texts) =>
      `('[' || ${joinTextsSql(texts.map((text) => `coalesce(${text}, 'null')`))} || ']')`,
    countDistinct: (value) => `count(DISTINCT ${value})`,
    sum: (value, type) => sumSql(value, type),
    mean: (value, type) => meanSql(value, type),
    sumOfSquares: (value) => `fsum(${castToDouble(value)} * ${castToDouble(value)})`,
    pivot: (value, type, keys) => {
      const overPartition =
        keys.length === 0 ? 'OVER ()' : `OVER (PARTITION BY ${keys.join(', ')})`;
      if (isReal(type)) return meanSql(value, type, overPartition);
      // Computes the whole number nearest to the mean; `//` rounds towards zero.
      const [all, count] = [
        `sum(CAST(${value} AS HUGEINT)) ${overPartition}`,
        `count(${value}) ${overPartition}`,
      ];
      return `(${all} + sign(${all}) * (${count} // 2)) // nullif(${count}, 0)`;
    },
    // DuckDB's own `var_pop` accumulates rounding errors, and fails with an out-of-range error for large values.
    variance: (value, pivot, type) => {
      const spreadOf = (off: string): string =>
        `greatest(0, fsum(${off} * ${off}) - fsum(${off}) * (fsum(${off}) / count(${value}))) / count(${value})`;
      const wholeOffset = `CAST(CAST(${value} AS HUGEINT) - ${pivot} AS DOUBLE)`;
      const plainSpread = spreadOf(
        isReal(type) ? `(${castToDouble(value)} - ${pivot})` : wholeOffset,
      );
      // The values are scaled, because their squares may overflow although the variance does not.
      const scaledSpread = spreadOf(
        `(${castToDouble(value)} * ${downscaleFactor} - ${castToDouble(pivot)} * ${downscaleFactor})`,
      );
      return `CASE WHEN min(${value}) = max(${value}) THEN 0 WHEN isfinite(${plainSpread}) THEN ${plainSpread} ELSE ${scaledSpread} * ${upscaleFactor} * ${upscaleFactor} END`;
    },
    quantiles: (value, fractions) => `quantile_cont(${castToDouble(value)}, ${fractions})`,

    truncate: (date, unit) => `date_trunc('${unit}', ${date})`,
    floorDivide: (value, factor, divisor) => {
      const product = factor === '1' ? value : `CAST(${value} AS HUGEINT) * ${factor}`;
      // `//` rounds towards zero, so 1 is subtracted if the remainder is negative.
      return `(${product}) // ${divisor} - CASE WHEN (${product}) % ${divisor} < 0 THEN 1 ELSE 0 END`;
    },
    floorEdge: (value, numerator, denominator) => {
      const quotient = `${castToDouble(value)} * ${denominator} / ${numerator}`;
      const bin = `floor(${quotient})`;
      const edge = (number: string): string => `${number} * ${numerator} / ${denominator}`;
      // The quotient may be rounded into a neighbouring bin; only values close to an edge need the exact comparison.
      return `(CASE WHEN abs(${quotient}) < 1e6 AND abs(${quotient} - round(${quotient})) > 1e-9 THEN ${edge(bin)}
        WHEN abs(${castToDouble(value)}) >= ${edge('1125899906842624')} THEN ${castToDouble(value)}
        WHEN ${edge(`(${bin} + 1)`)} <= ${castToDouble(value)} THEN ${edge(`(${bin} + 1)`)}
        WHEN ${edge(bin)} > ${castToDouble(value)} THEN ${edge(`(${bin} - 1)`)}
        ELSE ${edge(bin)} END + 0)`;
    },
    powerBin: (value, isWhole, starts, first, step) => {
      const size = isWhole ? `abs(CAST(${value} AS HUGEINT))` : `abs(${castToDouble(value)})`;
      const absoluteValue = `abs(${castToDouble(value)})`;
      const exponent = `log10(nullif(${absoluteValue}, 0)) / ${step}`;
      const guess = `CAST(floor(${exponent}) AS BIGINT) - ${first} + 1`;
      const bin = `greatest(1, least(len(${starts}) - 1, ${guess}))`;
      // The bound list is read only for values close to an edge and for tiny doubles, which have fewer digits, because reading it takes ten
      // times as long.
      return `CASE WHEN ${value} = 0 THEN 0 ELSE CAST(sign(${value}) AS BIGINT) * CASE
        WHEN abs(${exponent} - round(${exponent})) > 1e-9 AND ${absoluteValue} > 1e-300 THEN ${guess}
        WHEN ${starts}[${bin} + 1] <= ${size} THEN ${bin} + 1
        WHEN ${starts}[${bin}] > ${size} THEN ${bin} - 1 ELSE ${bin} END END`;
    },
  };
}

/** Returns the stored records without the deleted rows, with the numbers of their files and rows. */
function liveRowsSql(stored: string, segments: Snapshot['segments'], params: BoundParams): string {
  if (segments.every(({ deletion }) => deletion === undefined))
    return `SELECT r.*, r.file_index, r.file_row_number FROM ${stored}`;
  const files: bigint[] = [];
  const bits: Uint8Array[] = [];
  for (const [i, { rows, deletion }] of segments.entries()) {
    if (deletion === undefined) continue;
    files.push(BigInt(i + 1)); // file 0 holds the schema
    bits.push(duckDbBitmap(deletedRows(deletion), rows));
  }
  const goneRows = `(SELECT unnest(${params.add('long', files)}) AS file, unnest(${params.addBits(bits)}) AS bits)`;
  return `SELECT r.*, r.file_index, r.file_row_number FROM ${stored} LEFT JOIN ${goneRows} AS gone ON gone.file = r.file_index
    WHERE gone.bits IS NULL OR get_bit(gone.bits, CAST(r.file_row_number AS INTEGER)) = 0`;
}

/** Returns records with their row ids. */
function rowsWithIdsSql(
  records: string,
  segments: Snapshot['segments'],
  params: BoundParams,
): string {
  const [files, bases]: [bigint[], bigint[]] = [[], []];
  let isStored = false;
  for (const [i, segment] of segments.entries()) {
    if (storesRowIds(segment)) isStored = true;
    files.push(BigInt(i + 1)); // file 0 holds the schema
    bases.push(BigInt(segment.baseRowId ?? 0));
  }
  const placedFiles = `(SELECT unnest(${params.add('long', files)}) AS file, unnest(${params.add('long', bases)}) AS base)`;
  const countedId = 'placed.base + s.file_row_number';
  const id = isStored ? `coalesce(s."${rowIdColumn.physical}", ${countedId})` : countedId;
  return `SELECT s.*, ${id} AS "${rowIdColumn.physical}~" FROM (${records}) AS s JOIN ${placedFiles} AS placed ON placed.file = s.file_index`;
}

/**
 * Returns the live records if a stored column hides the row numbers: rows are identified by `_id` and `_commit`, because no two rows have
 * both in common.
 */
function liveRowsByIdSql(
  stored: string,
  segments: Snapshot['segments'],
  params: BoundParams,
): string {
  const goneIds = params.add('string', deletedIds({ segments }));
  return `SELECT r.* FROM ${stored} WHERE r."_id" || '/' || r."_commit" NOT IN (SELECT unnest(${goneIds}))`;
}

/**
 * Returns a bitmap in DuckDB's format: a byte with the number of unused bits before row 0 (here 0), then the bits of the rows, with row 0
 * as the highest bit of the second byte.
 */
function duckDbBitmap(rows: Int32Array, count: number): Uint8Array {
  const bits = new Uint8Array(1 + ((count + 7) >> 3));
  for (const row of rows) bits[1 + (row >> 3)]! |= 0x80 >> (row & 7);
  return bits;
}

function castToDouble(value: string): string {
  return `CAST(${value} AS DOUBLE)`;
}

/** 2^-540 and 2^540: with the small factor, the square of the largest double does not overflow; the large factor reverses the scaling. */
const downscaleFactor = `${2 ** -540}::DOUBLE`;
const upscaleFactor = `${2 ** 540}::DOUBLE`;

function isReal(type: StoredType): boolean {
  return type === 'double' || type === 'float';
}

/**
 * Returns SQL for a sum. Doubles get a compensated sum, which hardly depends on how rows are distributed among threads. Its parts may
 * overflow although the whole sum does not.
 */
function sumSql(value: string, type: StoredType, over = ''): string {
  if (!isReal(type)) return `sum(${value}) ${over}`;
  const [all, scaled] = [
    `fsum(${castToDouble(value)}) ${over}`,
    `fsum(${castToDouble(value)} * ${downscaleFactor}) ${over}`,
  ];
  return `CASE WHEN isfinite(${all}) THEN ${all} ELSE ${scaled} * ${upscaleFactor} END`;
}

function meanSql(value: string, type: StoredType, over = ''): string {
  const count = `count(${value}) ${over}`;
  // DuckDB converts a 128-bit sum to the nearest double only by way of its decimal digits.
  if (!isReal(type)) return `CAST(CAST(${sumSql(value, type, over)} AS VARCHAR) AS DOUBLE) / ${count}`; // prettier-ignore
  const [all, scaled] = [
    `fsum(${castToDouble(value)}) ${over}`,
    `fsum(${castToDouble(value)} * ${downscaleFactor}) ${over}`,
  ];
  return `CASE WHEN isfinite(${all}) THEN ${all} / ${count} ELSE ${scaled} / ${count} * ${upscaleFactor} END`;
}

/** Quotes an identifier of the schema. Stored names contain no NUL, which would end the statement. */
function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function inListSql(value: string, list: string, isFolded: boolean): string {
  return isFolded
    ? `lower(${value}) IN (SELECT lower(unnest(${list})))`
    : `${value} IN (SELECT unnest(${list}))`;
}

function extractWordsSql(text: string): string {
  return `regexp_extract_all(${text}, '[^${separators}]+')`;
}

function joinTextsSql(texts: readonly string[]): string {
  return `concat_ws(',', ${texts.join(', ')})`;
}

/** Matches DuckDB's message about an invalid pattern; the group is RE2's own message. */
const patternErrorMessagePattern =
  /^Invalid Input Error: ((?:invalid|missing|bad|no argument|pattern too|unexpected|trailing|unterminated)[^]*)/i;

function isText(type: StoredType): boolean {
  return type === 'string' || type === 'text' || type === 'blob' || type === 'json';
}

function jsonValueSql(value: string, type: StoredType): string {
  if (type === 'json') return value;
  if (isText(type)) return `CAST(to_json(${value}) AS VARCHAR)`;
  if (type === 'date') return `('"' || ${dateTextSql(value)} || '"')`;
  return numberTextSql(value, type);
}

/**
 * Returns SQL for numbers and booleans as text. Doubles have 17 digits, which read back exactly, and an exponent, by which
 * `normalizeJsonNumbers` tells them from whole numbers; a cast of a 32-bit float prints the shortest digits that read back. Negative zero
 * is 0, as ECMAScript writes it; NaN and the infinities are null, because JSON does not have them.
 */
function numberTextSql(value: string, type: StoredType): string {
  if (type !== 'double' && type !== 'float') return `CAST(${value} AS VARCHAR)`;
  const text = type === 'double' ? `printf('%.16e', ${value})` : `CAST(${value} AS VARCHAR)`;
  return `CASE WHEN ${value} = 0 THEN '0' WHEN isfinite(${value}) THEN ${text} END`;
}

/**
 * Returns SQL for a date as text: `YYYY-MM-DD` at midnight, else `YYYY-MM-DDTHH:MM:SS[.ffffff]`. A cast would write the year 0 as `0001
 * (BC)`.
 */
function dateTextSql(value: string): string {
  const micros = `epoch_us(${value})`;
  // `make_timestamp` removes the time zone without calling the ICU library for every row.
  const text = (format: string): string => `strftime(make_timestamp(${micros}), '${format}')`;
  return `CASE WHEN ${micros} % 86400000000 = 0 THEN ${text('%Y-%m-%d')}
    WHEN ${micros} % 1000000 = 0 THEN ${text('%Y-%m-%dT%H:%M:%S')} ELSE ${text('%Y-%m-%dT%H:%M:%S.%f')} END`;
}

function typeName(column: Column): string {
  const name =
    column.type === 'object'
      ? `STRUCT(${(column.children ?? [])
          .map((child) => `${quoteName(child.physical)} ${typeName(child)}`)
          .join(', ')})`
      : scalarTypeNames[column.type];
  return column.isList ? `${name}[]` : name;
}

const scalarTypeNames: Readonly<Record<Exclude<StoredType, 'object'>, string>> = {
  boolean: 'BOOLEAN',
  date: 'TIMESTAMP WITH TIME ZONE',
  double: 'DOUBLE',
  float: 'FLOAT',
  integer: 'INTEGER',
  long: 'BIGINT',
  string: 'VARCHAR',
  text: 'VARCHAR',
  blob: 'VARCHAR',
  json: 'VARCHAR',
};
