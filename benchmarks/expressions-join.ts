import { version as duckdbVersion } from '@duckdb/node-api';
import { generateFile } from './generate.js';
import { nodeProgram } from './peers/peer.js';
import { seededRandom } from './random.js';
import type { BenchServer } from './server.js';
import { type ResultLine, median } from './table.js';

const seed = 20_261_125;
/** Number of records of the dataset in which the expression looks up values. */
const joinedRecords = 100_000;
const runsPerMeasurement = 3;

/** Measures an import whose expression looks up a value of another dataset for each record, compared with the same join in DuckDB. */
export async function measureJoin(server: BenchServer, records: number): Promise<ResultLine> {
  const name = `join-${records}-${seed}`;
  const keysFile = await generateFile(`${name}.csv`, () => keyCsvLines(records));
  const valuesFile = await generateFile(`${name}-values.csv`, valueCsvLines);
  const datasetId = await server.createDataset('values');
  await server.import(datasetId, await server.upload(valuesFile), joinedRecords);
  const field = {
    name: 'name',
    data_type: 'string',
    is_list: false,
    expression:
      "dataset_field_values(values, 'name', limit=1, filters=[('key__exact', record.key)])",
  };
  const expressionParams = {
    target_fields: [field],
    annotator_params: { data: { values: datasetId } },
  };
  const objectId = await server.upload(keysFile);
  const peer = nodeProgram('DuckDB', duckdbVersion(), './join-to-parquet.js', 'join.parquet');
  const secondsBySide: Record<'ours' | 'theirs', number[]> = { ours: [], theirs: [] };
  for (let run = 0; run < runsPerMeasurement; run++) {
    await server.waitUntilIdle();
    const joinedDatasetId = await server.createDataset(`joined-${run}`);
    secondsBySide.ours.push(
      await server.import(joinedDatasetId, objectId, records, undefined, expressionParams),
    );
    await checkJoinedNames(server, joinedDatasetId);
    await server.call('DELETE', `/v2/objects/${joinedDatasetId}`);
    await server.waitUntilIdle();
    secondsBySide.theirs.push(await peer.run(keysFile, records));
  }
  const [ours, theirs] = [median(secondsBySide.ours), median(secondsBySide.theirs)];
  return {
    measurement: `import of ${records.toLocaleString('en-US')} records, each with a value of a dataset of ${joinedRecords.toLocaleString('en-US')}`,
    ours: `${ours.toFixed(2)} s`,
    peer: `DuckDB ${theirs.toFixed(2)} s`,
    ratio: ours / theirs,
    limit: 2,
  };
}

/** Throws unless the first records have the values that belong to their keys. */
async function checkJoinedNames(server: BenchServer, datasetId: number): Promise<void> {
  const { results } = await server.call('POST', `/v2/datasets/${datasetId}/data`, { limit: 1000 });
  for (const { key, name = null } of results)
    if (name !== nameOfKey(Number(String(key).slice(1))))
      throw new Error(`the record of ${String(key)} has ${String(name)}`);
}

/** Yields a CSV file of keys, a tenth of which do not occur in the dataset in which the expression looks them up. */
function* keyCsvLines(records: number): Generator<string> {
  const random = seededRandom(seed);
  yield 'id,key,score\n';
  for (let i = 0; i < records; i++)
    yield `${i},K${random.below((joinedRecords / 9) * 10)},${random.next().toFixed(4)}\n`;
}

function* valueCsvLines(): Generator<string> {
  yield 'key,name\n';
  for (let i = 0; i < joinedRecords; i++) yield `K${i},${nameOfKey(i)}\n`;
}

function nameOfKey(number: number): string | null {
  return number < joinedRecords ? `name of ${(number * 7919) % 1_000_003}` : null;
}
