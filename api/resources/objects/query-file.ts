import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { parseFileQuery, parseOutput } from '../../../engine/query/request/query-request.js';
import { runQueryAsLines } from '../../../engine/query/plan/run-query.js';
import { requireTableFormat, type FileTable } from '../../../scheduler/jobs/table/file-table.js';
import type { AppContext } from '../../http/app-context.js';
import { JsonText } from '../../http/reply.js';

/** Returns a page of the records of an uploaded file (contract 6.7); with the formats `csv` and `tsv`, lines without a header. */
export async function answerFileQuery(
  context: AppContext,
  object: ObjectRow,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText> {
  const startedAt = performance.now();
  const delimiter = parseOutput(body);
  return withFileTable(context, object, signal, async ({ snapshot, fields, isAllText }) => {
    const request = parseFileQuery(body, fields, isAllText);
    const { queryEngine } = context;
    const page = await runQueryAsLines(queryEngine, snapshot, fields, request, delimiter, {
      signal,
    });
    const results = delimiter ? page.results.map((line) => JSON.stringify(line)) : page.results;
    const explain = page.explain === undefined ? '' : `,"explain":${page.explain}`;
    return new JsonText(
      `{"object_id":${object.id},"results":[${results.join(',')}],"total":${page.total},` +
        `"offset":${page.offset},"took":${Math.round(performance.now() - startedAt)}${explain}}`,
    );
  });
}

/** Returns the names of the columns of an uploaded file, in the order of the file. */
export function readFileFieldNames(
  context: AppContext,
  object: ObjectRow,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return withFileTable(context, object, signal, async ({ snapshot }) =>
    snapshot.columns.map(({ name }) => name),
  );
}

async function withFileTable<T>(
  { scheduler, catalog }: AppContext,
  { id, objectType, revision, filename }: ObjectRow,
  signal: AbortSignal,
  work: (table: FileTable) => Promise<T>,
): Promise<T> {
  if (objectType !== 'file') {
    const advice = objectType === 'dataset' ? ` Query it at /v2/datasets/${id}/data.` : '';
    throw new AppError('invalid', `A ${objectType} cannot be queried as a file.${advice}`);
  }
  requireTableFormat(filename); // refuses other formats before the file is read
  if (revision === 0) throw new AppError('invalid', 'The file has not been uploaded yet.');
  try {
    return await scheduler.fileTables.use({ objectId: id, revision, filename }, signal, work);
  } catch (error) {
    if ((await catalog.objects.get(id)) === undefined) throw notFoundError(); // the file was deleted meanwhile
    throw error;
  }
}
