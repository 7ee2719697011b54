/** A value that a statement can bind. */
export type Bindable = string | number | bigint | boolean | null;

/**
 * A statement or a fragment of one: constant strings, and the values bound between them. Only functions of this file can call the
 * constructor. `sql` and the functions built on it bind text from a user; `identifier` and `aliasSql` accept only letters and digits;
 * `constantSql` takes its text as it is, so only constants may be passed to it.
 */
class Sql {
  readonly strings: readonly string[];
  readonly values: readonly (string | number | bigint | null)[];

  constructor(strings: readonly string[], values: readonly (string | number | bigint | null)[]) {
    this.strings = strings;
    this.values = values;
  }

  /** The statement with a `?` placeholder for each value. */
  get text(): string {
    return this.strings.join('?');
  }
}
export type { Sql };

/** Template tag, as in `sql\`SELECT … WHERE id = ${id} AND ${condition}\``: inserts a fragment, binds any other value. */
export function sql(text: TemplateStringsArray, ...parts: readonly (Sql | Bindable)[]): Sql {
  const strings: string[] = [text[0] ?? ''];
  const values: (string | number | bigint | null)[] = [];
  parts.forEach((part, i) => {
    if (part instanceof Sql) {
      appendPart(strings, part);
      values.push(...part.values);
    } else {
      values.push(typeof part === 'boolean' ? Number(part) : part);
      strings.push('');
    }
    strings.push(`${strings.pop()}${text[i + 1]}`);
  });
  return new Sql(strings, values);
}

/** Concatenates fragments with a separator between them. */
export function joinSql(parts: readonly Sql[], separator: Sql): Sql {
  const strings = [''];
  const values: (string | number | bigint | null)[] = [];
  parts.forEach((part, i) => {
    if (i > 0) appendPart(strings, separator);
    appendPart(strings, part);
    values.push(...part.values);
  });
  return new Sql(strings, values);
}

/** The conjunction of the conditions; true if there are none. */
export function conjunctionOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`1 = 1` : joinSql(conditions, sql` AND `);
}

/** Returns `expression IN (…)`; false for an empty list, which SQL does not allow. */
export function isOneOf(expression: Sql, values: readonly Bindable[]): Sql {
  if (values.length === 0) return sql`1 = 0`;
  const boundValues = values.map((value) => sql`${value}`);
  return sql`${expression} IN (${joinSql(boundValues, sql`, `)})`;
}

/**
 * Returns a condition that is true if the expression is one of these numbers. There may be more numbers than a statement may have
 * parameters.
 */
export function isInNumbers(expression: Sql, numbers: readonly number[]): Sql {
  return sql`${expression} IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`;
}

/** Limit of a text to find with LIKE, below SQLite's own limit of 50,000 bytes for the pattern. A longer text matches nothing. */
const maxPatternBytes = 40_000;

/** True if the column contains the text, ignoring the case of ASCII letters; wildcards in the text are escaped. */
export function containsText(column: Sql, text: string): Sql {
  return likePattern(column, text, '%', '%');
}

/** True if the column starts with the text, ignoring the case of ASCII letters; wildcards in the text are escaped. */
export function startsWith(column: Sql, text: string): Sql {
  return likePattern(column, text, '', '%');
}

/** True if the column ends with the text, ignoring the case of ASCII letters; wildcards in the text are escaped. */
export function endsWith(column: Sql, text: string): Sql {
  return likePattern(column, text, '%', '');
}

function likePattern(column: Sql, text: string, before: string, after: string): Sql {
  const literal = text.replaceAll(/[\\%_]/g, (wildcard) => `\\${wildcard}`);
  // LIKE stops at a NUL character, and no stored name contains one.
  if (literal.includes('\0') || Buffer.byteLength(literal) > maxPatternBytes) return sql`1 = 0`;
  return sql`${column} LIKE ${before + literal + after} ESCAPE '\\'`;
}

/**
 * Returns the snake_case name of a table or column for its camelCase name in this code. Throws unless the name is a
 * lowercase letter followed by letters and digits.
 */
export function identifier(name: string): Sql {
  if (!/^[a-z][A-Za-z0-9]*$/.test(name))
    throw new Error(`${JSON.stringify(name)} is not a valid table or column name`);
  return new Sql([name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)], []);
}

/** A column with an alias that keeps its camelCase name. */
export function aliasSql(name: string): Sql {
  return new Sql([`${identifier(name).text} AS "${name}"`], []);
}

/** A statement of a migration: constant text without values. */
export function constantSql(text: string): Sql {
  return new Sql([text], []);
}

function appendPart(strings: string[], part: Sql): void {
  const [first = '', ...rest] = part.strings;
  strings.push(`${strings.pop()}${first}`, ...rest);
}
