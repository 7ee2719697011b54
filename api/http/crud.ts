import { Body, Controller, Query, Req, type Type } from '@nestjs/common';
import type { Tables } from '../../engine/catalog/catalog-tables.js';
import type { ListedRows, Page } from '../../engine/catalog/list-page.js';
import type { AccessRows } from '../../engine/catalog/access.js';
import type { Permission } from '../../engine/catalog/permission.js';
import { notFoundError } from '../../engine/core/errors.js';
import { Access, CurrentCaller, Resource, type ResourceKind } from './access-rule.js';
import { AppContext } from './app-context.js';
import { Form } from './form.js';
import { CreateOperation, Operation } from './operation.js';
import type { CrudOperations } from './operation-row.js';
import { answerList, type QueryParams } from './page.js';
import type { ApiRequest, Caller } from './api-request.js';
import { requireResource } from './require-resource.js';
import type { Resource as DeclaredResource } from './resource.js';

/** The part of a catalogue table that `crudController` uses. `create` is needed only if the resource has no `create` hook of its own. */
interface CrudTable<Row, Filter> {
  list(filter: Filter, page: Page): Promise<ListedRows<Row>>;
  create?(row: never): Promise<unknown>;
  update(id: number, patch: never): Promise<Row | undefined>;
}

/** A create or update request whose body has been read as the resource declares it. */
interface CrudRequest<Values> {
  readonly caller: Caller;
  /** Collects the mistakes of the body; the `create` or `update` hook calls `form.throwIfInvalid()` before it changes anything. */
  readonly form: Form;
  readonly values: Values;
}

/** What distinguishes one resource with the six usual operations (create, list, get, put, patch, delete) from another. */
export interface CrudResource<
  K extends ResourceKind,
  Context,
  Filter,
  Values = Partial<AccessRows[K]>,
> {
  /** The kind of the resource, which has its access rule in `engine/catalog/access.ts`. */
  readonly kind: K;
  /** The permission that deleting needs; write when absent. */
  readonly deletePermission?: Permission;
  readonly operations: CrudOperations;
  readonly declaration: DeclaredResource<AccessRows[K], Context, Values>;
  table(tables: Tables): CrudTable<AccessRows[K], Filter>;
  /** Reads the filter of the list from the query string. */
  filter(query: QueryParams, caller: Caller): Filter;
  /** Lists rows by a filter that the database cannot evaluate; when absent, the table's `list` lists them. */
  list?(
    context: AppContext,
    caller: Caller,
    query: QueryParams,
    page: Page,
  ): Promise<ListedRows<AccessRows[K]>>;
  /** Looks up the data that the JSON of rows shows and the rows do not contain. */
  contexts(
    context: AppContext,
    request: ApiRequest,
    rows: readonly AccessRows[K][],
    options?: { readonly isDeleted: boolean },
  ): Promise<readonly Context[]>;
  /**
   * Looks up rows that the request names, for fields that the declaration does not read; notes mistakes in the form. `row` is
   * the resource to update, undefined for a create.
   */
  resolve?(
    context: AppContext,
    caller: Caller,
    form: Form,
    values: Partial<AccessRows[K]>,
    row?: AccessRows[K],
  ): Promise<Partial<AccessRows[K]>>;
  /** Creates the resource. Without this function, `resolve` completes the values and the table's `create` adds the row. */
  create?(context: AppContext, request: CrudRequest<Values>): Promise<AccessRows[K]>;
  /**
   * Updates the resource; returns undefined if it no longer exists. Without this function, `resolve` completes the values and the table's
   * `update` changes the row.
   */
  update?(
    context: AppContext,
    request: CrudRequest<Values>,
    row: AccessRows[K],
  ): Promise<AccessRows[K] | undefined>;
  delete(context: AppContext, row: AccessRows[K], caller: Caller): Promise<void>;
}

/** Returns the JSON of rows of a resource, in the order of the rows. */
export async function crudViews<K extends ResourceKind, Context, Filter, Values>(
  { contexts: loadContexts, declaration }: CrudResource<K, Context, Filter, Values>,
  context: AppContext,
  request: ApiRequest,
  rows: readonly AccessRows[K][],
  isDeleted = false,
): Promise<readonly object[]> {
  const rowContexts = await loadContexts(context, request, rows, { isDeleted });
  return rows.map((row, i) => declaration.view(row, rowContexts[i]!));
}

/** Makes the controller of a resource with the six usual operations: create, list, get, put, patch and delete. */
export function crudController<
  K extends ResourceKind,
  Context,
  Filter,
  Values = Partial<AccessRows[K]>,
>(resource: CrudResource<K, Context, Filter, Values>): Type {
  type Row = AccessRows[K];
  const { kind, operations, declaration } = resource;

  const viewOf = async (
    context: AppContext,
    request: ApiRequest,
    row: Row,
    isDeleted = false,
  ): Promise<object> => (await crudViews(resource, context, request, [row], isDeleted))[0]!;

  const create =
    resource.create ??
    (async (context: AppContext, { caller, form, values }: CrudRequest<Values>): Promise<Row> => {
      const resolvedValues = await resource.resolve?.(
        context,
        caller,
        form,
        values as Partial<Row>,
      );
      form.throwIfInvalid();
      const owner = { userId: caller.user.id, accountId: caller.account.id };
      const table = resource.table(context.catalog);
      return (await table.create?.({ ...values, ...resolvedValues, ...owner } as never)) as Row;
    });

  const update =
    resource.update ??
    (async (
      context: AppContext,
      { caller, form, values }: CrudRequest<Values>,
      row: Row,
    ): Promise<Row | undefined> => {
      const resolvedValues = await resource.resolve?.(
        context,
        caller,
        form,
        values as Partial<Row>,
        row,
      );
      form.throwIfInvalid();
      const patch = { ...values, ...resolvedValues } as never;
      return resource.table(context.catalog).update(row.id, patch);
    });

  @Controller()
  class CrudController {
    constructor(readonly context: AppContext) {}

    @CreateOperation(operations.create, async (context, caller, id, request) =>
      viewOf(context, request, await requireResource(context.catalog, caller, kind, id, 'read')),
    )
    @Access('write')
    async create(
      @Body() body: unknown,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      const form = new Form(body);
      const values = declaration.readCreate(form);
      return viewOf(this.context, request, await create(this.context, { caller, form, values }));
    }

    @Operation(operations.list)
    @Access('read')
    async list(
      @Query() query: QueryParams,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      return answerList<Row>(request, query, {
        rows: (page) =>
          resource.list?.(this.context, caller, query, page) ??
          resource.table(this.context.catalog).list(resource.filter(query, caller), page),
        views: (rows) => crudViews(resource, this.context, request, rows),
      });
    }

    @Operation(operations.get)
    @Access('read', kind)
    get(@Resource() row: Row, @Req() request: ApiRequest): Promise<object> {
      return viewOf(this.context, request, row);
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
      const updatedRow = await update(this.context, { caller, form, values }, row);
      if (!updatedRow) throw notFoundError(); // the resource was deleted meanwhile
      return viewOf(this.context, request, updatedRow);
    }

    @Operation(operations.delete)
    @Access('write', kind, resource.deletePermission)
    async delete(
      @Resource() row: Row,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      const shownRow = await viewOf(this.context, request, row, true);
      await resource.delete(this.context, row, caller);
      return shownRow;
    }
  }
  // Stack traces and tests show this name.
  Object.defineProperty(CrudController, 'name', { value: `${declaration.schema.name}Controller` });
  return CrudController;
}
