import { budgets } from '../../../engine/core/budgets.js';
import { isObject, readInteger, Form } from '../../http/form.js';
import {
  boolean,
  enumOf,
  integer,
  readProperties,
  strings,
  withReader,
} from '../../http/json-schema.js';
import { firstParamValue, paramValues } from '../../http/list-query.js';
import type { QueryParams } from '../../http/page.js';
import { filtersType, beaconFilterText, type BeaconFilter } from './beacon-filters.js';
import { readVariants, variantParameters, type QueriedVariants } from './asked-variants.js';

/** The levels of detail of an answer (Beacon v2, Granularity), from the lowest to the highest. */
export const answerGranularities = ['boolean', 'count', 'record'] as const;
export type AnswerGranularity = (typeof answerGranularities)[number];

const includeModes = ['ALL', 'HIT', 'MISS', 'NONE'] as const;

/** A parsed request to a beacon. */
export interface BeaconRequest {
  readonly variants: QueriedVariants;
  readonly filters: readonly BeaconFilter[];
  /** The ids of the datasets to ask; null for all datasets. */
  readonly datasetIds: readonly string[] | null;
  readonly granularity: AnswerGranularity;
  readonly include: (typeof includeModes)[number];
  /** The number of pages to skip. */
  readonly skip: number;
  /** Size of a page; 0 for the largest possible one. */
  readonly limit: number;
  /** Whether the request is a test: no dataset is queried. */
  readonly isTest: boolean;
  /** The section `receivedRequestSummary` of the answer. */
  readonly summary: object;
}

/** The version of the API, in requests and in answers. */
export const apiVersion = 'v2.0';

/** The values that a request has by default. */
export type RequestDefaults = Pick<BeaconRequest, 'granularity' | 'limit'>;

/** The defaults of requests for variants (Beacon v2, Granularity and Limit). */
const queryDefaults: RequestDefaults = { granularity: 'boolean', limit: 10 };

/** The section `receivedRequestSummary` of every error answer, whatever was requested. */
export const defaultRequestSummary = {
  apiVersion,
  requestedSchemas: [],
  pagination: { skip: 0, limit: queryDefaults.limit },
  requestedGranularity: queryDefaults.granularity,
};

/** The parameters of requests besides those of variants: their types in bodies, and examples of query strings. */
export const requestParameters = {
  datasetIds: {
    type: strings,
    description: 'Ask these datasets only, separated by commas.',
    example: '4812',
  },
  requestedGranularity: {
    type: enumOf(...answerGranularities),
    description: 'boolean, count or record; an answer tells at most that much.',
    example: 'record',
  },
  includeResultsetResponses: {
    type: enumOf(...includeModes),
    initial: 'HIT',
    description:
      'With the granularity record: the datasets with hits (HIT, the default), without (MISS), ALL, or NONE.',
    example: 'ALL',
  },
  filters: {
    type: filtersType,
    initial: [],
    description:
      'Filters separated by commas, each a field, a colon, an operator (= < > ! <= >=) and a value.',
    example: 'info.AF:<0.01',
  },
  skip: {
    type: withReader(integer, readCount),
    initial: 0,
    description: 'Number of pages to skip.',
    example: '0',
  },
  limit: {
    type: withReader(integer, (form, key) => {
      const limit = readCount(form, key);
      if (limit !== undefined && limit > budgets.pageLimit)
        form.fail(key, `A limit is at most ${budgets.pageLimit}, not ${limit}: read the others as further pages, with skip.`); // prettier-ignore
      return limit;
    }),
    description: 'Number of records of a page, 10 without it; 0 for the largest.',
    example: '10',
  },
  testMode: {
    type: boolean,
    initial: false,
    description: 'true: no dataset is asked; the answer has the form of any other.',
    example: 'false',
  },
} as const;

/** The parameter of GET requests that names a schema; a body has a list of them. */
export const requestedSchema = {
  description: 'A schema for the records; the answer names the one that they have.',
  example: 'ga4gh-beacon-variant-v2.0.0',
};

/** All parameters of GET requests for variants. */
export const variantQueryParameters = {
  ...variantParameters,
  geneid: { sameAs: 'geneId' },
  allele: { sameAs: 'genomicAlleleShortForm' },
  ...requestParameters,
  requestedSchema,
};

/** Reads the query string of a GET request. Throws a 400 that names each mistake. */
export function readGetRequest(
  query: QueryParams,
  defaults: RequestDefaults = queryDefaults,
): BeaconRequest {
  // Other spellings of two parameters, which the standard's description of the paths uses.
  const aliases: Readonly<Record<string, readonly string[]>> = {
    geneId: ['geneId', 'geneid'],
    genomicAlleleShortForm: ['genomicAlleleShortForm', 'allele'],
  };
  const parameters = Object.fromEntries(
    Object.keys(variantParameters).flatMap((name): [string, unknown][] => {
      const givenValue =
        name === 'start' || name === 'end'
          ? listParam(query, name)?.map((text) => readInteger(text) ?? text)
          : // an empty allele is a value; other empty parameters are none
            name.endsWith('Bases')
            ? query[name]
            : firstParamValue(query, ...(aliases[name] ?? [name]));
      return givenValue === undefined ? [] : [[name, givenValue]];
    }),
  );
  return readRequest(
    {
      parameters,
      datasetIds: listParam(query, 'datasetIds'),
      filters: listParam(query, 'filters'),
      requestedGranularity: firstParamValue(query, 'requestedGranularity'),
      includeResultsetResponses: firstParamValue(query, 'includeResultsetResponses'),
      skip: firstParamValue(query, 'skip'),
      limit: firstParamValue(query, 'limit'),
      testMode: firstParamValue(query, 'testMode'),
      schemas: paramValues(query, 'requestedSchema').map((schema) => ({ schema })),
    },
    defaults,
  );
}

/** Returns the members of a list parameter, separated by commas or repeated; undefined if the parameter is absent. */
function listParam(query: QueryParams, name: string): readonly string[] | undefined {
  const members = paramValues(query, name).flatMap((text) => text.split(','));
  return members.length === 0 ? undefined : members.map((member) => member.trim());
}

/**
 * Reads the body of a POST request. Throws a 400 that names each mistake.
 *
 * Choice: in a request to a beacon, the parameters of variants stand below `g_variant`, as in the standard's model, or directly in
 * `requestParameters`, as in many clients; `requestedGranularity` and `pagination` may stand beside `query`, as in the standard's examples.
 */
export function readPostRequest(
  body: unknown,
  defaults: RequestDefaults = queryDefaults,
): BeaconRequest {
  const form = new Form(body);
  const meta = form.object('meta') ?? {};
  const query = form.object('query') ?? {};
  const readOuterValue = (key: string): unknown => query[key] ?? form.raw(key);
  const sections = { pagination: readOuterValue('pagination') ?? {}, requestParameters: query['requestParameters'] ?? {} }; // prettier-ignore
  for (const [key, section] of Object.entries(sections))
    if (!isObject(section)) form.fail(key, 'Must be a JSON object.');
  const schemas = meta['requestedSchemas'] ?? [];
  const areSchemas = Array.isArray(schemas) && schemas.every(isObject);
  if (!areSchemas) form.fail('requestedSchemas', 'Must be a list of objects.');
  form.throwIfInvalid();
  const { g_variant: nestedParameters, datasetIds, ...flatParameters } = sections.requestParameters as Readonly<Record<string, unknown>>; // prettier-ignore
  const { skip, limit } = sections.pagination as Readonly<Record<string, unknown>>;
  return readRequest(
    {
      parameters: { ...flatParameters, ...(isObject(nestedParameters) && nestedParameters) },
      datasetIds:
        datasetIds ?? (isObject(nestedParameters) ? nestedParameters['datasetIds'] : undefined),
      filters: readOuterValue('filters'),
      requestedGranularity: readOuterValue('requestedGranularity'),
      includeResultsetResponses: readOuterValue('includeResultsetResponses'),
      skip,
      limit,
      testMode: readOuterValue('testMode'),
      schemas: areSchemas ? (schemas as readonly object[]) : [],
    },
    defaults,
  );
}

/** The unchecked values of a request, in a form that GET and POST requests have in common. */
interface RawRequest {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly datasetIds: unknown;
  readonly filters: unknown;
  readonly requestedGranularity: unknown;
  readonly includeResultsetResponses: unknown;
  readonly skip: unknown;
  readonly limit: unknown;
  readonly testMode: unknown;
  readonly schemas: readonly object[];
}

function readRequest(rawRequest: RawRequest, defaults: RequestDefaults): BeaconRequest {
  const form = new Form({ ...rawRequest, ...rawRequest.parameters });
  const {
    datasetIds = null,
    requestedGranularity: granularity = defaults.granularity,
    includeResultsetResponses: include,
    filters,
    skip,
    limit = defaults.limit,
    testMode,
  } = readProperties(form, requestParameters);
  const variants = readVariants(form);
  form.throwIfInvalid();
  return {
    variants,
    filters,
    datasetIds,
    granularity,
    include,
    skip,
    limit,
    isTest: testMode,
    summary: {
      apiVersion,
      requestedSchemas: rawRequest.schemas,
      ...(Object.keys(rawRequest.parameters).length > 0 && {
        requestParameters: { g_variant: rawRequest.parameters },
      }),
      ...(filters.length > 0 && { filters: filters.map(beaconFilterText) }),
      includeResultsetResponses: include,
      pagination: { skip, limit },
      requestedGranularity: granularity,
      testMode,
    },
  };
}

function readCount(form: Form, key: string): number | undefined {
  const rawValue = form.raw(key);
  if (rawValue === undefined) return undefined;
  const number = readInteger(rawValue);
  if (number !== undefined && number >= 0) return number;
  return form.fail(key, `Must be a whole number from 0 on, not ${JSON.stringify(String(rawValue as string).slice(0, 100))}.`); // prettier-ignore
}
