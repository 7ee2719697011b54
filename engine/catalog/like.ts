import { sql, type Sql } from './sql.js';

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
