import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { BeaconSetRow } from '../../../engine/catalog/beacon-sets.js';
import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import { wholeList } from '../../../engine/catalog/list-page.js';
import type { SavedResourceFilter } from '../../../engine/catalog/saved-resource.js';
import { AppError, notFound } from '../../../engine/core/errors.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import {
  askBeacon,
  askBeacons,
  readParams,
  readQuestion,
  requireAnswer,
  type BeaconAnswer,
} from './ask-beacon.js';
import { Form, readBoolean, readId } from '../../http/form.js';
import { oneId } from '../tasks/job-filter.js';
import { value } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { QuestionPresenter } from './saved-resource-presenter.js';
import { JsonText } from '../../http/reply.js';
import {
  abortOnDisconnect,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';
import { omitUndefined } from '../shape.js';

/** Beacon sets and beacons: one entity asked of many datasets (contract 14). */
@Controller()
export class BeaconsController {
  constructor(private readonly context: AppContext) {}

  @Operation('beaconSets.create')
  @Access('write')
  async createSet(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const row = {
      title: form.requiredText('title'),
      description: form.text('description') ?? null,
      isShared: form.boolean('is_shared') ?? false,
      userId: caller.user.id,
      accountId: caller.account.id,
    };
    form.done();
    return this.setView(await this.context.catalog.beaconSets.create(row), request);
  }

  @Operation('beaconSets.list')
  @Access('read')
  async listSets(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const found = await this.context.catalog.beaconSets.list(filterOf(query, caller), page);
    const views = await Promise.all(found.rows.map((row) => this.setView(row, request)));
    return listEnvelope(request.origin, request.url, page, found.total, views);
  }

  @Operation('beaconSets.get')
  @Access('read', 'beacon set')
  getSet(@Resource() row: BeaconSetRow, @Req() request: ApiRequest): Promise<object> {
    return this.setView(row, request);
  }

  @Operation('beaconSets.put')
  @Access('write', 'beacon set')
  putSet(
    @Resource() row: BeaconSetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patchSet(row, body, request);
  }

  @Operation('beaconSets.patch')
  @Access('write', 'beacon set')
  async patchSet(
    @Resource() row: BeaconSetRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const patch = omitUndefined<Partial<Pick<BeaconSetRow, 'title' | 'description' | 'isShared'>>>({
      title: form.has('title') ? form.requiredText('title') : undefined,
      description: form.nullableText('description'),
      isShared: form.boolean('is_shared'),
    });
    form.done();
    const changed = await this.context.catalog.beaconSets.update(row.id, patch);
    if (!changed) throw notFound();
    return this.setView(changed, request);
  }

  @Operation('beaconSets.delete')
  @Access('write', 'beacon set')
  async deleteSet(@Resource() row: BeaconSetRow, @Req() request: ApiRequest): Promise<object> {
    const view = await this.setView(row, request);
    await this.context.catalog.beaconSets.delete(row.id);
    return view;
  }

  @Operation('beaconSets.query')
  @Access('read', 'beacon set')
  async querySet(
    @Resource() set: BeaconSetRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const question = readQuestion(body);
    const signal = abortOnDisconnect(request, reply);
    const filter = { access: accessOf(caller), beaconSetId: set.id };
    const { rows } = await this.context.catalog.beacons.list(filter, wholeList);
    const inOrder = rows.toReversed();
    const answers = await askBeacons(this.context, caller, inOrder, question, signal);
    const count = (status: BeaconAnswer['status']): number =>
      answers.filter((answer) => answer.status === status).length;
    const beacons = inOrder.map(async (row, i) => ({
      ...(await this.view(row, request)),
      ...summary(answers[i]!),
    }));
    return {
      query: question.query,
      entity_type: question.entityType,
      beacon_set: await this.setView(set, request),
      beacons: await Promise.all(beacons),
      found_count: count('found'),
      not_found_count: count('not_found'),
      failed_count: count('failed'),
    };
  }

  @Operation('beacons.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const title = form.requiredText('title');
    const description = form.text('description') ?? null;
    const params = readParams(form) ?? null;
    const set = await this.ownSet(form, caller);
    const datasetId = await this.datasetOf(form, caller);
    form.done();
    if (!set || datasetId === undefined) throw new Error('done() lets no incomplete form pass');
    const owner = { userId: caller.user.id, accountId: caller.account.id, isShared: set.isShared };
    const row = { ...owner, title, description, params, datasetId, beaconSetId: set.id };
    return this.view(await this.context.catalog.beacons.create(row), request);
  }

  @Operation('beacons.list')
  @Access('read')
  async list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const page = readPage(query);
    const found = await this.context.catalog.beacons.list(filterOf(query, caller), page);
    const views = await Promise.all(found.rows.map((row) => this.view(row, request)));
    return listEnvelope(request.origin, request.url, page, found.total, views);
  }

  @Operation('beacons.get')
  @Access('read', 'beacon')
  get(@Resource() row: BeaconRow, @Req() request: ApiRequest): Promise<object> {
    return this.view(row, request);
  }

  @Operation('beacons.put')
  @Access('write', 'beacon')
  put(
    @Resource() row: BeaconRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, caller, request);
  }

  @Operation('beacons.patch')
  @Access('write', 'beacon')
  async patch(
    @Resource() row: BeaconRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    const set =
      form.raw('beacon_set_id') === undefined ? undefined : await this.ownSet(form, caller);
    const patch = omitUndefined<
      Partial<Pick<BeaconRow, 'title' | 'description' | 'params' | 'datasetId' | 'beaconSetId'>>
    >({
      title: form.has('title') ? form.requiredText('title') : undefined,
      description: form.nullableText('description'),
      params: readParams(form),
      beaconSetId: set?.id,
      datasetId:
        form.raw('vault_object_id') === undefined ? undefined : await this.datasetOf(form, caller),
    });
    form.done();
    const changed = await this.context.catalog.beacons.update(row.id, patch);
    if (!changed) throw notFound();
    return this.view(changed, request);
  }

  @Operation('beacons.delete')
  @Access('write', 'beacon')
  async delete(@Resource() row: BeaconRow, @Req() request: ApiRequest): Promise<object> {
    const view = await this.view(row, request);
    await this.context.catalog.beacons.delete(row.id);
    return view;
  }

  @Operation('beacons.query')
  @Access('read', 'beacon')
  async query(
    @Resource() row: BeaconRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const question = readQuestion(body);
    const signal = abortOnDisconnect(request, reply);
    const answer = await askBeacon(this.context, caller, row, question, signal);
    requireAnswer(answer);
    const view = {
      ...(await this.view(row, request)),
      ...summary(answer),
      query: question.query,
      entity_type: question.entityType,
    };
    // The engine's records go into the answer as they are.
    return new JsonText(`${stringifyJson(view).slice(0, -1)},"results":${answer.results}}`);
  }

  /** The set that a beacon is to be in: one of the caller's own. */
  private async ownSet(form: Form, caller: Caller): Promise<BeaconSetRow | undefined> {
    const id = readId(form.raw('beacon_set_id'));
    const invalid = (): undefined => form.fail('beacon_set_id', 'Must be one of your beacon sets.');
    if (id === undefined) return invalid();
    try {
      return await requireResource(this.context.catalog, caller, 'beacon set', id, 'write');
    } catch (error) {
      if (error instanceof AppError && error.code === 'not-found') return invalid();
      throw error;
    }
  }

  private async datasetOf(form: Form, caller: Caller): Promise<number | undefined> {
    const id = readId(form.raw('vault_object_id'));
    const invalid = (): undefined => form.fail('vault_object_id', 'Must be the id of a dataset.');
    if (id === undefined) return invalid();
    try {
      return (await requireResource(this.context.catalog, caller, 'dataset', id, 'read')).id;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not-found') return invalid();
      throw error;
    }
  }

  private setView(row: BeaconSetRow, request: ApiRequest): Promise<object> {
    return new QuestionPresenter(this.context, request).set(row);
  }

  private view(row: BeaconRow, request: ApiRequest): Promise<object> {
    return new QuestionPresenter(this.context, request).beacon(row);
  }
}

function summary({ status, total, took, error }: BeaconAnswer): object {
  return { status, total, took, error };
}

function filterOf(query: QueryString, caller: Caller): SavedResourceFilter {
  const isShared = value(query, 'is_shared');
  return {
    access: accessOf(caller),
    ...omitUndefined<SavedResourceFilter>({
      access: undefined,
      userId: oneId(query, 'user_id'),
      accountId: oneId(query, 'account_id'),
      isShared: isShared === undefined ? undefined : (readBoolean(isShared) ?? false),
      beaconSetId: oneId(query, 'beacon_set_id'),
      vaultId: oneId(query, 'vault_id'),
      datasetId: oneId(query, 'vault_object_id'),
    }),
  };
}
