import { Controller, Req, Res } from '@nestjs/common';
import { AnyCaller } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Operation } from '../../http/operation.js';
import type { QueryParams } from '../../http/page.js';
import { connectionClosedSignal, type ApiReply, type ApiRequest } from '../../http/api-request.js';
import { loadAccountBeacon, requireBeaconDataset, type AccountBeacon } from './account-beacon.js';
import {
  datasetAnswer,
  datasetsAnswer,
  answerFilteringTerms,
  answerVariant,
  answerVariants,
  type BeaconQueryContext,
} from './beacon-answers.js';
import {
  configurationBody,
  infoBody,
  informationalMeta,
  entryTypesBody,
  mapBody,
  serviceInfoBody,
} from './beacon-frame.js';
import { readGetRequest, readPostRequest, type RequestDefaults } from './beacon-request.js';
import { ga4ghBeaconOperations as operations } from './ga4gh-beacon.operations.js';

/** The defaults of requests for datasets, filtering terms and single variants: records are shown, and lists are not divided into pages. */
const recordDefaults: RequestDefaults = { granularity: 'record', limit: 0 };

/** The GA4GH beacons of the accounts (Beacon v2). */
@Controller()
export class Ga4ghBeaconController {
  constructor(private readonly context: AppContext) {}

  @Operation(operations.info)
  @AnyCaller()
  info(@Req() request: ApiRequest): Promise<object> {
    return this.answerFrameworkRequest(request, ({ account }) => infoBody(request.origin, account));
  }

  @Operation(operations.serviceInfo)
  @AnyCaller()
  async serviceInfo(@Req() request: ApiRequest): Promise<object> {
    return serviceInfoBody(request.origin, (await this.loadBeacon(request)).account);
  }

  @Operation(operations.configuration)
  @AnyCaller()
  configuration(@Req() request: ApiRequest): Promise<object> {
    return this.answerFrameworkRequest(request, configurationBody);
  }

  @Operation(operations.map)
  @AnyCaller()
  map(@Req() request: ApiRequest): Promise<object> {
    return this.answerFrameworkRequest(request, ({ account }) =>
      mapBody(request.origin, account.domain),
    );
  }

  @Operation(operations.entryTypes)
  @AnyCaller()
  entryTypes(@Req() request: ApiRequest): Promise<object> {
    return this.answerFrameworkRequest(request, entryTypesBody);
  }

  @Operation(operations.filteringTerms)
  @AnyCaller()
  async filteringTerms(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerFilteringTerms(await this.queryContext(request, reply, recordDefaults));
  }

  @Operation(operations.datasetFilteringTerms)
  @AnyCaller()
  async datasetFilteringTerms(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const queryContext = await this.queryContext(request, reply, recordDefaults);
    return answerFilteringTerms(queryContext, [
      requireBeaconDataset(queryContext.beacon, pathParam(request, 'dataset')),
    ]);
  }

  @Operation(operations.datasets)
  @AnyCaller()
  async datasets(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return datasetsAnswer(await this.queryContext(request, reply, recordDefaults));
  }

  @Operation(operations.dataset)
  @AnyCaller()
  async dataset(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return datasetAnswer(
      await this.queryContext(request, reply, recordDefaults),
      pathParam(request, 'dataset'),
    );
  }

  @Operation(operations.variants)
  @AnyCaller()
  async variants(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerVariants(await this.queryContext(request, reply));
  }

  @Operation(operations.queryVariants)
  @AnyCaller()
  async queryVariants(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerVariants(await this.queryContext(request, reply));
  }

  @Operation(operations.datasetVariants)
  @AnyCaller()
  async datasetVariants(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const queryContext = await this.queryContext(request, reply);
    return answerVariants(queryContext, [
      requireBeaconDataset(queryContext.beacon, pathParam(request, 'dataset')),
    ]);
  }

  @Operation(operations.queryDatasetVariants)
  @AnyCaller()
  queryDatasetVariants(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return this.datasetVariants(request, reply);
  }

  @Operation(operations.variant)
  @AnyCaller()
  async variant(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerVariant(
      await this.queryContext(request, reply, recordDefaults),
      pathParam(request, 'variant'),
    );
  }

  @Operation(operations.queryVariant)
  @AnyCaller()
  queryVariant(
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return this.variant(request, reply);
  }

  private loadBeacon(request: ApiRequest): Promise<AccountBeacon> {
    return loadAccountBeacon(this.context, request.caller, pathParam(request, 'account'));
  }

  /** Answers an operation of the Beacon framework; such an answer describes the beacon itself. */
  private async answerFrameworkRequest(
    request: ApiRequest,
    response: (beacon: AccountBeacon) => object,
  ): Promise<object> {
    const beacon = await this.loadBeacon(request);
    return {
      meta: informationalMeta(request.origin, beacon.account.domain),
      response: response(beacon),
    };
  }

  /** Reads a GET or POST request and loads its beacon. */
  private async queryContext(
    request: ApiRequest,
    reply: ApiReply,
    defaults?: RequestDefaults,
  ): Promise<BeaconQueryContext> {
    const signal = connectionClosedSignal(request, reply);
    const beaconRequest =
      request.method === 'POST'
        ? readPostRequest(request.body, defaults)
        : readGetRequest(request.query as QueryParams, defaults);
    const beacon = await this.loadBeacon(request);
    return {
      context: this.context,
      beacon,
      request: beaconRequest,
      origin: request.origin,
      signal,
    };
  }
}

/** Returns the value of a parameter in the path. */
function pathParam(request: ApiRequest, name: 'account' | 'dataset' | 'variant'): string {
  return String((request.params as Readonly<Record<string, unknown>>)[name]);
}
