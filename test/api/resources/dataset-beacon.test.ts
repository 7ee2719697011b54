import { beforeAll, describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { listOf, type Answer } from '../server.js';

const { ann, newDataset, runImport, server } = await startServerFixture();

/** An allele in a record of a VCF file, found by splitting the lines of the file. */
interface VcfAllele {
  readonly chromosome: string;
  readonly position: number;
  readonly reference: string;
  readonly alternate: string;
}

const vcfText = `##fileformat=VCFv4.3
##reference=GRCh38
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO
chr13\t32316461\t.\tA\tG\t50\tPASS\t.
chr13\t32316461\t.\tA\tG,T\t50\tPASS\t.
chr13\t32316500\t.\tC\tCTT\t50\tPASS\t.
chrX\t1000\t.\tT\tC\t50\tPASS\t.
`;
const alleles: readonly VcfAllele[] = vcfText
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .flatMap((line) => {
    const [chromosome, position, , reference, alternates] = line.split('\t') as [string, string, string, string, string]; // prettier-ignore
    return alternates.split(',').map((alternate) => ({
      chromosome: chromosome.slice(3),
      position: Number(position),
      reference,
      alternate,
    }));
  });

let datasetId: number;
beforeAll(async () => {
  datasetId = await newDataset();
  const records = alleles.map(({ chromosome, position, reference, alternate }) => ({
    variant: `GRCH38-${chromosome}-${position}-${position + reference.length - 1}-${alternate}`,
  }));
  await runImport({
    dataset_id: datasetId,
    records,
    target_fields: [{ name: 'variant', data_type: 'string', entity_type: 'variant' }],
  });
});

function askBeacon(query: Record<string, string>, id = datasetId): Promise<Answer> {
  return ann.get(`/v2/datasets/${id}/beacon?${new URLSearchParams(query)}`);
}

describe('the beacon of a dataset', () => {
  test('counts the records with an allele at a coordinate', async () => {
    const counts: number[] = [];
    for (const chromosome of ['13', 'chr13', 'X', 'x', '1'])
      for (const position of [32316461, 32316500, 1000])
        for (const allele of ['G', 't', 'CTT', 'C', undefined]) {
          const plainName = chromosome.replace('chr', '').toUpperCase();
          const total = alleles.filter(
            (one) =>
              one.chromosome === plainName &&
              one.position === position &&
              (allele === undefined || one.alternate === allele.toUpperCase()),
          ).length;
          const beaconParams = {
            chromosome,
            coordinate: String(position),
            ...(allele && { allele }),
          };
          const { status, json } = await askBeacon(beaconParams);
          expect([beaconParams, status, json['exist'], json['total']]).toEqual([beaconParams, 200, total > 0, total]); // prettier-ignore
          counts.push(total);
        }
    expect([...new Set(counts)].toSorted()).toEqual([0, 1, 2, 3]);
  });

  test('takes the characters of a symbolic allele as they are', async () => {
    const symbolicAlleles = [
      '<DEL:ME>',
      '<A+B>',
      '<AAB>',
      '<(>',
      '<[X]>',
      '<A|B>',
      '<A\\D>',
      '<A^{2}$>',
      '<A.B>',
    ];
    const symbolicDatasetId = await newDataset();
    await runImport({
      dataset_id: symbolicDatasetId,
      records: symbolicAlleles.map((allele) => ({ variant: `GRCH38-14-7-9-${allele}` })),
      target_fields: [{ name: 'variant', data_type: 'string', entity_type: 'variant' }],
    });
    for (const allele of [...symbolicAlleles, '<AB>']) {
      const { status, json } = await askBeacon({ chromosome: '14', coordinate: '7', allele }, symbolicDatasetId); // prettier-ignore
      const total = symbolicAlleles.includes(allele) ? 1 : 0;
      expect([allele, status, json['total']]).toEqual([allele, 200, total]);
    }
  });

  test('keeps to a build', async () => {
    const beaconParams = { chromosome: '13', coordinate: '32316461', allele: 'G' };
    expect((await askBeacon({ ...beaconParams, genome_build: 'grch38' })).json).toEqual({
      query: { chromosome: '13', coordinate: 32316461, allele: 'G', genome_build: 'GRCh38' },
      exist: true,
      total: 2,
    });
    expect((await askBeacon({ ...beaconParams, genome_build: 'GRCh37' })).json['total']).toBe(0);
  });

  test.each([
    [{ coordinate: '1' }, 'chromosome'],
    [{ chromosome: '1' }, 'coordinate'],
    [{ chromosome: '1', coordinate: '0' }, 'coordinate'],
    [{ chromosome: '1', coordinate: '1e3' }, 'coordinate'],
    [{ chromosome: '1"; DROP', coordinate: '1' }, 'chromosome'],
    [{ chromosome: '1', coordinate: '1', allele: '.*' }, 'allele'],
    [{ chromosome: '1', coordinate: '1', genome_build: 'hg99' }, 'genome_build'],
  ])('refuses %j', async (query, key) => {
    const { status, json } = await askBeacon(query as Record<string, string>);
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  });

  test('needs a field of variants', async () => {
    const otherDatasetId = await newDataset();
    await ann.post('/v2/dataset_imports', { dataset_id: otherDatasetId, records: [{ n: 1 }] });
    const { status, json } = await askBeacon({ chromosome: '1', coordinate: '1' }, otherDatasetId);
    expect([status, json]).toEqual([400, { non_field_errors: ['The dataset has no field with the entity type variant.'] }]); // prettier-ignore
  });
});

describe('the changelog of a dataset', () => {
  test('has an entry for each commit, also when merges came between them', async () => {
    const changedDatasetId = await newDataset();
    for (const n of [1, 2, 3]) {
      await ann.post('/v2/dataset_imports', {
        dataset_id: changedDatasetId,
        records: [{ n, [`f${n}`]: n }],
      });
      await server.scheduler.compacted();
    }
    const firstPage = await ann.post(`/v2/datasets/${changedDatasetId}/data`, { limit: 1 });
    const [{ _id }] = firstPage.json['results'] as [{ _id: string }];
    await ann.post('/v2/dataset_imports', { dataset_id: changedDatasetId, commit_mode: 'delete', records: [{ _id }] }); // prettier-ignore
    const listedVersions = await ann.get(`/v2/datasets/${changedDatasetId}/changelog?limit=3`);
    expect(listedVersions.json['total']).toBe(4);
    const commits = listOf(await ann.get(`/v2/datasets/${changedDatasetId}/commits`));
    const entries = listOf(listedVersions);
    expect(entries.map((one) => one['commit_id'])).toEqual(commits.slice(0, 3).map((one) => one['id'])); // prettier-ignore
    const counts = entries.map((one) => [one['mode'], one['records_added'], one['records_removed'], one['records_total'], one['new_fields']]); // prettier-ignore
    expect(counts).toEqual([
      ['delete', 0, 1, 2, []],
      ['append', 1, 0, 3, ['f3']],
      ['append', 1, 0, 2, ['f2']],
    ]);
    for (const entry of entries) {
      const versionAnswer = await ann.get(
        `/v2/datasets/${changedDatasetId}/changelog/${entry['version']}`,
      );
      expect([versionAnswer.status, versionAnswer.json]).toEqual([200, entry]);
    }
    for (const version of ['999', '-1', 'x', '0.5'])
      expect((await ann.get(`/v2/datasets/${changedDatasetId}/changelog/${version}`)).status).toBe(
        404,
      );
  });
});

test('the list of vault synchronisations is empty, and starting one says why it cannot', async () => {
  expect(listOf(await ann.get('/v2/vault_sync_tasks'))).toEqual([]);
  const { status, json } = await ann.post('/v2/vault_sync_tasks', { vault_id: 1 });
  expect([status, json]).toEqual([501, { detail: expect.stringMatching(/^Not available on this server: the synchronisation of vaults, .* Instead, /) }]); // prettier-ignore
});
