import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { wholeList } from '../../../engine/catalog/list-page.js';
import type { SavedQueryRow } from '../../../engine/catalog/saved-queries.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/request.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { datasetNamed } from '../records/batch-query.js';
import { Form, readBoolean } from '../../http/form.js';
import { oneId } from '../tasks/job-filter.js';
import { value } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { QuestionPresenter } from '../beacons/saved-resource-presenter.js';
import type { ApiRequest, Caller } from '../../http/request.js';
import { fieldsNamed } from './fields-named.js';
import { omitUndefined } from '../shape.js';

/** Queries that are kept under a name (contract 17). */
@Controller()
export class SavedQueriesController {
  constructor(private readonly context: AppContext) {}

  @Operation('savedQueries.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const name = form.requiredText('name');
    const params = form.object('params') ?? {};
    const dataset = await this.dataset(form, caller);
    if (dataset) await this.check(form, params, dataset);
    const row = {
      name,
      params,
      description: form.text('description') ?? null,
      isShared: form.boolean('is_shared') ?? false,
      datasetId: dataset?.id ?? null,
    };
    form.done();
    const owner = { userId: caller.user.id, accountId: caller.account.id };
    return this.view(await this.context.catalog.savedQueries.create({ ...row, ...owner }), request);
  }

  @Operation('savedQueries.list')
  @Access('read')
  async list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const isShared = value(query, 'is_shared');
    const filter = {
      access: accessOf(caller),
      ...omitUndefined<{ name: string; userId: number; isShared: boolean }>({
        name: value(query, 'name'),
        userId: oneId(query, 'user_id'),
        isShared: isShared === undefined ? undefined : (readBoolean(isShared) ?? false),
      }),
    };
    const named = value(query, 'dataset', 'dataset_id');
    const { savedQueries } = this.context.catalog;
    // Which fields a query speaks of is not for the database to say; the lists are short.
    const found = await savedQueries.list(filter, named === undefined ? page : wholeList);
    const fitting =
      named === undefined ? found.rows : await this.fitting(found.rows, named, caller);
    const rows =
      named === undefined ? fitting : fitting.slice(page.offset, page.offset + page.limit);
    const total = named === undefined ? found.total : fitting.length;
    const views = await Promise.all(rows.map((row) => this.view(row, request)));
    return listEnvelope(request.origin, request.url, page, total, views);
  }

  @Operation('savedQueries.get')
  @Access('read', 'saved query')
  get(@Resource() row: SavedQueryRow, @Req() request: ApiRequest): Promise<object> {
    return this.view(row, request);
  }

  @Operation('savedQueries.put')
  @Access('write', 'saved query')
  put(
    @Resource() row: SavedQueryRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, caller, request);
  }

  @Operation('savedQueries.patch')
  @Access('write', 'saved query')
  async patch(
    @Resource() row: SavedQueryRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const params = form.object('params');
    const dataset = await this.dataset(form, caller);
    if (dataset) await this.check(form, params ?? row.params, dataset);
    const name = form.has('name') ? form.requiredText('name') : undefined;
    const patch = omitUndefined<
      Partial<Pick<SavedQueryRow, 'name' | 'description' | 'params' | 'isShared' | 'datasetId'>>
    >({
      name,
      params,
      description: form.nullableText('description'),
      isShared: form.boolean('is_shared'),
      datasetId: dataset?.id,
    });
    form.done();
    const changed = await this.context.catalog.savedQueries.update(row.id, patch);
    if (!changed) throw notFound();
    return this.view(changed, request);
  }

  @Operation('savedQueries.delete')
  @Access('write', 'saved query')
  async delete(@Resource() row: SavedQueryRow, @Req() request: ApiRequest): Promise<object> {
    const view = await this.view(row, request);
    await this.context.catalog.savedQueries.delete(row.id);
    return view;
  }

  /** The dataset that the request names to check the parameters with. */
  private async dataset(form: Form, caller: Caller): Promise<DatasetRow | undefined> {
    const named = form.raw('dataset') ?? form.raw('dataset_id');
    if (named === undefined || named === '') return undefined;
    try {
      return await datasetNamed(this.context, caller, named);
    } catch (error) {
      if (!(error instanceof AppError) || !['not-found', 'invalid'].includes(error.code))
        throw error;
      return form.fail(
        'dataset',
        `Invalid dataset ${JSON.stringify(String(named).slice(0, 100))}.`,
      );
    }
  }

  private async check(
    form: Form,
    params: Readonly<Record<string, unknown>>,
    dataset: DatasetRow,
  ): Promise<void> {
    try {
      parseQuery(params, await this.context.catalog.fields.all(dataset.id));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      form.fail('params', error.fields ?? error.message);
    }
  }

  /** Those whose fields the dataset all has. */
  private async fitting(
    rows: readonly SavedQueryRow[],
    named: string,
    caller: Caller,
  ): Promise<readonly SavedQueryRow[]> {
    try {
      const dataset = await datasetNamed(this.context, caller, named);
      const fields = await this.context.catalog.fields.all(dataset.id);
      const names = new Set(['_id', '_commit', ...fields.map(({ name }) => name)]);
      return rows.filter(({ params }) => fieldsNamed(params).every((name) => names.has(name)));
    } catch (error) {
      if (error instanceof AppError && error.code === 'not-found') return [];
      throw error;
    }
  }

  private view(row: SavedQueryRow, request: ApiRequest): Promise<object> {
    return new QuestionPresenter(this.context, request).savedQuery(row);
  }
}
