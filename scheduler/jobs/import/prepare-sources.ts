import type { JsonObject } from '../../../engine/core/types.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { AppError } from '../../../engine/core/errors.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import { inlineReader } from '../../../readers/index.js';
import { parametersWithBuild, readerByHints } from './reader-choice.js';
import { fileNameOf } from '../../fetch/url.js';
import { fileHintsOf, manifestEntries, type ManifestEntry } from './manifest.js';
import { checkPermission } from '../permissions.js';
import type { PublishContext, UrlLocation } from '../job.js';
import type { FileLocation, ImportSource } from './import-source.js';

/** Returns the sources of an import, in order. Throws if its user may no longer read one of them. */
export async function importSourcesOf(
  row: ImportRow,
  task: TaskRow,
  context: PublishContext,
): Promise<readonly ImportSource[]> {
  const { data } = context;
  if (row.source === 'data_records') {
    const file = data.inlineRecords(row.id);
    const identity = `inline ${row.id}`;
    const location: FileLocation = { kind: 'file', file, identity, md5: null };
    return [importSourceOf(row, location, 'data_records', null, inlineReader.name)];
  }
  if (row.source === 'object') {
    const { location, filename } = await resolveObjectLocation(row, row.objectId, task, context);
    return [importSourceOf(row, location, filename, null, null)];
  }
  const sources: ImportSource[] = [];
  for (const entry of manifestEntries(row.manifest)) {
    const { location } = entry;
    if (location.kind === 'url') {
      sources.push(importSourceOf(row, location, fileNameOf(location.url), entry, null));
    } else {
      const object = await resolveObjectLocation(row, location.objectId, task, context);
      checkExpectedDigest(object.filename, entry, object.location.md5, object.bytes);
      sources.push(importSourceOf(row, object.location, object.filename, entry, null));
    }
  }
  return sources;
}

/** Throws if the user of an import may no longer read one of its sources. */
export async function checkSources(
  row: ImportRow,
  task: TaskRow,
  { catalog }: PublishContext,
): Promise<void> {
  for (const id of sourceObjectIds(row))
    await checkPermission(catalog, task.userId, 'object', id, 'read');
}

function sourceObjectIds(row: ImportRow): readonly number[] {
  if (row.source === 'object') return row.objectId === null ? [] : [row.objectId];
  return manifestEntries(row.manifest).flatMap(({ location }) =>
    location.kind === 'object' ? [location.objectId] : [],
  );
}

/** Throws if an uploaded file does not have the size and MD5 of its entry in the manifest (contract, section 10.2). */
function checkExpectedDigest(
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

function importSourceOf(
  row: ImportRow,
  location: FileLocation | UrlLocation,
  filename: string,
  entry: ManifestEntry | null,
  reader: string | null,
): ImportSource {
  const readerParams = overrideParams(row.readerParams, entry?.readerParams);
  const chosenReader =
    reader === null
      ? readerByHints(fileHintsOf(filename, entry), row.readerParams)
      : { reader, isNamed: true };
  return {
    location,
    // An uploaded file keeps its own name; the manifest may name a file on another host.
    name: location.kind === 'url' ? (entry?.name ?? filename) : filename,
    reader: chosenReader.reader,
    isReaderNamed: chosenReader.isNamed,
    readerParams: parametersWithBuild(readerParams, row.genomeBuild),
    validation: validationOf(overrideParams(row.validationParams, entry?.validationParams)),
    entityParams: overrideParams(row.entityParams, entry?.entityParams),
    expected: { md5: entry?.md5 ?? null, bytes: entry?.bytes ?? null },
  };
}

/**
 * Returns the content that the file had when the import was created, even if the file has changed since; its current content if it had none
 * then.
 */
async function resolveObjectLocation(
  row: ImportRow,
  objectId: number | null,
  task: TaskRow,
  { catalog, data }: PublishContext,
): Promise<{
  readonly location: FileLocation;
  readonly filename: string;
  readonly bytes: number | null;
}> {
  const object = objectId === null ? undefined : await catalog.objects.get(objectId);
  if (object === undefined) throw new AppError('invalid', 'the source file has been deleted');
  await checkPermission(catalog, task.userId, 'object', object.id, 'read');
  const { id, filename } = object;
  const keptRevision = await catalog.imports.revisionOf(row.id, id);
  const revision = keptRevision ?? object.revision;
  const version = await catalog.fileVersions.get(id, revision);
  if (version?.availability !== 'available') {
    const problem = keptRevision === undefined ? 'has not been uploaded yet' : 'no longer has the content with which the import was created'; // prettier-ignore
    throw new AppError('invalid', `${filename} ${problem}`);
  }
  const { md5, size } = version;
  const file = data.object(id, revision);
  return {
    location: { kind: 'file', file, identity: `object ${id}-${revision}`, md5 },
    filename,
    bytes: size,
  };
}

/** Returns the parameters of the import, overridden by those parameters of the file that are not null. */
export function overrideParams(
  general: JsonObject | null,
  own: JsonObject | null | undefined,
): JsonObject {
  const set = Object.entries(own ?? {}).filter(([, value]) => value !== null);
  return { ...general, ...Object.fromEntries(set) };
}

/** Choice: with `on_error: reject`, an import or a migration rejects 1,000 records at most unless `max_rejected` says otherwise. */
const defaultMaxRejectedRecords = 1_000;

/** Converts `validation_params`, which were checked when the job was created. */
export function validationOf(params: JsonObject): ValidationParams {
  const is = (key: string): boolean => params[key] === true;
  return {
    disable: is('disable'),
    raiseOnErrors: is('raise_on_errors'),
    strict: is('strict_validation'),
    allowNewFields: is('allow_new_fields'),
    ...(params['on_error'] === 'reject' && {
      maxRejected: Number(params['max_rejected'] ?? defaultMaxRejectedRecords),
    }),
  };
}
