import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { packTexts, textAt, unpackTexts, type PackedTexts } from '../../../engine/core/packed-texts.js'; // prettier-ignore
import type { RecordBytes } from '../../../engine/query/results/page-format.js';
import { packAnswers } from '../../../scheduler/expressions/packed.js';
import {
  callOfText,
  textsOfForm,
  type CallForm,
  type PackedAnswers,
} from '../../../scheduler/expressions/protocol.js';
import { ValueTable } from '../../../scheduler/expressions/value-table.js';
import { answerHostBatch, unlessRefused } from './call-batches.js';
import { joinedPredicate, storedAt, type CallSelection } from './call-keys.js';
import type { FunctionScope } from './function-scope.js';
import { isFloat, numberOf, valuesAt } from './function-values.js';
import { groupedFunctions, mostLength, rowsFor } from './grouped-functions.js';
import { openDataset, type OpenedDataset } from './opened-dataset.js';
import { StringPairs } from './string-pairs.js';
import { SelectionTemplate } from './selection-template.js';
import { ValueLists } from './value-lists.js';

/**
 * Answers calls that differ in one text alone. Where that is the value of an equality by which `dataset_field_values` selects records, one call
 * is parsed for all, and records become answers without being parsed. All others are answered as texts.
 */
export async function answerFormBatch(
  scope: FunctionScope,
  form: CallForm,
  batch: PackedTexts,
): Promise<PackedAnswers> {
  const lookup = await unlessRefused(() => lookupOf(scope, form, batch));
  const answers = lookup && (await unlessRefused(() => lookedUp(lookup, batch)));
  if (answers !== null) return answers;
  return packAnswers(await answerHostBatch(scope, textsOfForm(form, unpackTexts(batch))));
}

/** Calls of `dataset_field_values` whose texts are the values of one equality. */
interface FieldLookup {
  readonly opened: OpenedDataset;
  readonly args: readonly unknown[];
  readonly request: Awaited<ReturnType<OpenedDataset['parsed']>>;
  readonly selection: CallSelection;
  /** The number of the key of the equality. */
  readonly key: number;
}

async function lookupOf(
  scope: FunctionScope,
  { before, after }: CallForm,
  batch: PackedTexts,
): Promise<FieldLookup | null> {
  const { name, args: begin } = callOfText(before);
  if (name !== 'dataset_field_values' || batch.offsets.length < 3) return null;
  const literals = [textAt(batch, 0), textAt(batch, 1)];
  const [args, others] = literals.map((one) => parseJson(begin + one + after) as readonly unknown[]); // prettier-ignore
  const { request: parse, selects } = groupedFunctions[name];
  const opened = await openDataset(scope, args![0]);
  const request = await parse(opened, args!);
  if (request.scores.length > 0) return null;
  const [entities, filters] = selects.map((at) => args![at]);
  const template = SelectionTemplate.of(entities, filters, request.predicate);
  const selection = template?.selection(entities, filters);
  const other = template?.selection(...(selects.map((at) => others![at]) as [unknown, unknown]));
  if (!selection || !other) return null;
  const valueOf = ({ keys }: CallSelection, i: number): unknown => keys[i]![0]!.values[0];
  const key = selection.keys.findIndex((_, i) => valueOf(selection, i) !== valueOf(other, i));
  const equality = selection.keys[key]?.[0];
  // Some equalities compare another form of the text than itself.
  if (equality === undefined || equality.ignoreCase || equality.values[0] !== parseJson(literals[0]!)) return null; // prettier-ignore
  return { opened, args: args!, request, selection, key };
}

/** The answers, from the lines of the records that one query finds; null if it finds too many. */
async function lookedUp(
  { opened, args, request, selection, key }: FieldLookup,
  batch: PackedTexts,
): Promise<PackedAnswers | null> {
  const field = opened.field(args[1]);
  const wanted = numberOf('limit', args[2], 10);
  const values = parseJson(`[${unpackTexts(batch).join(',')}]`) as readonly string[];
  const calls = new CallTable(values);
  if (wanted === 0 || !calls.isDistinct) return null;
  const equality = { ...selection.keys[key]![0]!, values };
  const keys = selection.keys.map((one, i) => (i === key ? [equality] : one));
  const predicate = joinedPredicate([{ ...selection, keys }]);
  const asked = { ...request, predicate, limit: rowsFor(values.length) };
  const { path } = equality.field;
  const pieces = await opened.lines(asked, [path, field.path], mostLength);
  if (pieces === null) return null;
  const lists = new ValueLists(values.length, wanted);
  const pairs = path.length + field.path.length === 2 && new StringPairs(path[0]!, field.path[0]!);
  for (const piece of pieces) {
    const bytes = lists.addBytes(piece.bytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let i = 0, from = 0; i < piece.ends.length; from = piece.ends[i++]!) {
      if (pairs && pairs.read(bytes, from)) {
        const [first, last] = [pairs.begins[1]!, pairs.ends[1]!];
        // An empty text is no value.
        if (pairs.ends[0]! > 0 && last - first > 2)
          lists.add(calls.at(view, pairs.begins[0]! + 1, pairs.ends[0]! - 1), first, last);
        continue;
      }
      const record = parseJson(lineOf(piece, i));
      const texts = valuesAt(record, field.path).map((value) => stringifyJson(value));
      const selecting = new Set(storedAt(record, path).map((text) => calls.of(String(text))));
      for (const call of selecting) for (const text of texts) lists.addText(call, text);
    }
  }
  return {
    texts: lists.packed(),
    floats: [isFloat(field) ? [[]] : []],
    floatsOf: new Uint32Array(values.length),
  };
}

function lineOf({ bytes, ends }: RecordBytes, at: number): string {
  const from = at === 0 ? 0 : ends[at - 1]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, ends[at]! - from).toString();
}

/** The numbers of calls by their texts. */
class CallTable {
  readonly isDistinct: boolean;
  readonly #table = new ValueTable();
  readonly #place = new Int32Array(2);
  readonly #calls: number;

  constructor(texts: readonly string[]) {
    const { bytes, offsets } = packTexts(texts);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let i = 0; i < texts.length; i++) this.#table.code(view, offsets, i, i + 1);
    this.#calls = texts.length;
    this.isDistinct = this.#table.size === texts.length;
  }

  /** The number of the call with the text in these bytes; -1 if there is none. */
  at(bytes: DataView, from: number, to: number): number {
    this.#place[0] = from;
    this.#place[1] = to;
    const code = this.#table.code(bytes, this.#place, 0, 1);
    return code > this.#calls ? -1 : code - 1;
  }

  of(text: string): number {
    const bytes = Buffer.from(text);
    return this.at(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length);
  }
}
