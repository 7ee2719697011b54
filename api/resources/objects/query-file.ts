import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import {
  parseFileQuery,
  parseOutput,
  type OutputFormat,
} from '../../../engine/query/request/request.js';
import { delimitedCell } from '../../../engine/query/results/delimited.js';
import { runCells } from '../../../engine/query/plan/query.js';
import { requireTableFormat, type FileTable } from '../../../scheduler/jobs/table/file-table.js';
import type { AppContext } from '../../http/app-context.js';
import { JsonText } from '../../http/reply.js';

/** A page of the records of an uploaded file (contract 6.7); lines of text without a header as `csv` or `tsv`. */
export async function fileAnswer(
  context: AppContext,
  object: ObjectRow,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText> {
  const started = performance.now();
  const format = parseOutput(body);
  return withTable(context, object, signal, async ({ snapshot, fields, isAllText }) => {
    const request = parseFileQuery(body, fields, isAllText);
    const shape = format === 'json' ? 'json' : 'csv';
    const { queryEngine } = context;
    const page = await runCells(queryEngine, snapshot, fields, request, shape, { signal });
    const results = page.cells.map((cells) => resultOf(cells, format));
    const explain = page.explain === undefined ? '' : `,"explain":${page.explain}`;
    return new JsonText(
      `{"object_id":${object.id},"results":[${results.join(',')}],"total":${page.total},` +
        `"offset":${page.offset},"took":${Math.round(performance.now() - started)}${explain}}`,
    );
  });
}

/** The names of an uploaded file's columns, in its order. */
export function fileFields(
  context: AppContext,
  object: ObjectRow,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return withTable(context, object, signal, async ({ snapshot }) =>
    snapshot.columns.map(({ name }) => name),
  );
}

const delimiters: Readonly<Record<OutputFormat, string>> = { json: '', csv: ',', tsv: '\t' };

/** The JSON of one result. */
function resultOf(cells: readonly (string | null)[], format: OutputFormat): string {
  if (format === 'json') return cells[0]!;
  const delimiter = delimiters[format];
  return JSON.stringify(cells.map((cell) => delimitedCell(cell, false, delimiter)).join(delimiter));
}

async function withTable<T>(
  { scheduler, catalog }: AppContext,
  { id, objectType, revision, filename }: ObjectRow,
  signal: AbortSignal,
  work: (table: FileTable) => Promise<T>,
): Promise<T> {
  if (objectType !== 'file') {
    const fix = objectType === 'dataset' ? ` Query it at /v2/datasets/${id}/data.` : '';
    throw new AppError('invalid', `A ${objectType} cannot be queried as a file.${fix}`);
  }
  requireTableFormat(filename); // before anything is read
  if (revision === 0) throw new AppError('invalid', 'The file has not been uploaded yet.');
  try {
    return await scheduler.fileTables.use({ objectId: id, revision, filename }, signal, work);
  } catch (error) {
    // The file was deleted meanwhile.
    if ((await catalog.objects.get(id)) === undefined) throw notFound();
    throw error;
  }
}
