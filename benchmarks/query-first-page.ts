import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openConnections } from './connections.js';
import type { QueryAnswer } from './benchmark-queries.js';
import { type BenchServer, startServer } from './server.js';
import { type ResultLine, median } from './table.js';

const startCount = 3;
const maxFirstPageMs = 100;

/** Measures the first page of the bundled dataset: the first query to a server that has just started. */
export async function measureFirstPage(): Promise<ResultLine> {
  const data = mkdtempSync(join(tmpdir(), 'strandlake-bench-'));
  try {
    const datasetId = await importExample(data);
    const pageTimes: number[] = [];
    let total = 0;
    for (let start = 0; start < startCount; start++) {
      const server = await startServer({ data });
      const connections = openConnections(server.origin, server.token, 1);
      try {
        const from = performance.now();
        const { status, text } = await connections.post(`/v2/datasets/${datasetId}/data`, '{}');
        pageTimes.push(performance.now() - from);
        if (status !== 200) throw new Error(`first page: ${status} ${text.slice(0, 500)}`);
        const answer = JSON.parse(text) as QueryAnswer;
        if (answer.results.length !== 100) throw new Error('the first page is incomplete');
        total = answer.total;
      } finally {
        connections.close();
        await server.stop();
      }
    }
    const ms = median(pageTimes);
    return {
      measurement: `first page of the bundled ClinVar after a start, ${total.toLocaleString('en-US')} records`,
      ours: `${ms.toFixed(1)} ms`,
      peer: `allowed ${maxFirstPageMs} ms`,
      ratio: ms / maxFirstPageMs,
      limit: 1,
    };
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

/** Starts a server on a new data folder, which imports the bundled example as `npm start` does; returns the id of the dataset. */
async function importExample(data: string): Promise<number> {
  const server = await startServer({ data, examples: true });
  try {
    const vaultId = await waitForImportedVault(server);
    await server.waitUntilIdle();
    const objects = await server.call('GET', `/v2/objects?vault_id=${vaultId}&object_type=dataset`);
    const [dataset] = objects.data;
    if (dataset === undefined) throw new Error('the bundled example is not there');
    return dataset.id;
  } finally {
    await server.stop();
  }
}

/** Returns the id of the vault of the bundled example, once the metadata of the vault says that the example is imported. */
async function waitForImportedVault(server: BenchServer): Promise<number> {
  for (const from = performance.now(); performance.now() - from < 120_000; await pause(200)) {
    const vaults = await server.call('GET', '/v2/vaults?name=examples');
    const [vault] = vaults.data.filter(({ metadata }) => metadata['example'] === 'imported');
    if (vault !== undefined) return vault.id;
  }
  throw new Error('the bundled example was not imported');
}
