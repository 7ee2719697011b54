import type { AccountRow } from '../../../engine/catalog/accounts.js';
import { softwareVersion } from '../../../scheduler/jobs/export/provenance.js';
import type { ErrorAnswer } from '../../http/errors.filter.js';
import { apiVersion, defaultRequestSummary, type AnswerGranularity } from './beacon-request.js';

/* The answers by which each beacon describes itself, as the framework of the Beacon standard demands. They do not depend on datasets. */

/** The path below which all beacons are. */
export const beaconRoot = '/beacon/v2';

const beaconSpecUrl = 'https://raw.githubusercontent.com/ga4gh-beacon/beacon-v2/main';
const modelSchemasUrl = `${beaconSpecUrl}/models/json/beacon-v2-default-model`;
const jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema';

/** The entry types, with the schema of each in the default model of the Beacon standard. */
const entryTypes = {
  dataset: {
    id: 'dataset',
    name: 'Dataset',
    ontologyTermForThisType: { id: 'NCIT:C47824', label: 'Data set' },
    partOfSpecification: 'Beacon v2.0.0',
    defaultSchema: {
      id: 'ga4gh-beacon-dataset-v2.0.0',
      name: 'Default schema for datasets',
      referenceToSchemaDefinition: `${modelSchemasUrl}/datasets/defaultSchema.json`,
      schemaVersion: 'v2.0.0',
    },
    aCollectionOf: [{ id: 'genomicVariant', name: 'Genomic Variants' }],
  },
  genomicVariant: {
    id: 'genomicVariant',
    name: 'Genomic Variants',
    ontologyTermForThisType: { id: 'ENSGLOSSARY:0000092', label: 'Variant' },
    partOfSpecification: 'Beacon v2.0.0',
    defaultSchema: {
      id: 'ga4gh-beacon-variant-v2.1.0',
      name: 'Default schema for a genomic variation',
      referenceToSchemaDefinition: `${modelSchemasUrl}/genomicVariations/defaultSchema.json`,
      schemaVersion: 'v2.1.0',
    },
  },
};

/** A type of entries that a beacon has. */
type EntryType = keyof typeof entryTypes;

/**
 * Returns the identifier of a beacon: the parts of the host name in reverse order, then the domain of the account, as in
 * `org.example.data.acme`. If the host is an IP address or has no dot, it is the domain alone.
 */
export function beaconId(origin: string, domain: string): string {
  const hostname = URL.canParse(origin) ? new URL(origin).hostname : '';
  const isNamed = /[a-z]/i.test(hostname) && !hostname.startsWith('[') && hostname.includes('.');
  return [...(isNamed ? hostname.split('.').toReversed() : []), domain].join('.');
}

/** Returns the section `meta` of an answer that describes the beacon itself. */
export function informationalMeta(origin: string, domain: string, ...types: readonly EntryType[]): object {
  return { beaconId: beaconId(origin, domain), apiVersion, returnedSchemas: types.map(entryTypeSchema) };
} // prettier-ignore

/** Returns the section `meta` of an answer to a query. */
export function responseMeta(
  origin: string,
  domain: string,
  received: { readonly summary: object; readonly isTest: boolean },
  returnedGranularity: AnswerGranularity,
  ...types: readonly EntryType[]
): object {
  return {
    ...informationalMeta(origin, domain, ...types),
    returnedGranularity,
    receivedRequestSummary: received.summary,
    ...(received.isTest && { testMode: true }),
  };
}

function entryTypeSchema(type: EntryType): object {
  return { entityType: type, schema: entryTypes[type].defaultSchema.id };
}

/** Returns the section `response` of `/info` (Beacon v2, beaconInfoResults). */
export function infoBody(origin: string, account: AccountRow): object {
  return {
    id: beaconId(origin, account.domain),
    name: `Beacon of ${account.name}`,
    apiVersion,
    environment: 'prod',
    organization: { id: account.domain, name: account.name },
    version: `v${softwareVersion}`,
    welcomeUrl: `${origin}/docs`,
    createDateTime: new Date(account.createdAt).toISOString(),
  };
}

/** Returns the answer of `/service-info` (GA4GH service-info 1.0). */
export function serviceInfoBody(origin: string, account: AccountRow): object {
  return {
    id: beaconId(origin, account.domain),
    name: `Beacon of ${account.name}`,
    type: { group: 'org.ga4gh', artifact: 'beacon', version: '2.0.0' },
    organization: { name: account.name, url: origin },
    documentationUrl: `${origin}/docs`,
    createdAt: new Date(account.createdAt).toISOString(),
    environment: 'prod',
    version: softwareVersion,
  };
}

/** Returns the section `response` of `/configuration`. */
export function configurationBody(): object {
  return {
    $schema: jsonSchemaDialect,
    maturityAttributes: { productionStatus: 'PROD' },
    securityAttributes: { defaultGranularity: 'boolean', securityLevels: ['PUBLIC', 'CONTROLLED'] },
    ...entryTypesBody(),
  };
}

/** Returns the section `response` of `/entry_types`. */
export function entryTypesBody(): object {
  return { entryTypes };
}

/** Returns the section `response` of `/map`. */
export function mapBody(origin: string, domain: string): object {
  const base = `${origin}${beaconRoot}/${domain}`;
  const openAPIEndpointsDefinition = `${origin}/openapi.json`;
  return {
    $schema: jsonSchemaDialect,
    endpointSets: {
      dataset: {
        entryType: 'dataset',
        openAPIEndpointsDefinition,
        rootUrl: `${base}/datasets`,
        singleEntryUrl: `${base}/datasets/{id}`,
        filteringTermsUrl: `${base}/datasets/{id}/filtering_terms`,
        endpoints: {
          genomicVariant: {
            returnedEntryType: 'genomicVariant',
            url: `${base}/datasets/{id}/g_variants`,
          },
        },
      },
      genomicVariant: {
        entryType: 'genomicVariant',
        openAPIEndpointsDefinition,
        rootUrl: `${base}/g_variants`,
        singleEntryUrl: `${base}/g_variants/{id}`,
      },
    },
  };
}

/** Returns the body of an error below the path of the beacons (Beacon v2, beaconErrorResponse); undefined for other paths. */
export function beaconErrorBody(
  { status, body }: ErrorAnswer,
  origin: string,
  url: string,
): object | undefined {
  const path = url.split('?', 1)[0]!;
  if (!path.startsWith(`${beaconRoot}/`)) return undefined;
  const domain = path.slice(beaconRoot.length + 1).split('/', 1)[0]!;
  const messages = Object.entries(body).flatMap(([key, value]) =>
    [value].flat().map((message) => {
      const isGeneral = key === 'detail' || key === 'non_field_errors';
      return isGeneral ? String(message) : `${key}: ${String(message)}`;
    }),
  );
  return {
    meta: responseMeta(
      origin,
      domain,
      { summary: defaultRequestSummary, isTest: false },
      'boolean',
    ),
    error: { errorCode: status, errorMessage: messages.join(' ') },
  };
}
