import type { JsonObject } from '../../../engine/core/types.js';
import { budgets } from '../../../engine/core/budgets.js';
import type { ImportRow, NewImport } from '../../../engine/catalog/imports.js';
import { verbByMode } from '../../../engine/catalog/publish.js';
import type { TemplateRow } from '../../../engine/catalog/templates.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { removeFile } from '../../../engine/core/files.js';
import { writeStream } from '../../../engine/core/file-writer.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { overrideParams } from '../../../scheduler/jobs/import/prepare-sources.js';
import {
  checkParameterNames,
  checkReaderParams,
} from '../../../scheduler/jobs/import/reader-choice.js';
import { isObject, readId, type Form } from '../../http/form.js';
import { checkMetadata, importResource } from './import.js';
import { checkManifestReaders, readManifest, type ManifestFile } from './read-manifest.js';
import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/api-request.js';
import {
  requireAvailableDataset,
  requireDatasetOfKey,
  requireNoSnapshot,
  requireResource,
} from '../../http/require-resource.js';
import { readTemplate, withTemplateFields } from '../shared/named-template.js';
import { checkCommitMode, checkTargetFields } from './import-options.js';

/**
 * Checks the request for an import, reports the mistakes in its body together, and queues the import. Returns the import: queued if it
 * reads files, finished if the request has the records (contract 10.3).
 */
export async function createImport(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<ImportRow> {
  const dataset = await requireDatasetOfKey(context.catalog, caller, form, 'dataset_id', 'write');
  const source = await readSource(context, caller, form);
  const template = await readTemplate(context.catalog, caller, form);
  const options = withTemplate(template, importResource.readCreate(form));
  if (source) checkReaders(form, source, options);
  if (dataset && options.targetFields) {
    checkTargetFields(form, options.targetFields, await context.catalog.fields.all(dataset.id));
  }
  checkCommitMode(form, options);
  checkMetadata(form);
  checkRejectionParams(form, options.validationParams ?? null, source?.files ?? []);
  form.throwIfInvalid();
  if (!dataset || !source) throw new Error('throwIfInvalid() lets no incomplete form pass');
  requireAvailableDataset(context, dataset, 'takes no imports', 'dataset_id');
  await requireNoSnapshot(context, dataset, 'dataset_id');
  const job: NewImport = {
    ...options,
    datasetId: dataset.id,
    userId: caller.user.id,
    accountId: caller.account.id,
    source: source.kind,
    ...(source.object && { objectId: source.object.id }),
    ...(source.manifest && { manifest: source.manifest }),
    ...(source.files && {
      files: source.files.flatMap(({ entry }) => readId(entry['object_id']) ?? []),
    }),
    ...((source.object || source.files) && {
      taskDescription: 'Validate and transform uploaded file',
    }),
  };
  return source.records ? importRecords(context, job, source.records) : importFile(context, job);
}

/**
 * Returns the options of an import with the fields and parameters of its template: fields are merged by name, parameters by key, and those
 * of the request take precedence.
 */
function withTemplate(
  template: TemplateRow | undefined,
  options: Partial<NewImport>,
): Partial<NewImport> {
  if (template === undefined) return options;
  const mergeParams = (params: JsonObject, ownParams: JsonObject | null | undefined): JsonObject => ({ ...params, ...ownParams }); // prettier-ignore
  return {
    ...options,
    targetFields: withTemplateFields(template, options.targetFields ?? []),
    entityParams: mergeParams(template.entityParams, options.entityParams),
    readerParams: mergeParams(template.readerParams, options.readerParams),
    validationParams: mergeParams(template.validationParams, options.validationParams),
    annotatorParams: mergeParams(template.annotatorParams, options.annotatorParams),
  };
}

/**
 * Checks the options about invalid records in `validation_params`, both those of the import and those of single files of a manifest, which
 * override them.
 */
export function checkRejectionParams(
  form: Form,
  general: JsonObject | null,
  files: readonly ManifestFile[],
): void {
  const problem = rejectionProblem(general ?? {});
  if (problem !== undefined) return form.fail('validation_params', problem);
  for (const { entry, label } of files) {
    const ownParams = entry['validation_params'];
    const ownProblem = isObject(ownParams)
      ? rejectionProblem(overrideParams(general, ownParams))
      : undefined;
    if (ownProblem !== undefined)
      form.fail('manifest', `${label}, validation_params: ${ownProblem}`);
  }
}

/**
 * Returns what is wrong with the options about invalid records; undefined if they are valid.
 * Choice: `on_error: reject` with `strict_validation` or `raise_on_errors` is refused, because they fail the import at an error.
 */
function rejectionProblem(params: JsonObject): string | undefined {
  const { on_error: onError, max_rejected: maxRejected } = params;
  const key = (['strict_validation', 'raise_on_errors'] as const).find((one) => params[one]);
  if (onError === 'reject' && key !== undefined)
    return `"on_error": "reject" stores the records without an error, and "${key}": true fails the import at the first one with an error: give only one of them.`;
  if (
    maxRejected !== undefined &&
    maxRejected !== null &&
    (onError !== 'reject' || Number(maxRejected) < 0)
  )
    return '"max_rejected" is a number from 0 on, with "on_error": "reject".';
  return undefined;
}

async function importFile(context: AppContext, job: NewImport): Promise<ImportRow> {
  const { row } = await context.catalog.imports.create(job);
  context.scheduler.wake();
  return row;
}

/** Writes the records to a JSON Lines file, which the task imports, and waits for the end of the task. */
async function importRecords(
  context: AppContext,
  job: NewImport,
  records: readonly JsonObject[],
): Promise<ImportRow> {
  const id = await context.catalog.nextId();
  const file = context.data.inlineRecords(id);
  await writeStream(file, jsonLines(records));
  try {
    const verb = job.isDryRun ? 'Validate' : verbByMode[job.commitMode ?? 'append'];
    const taskDescription = `${verb} ${records.length} records`;
    const { task } = await context.catalog.imports.create({ ...job, id, taskDescription });
    context.scheduler.wake();
    await context.scheduler.wait(task.id);
  } catch (error) {
    if (!(await context.catalog.imports.get(id))) await removeFile(file);
    throw error;
  }
  const row = await context.catalog.imports.get(id);
  if (!row) throw notFoundError(); // the import was deleted meanwhile
  return row;
}

function* jsonLines(records: readonly JsonObject[]): Generator<Uint8Array> {
  for (const record of records) yield Buffer.from(`${stringifyJson(record)}\n`);
}

/** The source of the records: a file, the request or a manifest. */
interface RequestedSource {
  readonly kind: ImportRow['source'];
  readonly object?: ObjectRow;
  readonly records?: readonly JsonObject[];
  readonly manifest?: JsonObject;
  readonly files?: readonly ManifestFile[];
}

async function readSource(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<RequestedSource | undefined> {
  const keys = ['data_records', 'records', 'object_id', 'manifest'] as const;
  const givenKeys = keys.filter((key) => !isAbsent(form.raw(key)));
  const [key] = givenKeys;
  if (key === undefined) {
    const message = 'One of object_id, data_records and manifest is required.';
    return form.fail('non_field_errors', message);
  }
  if (givenKeys.length > 1) {
    return form.fail('non_field_errors', `Give only one of ${givenKeys.join(' and ')}.`);
  }
  if (key === 'object_id') return readFileSource(context, caller, form, key, form.raw(key));
  if (key === 'manifest') return readManifestSource(context, caller, form);
  return readRecordSource(form, key);
}

function isAbsent(value: unknown): boolean {
  return (
    value === undefined || value === '' || (isObject(value) && Object.keys(value).length === 0)
  );
}

function readRecordSource(form: Form, key: string): RequestedSource | undefined {
  const value = form.raw(key);
  // One client sends a list with one element as that element alone.
  const records = isObject(value) ? [value] : value;
  if (!Array.isArray(records) || !records.every(isObject)) {
    return form.fail(key, 'Must be a list of objects.');
  }
  const max = budgets.inlineRecords;
  if (records.length > max) {
    const message = `A request takes at most ${max} records, not ${records.length}: split them over several imports, or upload them as a file and import it by object_id.`;
    return form.fail(key, message);
  }
  return { kind: 'data_records', records };
}

async function readFileSource(
  context: AppContext,
  caller: Caller,
  form: Form,
  key: string,
  objectId: unknown,
): Promise<RequestedSource | undefined> {
  const object = await findFile(context, caller, objectId);
  return typeof object === 'string' ? form.fail(key, object) : { kind: 'object', object };
}

/** Returns the uploaded file with this id, or an error message. */
async function findFile(
  context: AppContext,
  caller: Caller,
  objectId: unknown,
): Promise<ObjectRow | string> {
  const quotedId = JSON.stringify(String(objectId).slice(0, 50));
  const id = readId(objectId);
  const object =
    id === undefined
      ? undefined
      : await requireResource(context.catalog, caller, 'object', id, 'read').catch(
          (error: unknown) => {
            if ((error as { code?: unknown }).code === 'not-found') return undefined;
            throw error;
          },
        );
  if (!object) return `Invalid object ${quotedId}.`;
  if (object.objectType !== 'file') {
    return `Object ${quotedId} is a ${object.objectType}, not a file.`;
  }
  return object.revision === 0 ? `File ${quotedId} has not been uploaded yet.` : object;
}

async function readManifestSource(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<RequestedSource | undefined> {
  const manifest = form.object('manifest');
  if (!manifest) return undefined;
  const files = await readManifest(form, manifest, (objectId) =>
    findFile(context, caller, objectId),
  );
  if (!files) return undefined;
  const storedManifest = { ...manifest, files: files.map(({ entry }) => entry) };
  return { kind: 'manifest', manifest: storedManifest, files };
}

function checkReaders(
  form: Form,
  { object, files }: RequestedSource,
  options: Partial<NewImport>,
): void {
  const readerParams = options.readerParams ?? null;
  const genomeBuild = options.genomeBuild ?? null;
  if (files) checkManifestReaders(form, files, readerParams, genomeBuild);
  if (files) return;
  try {
    if (object) checkReaderParams(object.filename, readerParams, genomeBuild);
    else checkParameterNames(readerParams);
  } catch (error) {
    form.collectErrorsOf(error);
  }
}
