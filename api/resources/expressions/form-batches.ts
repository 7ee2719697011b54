import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { textAt, unpackTexts, type PackedTexts } from '../../../engine/core/packed-texts.js';
import { packAnswers } from '../../../scheduler/expressions/packed.js';
import {
  callOfText,
  textsOfForm,
  type CallForm,
  type PackedAnswers,
} from '../../../scheduler/expressions/protocol.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import { answerHostBatch, unlessRefused } from './call-batches.js';
import { joinedPredicate, type CallSelection } from './call-keys.js';
import type { FunctionScope } from './function-scope.js';
import { isFloat, numberOf } from './function-values.js';
import { groupedFunctions, mostLength, mostRows, rowsFor } from './grouped-functions.js';
import { keptLookups } from './kept-lookups.js';
import { LookupTable, type LookupFields } from './lookup-table.js';
import { openDataset, type OpenedDataset } from './opened-dataset.js';
import { SelectionTemplate } from './selection-template.js';

/**
 * Answers calls that differ in one text alone. Where that is the value of an equality by which `dataset_field_values` selects records, one call
 * is parsed for all, and records become answers without being parsed. All others are answered as texts.
 */
export async function answerFormBatch(
  scope: FunctionScope,
  form: CallForm,
  batch: PackedTexts,
): Promise<PackedAnswers> {
  const answers = await unlessRefused(async () => {
    const lookup = await lookupOf(scope, form, batch);
    return lookup && lookedUp(scope, lookup, batch);
  });
  if (answers !== null) return answers;
  return packAnswers(await answerHostBatch(scope, textsOfForm(form, unpackTexts(batch))));
}

/** Calls of `dataset_field_values` whose texts are the values of one equality. */
interface FieldLookup {
  readonly opened: OpenedDataset;
  readonly request: QueryRequest;
  readonly selection: CallSelection;
  /** The number of the key of the equality. */
  readonly key: number;
  readonly fields: LookupFields;
  readonly isFloat: boolean;
}

async function lookupOf(
  scope: FunctionScope,
  { before, after }: CallForm,
  batch: PackedTexts,
): Promise<FieldLookup | null> {
  const { name, args: begin } = callOfText(before);
  if (name !== 'dataset_field_values' || batch.offsets.length < 3) return null;
  const literals = [textAt(batch, 0), textAt(batch, 1)];
  const [args, others] = literals.map((one) => parseJson(begin + one + after)) as [unknown[], unknown[]]; // prettier-ignore
  const { request: parse, selects } = groupedFunctions[name];
  const openedDataset = await openDataset(scope, args[0]);
  const request = await parse(openedDataset, args);
  if (request.scores.length > 0) return null;
  const [entities, filters] = selects.map((at) => args[at]);
  const template = SelectionTemplate.of(entities, filters, request.predicate);
  const selection = template?.selection(entities, filters);
  const otherSelection = template?.selection(others[selects[0]!], others[selects[1]!]);
  if (!selection || !otherSelection) return null;
  const valueOf = ({ keys }: CallSelection, i: number): unknown => keys[i]![0]!.values[0];
  const key = selection.keys.findIndex(
    (_, i) => valueOf(selection, i) !== valueOf(otherSelection, i),
  );
  const equality = selection.keys[key]?.[0];
  // Some equalities compare a converted form of the text, which cannot be looked up by the text.
  if (equality === undefined || equality.values[0] !== parseJson(literals[0]!)) return null;
  const field = openedDataset.field(args[1]);
  const maxValues = numberOf('limit', args[2], 10);
  if (maxValues === 0) return null;
  const fields = {
    key: equality.field.path,
    value: field.path,
    most: maxValues,
    ignoresCase: equality.ignoreCase,
  };
  return { opened: openedDataset, request, selection, key, fields, isFloat: isFloat(field) };
}

/**
 * A table is read as a whole if it has at most this many times as many records as texts to look up: a lookup takes longer than reading one record.
 */
const rowsPerText = 8;

/** The answers, from the records that the texts find, or from all records where many are asked for; null if there are too many. */
async function lookedUp(
  scope: FunctionScope,
  lookup: FieldLookup,
  batch: PackedTexts,
): Promise<PackedAnswers | null> {
  const { opened, selection, key, fields } = lookup;
  const texts = batch.offsets.length - 1;
  const otherKeys = selection.keys.filter((_, i) => i !== key);
  const restOfSelection = { ...selection, keys: otherKeys };
  const keptLookup = keptLookups(scope.signal).lookup(
    stringifyJson([opened.version, fields, restOfSelection]),
  );
  keptLookup.asked += texts;
  const readsAll = opened.rows <= Math.min(mostRows, rowsPerText * keptLookup.asked);
  const wholeTable = readsAll
    ? await keptLookup.table(() => tableOf(lookup, restOfSelection, mostRows))
    : null;
  const table = wholeTable ?? (await tableOf(lookup, selectionOf(lookup, batch), rowsFor(texts)));
  if (table === null) return null;
  return {
    texts: table.answers(batch),
    floats: [lookup.isFloat ? [[]] : []],
    floatsOf: new Uint32Array(texts),
  };
}

/** The selection of the records that contain one of the texts in the key field. */
function selectionOf({ selection, key }: FieldLookup, batch: PackedTexts): CallSelection {
  const values = parseJson(`[${unpackTexts(batch).join(',')}]`) as readonly string[];
  const equality = { ...selection.keys[key]![0]!, values };
  return { ...selection, keys: selection.keys.map((one, i) => (i === key ? [equality] : one)) };
}

/** The table of the records of a selection; null if they are more than `limit`, or take too much. */
async function tableOf(
  { opened, request, fields }: FieldLookup,
  selection: CallSelection,
  limit: number,
): Promise<LookupTable | null> {
  const joinedRequest = { ...request, predicate: joinedPredicate([selection]), limit };
  const lines = await opened.lines(joinedRequest, [fields.key, fields.value], mostLength);
  return lines && new LookupTable(lines, fields);
}
