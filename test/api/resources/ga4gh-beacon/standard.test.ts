import { beforeAll, describe, expect, test } from '@jest/globals';
import type { OperationRow } from '../../../../api/http/operation-row.js';
import { beaconId } from '../../../../api/resources/ga4gh-beacon/beacon-frame.js';
import { operations } from '../../../../api/resources/index.js';
import { idOf, type Answer, type Client } from '../../server.js';
import { variantCalls, startBeaconServerFixture } from './beacon-fixture.js';
import { beaconSchemaChecker } from './beacon-schemas.js';

/*
 * Tests what the sections of the standard (GA4GH Beacon v2.0, framework and default model) require of answers. With
 * STRANDLAKE_BEACON_SCHEMAS=<folder>, every answer is also checked against the schemas that the standard publishes (see beacon-schemas.ts).
 */

const schemaFolder = process.env['STRANDLAKE_BEACON_SCHEMAS'];
const checkSchema = schemaFolder === undefined ? undefined : beaconSchemaChecker(schemaFolder);

const { ann, anybody, fetchFirstRecordId, newBeacon, server } = await startBeaconServerFixture();
const beaconRoot = '/beacon/v2/acme';

let datasetId: number;
let countGranularityBeaconId: number;
let variantId: string;
beforeAll(async () => {
  const openVaultId = idOf(await ann.post('/v2/vaults', { name: 'Open', is_public: true }));
  datasetId = await newBeacon('record', { vault_id: openVaultId });
  countGranularityBeaconId = await newBeacon('count', { vault_id: openVaultId });
  await newBeacon('boolean', { vault_id: openVaultId });
  const records = [
    { variant: 'chr13-32316461-A-G', gene: 'BRCA2' },
    { variant: 'no place', gene: 'BRCA2' },
    { variant: 'GRCh38-HLA-A-5-5-*', gene: 'HLA-A' },
    { variant: 'GRCH38-13-32316461-32316461-A[13:5[', gene: 'BRCA2' },
  ];
  await newBeacon('record', { vault_id: openVaultId, records });
  variantId = `${datasetId}:${await fetchFirstRecordId(datasetId)}`;
});

type Json = Readonly<Record<string, unknown>>;

const responseSchemaFolder = 'framework/json/responses';
/** The schema of the answers of each operation; `query` means that the schema depends on the granularity. */
const schemaByOperation: Readonly<Record<string, string>> = {
  info: 'beaconInfoResponse',
  serviceInfo: 'ga4gh-service-info-1-0-0-schema',
  configuration: 'beaconConfigurationResponse',
  map: 'beaconMapResponse',
  entryTypes: 'beaconEntryTypesResponse',
  filteringTerms: 'beaconFilteringTermsResponse',
  datasetFilteringTerms: 'beaconFilteringTermsResponse',
  datasets: 'beaconCollectionsResponse',
  dataset: 'beaconResultsetsResponse',
  variants: 'query',
  queryVariants: 'query',
  datasetVariants: 'query',
  queryDatasetVariants: 'query',
  variant: 'query',
  queryVariant: 'query',
};
const modelSchemaFolder = 'models/json/beacon-v2-default-model';

/** Checks an answer against the schemas of the standard's framework, and its contents against those of the default model. */
function checkAnswer(operation: string, { status, json }: Answer): void {
  if (checkSchema === undefined) return;
  const name = schemaByOperation[operation]!;
  const { returnedGranularity } = (json['meta'] ?? {}) as Json;
  const querySchema = { boolean: 'beaconBooleanResponse', count: 'beaconCountResponse', record: 'beaconResultsetsResponse' }[String(returnedGranularity)]; // prettier-ignore
  const file = status >= 400 ? 'beaconErrorResponse' : name === 'query' ? querySchema! : name;
  expect([operation, status, checkSchema(`${responseSchemaFolder}/${file}.json`, json)]).toEqual([operation, status, []]); // prettier-ignore
  const { resultSets = [], collections = [] } = (json['response'] ?? {}) as {
    resultSets?: readonly { results: readonly object[] }[];
    collections?: readonly object[];
  };
  const kind = operation.startsWith('dataset') && !/variant/i.test(operation) ? 'datasets' : 'genomicVariations'; // prettier-ignore
  for (const entry of [...resultSets.flatMap(({ results }) => results), ...collections])
    expect([entry, checkSchema(`${modelSchemaFolder}/${kind}/defaultSchema.json`, entry)]).toEqual([
      entry,
      [],
    ]);
}

const beaconOperations = (Object.entries(operations) as [string, OperationRow][]).flatMap(
  ([key, row]) =>
    key.startsWith('ga4ghBeacon.') ? [[key.slice('ga4ghBeacon.'.length), row] as const] : [],
);

function operationPathOf(row: OperationRow, id = datasetId): string {
  return row.paths[0]
    .replace(':account', 'acme')
    .replace(':dataset', String(id))
    .replace(':variant', encodeURIComponent(variantId));
}

const granularities = ['boolean', 'count', 'record'];
const beaconQueries: readonly (readonly [query: string, body: object])[] = [
  ['', {}],
  ...granularities.flatMap(
    (requestedGranularity) =>
    ['HIT', 'MISS', 'ALL', 'NONE'].map((includeResultsetResponses) => [
      `requestedGranularity=${requestedGranularity}&includeResultsetResponses=${includeResultsetResponses}&assemblyId=GRCh38&referenceName=13&start=32316460&alternateBases=G&filters=info.AF:<0.5`, // prettier-ignore
      {
        meta: { apiVersion: 'v2.0', requestedSchemas: [{ entityType: 'genomicVariant', schema: 'x' }] }, // prettier-ignore
        query: {
          requestedGranularity,
          includeResultsetResponses,
          requestParameters: { g_variant: { geneId: 'BRCA2' } },
          filters: [{ id: 'info.AF', operator: '<', value: '0.5' }],
          pagination: { skip: 0, limit: 5 },
        },
      },
    ] as const), // prettier-ignore
  ),
  ['requestedGranularity=record&limit=0', { query: { requestedGranularity: 'record', pagination: { limit: 0 } } }], // prettier-ignore
  ['requestedGranularity=record&testMode=true', { query: { requestedGranularity: 'record', testMode: true } }], // prettier-ignore
  ['requestedGranularity=some', { query: { requestedGranularity: 'some' } }],
  ['start=4', { query: { requestParameters: { start: [4] } } }],
];

describe('every answer has the form of the standard', () => {
  test('and every operation is asked', () => {
    expect(beaconOperations.map(([name]) => name).toSorted()).toEqual(
      Object.keys(schemaByOperation).toSorted(),
    );
  });

  test.each(beaconOperations)('%s', async (name, row) => {
    const takesQuery = row.method === 'POST' || row.query !== undefined;
    for (const client of [ann, anybody])
      for (const [query, body] of takesQuery ? beaconQueries : beaconQueries.slice(0, 1)) {
        const answer = await (row.method === 'POST'
          ? client.post(operationPathOf(row), body)
          : client.get(`${operationPathOf(row)}?${query}`));
        // Operations other than queries for variants report the options of such queries as ignored.
        expect([query, [200, 400, 404].includes(answer.status)]).toEqual([query, true]);
        if (answer.status === 200) expectMeta(name, answer.json);
        else expectError(answer);
        checkAnswer(name, answer);
      }
  });

  test.each([
    ['a path that is not there', 'GET', '/cohorts', 404],
    ['a method that is not there', 'DELETE', '/datasets', 405],
    ['an account that is not there', 'GET', '/../nobody/info', 404],
    ['no JSON', 'POST', '/g_variants', 400],
  ])('the error of %s', async (_, method, path, status) => {
    const answer = await ann.call(method, beaconRoot + path, method === 'POST' ? '{' : undefined);
    expect(answer.status).toBe(status);
    expectError(answer);
    checkAnswer('error', answer);
  });
});

/** Expects the required members of `meta` (beaconInformationalResponseMeta, beaconResponseMeta, beaconReceivedRequestSummary). */
function expectMeta(name: string, json: Json): void {
  if (name === 'serviceInfo') return;
  const meta = json['meta'] as Json;
  expect(meta).toMatchObject({ beaconId: 'acme', apiVersion: 'v2.0', returnedSchemas: expect.any(Array) }); // prettier-ignore
  if (!('responseSummary' in json)) return;
  expect(granularities).toContain(meta['returnedGranularity']);
  expect(meta['receivedRequestSummary']).toMatchObject({
    apiVersion: 'v2.0',
    requestedSchemas: expect.any(Array),
    pagination: { skip: expect.any(Number), limit: expect.any(Number) },
    requestedGranularity: expect.any(String),
  });
  expect(json['responseSummary']).toMatchObject({ exists: expect.any(Boolean) });
}

/** Expects the members of beaconErrorResponse. */
function expectError({ status, json }: Answer): void {
  expect(Object.keys(json).toSorted()).toEqual(['error', 'meta']);
  expect(json['error']).toEqual({ errorCode: status, errorMessage: expect.stringMatching(/./) });
  expect(Object.keys(json['meta'] as Json).toSorted()).toEqual(['apiVersion', 'beaconId', 'receivedRequestSummary', 'returnedGranularity', 'returnedSchemas']); // prettier-ignore
}

async function fetchResponse(path: string, client: Client = ann): Promise<Json> {
  const { status, json } = await client.get(beaconRoot + path);
  expect([path, status]).toEqual([path, 200]);
  return json['response'] as Json;
}

describe('the sections of the framework', () => {
  test('beaconInfoResults, at both addresses', async () => {
    const info = await fetchResponse('/info');
    expect(info).toMatchObject({ id: 'acme', apiVersion: 'v2.0', environment: 'prod', organization: { id: 'acme', name: 'acme' } }); // prettier-ignore
    expect(await fetchResponse('')).toEqual(info);
    expect(await fetchResponse('/')).toEqual(info);
  });

  test('service-info 1.0', async () => {
    const { json } = await ann.get(`${beaconRoot}/service-info`);
    expect(json).toMatchObject({
      id: 'acme',
      type: { group: 'org.ga4gh', artifact: 'beacon', version: '2.0.0' },
      organization: { name: 'acme', url: server.url },
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });

  test('beaconConfigurationSchema, entryTypesSchema and entryTypeDefinition', async () => {
    const configuration = await fetchResponse('/configuration');
    const { entryTypes } = await fetchResponse('/entry_types');
    expect(configuration['entryTypes']).toEqual(entryTypes);
    expect(configuration).toMatchObject({ $schema: expect.any(String), maturityAttributes: {}, securityAttributes: { defaultGranularity: 'boolean' } }); // prettier-ignore
    for (const [key, type] of Object.entries(entryTypes as Readonly<Record<string, Json>>))
      expect(type).toMatchObject({ id: key, name: expect.any(String), partOfSpecification: expect.any(String), defaultSchema: { id: expect.any(String), name: expect.any(String), referenceToSchemaDefinition: expect.any(String) } }); // prettier-ignore
  });

  test('beaconMapSchema: every address in it answers', async () => {
    const { endpointSets } = await fetchResponse('/map');
    const { entryTypes } = await fetchResponse('/entry_types');
    for (const set of Object.values(endpointSets as Readonly<Record<string, Json>>)) {
      expect(Object.keys(entryTypes as Json)).toContain(set['entryType']);
      const moreEndpoints = Object.values((set['endpoints'] ?? {}) as Readonly<Record<string, { url: string }>>); // prettier-ignore
      const urls = [set['rootUrl'], set['singleEntryUrl'], set['filteringTermsUrl'], set['openAPIEndpointsDefinition'], ...moreEndpoints.map(({ url }) => url)]; // prettier-ignore
      const entry = set['entryType'] === 'dataset' ? String(datasetId) : variantId;
      for (const url of urls.filter((one) => typeof one === 'string')) {
        const { status } = await ann.get(url.replace('{id}', encodeURIComponent(entry)));
        expect([url, status]).toEqual([url, 200]);
      }
    }
  });

  test('beaconFilteringTermsResults: every term may be asked', async () => {
    const { filteringTerms } = await fetchResponse(`/datasets/${datasetId}/filtering_terms`);
    const terms = filteringTerms as readonly { id: string; type: string }[];
    expect(terms.map((term) => term.id)).toEqual(expect.arrayContaining(['info.AF', 'variant']));
    for (const term of terms) {
      expect(term.type).toBe('alphanumeric');
      const operatorAnswer = await ann.post(`${beaconRoot}/datasets/${datasetId}/g_variants`, { query: { filters: [{ id: term.id, operator: '=', value: '1' }] } }); // prettier-ignore
      expect([term.id, operatorAnswer.status]).toEqual([term.id, 200]);
    }
    const { filteringTerms: secondPage } = await fetchResponse(`/datasets/${datasetId}/filtering_terms?limit=2&skip=1`); // prettier-ignore
    expect(secondPage).toEqual(terms.slice(2, 4));
  });

  test('the identifier of a beacon is the name of its host backwards', () => {
    expect(beaconId('https://data.example.org:8443', 'acme')).toBe('org.example.data.acme');
    for (const host of ['127.0.0.1:3000', '[::1]', '::1:80', 'localhost'])
      expect(beaconId(`http://${host}`, 'acme')).toBe('acme');
  });
});

describe('genomic variations', () => {
  test('have the place and the alleles of the lines of the file, 0-based', async () => {
    const { resultSets } = await fetchResponse(`/datasets/${datasetId}/g_variants?requestedGranularity=record&limit=0`); // prettier-ignore
    const [{ results, resultsCount }] = resultSets as [{ results: readonly Json[]; resultsCount: number }]; // prettier-ignore
    const types: Readonly<Record<string, string>> = { rs3: 'INS', rs4: 'DEL', rs5: 'MNP', rs6: 'DEL', rs7: 'DUP', rs10: 'no_sequence_alteration' }; // prettier-ignore
    const accessions: Readonly<Record<string, string>> = { 2: 'NC_000002.12', 13: 'NC_000013.11', 17: 'NC_000017.11', X: 'NC_000023.11', M: 'NC_012920.1' }; // prettier-ignore
    expect(resultsCount).toBe(variantCalls.length);
    expect(results.map((one) => one['variation'])).toEqual(
      variantCalls.map(({ chromosome, start, stop, reference, alternate, id: name }) => ({
        variantType: types[name] ?? 'SNP',
        ...(!alternate.startsWith('<') && { referenceBases: reference }),
        alternateBases: alternate.startsWith('<') ? 'N' : alternate,
        location: {
          type: 'SequenceLocation',
          sequence_id: `refseq:${accessions[chromosome]}`,
          interval: {
            type: 'SequenceInterval',
            start: { type: 'Number', value: start - 1 },
            end: { type: 'Number', value: stop },
          },
        },
      })),
    );
    expect(results.map((one) => one['identifiers'])).toEqual(
      variantCalls.map(({ id: name, hgvs }, i) => ({
        ...(hgvs !== undefined && { genomicHGVSId: hgvs }),
        ...(i < 2 && { proteinHGVSIds: [['NP_1.1:p.Lys10Glu', 'NP_1.1:p.(Lys10Ter)'][i]] }),
        variantAlternativeIds: [{ id: `dbSNP:${name}` }],
      })),
    );
    expect(results.map((one) => one['molecularAttributes'])).toEqual(
      variantCalls.map(({ gene }) => (gene === undefined ? undefined : { geneIds: [gene] })),
    );
  });

  test('are each found by their variantInternalId', async () => {
    const { resultSets } = await fetchResponse('/g_variants?requestedGranularity=record&limit=0&includeResultsetResponses=ALL'); // prettier-ignore
    const allVariations = (resultSets as { results: Json[] }[]).flatMap(({ results }) => results);
    expect(allVariations.length).toBe(variantCalls.length + 3);
    for (const one of allVariations) {
      const path = `/g_variants/${encodeURIComponent(String(one['variantInternalId']))}`;
      const { resultSets: sets } = await fetchResponse(path);
      expect((sets as { results: Json[] }[]).map(({ results }) => results)).toEqual([[one]]);
    }
    for (const path of [`${datasetId}:x`, String(datasetId), 'x', `${countGranularityBeaconId}:x`])
      expect((await ann.get(`${beaconRoot}/g_variants/${path}`)).status).toBe(404);
  });

  test('of other notations have a place, too, or are counted as left out', async () => {
    const { json } = await ann.get(`${beaconRoot}/g_variants?requestedGranularity=record&limit=0`);
    const { resultSets } = json['response'] as { resultSets: { results: Json[] }[] };
    const otherVariations = resultSets.flatMap(({ results }) => results).filter((one) => !String(one['variantInternalId']).startsWith(`${datasetId}:`)); // prettier-ignore
    const [snp, deletion, breakend] = otherVariations.map((one) => one['variation']);
    expect(snp).toMatchObject({ variantType: 'SNP', referenceBases: 'A', alternateBases: 'G', location: { sequence_id: 'chromosome:13', interval: { start: { value: 32316460 }, end: { value: 32316461 } } } }); // prettier-ignore
    expect(deletion).toMatchObject({
      variantType: 'DEL', alternateBases: '-', location: { sequence_id: 'GRCh38:HLA-A' },
    }); // prettier-ignore
    expect(breakend).toMatchObject({ variantType: 'BND', alternateBases: 'N' });
    const { warnings } = json['info'] as { warnings: string[] };
    expect(warnings).toContain('Records of this page left out because their variants name no place: 1.'); // prettier-ignore
  });

  test('come in pages that run through all datasets', async () => {
    const fetchIds = async (more: string): Promise<unknown[]> => {
      const { resultSets } = await fetchResponse(`/g_variants?requestedGranularity=record&geneId=BRCA2&${more}`); // prettier-ignore
      return (resultSets as { results: Json[] }[]).flatMap(({ results }) => results.map((one) => one['variantInternalId'])); // prettier-ignore
    };
    const allIds = await fetchIds('limit=0');
    expect(allIds.length).toBe(8);
    const pagedIds: unknown[] = [];
    for (let skip = 0; skip < 5; skip++) pagedIds.push(...(await fetchIds(`limit=2&skip=${skip}`)));
    expect(pagedIds).toEqual(allIds);
    expect(await fetchIds('limit=2&skip=9')).toEqual([]);
  });
});

describe('filters', () => {
  const countAbove = (least: number): number => variantCalls.filter(({ af }) => af !== undefined && af > least).length; // prettier-ignore
  test.each([
    [{ id: 'info.AF', operator: '>', value: '0.1' }, countAbove(0.1)],
    [{ id: 'info.AF', operator: '<=', value: '0.01' }, 1],
    [{ id: 'info.AF', operator: '=', value: '0.2' }, 1],
    [{ id: 'info.AF', operator: '!', value: '0.2' }, variantCalls.length - 1],
    [{ id: 'info.GENE', value: 'brca2' }, 6],
    [{ id: 'info.GENE', operator: '!', value: 'BRCA2' }, variantCalls.length - 6],
    [{ id: 'info.GENE', operator: '=', value: '%C%' }, 6],
    [{ id: 'info.GENE', operator: '!', value: 'BR%' }, variantCalls.length - 6],
    [{ id: 'info.GENE', operator: '=', value: 'B.*' }, 0],
    [{ id: 'row_id', operator: '=', value: 'rs2' }, 2],
  ])('%j has %i', async (filter, total) => {
    const body = { query: { requestedGranularity: 'count', filters: [filter] } };
    const { json } = await ann.post(`${beaconRoot}/datasets/${datasetId}/g_variants`, body);
    expect(json['responseSummary']).toEqual({ exists: total > 0, numTotalResults: total });
    const { operator = '=' } = filter as { operator?: string };
    const filterText = `${filter.id}:${operator}${filter.value}`;
    const summary = (json['meta'] as Json)['receivedRequestSummary'] as Json;
    expect(summary['filters']).toEqual([filterText]);
    const sameAnswer = await ann.get(`${beaconRoot}/datasets/${datasetId}/g_variants?requestedGranularity=count&filters=${encodeURIComponent(filterText)}`); // prettier-ignore
    expect(sameAnswer.json['responseSummary']).toEqual(json['responseSummary']);
  });

  test('are joined by AND', async () => {
    const { json } = await ann.get(`${beaconRoot}/datasets/${datasetId}/g_variants?requestedGranularity=count&filters=info.AF:>0.1,info.GENE:=BRCA2`); // prettier-ignore
    expect(json['responseSummary']).toEqual({ exists: true, numTotalResults: 2 });
  });

  test.each([
    [{ id: 'HP:0008773' }, 'terms of ontologies are not known here'],
    ['HP:0008773', 'terms of ontologies are not known here'],
    [{ id: 'info.AF' }, 'has no operator and value'],
    [{ id: 'info.AF', operator: '~', value: '1' }, 'operator must be one of'],
    [{ id: 'info.AF', operator: '<', value: [1] }, 'value must be a string'],
    [{ id: 'info.AF', operator: '<', value: 'x' }, 'Expected a number, not "x" (at filters[0])'],
    [{ id: 'info.af', operator: '<', value: '1' }, 'Did you mean "info.AF"?'],
    [{ id: 'info.AF__gt', operator: '=', value: '1' }, 'Unknown field'],
    [{ operator: '<', value: '1' }, 'Must have an id'],
    [7, 'Must be an object with id'],
  ])('%j is a 400', async (filter, message) => {
    const { status, json } = await ann.post(`${beaconRoot}/datasets/${datasetId}/g_variants`, { query: { filters: [filter] } }); // prettier-ignore
    expect([status, (json['error'] as Json)['errorMessage']]).toEqual([400, expect.stringContaining(message)]); // prettier-ignore
  });
});

test('a test asks no dataset and has the form of the answer', async () => {
  const { json } = await ann.get(
    `${beaconRoot}/g_variants?testMode=true&requestedGranularity=record`,
  );
  expect(json).toMatchObject({
    meta: { testMode: true, returnedGranularity: 'record' },
    responseSummary: { exists: false, numTotalResults: 0 },
    response: { resultSets: [] },
  });
});
