import { basename } from 'node:path';
import type { ImportRow, Json, TaskRow } from '../../engine/catalog/rows.js';
import { AppError } from '../../engine/errors.js';
import type { ValidationParams } from '../../engine/ingest/findings.js';
import { parametersOf, readerOf } from '../check-import.js';
import { manifestEntries, type ManifestEntry } from '../manifest.js';
import { checkRights } from '../rights.js';
import type { PublishContext } from '../task.js';
import type { ImportSource, LocalPlace } from './import-source.js';

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
      const name = entry.name ?? nameOfAddress(entry.place.url);
      sources.push(sourceOf(row, entry.place, name, entry, null));
    } else {
      const { place, filename } = await objectPlace(entry.place.objectId, task, context);
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

/** The name that a file of another host has when its manifest gives none: the last part of its path. */
export function nameOfAddress(url: string): string {
  const { pathname, hostname } = new URL(url);
  return basename(pathname) || hostname;
}

function sourceOf(
  row: ImportRow,
  place: ImportSource['place'],
  name: string,
  entry: ManifestEntry | null,
  reader: string | null,
): ImportSource {
  const raw = over(row.readerParams, entry?.readerParams);
  return {
    place,
    name,
    reader: reader ?? readerOf(name, raw).name,
    isReaderAsked: reader !== null || typeof raw['reader'] === 'string',
    readerParams: parametersOf(raw, row.genomeBuild),
    validation: validation(over(row.validationParams, entry?.validationParams)),
    entityParams: over(row.entityParams, entry?.entityParams),
    promised: { md5: entry?.md5 ?? null, bytes: entry?.bytes ?? null },
  };
}

async function objectPlace(
  objectId: number | null,
  task: TaskRow,
  { catalog, data }: PublishContext,
): Promise<{ readonly place: LocalPlace; readonly filename: string }> {
  const object = objectId === null ? undefined : await catalog.objects.get(objectId);
  if (object === undefined) throw new AppError('invalid', 'the source file has been deleted');
  await checkRights(catalog, task.userId, 'object', object.id, 'read');
  if (object.availability !== 'available') {
    throw new AppError('invalid', `${object.filename} has not been uploaded yet`);
  }
  const { id, revision, md5, filename } = object;
  const file = data.object(id, revision);
  return {
    place: { kind: 'file', file, identity: `object ${id}-${revision}`, md5 },
    filename,
  };
}

/** The import's parameters with a file's own over them; a null there leaves what the import says. */
function over(general: Json | null, own: Json | null | undefined): Json {
  const given = Object.entries(own ?? {}).filter(([, value]) => value !== null);
  return { ...general, ...Object.fromEntries(given) };
}

/** `validation_params` were checked when the import was created. */
function validation(params: Json): ValidationParams {
  const is = (key: string): boolean => params[key] === true;
  return {
    disable: is('disable'),
    raiseOnErrors: is('raise_on_errors'),
    strict: is('strict_validation'),
    allowNewFields: is('allow_new_fields'),
  };
}
