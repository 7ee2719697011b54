import type { JsonObject } from '../../../engine/core/types.js';
import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseMigrationParams } from '../../../engine/query/request/query-request.js';
import type { AppContext } from '../../http/app-context.js';
import type { Form } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';
import {
  requireAvailableDataset,
  requireDatasetOfKey,
  requireNoSnapshot,
} from '../../http/require-resource.js';
import { checkRejectionParams } from '../imports/create-import.js';
import { checkMetadata } from '../imports/import.js';
import { checkCommitMode, checkTargetFields } from '../imports/import-options.js';
import { readAsOf } from '../queries/as-of.js';
import { countRecords } from '../queries/query-records.js';
import { migrationResource } from './migration.js';

/** Checks the request for a migration, reports the mistakes in its body together, and queues the migration (contract 12). */
export async function createMigration(
  context: AppContext,
  caller: Caller,
  form: Form,
): Promise<DatasetMigrationRow> {
  const { catalog } = context;
  const source = await requireDatasetOfKey(catalog, caller, form, 'source_id', 'read');
  const target = await requireDatasetOfKey(catalog, caller, form, 'target_id', 'write');
  const params = source && (await readParams(context, form, source));
  const asOf = source && (await readAsOf(context, form, source.id, 'source_params', params ?? {}));
  const options = migrationResource.readCreate(form);
  form.boolean('parallel');
  if (target && options.targetFields)
    checkTargetFields(form, options.targetFields, await catalog.fields.all(target.id));
  checkCommitMode(form, options);
  checkMetadata(form);
  checkRejectionParams(form, options.validationParams ?? null, []);
  form.throwIfInvalid();
  if (!source || !target || !params)
    throw new Error('throwIfInvalid() lets no incomplete form pass');
  requireAvailableDataset(context, source, 'cannot be migrated', 'source_id');
  requireAvailableDataset(context, target, 'takes no migrations', 'target_id');
  await requireNoSnapshot(context, source, 'source_id');
  await requireNoSnapshot(context, target, 'target_id');
  const total = await countRecords(context, source, params, asOf?.version);
  const { row } = await catalog.datasetMigrations.create({
    ...options,
    sourceId: source.id,
    targetId: target.id,
    userId: caller.user.id,
    accountId: caller.account.id,
    sourceParams: params,
    documentsCount: Math.min(total, Number(params['limit'] ?? total)),
    ...(asOf && { asOf }),
  });
  context.scheduler.wake();
  return row;
}

/** Returns the checked query of the source. Errors are added to the form below `source_params`, under the keys of the query. */
async function readParams(
  { catalog }: AppContext,
  form: Form,
  source: DatasetRow,
): Promise<JsonObject | undefined> {
  const { debug: _, ...params } =
    form.raw('source_params') === '' ? {} : (form.object('source_params') ?? {});
  try {
    parseMigrationParams(params, await catalog.fields.all(source.id));
    return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return form.fail('source_params', error.fields ?? error.message);
  }
}
