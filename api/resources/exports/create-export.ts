import type { JsonObject } from '../../../engine/core/types.js';
import { viewerOf, permissionOn } from '../../../engine/catalog/access.js';
import type { AsOf } from '../../../engine/catalog/commits.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { parseFullPath } from '../../../engine/catalog/full-path.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseExportParams } from '../../../engine/query/request/request.js';
import { checkFormat } from '../../../scheduler/jobs/export/format.js';
import { isObject, type Form } from '../../http/form.js';
import { exportResource } from './export.js';
import type { AppContext } from '../../http/app-context.js';
import { computedOnly, isAnnotated, readAnnotation } from '../records/annotated-query.js';
import { planAnnotation, rowAnnotation } from '../../../scheduler/expressions/plan-annotation.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { asOfText, resolveAsOf } from '../records/as-of.js';
import { namesIn } from '../records/separated-query.js';
import { countRecords } from '../records/query-records.js';
import type { Caller } from '../../http/request.js';
import { requireNoSnapshot, requireResource } from '../../http/require-resource.js';

/**
 * Checks the request for an export, reports all its errors at once, and queues the export (contract 11.2). The link of its e-mail will begin
 * with `baseAddress`.
 */
export async function createExport(
  context: AppContext,
  caller: Caller,
  form: Form,
  baseAddress: string,
): Promise<ExportRow> {
  const { catalog } = context;
  const datasetId = form.requiredId('dataset_id');
  const dataset =
    datasetId === undefined
      ? undefined
      : await requireResource(catalog, caller, 'dataset', datasetId, 'read');
  const format = readFormat(form);
  const fields = dataset ? await catalog.fields.all(dataset.id) : [];
  refuseComputed(form, fields);
  const params = dataset && readParams(form, fields);
  const asOf = dataset && (await readAsOf(context, form, dataset.id, params ?? {}));
  const annotation = dataset && (await readAnnotationOf(context, form, dataset, params));
  const targetFullPath = await readTarget(context, caller, form);
  const options = exportResource.readCreate(form);
  if (options.sendEmailOnCompletion === true && !context.scheduler.sendsMail) {
    form.fail(
      'send_email_on_completion',
      'This server sends no e-mail: leave it out, or set --smtp-url and --mail-from.',
    );
  }
  form.done();
  if (!dataset || !format || !params) throw new Error('done() lets no incomplete form pass');
  await requireNoSnapshot(context, dataset, 'dataset_id');
  const total = await countRecords(context, dataset, params, asOf?.version);
  const limit = Number(params['limit'] ?? total);
  const { row } = await catalog.exports.create({
    ...options,
    ...annotation,
    ...(targetFullPath !== undefined && { targetFullPath }),
    datasetId: dataset.id,
    userId: caller.user.id,
    accountId: caller.account.id,
    format,
    params,
    documentsCount: Math.min(total, limit),
    ...(asOf && { asOf }),
    // The e-mail comes when there is no request any more that could tell the address.
    ...(options.sendEmailOnCompletion === true && {
      metadata: { email: { base_url: baseAddress } },
    }),
  });
  context.scheduler.wake();
  return row;
}

function readFormat(form: Form): string | undefined {
  const text = form.requiredText('format');
  if (text === '') return undefined;
  try {
    return checkFormat(text).format;
  } catch (error) {
    form.absorb(error);
    return undefined;
  }
}

/** Adds an error to the form if the query of the export names a field that the export computes: the records are found before. */
function refuseComputed(form: Form, fields: readonly FieldRow[]): void {
  const [params, targets] = [form.raw('params'), form.raw('target_fields')];
  if (!isObject(params) || !Array.isArray(targets)) return;
  const computed = targets.flatMap((field: unknown) => (isObject(field) && typeof field['name'] === 'string' ? [{ name: field['name'] }] : [])); // prettier-ignore
  const [name] = namesIn(params, computedOnly(computed, fields));
  if (name !== undefined)
    form.fail('params', `${name} is computed by target_fields of this export, after the records are found: compute it in a dataset with a migration to find or sort by it.`); // prettier-ignore
}

/** The query of the export, checked. Its errors are added to the form below `params`, by key of the query. */
function readParams(form: Form, fields: readonly FieldRow[]): JsonObject | undefined {
  const params = form.raw('params') === '' ? {} : (form.object('params') ?? {});
  try {
    parseExportParams(params, fields);
    // The key `commit_id` marks exports of commits (commit-file.ts); in a request it means nothing.
    const kept = ([key, value]: [string, unknown]): boolean => value !== null && key !== 'commit_id'; // prettier-ignore
    return Object.fromEntries(Object.entries(params).filter(kept));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return form.fail('params', error.fields ?? error.message);
  }
}

/** The version that `as_of` names, in the body or in `params`; later commits do not change it. */
async function readAsOf(
  context: AppContext,
  form: Form,
  datasetId: number,
  params: JsonObject,
): Promise<AsOf | undefined> {
  const [above, inside] = [form.raw('as_of'), params['as_of']];
  if (asOfText(above) !== '' && asOfText(inside) !== '' && asOfText(above) !== asOfText(inside))
    return form.fail('as_of', 'params.as_of is another one: send as_of once.');
  try {
    return await resolveAsOf(context, datasetId, asOfText(above) === '' ? inside : above);
  } catch (error) {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    if (asOfText(above) === '') return form.fail('params', error.fields);
    form.absorb(error);
    return undefined;
  }
}

/** The fields to compute, checked; null if there are none. Their errors are added to the form. */
async function readAnnotationOf(
  { catalog }: AppContext,
  form: Form,
  { id }: DatasetRow,
  params: JsonObject | undefined,
): Promise<ReturnType<typeof rowAnnotation> | null> {
  const [targets, settingsGiven] = [form.raw('target_fields'), form.raw('annotator_params')];
  if (!isAnnotated({ target_fields: targets, annotator_params: settingsGiven })) return null;
  try {
    const settings = readAnnotation(targets, settingsGiven);
    planAnnotation(settings, params ?? {}, await catalog.fields.all(id));
    return rowAnnotation(settings);
  } catch (error) {
    form.absorb(error);
    return null;
  }
}

/**
 * The full path of the file object to create; the vault is checked for write permission now and again when the file is published
 * (threat A5).
 */
async function readTarget(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<string | undefined> {
  const text = form.text('target_full_path');
  if (text === undefined || text === '') return undefined;
  const path = parseFullPath(text);
  const invalidTarget = (): undefined =>
    form.fail(
      'target_full_path',
      'Must be a full path in a vault that exists, such as vault:/folder/name.',
    );
  if (!path || path.path === '/') return invalidTarget();
  const vault = await context.catalog.vaults.byFullPath(path, viewerOf(caller));
  const permission = vault && (await permissionOn(context.catalog, caller, vault.id));
  if (!vault || !permission) return invalidTarget();
  if (permission === 'read') {
    throw new AppError(
      'forbidden',
      'This needs write permission on the vault of target_full_path.',
    );
  }
  const account = await context.catalog.accounts.get(vault.accountId);
  return `${account?.domain ?? ''}:${vault.name}:${path.path}`;
}
