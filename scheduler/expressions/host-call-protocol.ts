import type { AnnotationField } from '../../engine/expression/annotate/annotation-fields.js';
import type { CastType } from '../../engine/expression/annotate/cast-result.js';
import type { DatasetField } from '../../engine/core/dataset-field.js';
import type { PackedStrings } from '../../engine/core/packed-strings.js';
import type { CallChannelEnd } from '../../engine/core/blocking-calls.js';
import type { AnnotatedColumns } from './columns/annotated-batch.js';
import type { EvaluationContext } from './columns/field-expressions.js';

/** A call of a host function by an expression, in the form that the thread sends. */
export interface HostCall {
  readonly name: string;
  /** The JSON text of a list: the arguments in the order of the declaration, null where not given. */
  readonly args: string;
}

/** The value that a function of the host returns. JSON does not distinguish 1.0 from 1, so `floats` names the values that are floats. */
export interface HostCallResult {
  readonly json: string;
  /** The paths of the values that are floats, through lists of any depth; `[]` is the value itself. */
  readonly floats: readonly (readonly string[])[];
}

/** The functions whose calls a batch may contain. */
export const batchFunctions = ['dataset_query', 'dataset_field_values', 'dataset_count'] as const;

/** A function whose calls a batch may contain. */
export type BatchFunction = (typeof batchFunctions)[number];

/** Calls that expressions are about to make, each as `callText` writes it. A few queries may answer all of them. */
export interface HostBatch {
  readonly batch: PackedStrings;
  /** The template of all calls; if present, `batch` holds only the JSON text of the string in which each call differs. */
  readonly template?: CallTemplate;
}

/**
 * What calls have in common that differ in one string only: the text before and after the string. A call is `before`, the JSON text of its
 * string, and `after`.
 */
export interface CallTemplate {
  readonly before: string;
  readonly after: string;
}

/** Returns the texts of calls that share a template, given the JSON texts of the strings in which they differ. */
export function callTextsOfTemplate(
  { before, after }: CallTemplate,
  texts: readonly string[],
): string[] {
  return texts.map((text) => before + text + after);
}

/** Returns a call as one text, equal for calls of the same function with the same arguments. */
export function callText({ name, args }: HostCall): string {
  return name + args;
}

/** Parses the text of a call. */
export function callOfText(text: string): HostCall {
  const end = text.indexOf('[');
  return { name: text.slice(0, end), args: text.slice(end) };
}

/** A request of a thread that evaluates expressions: a call or a batch of calls, which the API process answers. */
export type HostRequest = HostCall | HostBatch;

/** The answers to the calls of a batch, each equal to the answer to the call made alone; null for a call that must be made alone. */
export type BatchAnswers = readonly (HostCallResult | null)[];

/** `BatchAnswers` as plain data that can be sent to another thread quickly. */
export interface PackedAnswers {
  /** The JSON texts of the answers; empty for null. */
  readonly texts: PackedStrings;
  /** The distinct `floats` of the answers; `floatsOf` has the index of each answer's `floats` here, and any number for a missing answer. */
  readonly floats: readonly HostCallResult['floats'][];
  readonly floatsOf: Uint32Array;
}

/** The answer to a call or a batch. */
export type HostReply = HostCallResult | PackedAnswers;

/** The channel through which a thread has calls answered. */
export interface HostCallChannel extends CallChannelEnd {
  /** Identifies an attempt at a job: within it, a thread keeps the answers to calls from one part to the next. Absent for a request. */
  readonly scope?: string;
}

/** The properties of every request to evaluate expressions. */
interface ExpressionTask extends EvaluationContext {
  /** The JSON text of the request; unlike a parsed body, it distinguishes floats from ints. */
  readonly body: string;
}

/** A request to evaluate one expression, whose variables are in `data` or `fields` of the body. */
interface EvaluateTask extends ExpressionTask {
  readonly expression: string;
  readonly dataType: CastType;
  readonly isList: boolean | null;
}

/**
 * A target field of a request. `expression` is null if the field has none, and for a constant, whose value `body` has in full precision.
 */
export type RequestedField = Omit<AnnotationField, 'expression'> & {
  readonly expression: string | null;
  readonly isConstant: boolean;
};

/** A request to compute fields of the records in the body. */
export interface ComputeFieldsRequest extends ExpressionTask {
  readonly fields: readonly RequestedField[];
  readonly includeErrors: boolean;
  readonly preExpression: string;
  readonly postExpression: string;
}

/** A request to compute fields of the records of a page of a query. `body` has the constants and `data`. */
export interface PageTask extends ComputeFieldsRequest {
  /** The list of the records as JSON text, as the query returns it. */
  readonly records: string;
  /** The separator between the records in the answer. */
  readonly separator: ',' | '\n';
  readonly sourceDataset: string;
  /** The paths of the fields of the dataset. */
  readonly schema: readonly (readonly string[])[];
  /** The paths of the fields whose numbers are floats. */
  readonly floats: readonly (readonly string[])[];
  /** Paths of fields that only the expressions need; the answer leaves them out. */
  readonly dropped: readonly (readonly string[])[];
}

/** A request like `PageTask` whose answer is in a format that has columns. */
export interface PageTableTask extends Omit<PageTask, 'separator'> {
  readonly format: 'arrow' | 'csv';
  readonly columns: AnnotatedColumns;
  readonly titles: readonly Pick<DatasetField, 'path' | 'title'>[];
  /** Absolute path of a temporary file for the records while they are encoded. The caller removes it. */
  readonly file: string;
}

/** The tasks that a thread for expressions can run, by name. */
export interface ExpressionRequests {
  readonly evaluate: EvaluateTask;
  readonly annotate: ComputeFieldsRequest;
  readonly page: PageTask;
  readonly pageTable: PageTableTask;
}

/** The answer of a task: for `pageTable` the bytes of the table, for `page` the joined JSON texts of its records, else a JSON text. */
export type ExpressionResult<K extends keyof ExpressionRequests> = K extends 'pageTable'
  ? Uint8Array
  : string;

/** A task as the thread gets it, with the channel for its calls. */
export type ThreadRequest<K extends keyof ExpressionRequests> = ExpressionRequests[K] & {
  readonly calls: HostCallChannel;
};
