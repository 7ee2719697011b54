import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { VaultFilter, VaultRow } from '../../../engine/catalog/vaults.js';
import { notFound } from '../../../engine/core/errors.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { dropRemoved } from '../objects/remove-files.js';
import { Form } from '../../http/form.js';
import { ids, value, words } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { presenterFor } from '../presenter.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { omitUndefined, vaultNew, vaultPatch } from '../shape.js';
import { provider } from '../views.js';

/** Vaults: the top-level containers (contract 5). */
@Controller()
export class VaultsController {
  constructor(private readonly context: AppContext) {}

  @Operation('vaults.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const vault = vaultNew(form);
    form.done();
    const owner = { accountId: caller.account.id, userId: caller.user.id };
    const row = await this.context.catalog.vaults.create({ ...vault, ...owner });
    return presenterFor(this.context, request).vault(row);
  }

  @Operation('vaults.list')
  @Access('read')
  async list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const filter = vaultFilter(query, caller);
    const { rows, total } = await this.context.catalog.vaults.list(filter, page);
    const views = await presenterFor(this.context, request).vaults(rows);
    return listEnvelope(request.origin, request.url, page, total, views);
  }

  @Operation('vaults.get')
  @Access('read', 'vault')
  get(@Resource() vault: VaultRow, @Req() request: ApiRequest): Promise<object> {
    return presenterFor(this.context, request).vault(vault);
  }

  @Operation('vaults.put')
  @Access('write', 'vault')
  put(
    @Resource() vault: VaultRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(vault, body, request);
  }

  @Operation('vaults.patch')
  @Access('write', 'vault')
  async patch(
    @Resource() vault: VaultRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = vaultPatch(form);
    form.done();
    const row = await this.context.catalog.vaults.update(vault.id, patch);
    if (!row) throw notFound();
    return presenterFor(this.context, request).vault(row);
  }

  @Operation('vaults.delete')
  @Access('write', 'vault', 'admin')
  async delete(@Resource() vault: VaultRow, @Req() request: ApiRequest): Promise<object> {
    const [view] = await presenterFor(this.context, request).vaults([vault], true);
    await dropRemoved(this.context, await this.context.catalog.vaults.delete(vault.id));
    return view ?? {};
  }
}

function vaultFilter(query: QueryString, caller: Caller): VaultFilter {
  const type = words(query, 'vault_type', ['user', 'personal', 'general'])?.[0];
  const wantedProvider = value(query, 'provider');
  // All vaults have the one provider: any other finds none.
  const noIds = wantedProvider !== undefined && wantedProvider !== provider ? [0] : undefined;
  return {
    access: accessOf(caller),
    ...omitUndefined<VaultFilter>({
      ids: noIds ?? ids(query, 'id'),
      accountIds: ids(query, 'account_id'),
      userIds: ids(query, 'user_id'),
      name: value(query, 'name'),
      fullPath: value(query, 'full_path'),
      accountDomain: value(query, 'account_domain'),
      vaultType: type === undefined ? undefined : type === 'general' ? 'general' : 'user',
      tag: value(query, 'tags', 'tag'),
      storageClass: value(query, 'storage_class'),
      query: value(query, 'query', 'q'),
      permission: words(query, 'permission', ['read', 'write', 'admin'])?.[0],
    }),
  };
}
