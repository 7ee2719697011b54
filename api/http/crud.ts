import { Body, Controller, Query, Req, type Type } from '@nestjs/common';
import type { Tables } from '../../engine/catalog/catalog.js';
import type { Listed } from '../../engine/catalog/list-page.js';
import type { Kinds } from '../../engine/catalog/access.js';
import type { Permission } from '../../engine/catalog/permission.js';
import { notFound } from '../../engine/core/errors.js';
import { Access, CurrentCaller, Resource, type ResourceKind } from './access.js';
import { AppContext } from './app-context.js';
import { Form } from './form.js';
import { CreateOperation, Operation } from './operation.js';
import type { CrudOperations } from './operation-row.js';
import { listEnvelope, readPage, type Page, type Query as QueryString } from './page.js';
import type { ApiRequest, Caller } from './request.js';
import { requireResource } from './require-resource.js';
import type { Resource as DeclaredResource } from './resource.js';

/** The part of a catalogue table that the helper uses. */
export interface CrudTable<Row, Filter> {
  create(row: never): Promise<Row>;
  list(filter: Filter, page: Page): Promise<Listed<Row>>;
  update(id: number, patch: never): Promise<Row | undefined>;
}

/** What distinguishes one ordinary resource from another. */
export interface CrudResource<K extends ResourceKind, Context, Filter> {
  /** Its access rule in `engine/catalog/access.ts`. */
  readonly kind: K;
  /** The permission that deleting needs; write when absent. */
  readonly deletePermission?: Permission;
  readonly operations: CrudOperations;
  readonly declaration: DeclaredResource<Kinds[K], Context, Partial<Kinds[K]>>;
  table(tables: Tables): CrudTable<Kinds[K], Filter>;
  /** Reads the filter of the list from the query string. */
  filter(query: QueryString, caller: Caller): Filter;
  /** Lists by what the database cannot decide; the table's own list when absent. */
  list?(
    context: AppContext,
    caller: Caller,
    query: QueryString,
    page: Page,
  ): Promise<Listed<Kinds[K]>>;
  /** What rows show besides their own properties. */
  contexts(
    context: AppContext,
    request: ApiRequest,
    rows: readonly Kinds[K][],
    options?: { readonly isDeleted: boolean },
  ): Promise<readonly Context[]>;
  /**
   * Looks up what the request names, beyond what the declaration reads; notes mistakes in the form. `row` is the
   * resource to change, undefined for a create.
   */
  resolve?(
    context: AppContext,
    caller: Caller,
    form: Form,
    values: Partial<Kinds[K]>,
    row?: Kinds[K],
  ): Promise<Partial<Kinds[K]>>;
  delete(context: AppContext, row: Kinds[K]): Promise<void>;
}

/** The controller of an ordinary resource: create, list, get, put, patch and delete. */
export function crudController<K extends ResourceKind, Context, Filter>(
  resource: CrudResource<K, Context, Filter>,
): Type {
  type Row = Kinds[K];
  const { kind, operations, declaration } = resource;

  const view = async (
    context: AppContext,
    request: ApiRequest,
    row: Row,
    isDeleted = false,
  ): Promise<object> => {
    const [shown] = await resource.contexts(context, request, [row], { isDeleted });
    return declaration.view(row, shown!);
  };

  @Controller()
  class CrudController {
    constructor(readonly context: AppContext) {}

    @CreateOperation(operations.create, async (context, caller, id, request) =>
      view(context, request, await requireResource(context.catalog, caller, kind, id, 'read')),
    )
    @Access('write')
    async create(
      @Body() body: unknown,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      const form = new Form(body);
      const values = declaration.readCreate(form);
      const resolved = await resource.resolve?.(this.context, caller, form, values);
      form.done();
      const owner = { userId: caller.user.id, accountId: caller.account.id };
      const table = resource.table(this.context.catalog);
      const row = await table.create({ ...values, ...resolved, ...owner } as never);
      return view(this.context, request, row);
    }

    @Operation(operations.list)
    @Access('read')
    async list(
      @Query() query: QueryString,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      const page = readPage(query);
      const { rows, total } = resource.list
        ? await resource.list(this.context, caller, query, page)
        : await resource.table(this.context.catalog).list(resource.filter(query, caller), page);
      const contexts = await resource.contexts(this.context, request, rows);
      const views = rows.map((row, i) => declaration.view(row, contexts[i]!));
      return listEnvelope(request.origin, request.url, page, total, views);
    }

    @Operation(operations.get)
    @Access('read', kind)
    get(@Resource() row: Row, @Req() request: ApiRequest): Promise<object> {
      return view(this.context, request, row);
    }

    @Operation(operations.put)
    @Access('write', kind)
    put(
      @Resource() row: Row,
      @Body() body: unknown,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      return this.patch(row, body, caller, request);
    }

    @Operation(operations.patch)
    @Access('write', kind)
    async patch(
      @Resource() row: Row,
      @Body() body: unknown,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      const form = new Form(body);
      const values = declaration.readUpdate(form);
      const resolved = await resource.resolve?.(this.context, caller, form, values, row);
      form.done();
      const patch = { ...values, ...resolved } as never;
      const changed = await resource.table(this.context.catalog).update(row.id, patch);
      if (!changed) throw notFound();
      return view(this.context, request, changed);
    }

    @Operation(operations.delete)
    @Access('write', kind, resource.deletePermission)
    async delete(@Resource() row: Row, @Req() request: ApiRequest): Promise<object> {
      const shown = await view(this.context, request, row, true);
      await resource.delete(this.context, row);
      return shown;
    }
  }
  // The routes of all ordinary resources are told apart by it in stack traces and in tests.
  Object.defineProperty(CrudController, 'name', { value: `${declaration.schema.name}Controller` });
  return CrudController;
}
