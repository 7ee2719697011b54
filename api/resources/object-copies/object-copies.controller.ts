import { Body, Controller, Query, Req } from '@nestjs/common';
import type { ObjectCopyRow } from '../../../engine/catalog/object-copies.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form, readId } from '../../http/form.js';
import { choiceParams, paramIds, omitUndefined } from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { taskStatuses } from '../jobs/job-view.js';
import { JobPresenter } from '../jobs/job-presenter.js';
import { objectCopyOperations, objectCopyView } from './object-copy.js';

/**
 * Copies of files, folders and vaults (contract 6.9).
 * Choice: a copy contains what its source was when the task began, with descriptions, metadata and tags, and becomes visible as a
 * whole; datasets are left out. To copy a folder copies the folder itself; to copy a vault copies the contents of its root.
 */
@Controller()
export class ObjectCopiesController {
  constructor(private readonly context: AppContext) {}

  @CreateOperation(objectCopyOperations.create, async (context, caller, id, request) =>
    objectCopyView(
      new JobPresenter(context, request),
      await requireResource(context.catalog, caller, 'copy', id, 'read'),
    ),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const sourceVault = await this.#readVault(form, caller, 'source_vault_id', 'read');
    const targetVault = await this.#readVault(form, caller, 'target_vault_id', 'write');
    const source = await this.#readObject(form, 'source_object_id', sourceVault, [
      'file',
      'folder',
    ]);
    const target = await this.#readObject(form, 'target_object_id', targetVault, ['folder']);
    form.throwIfInvalid();
    const { row } = await this.context.catalog.objectCopies.create({
      userId: caller.user.id,
      accountId: caller.account.id,
      sourceVaultId: sourceVault!.id,
      targetVaultId: targetVault!.id,
      sourceObjectId: source?.id ?? null,
      targetObjectId: target?.id ?? null,
    });
    this.context.scheduler.wake();
    return objectCopyView(new JobPresenter(this.context, request), row);
  }

  @Operation(objectCopyOperations.list)
  @Access('read')
  list(
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const presenter = new JobPresenter(this.context, request);
    const filter = {
      userId: caller.user.id,
      ...omitUndefined({
        ids: paramIds(query, 'id'),
        statuses: choiceParams(query, 'status', taskStatuses),
      }),
    };
    return answerList<ObjectCopyRow>(request, query, {
      rows: (page) => this.context.catalog.objectCopies.list(filter, page),
      views: (rows) => presenter.presentEach(rows, (row) => objectCopyView(presenter, row)),
    });
  }

  @Operation(objectCopyOperations.get)
  @Access('read', 'copy')
  get(@Resource() row: ObjectCopyRow, @Req() request: ApiRequest): Promise<object> {
    return objectCopyView(new JobPresenter(this.context, request), row);
  }

  /**
   * Returns the vault that a key of the request names; undefined, with a mistake in the form, if there is none. The message for a missing
   * vault is the same as for one that the caller cannot see.
   */
  async #readVault(
    form: Form,
    caller: Caller,
    key: string,
    level: Permission,
  ): Promise<VaultRow | undefined> {
    const rawValue = form.raw(key);
    if (rawValue === undefined || rawValue === null)
      return form.fail(key, 'This field is required.');
    const failUnknownVault = (): undefined =>
      form.fail(key, `Invalid vault ${valueForMessage(rawValue)}.`);
    const id = readId(rawValue);
    if (id === undefined) return failUnknownVault();
    const { catalog } = this.context;
    return requireResource(catalog, caller, 'vault', id, level).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === 'not-found') return failUnknownVault();
      throw error;
    });
  }

  /**
   * Returns the object that a key of the request names, which must be in the vault and of one of the types; undefined if the key is
   * absent, its value is a mistake, or `vault` is undefined.
   */
  async #readObject(
    form: Form,
    key: string,
    vault: VaultRow | undefined,
    types: readonly string[],
  ): Promise<ObjectRow | undefined> {
    const rawValue = form.raw(key);
    if (rawValue === undefined || rawValue === null || rawValue === '') return undefined;
    const id = readId(rawValue);
    const row = id === undefined ? undefined : await this.context.catalog.objects.get(id);
    if (vault === undefined) return undefined;
    if (row?.vaultId !== vault.id)
      return form.fail(
        key,
        `Invalid object ${valueForMessage(rawValue)}: it is not in the vault ${vault.id}.`,
      );
    if (types.includes(row.objectType)) return row;
    const allowedTypes = types.map((type) => `a ${type}`).join(' or ');
    return form.fail(key, `${row.path} is a ${row.objectType}: it must be ${allowedTypes}.`);
  }
}

function valueForMessage(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 50));
}
