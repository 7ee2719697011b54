/** What a statement can bind. */
export type Bindable = string | number | bigint | boolean | null;

/**
 * A statement or a piece of one: constant text with gaps, and the values bound in the gaps. Only `sql` below makes them and
 * the constructor does not leave this file, so text from a user can be bound but never become part of a statement.
 */
class Sql {
  readonly texts: readonly string[];
  readonly values: readonly (string | number | bigint | null)[];

  constructor(texts: readonly string[], values: readonly (string | number | bigint | null)[]) {
    this.texts = texts;
    this.values = values;
  }

  /** With a `?` for each value; a PostgreSQL driver would number them instead. */
  get text(): string {
    return this.texts.join('?');
  }
}
export type { Sql };

/** `sql\`SELECT … WHERE id = ${id} AND ${condition}\``: another piece is inserted, anything else is bound. */
export function sql(text: TemplateStringsArray, ...parts: readonly (Sql | Bindable)[]): Sql {
  const texts: string[] = [text[0] ?? ''];
  const values: (string | number | bigint | null)[] = [];
  parts.forEach((part, i) => {
    if (part instanceof Sql) {
      append(texts, part);
      values.push(...part.values);
    } else {
      values.push(typeof part === 'boolean' ? Number(part) : part);
      texts.push('');
    }
    texts.push(`${texts.pop()}${text[i + 1]}`);
  });
  return new Sql(texts, values);
}

/** The pieces one after another with a separator between them. */
export function join(parts: readonly Sql[], separator: Sql): Sql {
  const texts = [''];
  const values: (string | number | bigint | null)[] = [];
  parts.forEach((part, i) => {
    if (i > 0) append(texts, separator);
    append(texts, part);
    values.push(...part.values);
  });
  return new Sql(texts, values);
}

/** All conditions at once; true if there are none. */
export function all(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`1 = 1` : join(conditions, sql` AND `);
}

/** `expression IN (…)`, false for an empty list, which the standard does not allow. */
export function isOneOf(expression: Sql, values: readonly Bindable[]): Sql {
  if (values.length === 0) return sql`1 = 0`;
  const bound = values.map((value) => sql`${value}`);
  return sql`${expression} IN (${join(bound, sql`, `)})`;
}

/** SQLite refuses longer patterns; no path or name comes near it. */
const patternBytes = 40_000;

/** True where the column has this text somewhere, taken literally. */
export function contains(column: Sql, text: string): Sql {
  return like(column, text, '%', '%');
}

/** True where the column begins with this text, taken literally. */
export function startsWith(column: Sql, text: string): Sql {
  return like(column, text, '', '%');
}

/** True where the column ends with this text, taken literally. */
export function endsWith(column: Sql, text: string): Sql {
  return like(column, text, '%', '');
}

function like(column: Sql, text: string, before: string, after: string): Sql {
  const literal = text.replaceAll(/[\\%_]/g, (wildcard) => `\\${wildcard}`);
  // LIKE stops reading at NUL, which no stored name has.
  if (literal.includes('\0') || Buffer.byteLength(literal) > patternBytes) return sql`1 = 0`;
  return sql`${column} LIKE ${before + literal + after} ESCAPE '\\'`;
}

/** Names of tables and columns, given in our own source as camelCase; anything but letters and digits is a bug. */
export function identifier(name: string): Sql {
  if (!/^[a-z][A-Za-z0-9]*$/.test(name))
    throw new Error(`${JSON.stringify(name)} is no column name`);
  return new Sql([name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)], []);
}

/** The same name as an alias that keeps its capitals. */
export function alias(name: string): Sql {
  return new Sql([`${identifier(name).text} AS "${name}"`], []);
}

/** A statement of the migrations: text without values, from our own source. */
export function constant(text: string): Sql {
  return new Sql([text], []);
}

function append(texts: string[], part: Sql): void {
  const [first = '', ...rest] = part.texts;
  texts.push(`${texts.pop()}${first}`, ...rest);
}
