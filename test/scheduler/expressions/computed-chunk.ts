import type { JsonObject } from '../../../engine/core/types.js';
import { BatchBuilder } from '../../../engine/ingest/batch.js';
import { FindingCollector } from '../../../engine/ingest/findings.js';
import { readerNamed } from '../../../readers/index.js';
import {
  computeFields,
  lenientReportRules,
  type ComputationInput,
  type ComputedBatch,
} from '../../../scheduler/expressions/columns/compute-fields.js';

/** The user and the time of an evaluation, and empty expressions, which change no records. */
export const evaluationOrigin = {
  preExpression: '',
  postExpression: '',
  user: { name: '', email: '' },
  now: 0,
};

/** Returns a chunk of JSON records, one per line; the caller releases the builder. */
export function parseChunk(lines: readonly string[]): BatchBuilder {
  const reader = readerNamed('json');
  const out = new BatchBuilder();
  const givenColumns = { columns: [], isFinal: true, hints: [] };
  const report = new FindingCollector(lenientReportRules, true);
  reader.read(Buffer.from(`${lines.join('\n')}\n`), { columns: [] }, reader.params({}), out, report, givenColumns); // prettier-ignore
  return out;
}

/** Computes the fields of a chunk; `declaredNames` are the fields that are None where a record lacks them. */
export function computeTestChunk(
  batch: ComputationInput['batch'],
  fields: readonly JsonObject[],
  declaredNames: readonly string[],
  more: Partial<ComputationInput> &
    Pick<ComputationInput['expressions'], 'needingInput'> & { readonly data?: string } = {},
): ComputedBatch {
  const { data = '{}', needingInput = [], ...input } = more;
  return computeFields({
    batch,
    expressions: {
      fields,
      needingInput,
      data,
      includeErrors: true,
      declared: declaredNames,
      targetDatasetId: '7',
      sourceFilename: null,
      ...evaluationOrigin,
    },
    columns: [],
    inputs: batch.columns,
    host: {},
    isLenient: false,
    lineOf: (row) => row + 1,
    ...input,
  });
}
