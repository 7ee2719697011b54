import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import {
  stringAt,
  unpackStrings,
  type PackedStrings,
} from '../../../engine/core/packed-strings.js';
import { packAnswers } from '../../../scheduler/expressions/packed-answers.js';
import {
  callOfText,
  callTextsOfTemplate,
  type CallTemplate,
  type PackedAnswers,
} from '../../../scheduler/expressions/host-call-protocol.js';
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import { answerHostBatch, nullOnAppError } from './call-batches.js';
import { joinedPredicate, type CallSelection } from './call-keys.js';
import type { FunctionScope } from './function-scope.js';
import { isFloat, limitArgument } from './function-values.js';
import {
  groupedFunctions,
  maxGroupJsonLength,
  maxGroupRows,
  rowLimitFor,
} from './grouped-functions.js';
import { lookupCacheOf } from './lookup-cache.js';
import { LookupTable, type LookupFields } from './lookup-table.js';
import { openDataset, type OpenedDataset } from './opened-dataset.js';
import { SelectionTemplate } from './selection-template.js';

/**
 * Answers calls that share a template; `batch` has, as JSON, the argument of each call in which they differ. If possible, these arguments
 * are looked up in a table of records of the dataset (`lookUpTexts`); otherwise each call is parsed, and the calls are answered like any
 * other batch (`answerHostBatch`).
 */
export async function answerTemplateBatch(
  scope: FunctionScope,
  template: CallTemplate,
  batch: PackedStrings,
): Promise<PackedAnswers> {
  const answers = await nullOnAppError(async () => {
    const lookup = await readFieldLookup(scope, template, batch);
    return lookup && lookUpTexts(scope, lookup, batch);
  });
  if (answers !== null) return answers;
  return packAnswers(
    await answerHostBatch(scope, callTextsOfTemplate(template, unpackStrings(batch))),
  );
}

/** Calls of `dataset_field_values` that differ only in the text that one equality compares. */
interface FieldLookup {
  readonly openedDataset: OpenedDataset;
  readonly request: QueryRequest;
  readonly selection: CallSelection;
  /** The index of the key that contains the equality. */
  readonly keyIndex: number;
  readonly fields: LookupFields;
  readonly isFloat: boolean;
}

async function readFieldLookup(
  scope: FunctionScope,
  { before, after }: CallTemplate,
  batch: PackedStrings,
): Promise<FieldLookup | null> {
  const { name, args: argsStart } = callOfText(before);
  if (name !== 'dataset_field_values' || batch.offsets.length < 3) return null;
  const firstLiterals = [stringAt(batch, 0), stringAt(batch, 1)];
  const [args, otherArgs] = firstLiterals.map((one) => parseJson(argsStart + one + after)) as [unknown[], unknown[]]; // prettier-ignore
  const { parseCall, selectorPositions } = groupedFunctions[name];
  const openedDataset = await openDataset(scope, args[0]);
  const request = await parseCall(openedDataset, args);
  if (request.scoreClauses.length > 0) return null;
  const [entities, filters] = selectorPositions.map((at) => args[at]);
  const template = SelectionTemplate.ofCall(entities, filters, request.predicate);
  const selection = template?.selection(entities, filters);
  const otherSelection = template?.selection(
    otherArgs[selectorPositions[0]!],
    otherArgs[selectorPositions[1]!],
  );
  if (!selection || !otherSelection) return null;
  const valueOf = ({ keys }: CallSelection, i: number): unknown => keys[i]![0]!.values[0];
  const keyIndex = selection.keys.findIndex(
    (_, i) => valueOf(selection, i) !== valueOf(otherSelection, i),
  );
  const equality = selection.keys[keyIndex]?.[0];
  // Some equalities compare a converted form of the text, so that the text itself cannot be looked up.
  if (equality === undefined || equality.values[0] !== parseJson(firstLiterals[0]!)) return null;
  const field = openedDataset.requireField(args[1]);
  const maxValues = limitArgument('limit', args[2], 10);
  if (maxValues === 0) return null;
  const fields = {
    key: equality.field.path,
    value: field.path,
    maxValues,
    ignoresCase: equality.ignoreCase,
  };
  return { openedDataset, request, selection, keyIndex, fields, isFloat: isFloat(field) };
}

/**
 * A whole dataset is read into a lookup table if it has at most this many records per text that has been looked up so far: looking up a
 * text takes about as long as reading this many records.
 */
const maxRowsPerText = 8;

/**
 * Returns the answers from a table of the records that contain the texts or, if many texts are looked up, of all records that satisfy the
 * other conditions; null if there are too many records or their JSON is too long.
 */
async function lookUpTexts(
  scope: FunctionScope,
  lookup: FieldLookup,
  batch: PackedStrings,
): Promise<PackedAnswers | null> {
  const { openedDataset, selection, keyIndex, fields } = lookup;
  const textCount = batch.offsets.length - 1;
  const otherKeys = selection.keys.filter((_, i) => i !== keyIndex);
  const restOfSelection = { ...selection, keys: otherKeys };
  const cachedLookup = lookupCacheOf(scope.signal).findOrCreate(
    stringifyJson([openedDataset.datasetAndVersion, fields, restOfSelection]),
  );
  cachedLookup.lookedUpTextCount += textCount;
  const readsAll =
    openedDataset.rowCount <=
    Math.min(maxGroupRows, maxRowsPerText * cachedLookup.lookedUpTextCount);
  const wholeTable = readsAll
    ? await cachedLookup.loadTable(() => readLookupTable(lookup, restOfSelection, maxGroupRows))
    : null;
  const table =
    wholeTable ??
    (await readLookupTable(lookup, selectionOf(lookup, batch), rowLimitFor(textCount)));
  if (table === null) return null;
  return {
    texts: table.valueLists(batch),
    floats: [lookup.isFloat ? [[]] : []],
    floatsOf: new Uint32Array(textCount),
  };
}

/** Returns the selection with the condition that the key field equals any text of the batch; its other conditions stay. */
function selectionOf({ selection, keyIndex }: FieldLookup, batch: PackedStrings): CallSelection {
  const values = parseJson(`[${unpackStrings(batch).join(',')}]`) as readonly string[];
  const equality = { ...selection.keys[keyIndex]![0]!, values };
  return {
    ...selection,
    keys: selection.keys.map((one, i) => (i === keyIndex ? [equality] : one)),
  };
}

/** Returns a lookup table of the records of a selection; null if there are more than `limit` records or their JSON is too long. */
async function readLookupTable(
  { openedDataset, request, fields }: FieldLookup,
  selection: CallSelection,
  limit: number,
): Promise<LookupTable | null> {
  const joinedRequest = { ...request, predicate: joinedPredicate([selection]), limit };
  const lines = await openedDataset.recordLines(
    joinedRequest,
    [fields.key, fields.value],
    maxGroupJsonLength,
  );
  return lines && new LookupTable(lines, fields);
}
