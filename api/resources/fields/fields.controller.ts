import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldFilter, FieldPatch, FieldRow } from '../../../engine/catalog/fields.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { fileExists } from '../../../engine/core/files.js';
import { parseJson } from '../../../engine/core/json.js';
import { withDatasetLock } from '../../../scheduler/jobs/dataset-lock.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { field as declared } from './field.js';
import { readFieldPatch } from './read-field.js';
import { refuseCyclicExpressions } from './stored-expressions.js';
import { Form } from '../../http/form.js';
import { omitUndefined, firstParamValue, paramValues } from '../../http/list-query.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { fieldOperations } from './fields.operations.js';
import { answerList, type QueryParams } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { computeFieldFacets } from '../queries/query-records.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import { requireAvailableDataset, requireResource } from '../../http/require-resource.js';

/** The fields of datasets (contract 9). */
@Controller()
export class FieldsController {
  constructor(private readonly context: AppContext) {}

  @CreateOperation(fieldOperations.create, async (context, caller, id, request) => {
    const field = await requireResource(context.catalog, caller, 'field', id, 'read');
    return fieldView(context, field, request);
  })
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const { datasetId, name = '', ...others } = declared.readCreate(form);
    const field = { ...others, name };
    const { catalog } = this.context;
    const dataset =
      datasetId !== undefined &&
      (await requireResource(catalog, caller, 'dataset', datasetId, 'write'));
    if (!dataset) {
      form.throwIfInvalid();
      throw new Error('throwIfInvalid() lets no form without a dataset pass');
    }
    const checkForm = async (): Promise<void> => {
      if (field.expression)
        refuseCyclicExpressions(form, [
          ...(await catalog.fields.all(dataset.id)),
          { dependsOn: [], expression: null, ...field },
        ]);
      form.throwIfInvalid();
    };
    await checkForm(); // an invalid request does not wait for the lock
    // A commit that is being published may bring the field; its type is then that of the data.
    const row = await withLockedDataset(this.context, dataset.id, async () => {
      await checkForm();
      return catalog.fields.create({ ...field, datasetId: dataset.id });
    });
    return fieldView(this.context, row, request);
  }

  @Operation(fieldOperations.list)
  @Access('read', 'dataset')
  list(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const filter: FieldFilter = {
      viewer: viewerOf(caller),
      datasetId: dataset.id,
      ...omitUndefined<FieldFilter>({ name: firstParamValue(query, 'name') }),
    };
    return answerList<FieldRow>(request, query, {
      rows: (page) => this.context.catalog.fields.list(filter, page),
      views: async (rows) => {
        const viewContext = {
          vaultId: await findVaultIdOfDataset(this.context, dataset.id),
          origin: request.origin,
        };
        return rows.map((row) => declared.view(row, viewContext));
      },
    });
  }

  @Operation(fieldOperations.get)
  @Access('read', 'field')
  get(@Resource() field: FieldRow, @Req() request: ApiRequest): Promise<object> {
    return fieldView(this.context, field, request);
  }

  @Operation(fieldOperations.put)
  @Access('write', 'field')
  put(
    @Resource() field: FieldRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(field, body, request);
  }

  @Operation(fieldOperations.patch)
  @Access('write', 'field')
  async patch(
    @Resource() field: FieldRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const { fields } = this.context.catalog;
    const readPatch = async (currentField: FieldRow): Promise<FieldPatch> => {
      const form = new Form(body);
      const patch = readFieldPatch(form, currentField);
      const otherFields = await fields.all(currentField.datasetId);
      refuseCyclicExpressions(
        form,
        otherFields.map((one) => (one.id === currentField.id ? { ...one, ...patch } : one)),
      );
      form.throwIfInvalid();
      return patch;
    };
    await readPatch(field); // an invalid request does not wait for the lock
    return withLockedField(this.context, field, async (currentField) => {
      const row = await fields.update(currentField.id, await readPatch(currentField));
      if (!row) throw notFoundError(); // the dataset was deleted meanwhile
      return fieldView(this.context, row, request);
    });
  }

  @Operation(fieldOperations.delete)
  @Access('write', 'field')
  delete(@Resource() field: FieldRow, @Req() request: ApiRequest): Promise<object> {
    return withLockedField(this.context, field, async (currentField) => {
      const dataset = await this.context.catalog.datasets.get(currentField.datasetId);
      // Choice: the documentation has no deletion of fields, but one client uses it. A field is deleted only if it has no data and its
      // dataset has no records.
      if (currentField.isValid || (dataset?.documentsCount ?? 0) > 0) {
        throw new AppError('invalid', 'A field of a dataset with records cannot be deleted.');
      }
      const view = await fieldView(this.context, currentField, request);
      await this.context.catalog.fields.delete(currentField.id);
      return view;
    });
  }

  @Operation(fieldOperations.facets)
  @Access('read', 'field')
  async facets(
    @Resource() field: FieldRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const dataset = await this.context.catalog.datasets.get(field.datasetId);
    if (!dataset) throw notFoundError(); // the dataset was deleted meanwhile
    const signal = connectionClosedSignal(request, reply);
    const options = readFacetOptions(query);
    return computeFieldFacets(
      this.context,
      dataset,
      field,
      options,
      firstParamValue(query, 'as_of'),
      signal,
    );
  }
}

/**
 * Runs `work` while no commit to a dataset is being published. A commit fixes the types of the fields to which it brings the first data, so
 * they must not change between the commit's entry in the log and its entry in the catalogue. Throws if the log has, or may have, an entry
 * that the catalogue lacks although nobody holds the lock: if the log cannot be read, or if the server was closed, or the disk failed,
 * between the two.
 */
function withLockedDataset<T>(
  context: AppContext,
  datasetId: number,
  work: () => Promise<T>,
): Promise<T> {
  const { catalog, scheduler, data } = context;
  return withDatasetLock(datasetId, async () => {
    const dataset = await catalog.datasets.get(datasetId);
    if (!dataset) throw notFoundError(); // the dataset was deleted meanwhile
    if (scheduler.refusal(datasetId) !== undefined)
      requireAvailableDataset(context, dataset, 'its fields cannot be changed');
    if (fileExists(data.logEntry(datasetId, dataset.logVersion + 1))) {
      throw new AppError(
        'conflict',
        'The last change of the dataset is not in the catalogue: the next start of the server completes it.',
      );
    }
    return work();
  });
}

/** Runs `work` with a field as it is while its dataset is locked as by `withLockedDataset`. */
function withLockedField(
  context: AppContext,
  { id, datasetId }: FieldRow,
  work: (currentField: FieldRow) => Promise<object>,
): Promise<object> {
  return withLockedDataset(context, datasetId, async () => {
    const currentField = await context.catalog.fields.get(id);
    if (!currentField) throw notFoundError(); // the field was deleted meanwhile
    return work(currentField);
  });
}

async function fieldView(
  context: AppContext,
  field: FieldRow,
  request: ApiRequest,
): Promise<object> {
  const vaultId = await findVaultIdOfDataset(context, field.datasetId);
  return declared.view(field, { vaultId, origin: request.origin });
}

async function findVaultIdOfDataset(context: AppContext, datasetId: number): Promise<number> {
  const object = await context.catalog.objects.get(datasetId);
  if (!object) throw notFoundError(); // the object was deleted meanwhile
  return object.vaultId;
}

/** Reads the options of a facet from the query string; nested facets are field names, or facets as JSON. */
function readFacetOptions(query: QueryParams): Readonly<Record<string, unknown>> {
  const percents = paramValues(query, 'percents').flatMap((text) => text.split(','));
  const facetOptionNames = ['facet_type', 'limit', 'interval', 'scale', 'extended'];
  return omitUndefined<Readonly<Record<string, unknown>>>({
    ...Object.fromEntries(facetOptionNames.map((name) => [name, firstParamValue(query, name)])),
    percents: percents.length === 0 ? undefined : percents,
    facets: readNestedFacets(paramValues(query, 'facets')),
  });
}

function readNestedFacets(texts: readonly string[]): unknown {
  const [firstText] = texts;
  if (firstText === undefined || texts.length > 1 || !/^\s*[[{]/.test(firstText))
    return firstText === undefined ? undefined : texts;
  try {
    return parseJson(firstText);
  } catch {
    // The text is not JSON but the name of a field, which may begin with a bracket.
    return firstText;
  }
}
