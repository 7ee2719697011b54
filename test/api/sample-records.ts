/** Returns records with values of several types; some records lack some values. */
export function makeSampleRecords<G>(count: number, genes: readonly G[]) {
  return Array.from({ length: count }, (_, i) => ({
    i,
    gene: genes[(i * 7) % genes.length],
    ad: i % 11 === 0 ? [] : [i % 13, (i * 5) % 9],
    vaf: i % 6 === 0 ? null : i / 8,
    seen: `20${10 + (i % 12)}-0${1 + (i % 9)}-11`,
    info: { af: i / 4, ...(i % 5 === 0 && { csq: ['stop', 'gain'] }) },
  }));
}

/** Fields to compute from the sample records: numbers, one of which depends on another, a list, a date and an object. */
export const sampleComputedFields = [
  { name: 'depth', expression: 'sum(record.ad)', data_type: 'integer' },
  {
    name: 'ratio',
    expression: 'record.ad[0] / record.depth',
    data_type: 'double',
    depends_on: ['depth'],
  },
  {
    name: 'tags',
    expression: "[record.gene, 'x' + str(record.i % 3)]",
    data_type: 'string',
    is_list: true,
  },
  { name: 'day', expression: 'record.seen', data_type: 'date' },
  { name: 'parts', expression: "{'rest': record.i % 4, 'csq': get(record, 'info.csq')}" },
] as const;
