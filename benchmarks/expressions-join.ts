import { version as duckdbVersion } from '@duckdb/node-api';
import { generateFile } from './generate.js';
import { nodeProgram } from './peers/peer.js';
import { seededRandom } from './random.js';
import type { BenchServer } from './server.js';
import { type Line, median } from './table.js';

const seed = 20_261_125;
/** Records of the dataset that the expression reads. */
const knownRecords = 100_000;
const runs = 3;

/** An import whose expression looks up a value of another dataset for each record, compared with the same join of DuckDB. */
export async function joinLine(server: BenchServer, records: number): Promise<Line> {
  const name = `join-${records}-${seed}`;
  const keys = await generateFile(`${name}.csv`, () => keyLines(records));
  const values = await generateFile(`${name}-values.csv`, valueLines);
  const datasetId = await server.newDataset('values');
  await server.import(datasetId, await server.upload(values), knownRecords);
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
  const objectId = await server.upload(keys);
  const peer = nodeProgram('DuckDB', duckdbVersion(), './join-to-parquet.js', 'join.parquet');
  const secondsBySide: Record<'ours' | 'theirs', number[]> = { ours: [], theirs: [] };
  for (let run = 0; run < runs; run++) {
    await server.idle();
    const joinedDataset = await server.newDataset(`joined-${run}`);
    secondsBySide.ours.push(
      await server.import(joinedDataset, objectId, records, undefined, expressionParams),
    );
    await checkJoined(server, joinedDataset);
    await server.call('DELETE', `/v2/objects/${joinedDataset}`);
    await server.idle();
    secondsBySide.theirs.push(await peer.run(keys, records));
  }
  const [ours, theirs] = [median(secondsBySide.ours), median(secondsBySide.theirs)];
  return {
    question: `import of ${records.toLocaleString('en-US')} records, each with a value of a dataset of ${knownRecords.toLocaleString('en-US')}`,
    ours: `${ours.toFixed(2)} s`,
    peer: `DuckDB ${theirs.toFixed(2)} s`,
    ratio: ours / theirs,
    limit: 2,
  };
}

/** Throws unless the first records have the values of their keys. */
async function checkJoined(server: BenchServer, datasetId: number): Promise<void> {
  const { results } = await server.call('POST', `/v2/datasets/${datasetId}/data`, { limit: 1000 });
  for (const { key, name = null } of results)
    if (name !== nameOf(Number(String(key).slice(1))))
      throw new Error(`the record of ${String(key)} has ${String(name)}`);
}

/** A tenth of the records has a key that the other dataset lacks. */
function* keyLines(records: number): Generator<string> {
  const random = seededRandom(seed);
  yield 'id,key,score\n';
  for (let i = 0; i < records; i++)
    yield `${i},K${random.below((knownRecords / 9) * 10)},${random.next().toFixed(4)}\n`;
}

function* valueLines(): Generator<string> {
  yield 'key,name\n';
  for (let i = 0; i < knownRecords; i++) yield `K${i},${nameOf(i)}\n`;
}

function nameOf(number: number): string | null {
  return number < knownRecords ? `name of ${(number * 7919) % 1_000_003}` : null;
}
