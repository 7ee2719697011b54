import { declareOperations } from '../../http/operation-row.js';
import {
  answerSchema,
  bodySchema,
  jsonObject,
  jsonObjects,
  objectOf,
  strings,
  text,
  type NamedSchema,
  openObjectType,
} from '../../http/json-schema.js';
import { variantParameters } from './asked-variants.js';
import { configurationBody, beaconRoot, infoBody, informationalMeta, entryTypesBody, mapBody, responseMeta, serviceInfoBody } from './beacon-frame.js'; // prettier-ignore
import {
  apiVersion,
  requestedSchema,
  requestParameters,
  variantQueryParameters,
} from './beacon-request.js';

/* The routes of GA4GH Beacon v2, below the domain of an account, and their schemas. The standard's own schemas are more detailed. */

const exampleOrigin = 'http://localhost:7878';
const exampleAccount = { id: 1, domain: 'acme', name: 'Acme', createdAt: Date.UTC(2026, 2, 2) };
const exampleRequestSummary = {
  apiVersion,
  requestedSchemas: [],
  includeResultsetResponses: 'HIT',
  pagination: { skip: 0, limit: 10 },
  requestedGranularity: 'record',
  testMode: false,
};

/** Returns the schema of an answer that describes the beacon itself, with the keys `meta` and `response`. */
function frameworkAnswer(name: string, description: string, response: object): NamedSchema {
  return answerSchema(name, description, {
    meta: { type: jsonObject, example: informationalMeta(exampleOrigin, exampleAccount.domain) },
    response: { type: jsonObject, example: response },
  });
}

const infoAnswer = frameworkAnswer(
  'BeaconInfo',
  'What a beacon is.',
  infoBody(exampleOrigin, exampleAccount),
);
const configurationAnswer = frameworkAnswer(
  'BeaconConfiguration',
  'How a beacon is configured.',
  configurationBody(),
);
const mapAnswer = frameworkAnswer(
  'BeaconMap',
  'The addresses of a beacon.',
  mapBody(exampleOrigin, exampleAccount.domain),
);
const entryTypesAnswer = frameworkAnswer(
  'BeaconEntryTypes',
  'The types of entries.',
  entryTypesBody(),
);
const filteringTermsAnswer = frameworkAnswer(
  'BeaconFilteringTerms',
  'The fields that filters may name.',
  {
    filteringTerms: [
      { type: 'alphanumeric', id: 'info.AF', label: 'info.AF', scopes: ['genomicVariant'] },
    ],
    resources: [],
  },
);
const serviceExample = serviceInfoBody(exampleOrigin, exampleAccount);
const serviceInfoAnswer = answerSchema(
  'BeaconServiceInfo',
  'What a beacon is, as GA4GH services tell it.',
  Object.fromEntries(
    Object.entries(serviceExample).map(([key, example]) => [
      key,
      { type: typeof example === 'string' ? text : jsonObject, example: example as unknown },
    ]),
  ),
);

/** Returns the schema of an answer with entries: `meta`, `responseSummary`, and optionally `response` (granularity record) and `info`. */
function entryTypeAnswer(name: string, description: string, type: 'dataset' | 'genomicVariant', example: object): NamedSchema {
  return answerSchema(name, description, {
    meta: {
      type: jsonObject,
      description: 'With returnedGranularity, and what was asked as it was understood.',
      example: responseMeta(exampleOrigin, exampleAccount.domain, { summary: exampleRequestSummary, isTest: false }, 'record', type),
    },
    responseSummary: {
      type: jsonObject,
      description: 'exists, and numTotalResults unless the granularity is boolean.',
      example: { exists: true, numTotalResults: 1 },
    },
    response: { type: jsonObject, optional: true, example },
    info: {
      type: objectOf({ warnings: { type: strings } }),
      description: 'What the answer does not cover, and why.',
      optional: true,
    },
  });
} // prettier-ignore

const exampleDataset = {
  id: '4812',
  name: 'calls',
  createDateTime: '2026-03-02T09:15:00.000Z',
  updateDateTime: '2026-03-02T09:20:41.120Z',
  info: { granularity: 'record', assemblies: ['GRCh38'] },
};
const numberValue = (value: number): object => ({ type: 'Number', value });
const exampleVariation = {
  variantInternalId: '4812:4911-0-0',
  variation: {
    variantType: 'SNP',
    alternateBases: 'T',
    location: {
      type: 'SequenceLocation',
      sequence_id: 'refseq:NC_000014.9',
      interval: {
        type: 'SequenceInterval',
        start: numberValue(23424839),
        end: numberValue(23424840),
      },
    },
  },
  molecularAttributes: { geneIds: ['MYH7'] },
};
const resultSetsOf = (results: readonly object[], more: object): object => ({
  resultSets: [{ id: '4812', setType: 'dataset', exists: true, resultsCount: 1, results, ...more }],
});
const variantsAnswer = entryTypeAnswer('BeaconVariants', 'Whether there are variants, how many, or which.', 'genomicVariant', resultSetsOf([exampleVariation], { info: { granularity: 'record' } })); // prettier-ignore
const variantAnswer = entryTypeAnswer(
  'BeaconVariant',
  'A variant.',
  'genomicVariant',
  resultSetsOf([exampleVariation], {}),
);
const datasetsAnswer = entryTypeAnswer('BeaconDatasets', 'The datasets of a beacon.', 'dataset', { collections: [exampleDataset] }); // prettier-ignore
const datasetAnswer = entryTypeAnswer('BeaconDataset', 'A dataset of a beacon.', 'dataset', resultSetsOf([exampleDataset], {})); // prettier-ignore

const { datasetIds, skip, limit, ...queryKeys } = requestParameters;
const variantKeys = { ...variantParameters, datasetIds };
const pagination = { type: openObjectType({ skip, limit }) };
const beaconRequestBody = bodySchema(
  'BeaconRequest',
  'A request to a beacon. All of it is optional.',
  {
    $schema: { type: text },
    meta: {
      type: openObjectType({ apiVersion: { type: text }, requestedSchemas: { type: jsonObjects } }),
    },
    query: {
      type: openObjectType({
        requestParameters: {
          type: openObjectType({
            g_variant: { type: openObjectType(variantKeys) },
            ...variantKeys,
          }),
        },
        ...queryKeys,
        filters: { type: queryKeys.filters.type },
        pagination,
      }),
    },
    filters: { type: queryKeys.filters.type },
    requestedGranularity: { type: queryKeys.requestedGranularity.type },
    includeResultsetResponses: { type: queryKeys.includeResultsetResponses.type },
    testMode: { type: queryKeys.testMode.type },
    pagination,
  },
  {
    meta: { apiVersion },
    query: {
      requestParameters: {
        g_variant: {
          assemblyId: 'GRCh38',
          referenceName: '14',
          start: [23424839],
          alternateBases: 'T',
        },
      },
      requestedGranularity: 'record',
    },
  },
);

export const ga4ghBeaconSchemas = [infoAnswer, serviceInfoAnswer, configurationAnswer, mapAnswer, entryTypesAnswer, filteringTermsAnswer, variantsAnswer, variantAnswer, datasetsAnswer, datasetAnswer, beaconRequestBody]; // prettier-ignore

const accountPath = `${beaconRoot}/:account`;
const datasetPath = `${accountPath}/datasets/:dataset`;
const getMethod = 'GET' as const;
const postMethod = 'POST' as const;
const { testMode, requestedGranularity, includeResultsetResponses } = queryKeys;
const listParams = {
  skip,
  limit: { description: 'Number of entries of a page; all without it.', example: '10' },
  testMode,
  requestedSchema,
};
const queryParams = { requestedGranularity, includeResultsetResponses, testMode, requestedSchema };

const pathParams = {
  account: { description: 'The domain of an account.', example: exampleAccount.domain },
  dataset: { description: 'The id of a dataset.', example: exampleDataset.id },
  variant: {
    description: 'The `variantInternalId` of a variant.',
    example: exampleVariation.variantInternalId,
  },
};

export const ga4ghBeaconOperations = declareOperations('ga4ghBeacon', 'GA4GH Beacon', {
  info: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/info`, accountPath],
    summary: 'Describes the beacon of an account.',
    query: { requestedSchema },
    answer: infoAnswer,
  },
  serviceInfo: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/service-info`],
    summary: 'Describes the beacon of an account by GA4GH Service Info.',
    answer: serviceInfoAnswer,
  },
  configuration: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/configuration`],
    summary: 'Returns who may query the beacon, and for which entry types.',
    answer: configurationAnswer,
  },
  map: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/map`],
    summary: 'Lists the addresses of the beacon.',
    answer: mapAnswer,
  },
  entryTypes: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/entry_types`],
    summary: 'Lists the types of entries, with their schemas.',
    answer: entryTypesAnswer,
  },
  filteringTerms: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/filtering_terms`],
    summary: 'Lists the fields that filters may name.',
    query: listParams,
    answer: filteringTermsAnswer,
  },
  datasets: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/datasets`],
    summary: 'Lists the datasets that the caller may ask.',
    query: listParams,
    answer: datasetsAnswer,
  },
  dataset: {
    method: getMethod,
    pathParams,
    paths: [datasetPath],
    summary: 'Returns a dataset of the beacon.',
    query: { requestedSchema, testMode },
    answer: datasetAnswer,
  },
  datasetFilteringTerms: {
    method: getMethod,
    pathParams,
    paths: [`${datasetPath}/filtering_terms`],
    summary: 'Lists the fields of a dataset that filters may name.',
    query: listParams,
    answer: filteringTermsAnswer,
  },
  variants: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/g_variants`],
    summary: 'Asks all datasets for variants. Positions are 0-based.',
    query: variantQueryParameters,
    answer: variantsAnswer,
  },
  queryVariants: {
    method: postMethod,
    pathParams,
    paths: [`${accountPath}/g_variants`],
    summary: 'Asks all datasets for variants. Positions are 0-based.',
    body: beaconRequestBody,
    answer: variantsAnswer,
  },
  datasetVariants: {
    method: getMethod,
    pathParams,
    paths: [`${datasetPath}/g_variants`],
    summary: 'Asks one dataset for variants.',
    query: variantQueryParameters,
    answer: variantsAnswer,
  },
  queryDatasetVariants: {
    method: postMethod,
    pathParams,
    paths: [`${datasetPath}/g_variants`],
    summary: 'Asks one dataset for variants.',
    body: beaconRequestBody,
    answer: variantsAnswer,
  },
  variant: {
    method: getMethod,
    pathParams,
    paths: [`${accountPath}/g_variants/:variant`],
    summary: 'Returns a variant by its variantInternalId.',
    query: queryParams,
    answer: variantAnswer,
  },
  queryVariant: {
    method: postMethod,
    pathParams,
    paths: [`${accountPath}/g_variants/:variant`],
    summary: 'Returns a variant by its variantInternalId.',
    body: beaconRequestBody,
    answer: variantAnswer,
  },
});
