import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { Columns, JsonObject } from '../../../engine/core/types.js';
import type { CastType } from '../../../engine/expression/annotate/cast-result.js';
import {
  compileFields,
  type AnnotationField,
  type CompiledField,
} from '../../../engine/expression/annotate/annotation-fields.js';
import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import { PyDict } from '../../../engine/expression/values/python-values.js';

/** The user who evaluates expressions, and the time. */
export interface EvaluationContext {
  /** The result of `user()`. */
  readonly user: { readonly name: string; readonly email: string };
  /** The time of `now()` and `today()`, in milliseconds since 1970. */
  readonly now: number;
}

/** The expressions of an import or a migration: plain data, from which each thread compiles them. */
export interface FieldExpressions extends EvaluationContext {
  /** The fields to compute: fields of the dataset that have an expression, then the target fields that have one, in order. */
  readonly fields: readonly JsonObject[];
  /** The names of those fields that have `AnnotationField.needsInput`; absent for none. */
  readonly needingInput?: readonly string[];
  /**
   * The names of the fields by which the records name stored ones: their values alone are no reason to compute a field in `needingInput`,
   * unless its expression reads no others.
   */
  readonly keyNames?: readonly string[];
  /** Expressions that produce new records from each record, before and after its fields are computed; empty for none. */
  readonly preExpression: string;
  readonly postExpression: string;
  /** `annotator_params.data`, as JSON. */
  readonly data: string;
  /** Whether the errors of a record's expressions are stored with the record. */
  readonly includeErrors: boolean;
  /** The names of the fields of the dataset and of the request; an expression reads None where a record lacks one. */
  readonly declared: readonly string[];
  /** The id of the dataset that stores the fields; null if no dataset does. */
  readonly targetDatasetId: string | null;
}

/** The expressions of an import or a migration for the chunks of one source: plain data. */
export interface SourceExpressions extends FieldExpressions {
  /** The file name of the source; null for inline records and in migrations. */
  readonly sourceFilename: string | null;
  /** The id of the dataset that a migration reads; absent in imports. */
  readonly sourceDataset?: string;
}

/** Whether expressions produce new records from each record, so that every field is a result of them. */
export function producesRecords({
  preExpression,
  postExpression,
}: Pick<FieldExpressions, 'preExpression' | 'postExpression'>): boolean {
  return preExpression !== '' || postExpression !== '';
}

/** Whether a target field has an expression; null and the empty text count as none. */
export function hasExpression({ expression }: JsonObject): boolean {
  return expression !== undefined && expression !== null && expression !== '';
}

/** The properties of an import or a migration that its expressions depend on. */
type JobRowWithTargetFields = Pick<
  ImportRow,
  'targetFields' | 'annotatorParams' | 'includeErrors' | 'datasetId'
> &
  Partial<Pick<DatasetMigrationRow, 'commitMode' | 'sourceId' | 'idFields'>>;

/**
 * Returns the expressions of an import or a migration; null if it has none. `columns` are those that its dataset stores. Choice: an upsert
 * computes a field by the expression of the dataset only for records that have a value which the expression reads, because the others may
 * name a stored record, whose value of the field is still right. The fields that name the record do not count, unless the expression reads
 * no others. The records of a migration within one dataset are whole.
 */
export function fieldExpressionsOf(
  row: JobRowWithTargetFields,
  origin: EvaluationContext,
  fields: readonly FieldRow[],
  columns: Columns,
): FieldExpressions | null {
  const requestFields = row.targetFields.filter(hasExpression);
  const storedFields = expressionsOfStoredFields(fields, requestFields);
  const computedFields = [...storedFields, ...requestFields];
  const mayHavePartialRecords = row.commitMode === 'upsert' && row.sourceId !== row.datasetId;
  const params = row.annotatorParams ?? {};
  const { data = {}, include_errors: includeErrors } = params;
  const text = (key: string): string => String(params[key] ?? '').trim();
  const preExpression = text('pre_annotation_expression');
  const postExpression = text('post_annotation_expression');
  if (computedFields.length === 0 && preExpression === '' && postExpression === '') return null;
  return {
    fields: computedFields.map((field) => withDeclaredType(field, fields)),
    ...(mayHavePartialRecords && {
      needingInput: storedFields.map(({ name }) => String(name)),
      keyNames: row.idFields ?? ['_id'],
    }),
    preExpression,
    postExpression,
    data: stringifyJson(data ?? {}),
    includeErrors: row.includeErrors && includeErrors !== false,
    declared: [
      ...columns.map(({ name }) => name),
      ...fields.map(({ path }) => path[0]!),
      ...row.targetFields.map(({ name }) => String(name)),
    ],
    targetDatasetId: String(row.datasetId),
    ...origin,
  };
}

/** Returns the expressions that are declared for top-level fields of the dataset, except fields that the request computes itself. */
function expressionsOfStoredFields(
  fields: readonly FieldRow[],
  requestFields: readonly JsonObject[],
): readonly JsonObject[] {
  const requestedNames = new Set(requestFields.map(({ name }) => name));
  return fields.flatMap(({ name, path, expression, dependsOn, ordering }) =>
    expression && path.length === 1 && !requestedNames.has(name)
      ? [{ name, expression, depends_on: [...dependsOn], ordering: ordering ?? 0 }]
      : [],
  );
}

/**
 * Choice: what somebody declared about a field of the dataset counts as if the target field declared it. An inferred type is no reason to
 * cast: a value of another type widens it, as the values of files do.
 */
function withDeclaredType(target: JsonObject, fields: readonly FieldRow[]): JsonObject {
  const field = fields.find(({ name }) => name === target['name']);
  if (field === undefined) return target;
  const { data_type: type, is_list: isList } = target;
  const isTypeOpen = type === undefined || type === null || type === 'auto';
  return {
    ...target,
    ...(isTypeOpen && field.isDeclared && { data_type: field.dataType }),
    ...(typeof isList !== 'boolean' &&
      (field.isValid || field.isList !== null) && { is_list: field.isList ?? false }),
  };
}

/** Returns a target field in the form that the expression language defines. */
export function annotationField(target: JsonObject): AnnotationField {
  const { name, expression, data_type: type, is_list: isList, ordering } = target;
  const { depends_on: dependsOn, is_transient: isTransient } = target;
  return {
    name: String(name),
    expression:
      typeof expression === 'string'
        ? expression
        : { constant: valueOfJson(stringifyJson(expression)) },
    dataType: typeof type === 'string' ? (type as CastType) : 'auto',
    isList: typeof isList === 'boolean' ? isList : null,
    ordering: typeof ordering === 'number' ? ordering : 0,
    dependsOn: Array.isArray(dependsOn) ? dependsOn.map(String) : [],
    isTransient: isTransient === true,
  };
}

/** Returns the fields to compute in the form that the expression language defines. */
export function annotationFieldsOf({
  fields,
  needingInput = [],
  keyNames = [],
}: Pick<FieldExpressions, 'fields' | 'needingInput' | 'keyNames'>): readonly AnnotationField[] {
  return fields.map((target) => {
    const field = annotationField(target);
    return needingInput.includes(field.name) ? { ...field, needsInput: true, keyNames } : field;
  });
}

/** Returns the values of `annotator_params.data`, which every expression can use as variables; none if it is no object. */
export function expressionData({ data }: FieldExpressions): PyDict {
  const value = valueOfJson(data);
  return value instanceof PyDict ? value : new PyDict();
}

/** The expressions that this thread compiled last; the next chunk usually has the same ones. */
let compiledExpressionsCache:
  { readonly key: string; readonly compiled: readonly CompiledField[] } | undefined;

/** Returns the compiled expressions in the order in which they are evaluated. */
export function compiledExpressions(expressions: FieldExpressions): readonly CompiledField[] {
  const names = Array.from(expressionData(expressions).map.keys(), String);
  const { fields, needingInput = [], keyNames = [] } = expressions;
  const key = stringifyJson([fields, needingInput, keyNames, names]);
  if (compiledExpressionsCache?.key !== key)
    compiledExpressionsCache = {
      key,
      compiled: compileFields(annotationFieldsOf(expressions), names),
    };
  return compiledExpressionsCache.compiled;
}
