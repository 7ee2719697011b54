import type { JsonObject } from '../../../engine/core/types.js';
import { viewerOf, readPermissionOn } from '../../../engine/catalog/access.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { parseFullPath } from '../../../engine/catalog/full-path.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseExportParams } from '../../../engine/query/request/query-request.js';
import type { Form } from '../../http/form.js';
import { exportResource } from './export.js';
import type { AppContext } from '../../http/app-context.js';
import { isAnnotatedQuery, readAnnotation } from '../records/annotated-query.js';
import { planAnnotation, annotationSettingsToRow, type AnnotationSettings } from '../../../scheduler/expressions/plan-annotation.js'; // prettier-ignore
import {
  computedQuery,
  querySeparations,
} from '../../../scheduler/jobs/computed/computed-query.js';
import { withoutConditions } from '../../../engine/query/request/separated-query.js';
import { readAsOf } from '../queries/as-of.js';
import { countRecords } from '../queries/query-records.js';
import type { Caller } from '../../http/api-request.js';
import {
  requireAvailableDataset,
  requireNoSnapshot,
  requireResource,
} from '../../http/require-resource.js';

/**
 * Checks the request for an export, reports the mistakes in its body together, and queues the export (contract 11.2). `baseAddress` is the
 * start of the link in the e-mail about its completion.
 */
export async function createExport(
  context: AppContext,
  caller: Caller,
  form: Form,
  baseAddress: string,
): Promise<ExportRow> {
  const { catalog } = context;
  const { datasetId, format, targetFullPath: target, ...options } = exportResource.readCreate(form);
  const dataset =
    datasetId === undefined
      ? undefined
      : await requireResource(catalog, caller, 'dataset', datasetId, 'read');
  const fields = dataset ? await catalog.fields.all(dataset.id) : [];
  const settings = dataset ? readSettings(form, fields) : null;
  const query = dataset && (await readParams(form, fields, settings));
  const params = query?.params;
  const asOf = dataset && (await readAsOf(context, form, dataset.id, 'params', params ?? {}));
  const targetFullPath = await readTarget(context, caller, form, target ?? '');
  if (options.sendEmailOnCompletion === true && !context.scheduler.sendsMail) {
    form.fail(
      'send_email_on_completion',
      'This server sends no e-mail: leave it out, or set --smtp-url and --mail-from.',
    );
  }
  form.throwIfInvalid();
  if (!dataset || !format || !query || !params)
    throw new Error('throwIfInvalid() lets no incomplete form pass');
  requireAvailableDataset(context, dataset, 'cannot be exported', 'dataset_id');
  await requireNoSnapshot(context, dataset, 'dataset_id');
  // If the query filters or sorts by computed fields, the number of records is unknown until the export runs.
  const total = query.isComputed ? null : await countRecords(context, dataset, params, asOf?.version); // prettier-ignore
  const limit = Number(params['limit'] ?? Infinity);
  const { row } = await catalog.exports.create({
    ...options,
    ...(settings && annotationSettingsToRow(settings)),
    ...(targetFullPath !== undefined && { targetFullPath }),
    datasetId: dataset.id,
    userId: caller.user.id,
    accountId: caller.account.id,
    format,
    params,
    documentsCount: total === null ? null : Math.min(total, limit),
    ...(asOf && { asOf }),
    // The e-mail is sent after the request has ended, so the public address of the server is stored with the export.
    ...(options.sendEmailOnCompletion === true && {
      metadata: { email: { base_url: baseAddress } },
    }),
  });
  context.scheduler.wake();
  return row;
}

/**
 * Returns the checked query of the export, and whether it filters or sorts by fields that the export computes. Errors are added to the form
 * below `params`, under the keys of the query.
 */
async function readParams(
  form: Form,
  fields: readonly FieldRow[],
  settings: AnnotationSettings | null | undefined,
): Promise<{ readonly params: JsonObject; readonly isComputed: boolean } | undefined> {
  const rawParams = form.raw('params') === '' ? {} : (form.object('params') ?? {});
  // The computed fields have errors, which are already in the form; `params` cannot be checked without these fields.
  if (settings === undefined) return undefined;
  try {
    const query = settings === null ? rawParams : planAnnotation(settings, rawParams, fields).query;
    const computedConditions =
      settings === null ? undefined : computedQuery(settings, query, fields);
    const { facets, explain } = query;
    parseExportParams(
      computedConditions ? { ...withoutConditions(query), facets, explain } : query,
      fields,
    );
    if (computedConditions) await querySeparations(computedConditions);
    // The key `commit_id` marks exports of commits (commit-file.ts); a value that a client sends for it is ignored.
    const isKept = ([key, value]: [string, unknown]): boolean => value !== null && key !== 'commit_id'; // prettier-ignore
    return { params: Object.fromEntries(Object.entries(rawParams).filter(isKept)), isComputed: computedConditions !== undefined }; // prettier-ignore
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return form.fail('params', error.fields ?? error.message);
  }
}

/** Returns the checked settings of computed fields; null if the request has none, undefined after an error, which is added to the form. */
function readSettings(
  form: Form,
  fields: readonly FieldRow[],
): AnnotationSettings | null | undefined {
  const [targets, params] = [form.raw('target_fields'), form.raw('annotator_params')];
  if (!isAnnotatedQuery({ target_fields: targets, annotator_params: params })) return null;
  try {
    const settings = readAnnotation(targets, params);
    planAnnotation(settings, {}, fields);
    return settings;
  } catch (error) {
    form.collectErrorsOf(error);
    return undefined;
  }
}

/**
 * Returns the full path of the file object to create. The write permission on the vault is checked now, and again when the file is
 * published (threat A5).
 */
async function readTarget(
  context: AppContext,
  caller: Caller,
  form: Form,
  target: string,
): Promise<string | undefined> {
  if (target === '') return undefined;
  const fullPath = parseFullPath(target);
  const failInvalidTarget = (): undefined =>
    form.fail(
      'target_full_path',
      'Must be a full path in a vault that exists, such as vault:/folder/name.',
    );
  if (!fullPath || fullPath.path === '/') return failInvalidTarget();
  const vault = await context.catalog.vaults.byFullPath(fullPath, viewerOf(caller));
  const permission = vault && (await readPermissionOn(context.catalog, caller, vault.id));
  if (!vault || !permission) return failInvalidTarget();
  if (permission === 'read') {
    throw new AppError(
      'forbidden',
      'This needs write permission on the vault of target_full_path.',
    );
  }
  const account = await context.catalog.accounts.get(vault.accountId);
  return `${account?.domain ?? ''}:${vault.name}:${fullPath.path}`;
}
