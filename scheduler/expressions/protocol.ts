import type { AnnotationField } from '../../engine/expression/annotate/fields.js';
import type { CastType } from '../../engine/expression/annotate/cast.js';
import type { DatasetField } from '../../engine/core/dataset-field.js';
import type { PackedTexts } from '../../engine/core/packed-texts.js';
import type { Columns } from '../../engine/core/types.js';
import type { Projected } from '../../engine/query/results/projection.js';
import type { CallEnd } from '../../engine/core/blocking-calls.js';

/** A function of the host that an expression calls, as the thread sends it. */
export interface HostCall {
  readonly name: string;
  /** The JSON text of a list: the arguments in the order of the declaration, null where not given. */
  readonly args: string;
}

/** The value that a function of the host returns. JSON does not tell 1.0 from 1, so the floats are named. */
export interface HostAnswer {
  /** The answer as JSON text. */
  readonly json: string;
  /** The paths of the values that are floats, through lists of any depth; `[]` is the value itself. */
  readonly floats: readonly (readonly string[])[];
}

/** The functions of which a batch may have calls. */
export const batchFunctions = ['dataset_query', 'dataset_field_values', 'dataset_count'] as const;

/** A function of which a batch may have calls. */
export type BatchFunction = (typeof batchFunctions)[number];

/** Calls that expressions are about to make, which few queries may answer together, each as `callText` writes it. */
export interface HostBatch {
  readonly batch: PackedTexts;
  /** The common form of all calls, if the texts are those of one argument. */
  readonly form?: CallForm;
}

/** The text of similar calls before and behind an argument, or a part of one, that is a text: `callText` with its JSON text in between. */
export interface CallForm {
  readonly before: string;
  readonly after: string;
}

/** The texts of similar calls, from the JSON texts of what they differ in. */
export function textsOfForm({ before, after }: CallForm, texts: readonly string[]): string[] {
  return texts.map((text) => before + text + after);
}

/** A call as one text, equal for calls of the same function with the same arguments. */
export function callText({ name, args }: HostCall): string {
  return name + args;
}

/** Parses the text of a call. */
export function callOfText(text: string): HostCall {
  const end = text.indexOf('[');
  return { name: text.slice(0, end), args: text.slice(end) };
}

/** A request of a thread to the host. */
export type HostRequest = HostCall | HostBatch;

/** The answers to the calls of a batch, each the same as that to the call alone; null for calls that have to be made alone. */
export type BatchAnswers = readonly (HostAnswer | null)[];

/** `BatchAnswers` as plain data that is quickly sent. */
export interface PackedAnswers {
  /** The JSON texts; empty ones for null. */
  readonly texts: PackedTexts;
  /** The distinct `floats` of the answers, and for each answer their number. */
  readonly floats: readonly HostAnswer['floats'][];
  readonly floatsOf: Uint32Array;
}

/** The answer to a call or a batch. */
export type HostReply = HostAnswer | PackedAnswers;

/** The channel through which a thread calls the host. */
export interface HostCalls extends CallEnd {
  /** The attempt at a job, in which equal calls have equal answers; absent for a request. */
  readonly scope?: string;
}

/** The user who evaluates expressions, and the time. */
export interface EvaluationOrigin {
  /** The result of `user()`. */
  readonly user: { readonly name: string; readonly email: string };
  /** The time of `now()` and `today()`, in milliseconds since 1970. */
  readonly now: number;
}

/** The properties of every request to evaluate expressions. */
interface ExpressionTask extends EvaluationOrigin {
  /** The JSON text of the request; unlike a parsed body, it distinguishes floats from ints. */
  readonly body: string;
}

/** Evaluates an expression, whose variables are `data` or `fields` of the body. */
export interface EvaluateTask extends ExpressionTask {
  readonly expression: string;
  readonly dataType: CastType;
  readonly isList: boolean | null;
}

/** A field of a request. Its expression is in the body if it is a constant. */
export type RequestedField = Omit<AnnotationField, 'expression'> & {
  readonly expression: string | null;
  readonly isConstant: boolean;
};

/** The records of the body and the fields to compute. */
export interface AnnotateTask extends ExpressionTask {
  readonly fields: readonly RequestedField[];
  readonly includeErrors: boolean;
  readonly preExpression: string;
  readonly postExpression: string;
}

/** The records of a page of a query and the fields to compute. `body` has the constants and `data`. */
export interface PageTask extends AnnotateTask {
  /** The list of the records as JSON text, as the query returns it. */
  readonly records: string;
  /** The separator between records of the answer. */
  readonly separator: ',' | '\n';
  readonly sourceDataset: string;
  /** The paths of the fields of the dataset. */
  readonly schema: readonly (readonly string[])[];
  /** The fields whose numbers are floats. */
  readonly floats: readonly (readonly string[])[];
  /** Paths that only expressions need, and that the answer does not have. */
  readonly dropped: readonly (readonly string[])[];
}

/** The columns of the records that expressions make, as far as they are known: plain data. */
export interface AnnotatedColumns {
  /** The columns of stored fields, which no expression changes. */
  readonly stored: Columns;
  /** The read columns, and the computed ones with declared types. */
  readonly known: Columns;
  /** Columns with suggested types for the values. */
  readonly hints: Columns;
  /** The columns that every record has, in their order; null where expressions make the records. */
  readonly fixed: readonly Projected[] | null;
}

/** The records of a page in a format that has columns. */
export interface PageTableTask extends Omit<PageTask, 'separator'> {
  readonly format: 'arrow' | 'csv';
  readonly columns: AnnotatedColumns;
  /** The titles of the fields of the dataset. */
  readonly titles: readonly Pick<DatasetField, 'path' | 'title'>[];
  /** Absolute path of a file for the records while they become text, which the caller removes. */
  readonly file: string;
}

/** The tasks of a thread. */
export interface ExpressionTasks {
  readonly evaluate: EvaluateTask;
  readonly annotate: AnnotateTask;
  readonly page: PageTask;
  readonly pageTable: PageTableTask;
}

/** The answer of a task: JSON text, or the bytes of a page. */
export type ExpressionResult<K extends keyof ExpressionTasks> = K extends 'pageTable'
  ? Uint8Array
  : string;

/** A task as the thread gets it, with the channel through which it calls the host. */
export type ThreadTask<K extends keyof ExpressionTasks> = ExpressionTasks[K] & {
  readonly calls: HostCalls;
};
