import type { JsonObject } from '../../../engine/core/types.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { AppError } from '../../../engine/core/errors.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import { parametersOf, readerOfFile } from './check.js';
import { fileNameOf } from '../../fetch/url.js';
import { hintsOf, manifestEntries, type ManifestEntry } from './manifest.js';
import { checkRights } from '../../queue/rights.js';
import type { PublishContext } from '../job.js';
import type { ImportSource, LocalPlace } from './source.js';

/** What an import reads, in its order, if its user may still read all of it. */
export async function sourcesOf(
  row: ImportRow,
  task: TaskRow,
  context: PublishContext,
): Promise<readonly ImportSource[]> {
  const { data } = context;
  if (row.source === 'data_records') {
    const file = data.inlineRecords(row.id);
    const place: LocalPlace = { kind: 'file', file, identity: `inline ${row.id}`, md5: null };
    return [sourceOf(row, place, 'data_records', null, 'json')];
  }
  if (row.source === 'object') {
    const { place, filename } = await objectPlace(row.objectId, task, context);
    return [sourceOf(row, place, filename, null, null)];
  }
  const sources: ImportSource[] = [];
  for (const entry of manifestEntries(row.manifest)) {
    if (entry.place.kind === 'url') {
      sources.push(sourceOf(row, entry.place, fileNameOf(entry.place.url), entry, null));
    } else {
      const { place, filename, bytes } = await objectPlace(entry.place.objectId, task, context);
      keepPromise(filename, entry, place.md5, bytes);
      sources.push(sourceOf(row, place, filename, entry, null));
    }
  }
  return sources;
}

/** Checks again, before anything becomes visible, that the user may still read every source. */
export async function checkSources(
  row: ImportRow,
  task: TaskRow,
  { catalog }: PublishContext,
): Promise<void> {
  for (const id of objectsOf(row)) await checkRights(catalog, task.userId, 'object', id, 'read');
}

function objectsOf(row: ImportRow): readonly number[] {
  if (row.source === 'object') return row.objectId === null ? [] : [row.objectId];
  return manifestEntries(row.manifest).flatMap(({ place }) =>
    place.kind === 'object' ? [place.objectId] : [],
  );
}

/** An uploaded file that is not what the manifest says fails the import before a byte of it is read (contract 10.2). */
function keepPromise(
  filename: string,
  expected: Pick<ManifestEntry, 'md5' | 'bytes'>,
  md5: string | null,
  bytes: number | null,
): void {
  if (expected.md5 !== null && md5 !== null && expected.md5 !== md5) {
    const message = `${filename}: its md5 is ${md5}, not ${expected.md5} as the manifest says`;
    throw new AppError('input', message);
  }
  if (expected.bytes !== null && bytes !== null && expected.bytes !== bytes) {
    const message = `${filename}: has ${bytes} bytes, not the ${expected.bytes} that the manifest says (size)`;
    throw new AppError('input', message);
  }
}

function sourceOf(
  row: ImportRow,
  place: ImportSource['place'],
  filename: string,
  entry: ManifestEntry | null,
  asked: string | null,
): ImportSource {
  const raw = over(row.readerParams, entry?.readerParams);
  const found =
    asked === null
      ? readerOfFile(hintsOf(filename, entry), row.readerParams)
      : { reader: asked, isAsked: true };
  return {
    place,
    // An uploaded file has its own name; one of another host is called as the manifest likes.
    name: place.kind === 'url' ? (entry?.name ?? filename) : filename,
    reader: found.reader,
    isReaderAsked: found.isAsked,
    readerParams: parametersOf(raw, row.genomeBuild),
    validation: validation(over(row.validationParams, entry?.validationParams)),
    entityParams: over(row.entityParams, entry?.entityParams),
    expected: { md5: entry?.md5 ?? null, bytes: entry?.bytes ?? null },
  };
}

async function objectPlace(
  objectId: number | null,
  task: TaskRow,
  { catalog, data }: PublishContext,
): Promise<{
  readonly place: LocalPlace;
  readonly filename: string;
  readonly bytes: number | null;
}> {
  const object = objectId === null ? undefined : await catalog.objects.get(objectId);
  if (object === undefined) throw new AppError('invalid', 'the source file has been deleted');
  await checkRights(catalog, task.userId, 'object', object.id, 'read');
  if (object.availability !== 'available') {
    throw new AppError('invalid', `${object.filename} has not been uploaded yet`);
  }
  const { id, revision, md5, filename, size } = object;
  const file = data.object(id, revision);
  return {
    place: { kind: 'file', file, identity: `object ${id}-${revision}`, md5 },
    filename,
    bytes: size,
  };
}

/** The import's parameters with a file's own over them; a null there leaves what the import says. */
function over(general: JsonObject | null, own: JsonObject | null | undefined): JsonObject {
  const given = Object.entries(own ?? {}).filter(([, value]) => value !== null);
  return { ...general, ...Object.fromEntries(given) };
}

/** `validation_params` were checked when the import was created. */
function validation(params: JsonObject): ValidationParams {
  const is = (key: string): boolean => params[key] === true;
  return {
    disable: is('disable'),
    raiseOnErrors: is('raise_on_errors'),
    strict: is('strict_validation'),
    allowNewFields: is('allow_new_fields'),
  };
}
