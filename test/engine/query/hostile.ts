/** Texts that break careless handling of statements, paths, templates and objects, to be used wherever text is accepted. */
export const hostileTexts: readonly string[] = [
  quoteInjections(),
  ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'],
  ['_id', '_commit', 'file_index', 'file_row_number', 'filename', 'rowid', 'r', 'r.*', '*', 'v', 'n', 'k', '$1', '?'],
  ['%', '_', '%%', '\\', '\\\\', '\\0', '\u0000', 'a\u0000b', '\u202e', '\u200b', '\ufeff', '\ud800', '😀', '\n', '\r\n', '\t'],
  ['', ' ', '-', '--', '- gene', '-gene-', '.', '..', '...', '.gene', 'gene.', 'gene..x', '__', '__exact', 'gene__', 'gene____exact'],
  ['/etc/passwd', '../../etc/passwd', 'file:///etc/passwd', 'https://example.org/x.parquet', 's3://bucket/key'],
  ["read_csv('/etc/passwd')", "read_text('/etc/passwd')", "getenv('HOME')", 'current_setting(\'memory_limit\')', 'duckdb_settings()'],
  ['${x}', '{{x}}', '%s', '%n', '<script>', '&amp;', 'a'.repeat(10_240), '('.repeat(500), "'".repeat(999)],
  ['null', 'true', 'NaN', 'Infinity', '1e999', '0x10', '1_000', '-0', '9223372036854775808', '1;1'],
].flat(); // prettier-ignore

function quoteInjections(): string[] {
  const terminators = [
    "'",
    '"',
    '`',
    "''",
    '""',
    "\\'",
    '$$',
    ')',
    '))',
    ']',
    '}',
    "')",
    '")',
    '*/',
  ];
  const continuations = [
    '; DROP TABLE x',
    ' OR 1=1',
    ' OR true --',
    '; SELECT * FROM duckdb_tables();--',
    ' UNION SELECT 1--',
    " UNION ALL SELECT content FROM read_text('/etc/passwd') --",
    "; COPY (SELECT 1) TO '/tmp/strandlake-planted';--",
    "; ATTACH '/tmp/strandlake-planted.db';--",
    '; INSTALL httpfs;--',
    '; PRAGMA version;--',
    '; SET lock_configuration=false;--',
    ' /* ',
    '|| (SELECT 1) ||',
    ' AS x FROM y',
    '::INTEGER',
  ];
  return terminators.flatMap((end) => continuations.map((text) => `x${end}${text}`));
}
