import { clientFor, idOf, waitForJob, type Answer, type Client } from '../../server.js';
import { startServerFixture, type ServerFixture } from '../../server-fixture.js';

/** A record that a beacon finds: one for each line of `beaconVcf`, none of which has several alternate alleles. */
export interface VariantCall {
  readonly chromosome: string;
  /** The position of the first base, from 1. */
  readonly start: number;
  /** The position of the last base, from 1. */
  readonly stop: number;
  readonly reference: string;
  readonly alternate: string;
  readonly gene: string | undefined;
  readonly af: number | undefined;
  readonly hgvs: string | undefined;
  readonly id: string;
}

/**
 * A VCF file with alleles of several kinds: plain ones, several at one position, insertions and deletions with the preceding base, symbolic
 * ones, and a record without an alternate allele.
 */
export const beaconVcf = `##fileformat=VCFv4.3
##reference=GRCh38
##INFO=<ID=GENE,Number=1,Type=String,Description="Gene">
##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">
##INFO=<ID=HGVSp,Number=1,Type=String,Description="Protein">
##INFO=<ID=CLNHGVS,Number=1,Type=String,Description="Genomic name">
##INFO=<ID=SVLEN,Number=A,Type=Integer,Description="Length">
##INFO=<ID=END,Number=1,Type=Integer,Description="End">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO
chr13\t32316461\trs1\tA\tG\t50\tPASS\tGENE=BRCA2;AF=0.01;HGVSp=NP_1.1:p.Lys10Glu;CLNHGVS=NC_000013.11:g.32316461A>G
chr13\t32316461\trs2\tA\tT\t50\tPASS\tGENE=BRCA2;AF=0.2;HGVSp=NP_1.1:p.(Lys10Ter)
chr13\t32316461\trs2\tA\tT\t50\tPASS\tGENE=BRCA2;AF=0.3
chr13\t32316500\trs3\tC\tCTT\t50\tPASS\tGENE=BRCA2
chr13\t32316510\trs4\tGAC\tG\t50\tPASS\tGENE=BRCA2
chr13\t32316520\trs5\tAC\tGT\t50\tPASS\tGENE=BRCA2
chr17\t7676000\trs6\tN\t<DEL>\t50\tPASS\tGENE=TP53;END=7680000;SVLEN=-4000
chr17\t7670000\trs7\tN\t<DUP:TANDEM>\t50\tPASS\tGENE=TP53;END=7671000;SVLEN=1000
chrX\t1000\trs8\tT\tC\t50\tPASS\tAF=0.5
chr2\t500\trs10\tG\t.\t50\tPASS\t.
chrM\t73\trs9\tA\tG\t50\tPASS\t.
`;

/** The records of `beaconVcf`, found by splitting its lines. */
export const variantCalls: readonly VariantCall[] = beaconVcf
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [chromosome, position, id, reference, alternate, , , info] = line.split('\t') as [string, string, string, string, string, string, string, string]; // prettier-ignore
    const values = new Map(info.split(';').map((part) => part.split(/=(.*)/s) as [string, string]));
    const start = Number(position);
    const end = values.get('END');
    return {
      chromosome: chromosome.slice(3),
      start,
      stop: end === undefined ? start + reference.length - 1 : Number(end),
      reference,
      // A record without an alternate allele describes the reference allele.
      alternate: alternate === '.' ? reference : alternate,
      gene: values.get('GENE'),
      af: values.has('AF') ? Number(values.get('AF')) : undefined,
      hgvs: values.get('CLNHGVS'),
      id,
    };
  });

/** A server fixture for tests of beacons. */
export interface BeaconServerFixture extends ServerFixture {
  /** A client for a user of another account. */
  readonly stranger: Client;
  /** A client for a user of the account who has no permission. */
  readonly bob: Client;
  /** A client without a token. */
  readonly anybody: Client;
  /** Creates a dataset from the VCF file or from the given records, and sets its granularity as a beacon if one is given. */
  newBeacon(granularity: string | undefined, more?: { records?: readonly object[]; vault_id?: number; fields?: readonly object[] }): Promise<number>; // prettier-ignore
  setGranularity(datasetId: number, granularity: string): Promise<Answer>;
  /** Returns the `_id` of the first record of a dataset. */
  fetchFirstRecordId(datasetId: number): Promise<string>;
}

/** Starts a server for the tests of a file, which must call this function at its top level. */
export async function startBeaconServerFixture(): Promise<BeaconServerFixture> {
  const serverFixture = await startServerFixture();
  const { ann, server, newDataset, newFile } = serverFixture;
  const target_fields = [
    { name: 'info.GENE', entity_type: 'gene' },
    { name: 'gene', entity_type: 'gene' },
    { name: 'variant', entity_type: 'variant' },
  ];
  const setGranularity = (datasetId: number, granularity: string): Promise<Answer> =>
    ann.post(`/v2/objects/${datasetId}/beacon`, { granularity });
  const fileId = await newFile('calls.vcf', beaconVcf);
  return {
    ...serverFixture,
    stranger: await server.user('stranger', { domain: 'other' }),
    bob: await server.user('bob'),
    anybody: clientFor(server.url, ann.user, ''),
    setGranularity,
    async fetchFirstRecordId(datasetId) {
      const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1 });
      const [{ _id: id }] = json['results'] as [{ _id: string }];
      return id;
    },
    async newBeacon(granularity, { records, ...more } = {}) {
      const dataset_id = await newDataset(more);
      const source = records === undefined ? { object_id: fileId } : { records };
      const fields = target_fields.filter(({ name }) => records === undefined ? name !== 'gene' : name in (records[0] ?? {})); // prettier-ignore
      const createdImport = await ann.post('/v2/dataset_imports', { dataset_id, ...source, target_fields: fields }); // prettier-ignore
      const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
      if (json['status'] !== 'completed') throw new Error(String(json['error_message']));
      if (granularity !== undefined) await setGranularity(dataset_id, granularity);
      return dataset_id;
    },
  };
}
