import type { SchemaName } from './schemas.js';

/** One operation of the interface: routing, the description at /openapi.json and docs/coverage.md come from this table. */
export interface OperationRow {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** All spellings; the first is the one to use. */
  readonly paths: readonly [string, ...string[]];
  readonly status: number;
  readonly tag: string;
  readonly summary: string;
  /** Query parameters, name to meaning. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: SchemaName | 'bytes';
  /** What it answers: a schema, a list of them, or something that is not JSON. */
  readonly answer: SchemaName | `list of ${SchemaName}` | 'bytes' | 'page' | 'nothing';
}

/** The query parameters of every list. */
export const paging = {
  limit: 'Page size, 1 to 10,000.',
  page: 'Page number, from 1.',
  offset: 'First row, from 0; wins over page.',
};
/** What every PUT and PATCH says. */
export const updating = 'Changes the keys that the body gives; PUT and PATCH do the same.';

/** A row of the table, with the status 200 unless another is given. */
export function row(
  method: OperationRow['method'],
  paths: OperationRow['paths'],
  tag: string,
  summary: string,
  answer: OperationRow['answer'],
  more: Partial<OperationRow> = {},
): OperationRow {
  return { method, paths, tag, summary, answer, status: 200, ...more };
}

/** Clients write datasets' paths in three ways (contract 1.1, specification "Versioning"). */
export function dataset(rest: string): [string, ...string[]] {
  return [`/v2/datasets/:id${rest}`, `/v2/dataset/:id${rest}`, `/v1/datasets/:id${rest}`];
}

export function field(rest: string): [string, ...string[]] {
  return [`/v2/dataset_fields/:id${rest}`, `/v1/dataset_fields/:id${rest}`];
}

/** The specification spells the cancel path with `datasets_`. */
export function job(name: string, isCancel: boolean): [string, ...string[]] {
  const path = `/v2/dataset_${name}/:id`;
  return isCancel ? [path, `${path}/cancel`, `/v2/datasets_${name}/:id/cancel`] : [path];
}
