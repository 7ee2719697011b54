/** Returns three curl commands for the bundled ClinVar dataset: a filtered query, a facet and an export. */
export async function exampleRequests(
  origin: string,
  token: string,
  datasetId: number,
): Promise<string> {
  // Imported here, because it loads all writers.
  const { defaultFormat, exampleFilename } = await import('../scheduler/jobs/export/format.js');
  const filters = [
    ['info.CLNSIG', 'Pathogenic'],
    ['info.GENEINFO__prefix', 'BRCA2:'],
  ];
  const dataPath = `/v2/datasets/${datasetId}/data`;
  const exportPath = `~/${exampleFilename('brca2')}`;
  const requests = [
    {
      title: 'Pathogenic variants in BRCA2:',
      path: dataPath,
      body: { filters, fields: ['variant', 'info.CLNDN'], limit: 3 },
    },
    {
      title: 'How often each clinical significance occurs:',
      path: dataPath,
      body: { limit: 0, facets: { 'info.CLNSIG': { limit: 5 } } },
    },
    {
      title: `Export the pathogenic ones into your vault, as ${exportPath}:`,
      path: '/v2/dataset_exports',
      body: {
        dataset_id: datasetId,
        format: defaultFormat,
        params: { filters },
        target_full_path: exportPath,
      },
    },
  ];
  return requests
    .map(
      ({ title, path, body }) =>
        `# ${title}\ncurl -s ${origin}${path} -H 'Authorization: Bearer ${token}' \\\n  -H 'Prefer: handling=strict' -d '${JSON.stringify(body)}'`,
    )
    .join('\n\n');
}

/** Returns the origin at which this machine reaches a server that listens on `host`. */
export function localOrigin(host: string, port: number): string {
  const wildcardHosts: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  const name = wildcardHosts[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${name}:${port}`;
}
