import { reservedColumns } from '../../../store/arrow-columns.js';
import type { Column, StoredType } from '../../../core/types.js';
import { aggregatingFunctions } from './clickhouse-facets.js';
import type { Dialect, DialectFactory } from './dialect.js';
import type { ParamType } from './params.js';
import { separators } from '../../../text/text-tokenizer.js';
import { numberTextPattern } from '../../predicate/text-patterns.js';

/**
 * Returns the factory of the SQL dialect of ClickHouse (26.7 and later) over the Delta table of a dataset, which is in the folder that
 * `folderOf` returns. For the differences in its answers, see docs/decisions/0016-two-dialects.md.
 */
export function clickhouseDialect(folderOf: (datasetId: number) => string): DialectFactory {
  return (columns) => {
    // In ClickHouse, lambda variables hide columns, and columns hide relations, so the prefix is chosen such that no column has the name of
    // a variable or relation.
    let prefix = '_e';
    while (columns.some((column) => column.physical.toLowerCase().startsWith(prefix)))
      prefix = `_${prefix}`;
    const relation = `${prefix}r`;
    let variables = 0;
    const lambda = (call: string, list: string, body: (element: string) => string): string => {
      variables += 1;
      const element = `${prefix}${variables}`;
      return `${call}(${element} -> ${body(element)}, ${list})`;
    };
    const each: Dialect['each'] = (list, expression) => lambda('arrayMap', list, expression);
    const some: Dialect['some'] = (list, test) => lambda('arrayExists', list, test);

    /** ClickHouse reads absent objects and lists as empty ones, so an object is present if one of its members is. */
    const presentOnly = (value: string, column: Column): string =>
      column.type === 'object'
        ? orConditionsSql(
            (column.children ?? []).map((child) =>
              heldValue(tupleElementSql(value, child.physical), child),
            ),
          )
        : `${value} IS NOT NULL`;
    const heldValue = (value: string, column: Column): string =>
      column.isList ? `notEmpty(${value})` : presentOnly(value, column);

    return {
      bound: placeholderSql,
      relation,
      source: ({ rows, datasetId, version }, params) => {
        if (rows === 0) {
          const noColumns = [...reservedColumns, ...columns].map(
            (column) =>
              `defaultValueOfTypeName(${textLiteral(typeName(column))}) AS ${quoteName(column.physical)}`,
          );
          return `(SELECT ${noColumns.join(', ')} WHERE false) AS ${relation}`;
        }
        const folder = params.add('string', folderOf(datasetId));
        return `(SELECT * FROM deltaLakeLocal(${folder}) SETTINGS ${statementSettings}, delta_lake_snapshot_version = ${version}) AS ${relation}`;
      },
      // Files are read in parallel, so records do not come in the order of the files.
      keepsOrder: false,
      // Records come in the order of their `_id`s: generated ones ascend as their commits were begun.
      insertionOrder: () => `${relation}."_id"`,
      rowRef: () => ({ file: '0', row: `${relation}."_id"`, type: 'string' }),

      column: (name) => `${relation}.${quoteName(name)}`,
      member: tupleElementSql,
      literal: textLiteral,

      each,
      flatten: (list) => `arrayFlatten(${list})`,
      some,
      someRow: some,
      listHas: (list, value) => `has(${list}, ${value})`,
      missing: (value, column) =>
        column.type === 'object' ? `NOT (${presentOnly(value, column)})` : `${value} IS NULL`,
      present: presentOnly,
      listMissing: (list, column) => `NOT ${some(list, (element) => presentOnly(element, column))}`,
      listCount: (list, column) =>
        lambda('arrayCount', list, (element) => presentOnly(element, column)),
      smallest: (list) => `arrayReduce('min', ${list})`,
      largest: (list) => `arrayReduce('max', ${list})`,
      spread: (list) => `arrayJoin(arrayDistinct(${list}))`,
      spreadAll: (list) => `arrayJoin(${list})`,

      isOneOf: (value, placeholders, type) => {
        if (placeholders.length === 1) return `${value} = ${placeholders[0]!}`;
        const list = placeholders.join(', ');
        return isFloat(type) ? `has([${list}], ${value})` : `${value} IN (${list})`;
      },
      isInList: (value, list, type, isFolded) =>
        isFolded
          ? `${foldCaseSql(value)} IN (${each(list, foldCaseSql)})`
          : `${value} IN (${withBothZeros(list, type)})`,
      someInList: (values, list, type, isFolded) => {
        // `hasAny` takes a null element for the default value of the type: an empty text, or 0.
        const present = lambda('arrayFilter', values, (element) => `${element} IS NOT NULL`);
        return isFolded
          ? `hasAny(${each(present, foldCaseSql)}, ${each(list, foldCaseSql)})`
          : `hasAny(${present}, ${withBothZeros(list, type)})`;
      },
      isNotAsciiInCase: (text, letters) =>
        `(${text} <> ${letters}(${text}) OR lengthUTF8(${text}) <> length(${text}))`,
      fold: foldCaseSql,
      contains: (text, part) => `position(${text}, ${part}) > 0`,
      startsWith: (text, start) => `startsWith(${text}, ${start})`,
      wholePattern: anchoredPattern,
      matchesWhole: (text, pattern) => `match(${text}, ${pattern})`,
      patternProblem: (message) =>
        /cannot compile re2: [^]*?, error: ([^]*?)(?:\. Look at|$)/.exec(message)?.[1],
      matches: (text, pattern) => `match(${text}, ${pattern})`,
      regionPart: (text, part) =>
        `regexpExtract(${text}, '(?i)^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-([0-9]+)-([0-9]+)(?:-.*)?$', ${part})`,
      wholeNumber: (text) => `toInt64OrNull(${text})`,
      number: (text) =>
        `if(match(${text}, ${textLiteral(`^(?:${numberTextPattern})$`)}) AND isFinite(toFloat64OrNull(trimBoth(${text}))), toFloat64OrNull(trimBoth(${text})), NULL)`,
      textLength: (text) => `length(${extractWordsSql(text)})`,
      editDistance: (text, other, most) =>
        `if(abs(toInt64(length(${text})) - toInt64(length(${other}))) > ${most}, NULL, editDistance(${text}, ${other}))`,
      phraseCount: (text, pattern) =>
        `length(extractAll('/' || arrayStringConcat(${extractWordsSql(text)}, '//') || '/', ${pattern}))`,
      indicator: (condition) => `CASE WHEN ${condition} THEN 1 ELSE 0 END`,

      json: (value, type) => {
        if (type === 'json') return value;
        if (isText(type)) return jsonStringSql(value);
        if (type === 'date') return `('"' || ${dateTextSql(value)} || '"')`;
        return isFloat(type) ? finiteNumberTextSql(value) : `toString(${value})`;
      },
      joinList: (list) => `arrayStringConcat(${list}, ',')`,

      ...aggregatingFunctions(each),
    };
  };
}

/** Without this setting, ClickHouse's Delta kernel skips files in which a negated condition on a list has matches. */
const statementSettings = 'delta_lake_enable_engine_predicate = 0';

function placeholderSql(number: number, type: ParamType, isList: boolean): string {
  if (type !== 'date')
    return `{p${number}:${isList ? `Array(${scalarTypeNames[type]})` : scalarTypeNames[type]}}`;
  // Dates are passed as microseconds, because dates given as text have a smaller range.
  return isList
    ? `arrayMap(t -> fromUnixTimestamp64Micro(t, 'UTC'), {p${number}:Array(Int64)})`
    : `fromUnixTimestamp64Micro({p${number}:Int64}, 'UTC')`;
}

/** Returns the list with -0 added if it contains 0, because ClickHouse's sets distinguish them. */
function withBothZeros(list: string, type: ParamType): string {
  if (!isFloat(type)) return list;
  return `if(has(${list}, 0), arrayPushBack(${list}, CAST(-0.0 AS ${scalarTypeNames[type]})), ${list})`;
}

/** Quotes an identifier of the schema. */
function quoteName(name: string): string {
  return `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function textLiteral(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function tupleElementSql(object: string, name: string): string {
  return `tupleElement(${object}, ${textLiteral(name)})`;
}

function orConditionsSql(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'false' : `(${conditions.join(' OR ')})`;
}

/**
 * Returns SQL that folds case as DuckDB does, character by character. lowerUTF8 alone converts a sigma at the end of a word to its final
 * form, and a dotted I to two characters.
 */
function foldCaseSql(text: string): string {
  return `lowerUTF8(replaceAll(replaceAll(${text}, 'Σ', 'σ'), 'İ', 'i'))`;
}

/** Returns the pattern anchored at both ends, because ClickHouse's `match` searches for a part; its `.` must not match line breaks. */
function anchoredPattern(pattern: string): string {
  return `^(?-s:${pattern}${isQuoteOpen(pattern) ? '\\E' : ''})$`;
}

/** Returns true if the pattern has a `\Q`, which starts a quotation, without a closing `\E`. */
function isQuoteOpen(pattern: string): boolean {
  let isOpen = false;
  for (let i = 0; i < pattern.length; i += 1) {
    if (pattern[i] !== '\\') continue;
    if (isOpen ? pattern[i + 1] !== 'E' : pattern[i + 1] !== 'Q') {
      if (!isOpen) i += 1;
      continue;
    }
    isOpen = !isOpen;
    i += 1;
  }
  return isOpen;
}

function extractWordsSql(text: string): string {
  return `extractAll(${text}, ${textLiteral(`[^${separators}]+`)})`;
}

function isFloat(type: StoredType): type is 'double' | 'float' {
  return type === 'double' || type === 'float';
}

function isText(type: StoredType): boolean {
  return type === 'string' || type === 'text' || type === 'blob' || type === 'json';
}

/**
 * Returns SQL for the JSON text of a string as ECMAScript writes it; null for null. `toJSONString` also escapes U+2028 and U+2029, so the
 * text is split at these characters and its parts are escaped separately. It escapes slashes, too. A backslash of the string itself is
 * doubled, so the backslash directly before a slash is always the one that escapes the slash.
 */
function jsonStringSql(text: string): string {
  const escapePart = (part: string): string => {
    const json = `replaceAll(toJSONString(${part}), '\\\\/', '/')`;
    return `substring(${json}, 2, length(${json}) - 2)`;
  };
  const joinList = (list: string, separator: string, part: string, json: string): string =>
    `arrayStringConcat(arrayMap(${part} -> ${json}, splitByString('${separator}', ${list})), '${separator}')`;
  const inner = joinList('_line', '\u2029', '_part', escapePart('_part'));
  const wholeText = joinList(`assumeNotNull(${text})`, '\u2028', '_line', inner);
  return `if(isNull(${text}), NULL, '"' || ${wholeText} || '"')`;
}

/** Returns SQL for a floating-point number as text; 0 for negative zero, null for NaN and the infinities. */
function finiteNumberTextSql(value: string): string {
  return `multiIf(${value} = 0, '0', isFinite(${value}), toString(${value}), NULL)`;
}

/** Returns SQL for a date as text: `YYYY-MM-DD` at midnight, else `YYYY-MM-DDTHH:MM:SS[.ffffff]`. */
function dateTextSql(value: string): string {
  const micros = `toUnixTimestamp64Micro(${value})`;
  const text = `toString(toTimeZone(${value}, 'UTC'))`;
  // The casts are needed because the literals are unsigned, which would make dates before 1970 unsigned as well.
  return `CASE WHEN ${micros} % toInt64(86400000000) = 0 THEN substring(${text}, 1, 10)
    WHEN ${micros} % toInt64(1000000) = 0 THEN replaceOne(substring(${text}, 1, 19), ' ', 'T')
    ELSE replaceOne(${text}, ' ', 'T') END`;
}

function typeName(column: Column): string {
  if (column.type !== 'object') {
    const name = `Nullable(${scalarTypeNames[column.type]})`;
    return column.isList ? `Array(${name})` : name;
  }
  const members = (column.children ?? []).map(
    (child) => `${quoteName(child.physical)} ${typeName(child)}`,
  );
  return column.isList ? `Array(Tuple(${members.join(', ')}))` : `Tuple(${members.join(', ')})`;
}

const scalarTypeNames: Readonly<Record<Exclude<StoredType, 'object'>, string>> = {
  boolean: 'Bool',
  date: "DateTime64(6, 'UTC')",
  double: 'Float64',
  float: 'Float32',
  integer: 'Int32',
  long: 'Int64',
  string: 'String',
  text: 'String',
  blob: 'String',
  json: 'String',
};
