import { Body, Controller, Req, Res } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import type { BeaconSetRow } from '../../../engine/catalog/beacon-sets.js';
import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import { unlimitedPage } from '../../../engine/catalog/list-page.js';
import { stringifyJson } from '../../../engine/core/json.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { crudViews } from '../../http/crud.js';
import { Operation } from '../../http/operation.js';
import { declareOperations } from '../../http/operation-row.js';
import { JsonText } from '../../http/reply.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import {
  anyType,
  answerSchema,
  integer,
  jsonObjects,
  nullable,
  nullableText,
  enumOf,
  reference,
} from '../../http/json-schema.js';
import {
  beaconQueryBody,
  queryBeacon,
  queryBeacons,
  requireAnswer,
  type BeaconAnswer,
} from './query-beacon.js';
import { beacon, beaconSet } from './beacon.js';
import { beaconCrud, beaconSetCrud } from './beacons.controller.js';

const echoedQueryProperties = {
  query: { type: anyType, description: 'The query of the request.', example: 'MYH7' },
  entity_type: { type: nullableText, example: 'gene' },
};
const summaryProperties = {
  status: { type: enumOf('found', 'not_found', 'failed'), example: 'found' },
  total: {
    type: nullable(integer),
    description: 'Number of matching records; null if the query failed.',
    example: 1,
  },
  took: { type: integer, description: 'Milliseconds.', example: 5 },
  error: { type: nullableText, example: null },
};
const beaconProperties = beacon.schema.schema['properties'] as Readonly<Record<string, object>>;
const beaconExample = beacon.schema.example as Readonly<Record<string, unknown>>;
/** The keys that describe the beacon in an answer to a query. */
const beaconAnswerProperties = Object.fromEntries(
  Object.entries(beaconProperties).map(([key, schema]) => [
    key,
    { type: { schema: schema as Readonly<Record<string, unknown>> }, example: beaconExample[key] },
  ]),
);

const answeringBeaconSchema = answerSchema('AnsweringBeacon', 'A beacon of a set and its answer.', {
  ...beaconAnswerProperties,
  ...summaryProperties,
});
const beaconAnswerSchema = answerSchema('BeaconAnswer', 'The answer of one beacon.', {
  ...beaconAnswerProperties,
  ...summaryProperties,
  ...echoedQueryProperties,
  results: {
    type: jsonObjects,
    description: 'The first ten records; none if the caller may not read the dataset.',
    example: [{ gene: 'MYH7', variant: 'GRCH38-14-23424840-23424840-T' }],
  },
});
const beaconSetAnswerSchema = answerSchema(
  'BeaconSetAnswer',
  'The answers of all beacons of a set.',
  {
    ...echoedQueryProperties,
    beacon_set: { type: reference('BeaconSet'), example: beaconSet.schema.example },
    beacons: {
      type: { schema: { type: 'array', items: reference('AnsweringBeacon').schema } },
      example: [answeringBeaconSchema.example],
    },
    found_count: { type: integer, example: 1 },
    not_found_count: { type: integer, example: 0 },
    failed_count: { type: integer, example: 0 },
  },
);

export const beaconQuerySchemas = [
  beaconQueryBody,
  answeringBeaconSchema,
  beaconAnswerSchema,
  beaconSetAnswerSchema,
];

const operationSummary = 'Queries {} for an entity: counts for all that it is shared with';
export const beaconSetQueryOperations = declareOperations('beaconSets', 'Beacons', {
  query: {
    method: 'POST',
    paths: ['/v2/beacon_sets/:id/query'],
    summary: `${operationSummary.replace('{}', 'every beacon of a set')}.`,
    body: beaconQueryBody,
    answer: beaconSetAnswerSchema,
  },
});
export const beaconQueryOperations = declareOperations('beacons', 'Beacons', {
  query: {
    method: 'POST',
    paths: ['/v2/beacons/:id/query'],
    summary: `${operationSummary.replace('{}', 'one beacon')}, and records for those who may read its dataset.`,
    body: beaconQueryBody,
    answer: beaconAnswerSchema,
  },
});

/** Queries of beacons and of beacon sets (contract 14.3). */
@Controller()
export class BeaconQueriesController {
  constructor(private readonly context: AppContext) {}

  @Operation(beaconSetQueryOperations.query)
  @Access('read', 'beacon set')
  async querySet(
    @Resource() set: BeaconSetRow,
    @Body() requestBody: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const query = beaconQueryBody.parse(requestBody);
    const signal = connectionClosedSignal(request, reply);
    const filter = { viewer: viewerOf(caller), beaconSetId: set.id };
    const { rows } = await this.context.catalog.beacons.list(filter, unlimitedPage);
    const beaconRows = rows.toReversed();
    const answers = await queryBeacons(this.context, caller, beaconRows, query, signal);
    const views = await crudViews(beaconCrud, this.context, request, beaconRows);
    const [setView] = await crudViews(beaconSetCrud, this.context, request, [set]);
    const countOf = (status: BeaconAnswer['status']): number =>
      answers.filter((one) => one.status === status).length;
    return {
      query: query.query,
      entity_type: query.entityType,
      beacon_set: setView,
      beacons: views.map((view, i) => ({ ...view, ...summaryOf(answers[i]!) })),
      found_count: countOf('found'),
      not_found_count: countOf('not_found'),
      failed_count: countOf('failed'),
    };
  }

  @Operation(beaconQueryOperations.query)
  @Access('read', 'beacon')
  async query(
    @Resource() row: BeaconRow,
    @Body() requestBody: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<JsonText> {
    const query = beaconQueryBody.parse(requestBody);
    const signal = connectionClosedSignal(request, reply);
    const answer = await queryBeacon(this.context, caller, row, query, signal);
    requireAnswer(answer);
    const [view] = await crudViews(beaconCrud, this.context, request, [row]);
    const answerWithBeacon = {
      ...view,
      ...summaryOf(answer),
      query: query.query,
      entity_type: query.entityType,
    };
    // The engine's JSON of the records is appended without parsing it.
    return new JsonText(
      `${stringifyJson(answerWithBeacon).slice(0, -1)},"results":${answer.results}}`,
    );
  }
}

function summaryOf({ status, total, took, error }: BeaconAnswer): object {
  return { status, total, took, error };
}
