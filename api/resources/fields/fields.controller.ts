import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldFilter, FieldRow } from '../../../engine/catalog/fields.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { parseJson } from '../../../engine/core/json.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { fieldNew, fieldPatch } from './field-shape.js';
import { Form } from '../../http/form.js';
import { value, values } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { fieldFacets } from '../records/query-records.js';
import {
  abortOnDisconnect,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';
import { omitUndefined, requiredId } from '../shape.js';
import { fieldView } from '../views.js';

/** The fields of datasets (contract 9). */
@Controller()
export class FieldsController {
  constructor(private readonly context: AppContext) {}

  @Operation('fields.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const datasetId = requiredId(form, 'dataset_id');
    const field = fieldNew(form);
    const { catalog } = this.context;
    const dataset =
      datasetId !== undefined &&
      (await requireResource(catalog, caller, 'dataset', datasetId, 'write'));
    form.done();
    if (!dataset) throw new Error('done() lets no form without a dataset pass');
    return this.view(await catalog.fields.create({ ...field, datasetId: dataset.id }), request);
  }

  @Operation('fields.list')
  @Access('read', 'dataset')
  async list(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const filter: FieldFilter = {
      access: accessOf(caller),
      datasetId: dataset.id,
      ...omitUndefined<FieldFilter>({ name: value(query, 'name') }),
    };
    const { rows, total } = await this.context.catalog.fields.list(filter, page);
    const vaultId = await this.vaultOf(dataset.id);
    const views = rows.map((row) => fieldView(row, vaultId, request.origin));
    return listEnvelope(request.origin, request.url, page, total, views);
  }

  @Operation('fields.get')
  @Access('read', 'field')
  get(@Resource() field: FieldRow, @Req() request: ApiRequest): Promise<object> {
    return this.view(field, request);
  }

  @Operation('fields.put')
  @Access('write', 'field')
  put(
    @Resource() field: FieldRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(field, body, request);
  }

  @Operation('fields.patch')
  @Access('write', 'field')
  async patch(
    @Resource() field: FieldRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = fieldPatch(form, field);
    form.done();
    const row = await this.context.catalog.fields.update(field.id, patch);
    if (!row) throw notFound();
    return this.view(row, request);
  }

  @Operation('fields.delete')
  @Access('write', 'field')
  async delete(@Resource() field: FieldRow, @Req() request: ApiRequest): Promise<object> {
    const dataset = await this.context.catalog.datasets.get(field.datasetId);
    // Choice: the documentation has no deletion; a client does. Only what no record knows can go.
    if (field.isValid || (dataset?.documentsCount ?? 0) > 0) {
      throw new AppError('invalid', 'A field of a dataset with records cannot be deleted.');
    }
    const view = await this.view(field, request);
    await this.context.catalog.fields.delete(field.id);
    return view;
  }

  @Operation('fields.facets')
  @Access('read', 'field')
  async facets(
    @Resource() field: FieldRow,
    @Query() query: QueryString,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const dataset = await this.context.catalog.datasets.get(field.datasetId);
    if (!dataset) throw notFound();
    const signal = abortOnDisconnect(request, reply);
    return fieldFacets(this.context, dataset, field, facetOptions(query), signal);
  }

  private async view(field: FieldRow, request: ApiRequest): Promise<object> {
    return fieldView(field, await this.vaultOf(field.datasetId), request.origin);
  }

  private async vaultOf(datasetId: number): Promise<number> {
    const object = await this.context.catalog.objects.get(datasetId);
    if (!object) throw notFound();
    return object.vaultId;
  }
}

/** The options of a facet, as a query string says them; those of facets below it are JSON, or their fields' names. */
function facetOptions(query: QueryString): Readonly<Record<string, unknown>> {
  const percents = values(query, 'percents').flatMap((text) => text.split(','));
  const single = ['facet_type', 'limit', 'interval', 'scale', 'extended'];
  return omitUndefined<Readonly<Record<string, unknown>>>({
    ...Object.fromEntries(single.map((name) => [name, value(query, name)])),
    percents: percents.length === 0 ? undefined : percents,
    facets: nestedFacets(values(query, 'facets')),
  });
}

function nestedFacets(texts: readonly string[]): unknown {
  const [first] = texts;
  if (first === undefined || texts.length > 1 || !/^\s*[[{]/.test(first))
    return first === undefined ? undefined : texts;
  try {
    return parseJson(first);
  } catch {
    // A field's name may begin with a bracket; what is none is refused by that name.
    return first;
  }
}
