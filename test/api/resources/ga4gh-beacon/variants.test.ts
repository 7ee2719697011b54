import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Answer } from '../../server.js';
import { variantCalls, startBeaconServerFixture, type VariantCall } from './beacon-fixture.js';

/* Compares the variants that a beacon finds with a loop over the lines of the VCF file. Positions in requests are 0-based. */

const { ann, fetchFirstRecordId, newBeacon } = await startBeaconServerFixture();

let datasetId: number;
/** The id of a dataset whose only field is the variant. */
let bareBeaconId: number;
beforeAll(async () => {
  datasetId = await newBeacon('record');
  const records = variantCalls.map(({ chromosome, start, stop, alternate }) => ({
    variant: `GRCH38-${chromosome}-${start}-${stop}-${alternate}`,
  }));
  bareBeaconId = await newBeacon('record', { records });
});

type QueryParameters = Readonly<Record<string, string>>;

function askVariants(parameters: QueryParameters, id = datasetId): Promise<Answer> {
  const query = new URLSearchParams({ requestedGranularity: 'count', ...parameters });
  return ann.get(`/beacon/v2/acme/datasets/${id}/g_variants?${query}`);
}

/** Returns the records that a request should find, by an independent implementation of the parameters that `variantQueries` use. */
function findExpectedCalls(parameters: QueryParameters): readonly VariantCall[] {
  const { referenceName, start, end, referenceBases, alternateBases, geneId } = parameters;
  const chromosome = referenceName && ({ 'NC_000013.11': '13', 'refseq:NC_000017.11': '17', MT: 'M' }[referenceName] ?? referenceName.replace('chr', '')); // prettier-ignore
  const [startMin, startMax] = (start ?? '').split(',').map(Number) as [number, number?];
  const [endMin, endMax] = (end ?? '').split(',').map(Number) as [number, number?];
  const fits = (bases: string | undefined, allele: string): boolean =>
    bases === undefined ||
    (bases.length === allele.length &&
      [...bases].every((base, i) => base === 'N' || base === allele[i] || (base === 'R' && 'AG'.includes(allele[i]!)))); // prettier-ignore
  return variantCalls.filter((call) => {
    const [callStart, callEnd] = [call.start - 1, call.stop];
    if (geneId !== undefined && call.gene !== geneId) return false;
    if (chromosome !== undefined && call.chromosome !== chromosome) return false;
    if (start !== undefined && end === undefined) {
      // If an allele in the request is empty, the file has both alleles with the preceding base.
      if (referenceBases === '' || alternateBases === '')
        return (
          callStart === startMin - 1 &&
          call.reference.slice(1) === referenceBases &&
          call.alternate.slice(1) === alternateBases &&
          call.reference[0] === call.alternate[0]
        );
      if (callStart !== startMin) return false;
    }
    if (end !== undefined && endMax === undefined && !(callStart < endMin && callEnd > startMin))
      return false;
    if (
      endMax !== undefined &&
      !(callStart >= startMin && callStart < startMax! && callEnd >= endMin && callEnd < endMax)
    )
      return false;
    return fits(referenceBases, call.reference) && fits(alternateBases, call.alternate);
  });
}

const onChromosome13 = { assemblyId: 'GRCh38', referenceName: '13' };
const variantQueries: readonly QueryParameters[] = [
  {},
  { ...onChromosome13, start: '32316460', alternateBases: 'G' },
  { ...onChromosome13, start: '32316460', alternateBases: 'T' },
  { ...onChromosome13, start: '32316460', alternateBases: 'C' },
  { ...onChromosome13, start: '32316461', alternateBases: 'G' },
  { ...onChromosome13, start: '32316460', referenceBases: 'A', alternateBases: 'G' },
  { ...onChromosome13, start: '32316460', referenceBases: 'C', alternateBases: 'G' },
  { ...onChromosome13, start: '32316460', alternateBases: 'N' },
  { ...onChromosome13, start: '32316460', referenceBases: 'R', alternateBases: 'T' },
  { ...onChromosome13, start: '32316499', alternateBases: 'CTT' },
  { ...onChromosome13, start: '32316499', alternateBases: 'CNN' },
  { ...onChromosome13, start: '32316500', referenceBases: '', alternateBases: 'TT' },
  { ...onChromosome13, start: '32316510', referenceBases: 'AC', alternateBases: '' },
  { ...onChromosome13, start: '32316509', referenceBases: 'GAC', alternateBases: 'G' },
  { referenceName: 'NC_000013.11', start: '32316460', alternateBases: 'G' },
  { referenceName: 'chr13', start: '32316460', referenceBases: 'A', alternateBases: 'G' },
  { assemblyId: 'hg38', referenceName: 'chr13', start: '32316460', alternateBases: 'G' },
  { assemblyId: 'GCF_000001405.40', referenceName: '13', start: '32316460', alternateBases: 'G' },
  { referenceName: 'MT', start: '72', referenceBases: 'A', alternateBases: 'G' },
  { ...onChromosome13, start: '32316460', end: '32316461' },
  { ...onChromosome13, start: '32316461', end: '32316499' },
  { ...onChromosome13, start: '32316511', end: '32316512' },
  { ...onChromosome13, start: '32316400', end: '32316600' },
  { ...onChromosome13, start: '32316400', end: '32316600', alternateBases: 'T' },
  { ...onChromosome13, start: '32316400', end: '32316600', referenceBases: 'A' },
  {
    ...onChromosome13,
    start: '32316400',
    end: '32316600',
    referenceBases: 'NN',
    alternateBases: 'NN',
  },
  { referenceName: 'refseq:NC_000017.11', start: '7678000', end: '7678001' },
  { referenceName: '17', start: '7600000,7676000', end: '7669607,10000000' },
  { referenceName: '17', start: '7675999,7676000', end: '7680000,7680001' },
  { referenceName: '17', start: '7675998,7675999', end: '7680000,7680001' },
  { referenceName: '17', start: '7675999,7676000', end: '7679999,7680000' },
  { geneId: 'BRCA2' },
  { geneId: 'TP53', referenceName: '17', start: '7670500', end: '7670501' },
  { geneId: 'TP53', ...onChromosome13, start: '32316400', end: '32316600' },
  { alternateBases: 'G' },
];

describe('a request finds what the lines of the file have', () => {
  test.each(variantQueries)('%j', async (parameters) => {
    const total = findExpectedCalls(parameters).length;
    const { status, json } = await askVariants(parameters);
    expect([status, json['responseSummary']]).toEqual([200, { exists: total > 0, numTotalResults: total }]); // prettier-ignore
  });

  test('and some are found in each of the ways', () => {
    const counts = variantQueries.map((one) => findExpectedCalls(one).length);
    expect([...new Set(counts)].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 6, 11]);
  });

  test.each(
    variantQueries.filter(
      (one) =>
        !('geneId' in one) &&
        !one['start']?.includes(',') &&
        !(one['end'] !== undefined && one['referenceBases'] !== undefined) &&
        // The dataset of these tests stores the number of reference bases, not the bases.
        one['referenceBases'] !== 'C',
    ),
  )('also by a variant alone: %j', async (parameters) => {
    const total = findExpectedCalls(parameters).length;
    const { status, json } = await askVariants(parameters, bareBeaconId);
    expect([status, json['responseSummary']]).toEqual([200, { exists: total > 0, numTotalResults: total }]); // prettier-ignore
  });

  test('another assembly is another place', async () => {
    for (const more of [
      { assemblyId: 'hg19', referenceName: '13' },
      { referenceName: 'NC_000013.10' },
    ]) {
      const exactParams = { ...more, start: '32316460', referenceBases: 'A', alternateBases: 'G' };
      const rangeParams = { ...more, start: '32316460', end: '32316461' };
      for (const parameters of [exactParams, rangeParams]) {
        const { json } = await askVariants(parameters);
        expect([parameters, json['responseSummary']]).toEqual([parameters, { exists: false, numTotalResults: 0 }]); // prettier-ignore
      }
    }
  });
});

describe('a request by what a variant is', () => {
  test.each([
    ['variantType', 'SNP', 5],
    ['variantType', 'snv', 5],
    ['variantType', 'INS', 1],
    ['variantType', 'DEL', 2],
    ['variantType', 'EFO:0030067', 2],
    ['variantType', 'DUP', 1],
    ['variantType', 'EFO:0030070', 1],
    ['variantType', 'INV', 0],
    ['aminoacidChange', 'K10E', 1],
    ['aminoacidChange', 'p.K10*', 1],
    ['aminoacidChange', 'V600E', 0],
    ['genomicAlleleShortForm', 'NC_000013.11:g.32316461A>G', 1],
    ['allele', 'NC_000013.11:g.32316461A>G', 1],
    ['genomicAlleleShortForm', 'NC_000013.11:g.32316461A>T', 0],
    ['geneid', 'FANCD1', 6],
  ])('%s %s has %i', async (key, value, total) => {
    const { status, json } = await askVariants({ [key]: value });
    expect([status, json['responseSummary']]).toEqual([200, { exists: total > 0, numTotalResults: total }]); // prettier-ignore
  });

  test.each<[QueryParameters, string, boolean]>([
    [{ variantType: 'MNP' }, 'from which variants of the type MNP can be told', false],
    [{ variantType: 'SNP' }, 'from which variants of the type SNP can be told', true],
    [{ geneId: 'BRCA2' }, 'no field of the entity type gene', true],
    [{ aminoacidChange: 'V600E' }, 'no field of changes of proteins', true],
    [{ genomicAlleleShortForm: 'x' }, 'no field of HGVS names', true],
    [
      { referenceBases: 'A', alternateBases: 'T' },
      'The dataset has no field reference_allele.',
      true,
    ],
    [{ referenceName: '17', start: '1,2', end: '3,4' }, 'no genomic_coordinates', true],
  ])('%j is an error where no dataset can tell', async (parameters, message, isBare) => {
    const { status, json } = await askVariants(parameters, isBare ? bareBeaconId : datasetId);
    expect([status, json['error']]).toEqual([400, { errorCode: 400, errorMessage: expect.stringContaining(message) }]); // prettier-ignore
  });

  test('a dataset without variants says so, also where one variant of it is asked for', async () => {
    const plainBeaconId = await newBeacon('record', { records: [{ gene: 'TP53' }] });
    const errorMessage = 'The dataset has no field with the entity type variant.';
    const recordId = await fetchFirstRecordId(plainBeaconId);
    for (const answer of [
      await askVariants({ geneId: 'TP53' }, plainBeaconId),
      await ann.get(`/beacon/v2/acme/g_variants/${plainBeaconId}:${recordId}`),
    ])
      expect([answer.status, answer.json['error']]).toEqual([400, { errorCode: 400, errorMessage: expect.stringContaining(errorMessage) }]);
    await ann.delete(`/v2/objects/${plainBeaconId}/beacon`);
  }); // prettier-ignore

  test('a filter of a long text takes no wildcards', async () => {
    const records = [{ variant: 'GRCH38-13-100-100-A', note: 'x' }];
    const textBeaconId = await newBeacon('record', { records, fields: [{ name: 'note', data_type: 'text' }] });
    const filters = [{ id: 'note', operator: '=', value: '%x%' }];
    const { status, json } = await ann.post(`/beacon/v2/acme/datasets/${textBeaconId}/g_variants`, { query: { filters } });
    const errorMessage = expect.stringContaining('filters: note is a long text, whose values have no wildcards.');
    expect([status, json['error']]).toEqual([400, { errorCode: 400, errorMessage }]);
    await ann.delete(`/v2/objects/${textBeaconId}/beacon`);
  }); // prettier-ignore

  test('the datasets that cannot tell are named beside those that can', async () => {
    const { status, json } = await ann.get('/beacon/v2/acme/g_variants?geneId=BRCA2&requestedGranularity=count'); // prettier-ignore
    expect([status, json['responseSummary']]).toEqual([200, { exists: true, numTotalResults: 6 }]);
    expect(json['info']).toEqual({ warnings: [expect.stringMatching(new RegExp(`^${bareBeaconId}: .*gene`))] }); // prettier-ignore
  });
});

describe('a malformed request', () => {
  test.each([
    [{ start: '1' }, 'start: A position needs a referenceName.'],
    [{ assemblyId: 'GRCh38' }, 'assemblyId: An assembly needs'],
    [{ referenceName: '13' }, 'start: A referenceName needs a start'],
    [{ geneId: 'x'.repeat(201) }, 'geneId: Must have at most 200 characters.'],
    [{ referenceName: '13', start: '1' }, 'alternateBases: A start without an end'],
    [{ referenceName: '13', start: '1,2' }, 'end: Two values of start'],
    [
      { referenceName: '13', start: '1,2', end: '3' },
      'end: start has 2 value(s) and end 1: give one of each for a range, two for brackets.',
    ],
    [{ referenceName: '13', start: '2,1', end: '3,4' }, 'start: The second value'],
    [{ referenceName: '13', start: '5', end: '5' }, 'end: Must be greater than start'],
    [{ referenceName: '13', start: '-1', end: '5' }, 'start: Must be one or two whole numbers'],
    [{ referenceName: '13', start: '1,2,3', end: '5' }, 'start: Must be one or two whole numbers'],
    [{ referenceName: '13', start: '1e3', end: '5' }, 'start: Must be one or two whole numbers'],
    [{ referenceName: '13', start: '1', alternateBases: '.*(' }, 'alternateBases: Must be at most'],
    [
      { referenceName: '13', start: '1', alternateBases: '' },
      'alternateBases: Where one allele is empty, the other must be given and have a base.',
    ],
    [{ ...onChromosome13, start: '1', end: '9', referenceBases: 'A', alternateBases: '' }, 'start: An empty allele'], // prettier-ignore
    [{ assemblyId: 'mm10', referenceName: '13', start: '1', end: '2' }, 'assemblyId: Expected GRCh37'], // prettier-ignore
    [{ assemblyId: 'GRCh37', referenceName: 'NC_000013.11', start: '1', end: '2' }, 'referenceName: NC_000013.11 is a sequence of GRCh38'], // prettier-ignore
    [{ variantMinLength: '3' }, 'variantMinLength: This parameter is not supported'],
    [{ mateName: '3' }, 'mateName: This parameter is not supported'],
    [{ requestedGranularity: 'records' }, 'requestedGranularity: "records" is not a valid choice'],
    [{ includeResultsetResponses: 'SOME' }, 'includeResultsetResponses: "SOME"'],
    [{ skip: '-1' }, 'skip: Must be a whole number'],
    [{ limit: '10001' }, 'limit: A limit is at most 10000'],
    [{ testMode: 'maybe' }, 'testMode: Must be a valid boolean'],
    [{ refrenceName: '13' }, 'refrenceName: Unknown key. Did you mean "referenceName"?'],
  ])('%j is a 400 that says what is wrong', async (parameters, message) => {
    const { status, json } = await askVariants(parameters as unknown as QueryParameters);
    expect([status, json['error']]).toEqual([400, { errorCode: 400, errorMessage: expect.stringContaining(message) }]); // prettier-ignore
  });

  test('has one message for one mistake', async () => {
    const { json } = await askVariants({
      referenceName: '13',
      start: 'x',
    } as unknown as QueryParameters);
    const errorMessage = 'start: Must be one or two whole numbers from 0 on.';
    expect(json['error']).toEqual({ errorCode: 400, errorMessage });
  });

  test.each([
    [{ query: 3 }, 'query: Must be a JSON object.'],
    [{ query: { requestParameters: 'x' } }, 'requestParameters: Must be a JSON object.'],
    [{ query: { pagination: 3 } }, 'pagination: Must be a JSON object.'],
    [{ meta: { requestedSchemas: 'x' } }, 'requestedSchemas: Must be a list of objects.'],
    [{ query: { requestParameters: { start: [{}] } } }, 'start: Must be one or two whole numbers'],
    ['[1]', 'the request body must be a JSON object'],
    ['{', 'JSON'],
  ])('the body %j is a 400', async (body, message) => {
    const { status, json } = await ann.post('/beacon/v2/acme/g_variants', body);
    expect([status, json['error']]).toEqual([400, { errorCode: 400, errorMessage: expect.stringContaining(message) }]); // prettier-ignore
  });
});

test('a body asks the same as a query string, with the parameters below g_variant or not, and pages beside the query', async () => {
  const query = { ...onChromosome13, start: [32316460], alternateBases: 'T' };
  const meta = { apiVersion: 'v2.0', requestedSchemas: [{ entityType: 'genomicVariant', schema: 'x' }] }; // prettier-ignore
  const answers = await Promise.all(
    [
      { meta, query: { requestParameters: { g_variant: query }, requestedGranularity: 'count' } },
      { meta, query: { requestParameters: query, requestedGranularity: 'count' } },
      { meta, query: { requestParameters: query }, requestedGranularity: 'count', pagination: { skip: 0, limit: 10 } }, // prettier-ignore
    ].map((body) => ann.post(`/beacon/v2/acme/datasets/${datasetId}/g_variants`, body)),
  );
  for (const { status, json } of answers) {
    expect([status, json['responseSummary']]).toEqual([200, { exists: true, numTotalResults: 2 }]);
    expect((json['meta'] as Record<string, unknown>)['receivedRequestSummary']).toEqual({
      apiVersion: 'v2.0',
      requestedSchemas: meta.requestedSchemas,
      requestParameters: { g_variant: query },
      includeResultsetResponses: 'HIT',
      pagination: { skip: 0, limit: 10 },
      requestedGranularity: 'count',
      testMode: false,
    });
  }
});
