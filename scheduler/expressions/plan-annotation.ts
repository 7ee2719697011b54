import type { FieldRow } from '../../engine/catalog/fields.js';
import { AppError, invalid } from '../../engine/core/errors.js';
import { stringifyJson } from '../../engine/core/json.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { CastType } from '../../engine/expression/annotate/cast.js';
import {
  compileFields,
  compileNamed,
  variableNames,
  type AnnotationField,
} from '../../engine/expression/annotate/fields.js';
import type { Expression } from '../../engine/expression/expression.js';
import { indexFields } from '../../engine/query/request/fields.js';
import { reservedColumns } from '../../engine/store/arrow.js';
import type { PageTask, RequestedField } from './protocol.js';

/** The fields and record-level expressions of a query or an export, and its constants: plain data. */
export interface AnnotationSettings {
  readonly fields: readonly RequestedField[];
  /** The values of the texts that are constants, in their order. */
  readonly constants: readonly unknown[];
  readonly data: JsonObject;
  readonly includeErrors: boolean;
  readonly preExpression: string;
  readonly postExpression: string;
}

/** The part of a page's task that is the same for all pages of a query. */
export type AnnotationTask = Omit<
  PageTask,
  'records' | 'separator' | 'sourceDataset' | 'user' | 'now'
>;

/** The query that finds what expressions read, and the task that computes. */
export interface AnnotationPlan {
  readonly query: JsonObject;
  readonly task: AnnotationTask;
}

/** The settings that a row of the catalogue has, which `rowAnnotation` has made. */
export function annotationOfRow({
  targetFields,
  annotatorParams,
}: {
  readonly targetFields: readonly JsonObject[] | null;
  readonly annotatorParams: JsonObject | null;
}): AnnotationSettings | null {
  const fields = targetFields ?? [];
  const params = annotatorParams ?? {};
  const text = (key: string): string => String(params[key] ?? '');
  const preExpression = text('pre_annotation_expression');
  const postExpression = text('post_annotation_expression');
  if (fields.length === 0 && preExpression === '' && postExpression === '') return null;
  return {
    fields: fields.map(({ name, expression, data_type: type, is_list: isList, ...more }) => ({
      name: String(name),
      expression: typeof expression === 'string' ? expression : null,
      isConstant: expression !== null && typeof expression !== 'string',
      dataType: type as CastType,
      isList: isList as boolean | null,
      ordering: more['ordering'] as number,
      dependsOn: more['depends_on'] as readonly string[],
      isTransient: more['is_transient'] === true,
    })),
    constants: fields.map(({ expression }) => expression),
    data: (params['data'] ?? {}) as JsonObject,
    includeErrors: params['include_errors'] !== false,
    preExpression,
    postExpression,
  };
}

/** The settings as a row of the catalogue, and the interface, have them. */
export function rowAnnotation(settings: AnnotationSettings): {
  readonly targetFields: readonly JsonObject[];
  readonly annotatorParams: JsonObject;
} {
  const { fields, constants, data, includeErrors, preExpression, postExpression } = settings;
  return {
    targetFields: fields.map((field, i) => ({
      name: field.name,
      expression: field.isConstant ? (constants[i] ?? null) : field.expression,
      data_type: field.dataType,
      is_list: field.isList,
      ordering: field.ordering,
      depends_on: field.dependsOn,
      is_transient: field.isTransient,
    })),
    annotatorParams: {
      data,
      include_errors: includeErrors,
      pre_annotation_expression: preExpression,
      post_annotation_expression: postExpression,
    },
  };
}

/**
 * Plans the annotation of the records that a query finds, over the fields of its dataset. Throws a 400 for a mistake in an expression, which
 * names `target_fields` or `annotator_params`.
 */
export function planAnnotation(
  settings: AnnotationSettings,
  query: JsonObject,
  fields: readonly FieldRow[],
): AnnotationPlan {
  const { fields: computed, constants, data, includeErrors, preExpression, postExpression } = settings; // prettier-ignore
  const compiled = compiledExpressions(settings, Object.keys(data));
  // Each field may read its former value.
  const reads = [
    ...compiled.flatMap(({ pathsNamed }) => pathsNamed),
    ...computed.map(({ name }) => [name]),
  ];
  const { selection, dropped } = withReads(query, fields, reads, computed);
  return {
    query: { ...query, ...selection },
    task: {
      fields: computed,
      includeErrors,
      preExpression,
      postExpression,
      body: stringifyJson({ fields: constants.map((expression) => ({ expression })), data }),
      schema: fields.map(({ path }) => path),
      floats: fields
        .filter(({ dataType }) => dataType === 'double' || dataType === 'float')
        .map(({ path }) => path),
      dropped,
    },
  };
}

/** Compiles all expressions. Throws a 400 that names the field of an invalid one. */
function compiledExpressions(
  { fields, preExpression, postExpression }: AnnotationSettings,
  dataNames: readonly string[],
): readonly Expression[] {
  const fail = (key: string, work: () => readonly Expression[]): readonly Expression[] => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
      throw invalid(key, error.message);
    }
  };
  return [
    ...fail('target_fields', () =>
      compileFields(annotationFields(fields), dataNames).flatMap(
        ({ expression }) => expression ?? [],
      ),
    ),
    ...fail('annotator_params', () =>
      Object.entries({
        pre_annotation_expression: preExpression,
        post_annotation_expression: postExpression,
      })
        .filter(([, text]) => text.trim() !== '')
        .map(([name, text]) => compileNamed(name, text, { variables: variableNames(dataNames) })),
    ),
  ];
}

/** The fields with expressions that compile; the value of a constant does not matter. */
function annotationFields(fields: readonly RequestedField[]): readonly AnnotationField[] {
  return fields.map(({ isConstant, ...field }) => ({
    ...field,
    expression: isConstant ? { constant: null } : field.expression,
  }));
}

/** The fields of an annotation that have to be computed for the values of some of them. */
export interface FieldsRead {
  readonly names: ReadonlySet<string>;
  /** Whether the values depend on the record alone, and not on the user or the time. */
  readonly isRepeatable: boolean;
}

/** The named fields of an annotation with those that their expressions read, directly or through others. */
export function fieldsRead(
  { fields, data }: AnnotationSettings,
  named: ReadonlySet<string>,
): FieldsRead {
  const all = annotationFields(fields);
  const compiled = compileFields(all, Object.keys(data));
  const names = new Set<string>();
  const open = [...named];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (names.has(name)) continue;
    names.add(name);
    for (const { field, expression } of compiled) {
      if (field.name !== name) continue;
      const { fieldsRead: read = [] } = expression ?? {};
      open.push(...field.dependsOn.filter((one) => isField(one)));
      open.push(...(read === 'all' ? all.map((one) => one.name) : [...read].filter(isField)));
    }
  }
  function isField(name: string): boolean {
    return all.some((one) => one.name === name);
  }
  const usedFields = compiled.filter(({ field }) => names.has(field.name));
  const isRepeatable = usedFields.every(({ expression }) => expression?.isRepeatable ?? true);
  return { names, isRepeatable };
}

/**
 * Adds to `fields` of a query what expressions name, and takes it out of `exclude_fields`. Paths that are in the records for expressions
 * alone are dropped afterwards. Choice: an object that an expression needs as a whole is returned as a whole.
 */
function withReads(
  query: JsonObject,
  fields: readonly FieldRow[],
  reads: readonly (readonly string[])[],
  computed: readonly { readonly name: string }[],
): { readonly selection: JsonObject; readonly dropped: readonly (readonly string[])[] } {
  const index = indexFields(fields);
  const isComputed = (name: string): boolean => computed.some((one) => one.name === name);
  const listParam = (key: string): readonly string[] | undefined => {
    const value = query[key];
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    return list.filter((name): name is string => typeof name === 'string');
  };
  const readable = [...reservedColumns.map(({ name }) => ({ name, path: [name] })), ...fields];
  const neededFields = reads.flatMap((path) => fieldAt(readable, path) ?? []);
  const requestedFields = listParam('fields');
  const excluded = listParam('exclude_fields') ?? [];
  const pathOf = (name: string): readonly string[] => index.find(name)?.path ?? [name];
  const hidden = excluded.filter((name) => neededFields.some(({ path }) => coversPath(pathOf(name), path) || coversPath(path, pathOf(name)))); // prettier-ignore
  const keptExclusions = excluded.filter((name) => !hidden.includes(name));
  const stored = requestedFields?.filter(
    (name) => !isComputed(name) || index.find(name) !== undefined,
  );
  const added = stored === undefined ? [] : neededFields.filter(({ path }) => !stored.some((name) => coversPath(pathOf(name), path))); // prettier-ignore
  const addedAlone = added.filter(
    ({ path }) => !stored!.some((name) => coversPath(path, pathOf(name))),
  );
  const isEmpty = stored !== undefined && stored.length + added.length === 0;
  return {
    selection: {
      ...(excluded.length > 0 && { exclude_fields: keptExclusions }),
      ...(stored && { fields: isEmpty ? ['_id'] : [...stored, ...added.map(({ name }) => name)] }),
    },
    dropped: [
      // An object from which nothing else is requested is dropped as a whole.
      ...addedAlone.map(({ path }) => shortestPrefix(path, stored!.map(pathOf))),
      ...hidden.map(pathOf),
      ...(isEmpty ? [['_id']] : []),
    ],
  };
}

/** The field at a path, or the nearest field that contains it. */
function fieldAt<F extends Pick<FieldRow, 'path'>>(
  fields: readonly F[],
  path: readonly string[],
): F | undefined {
  for (let length = path.length; length > 0; length--) {
    const found = fields.find(
      (field) => field.path.length === length && coversPath(field.path, path),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The beginning of a path that leads to none of `others`. */
function shortestPrefix(
  path: readonly string[],
  others: readonly (readonly string[])[],
): readonly string[] {
  const end = path.findIndex(
    (_, i) => !others.some((other) => coversPath(path.slice(0, i + 1), other)),
  );
  return path.slice(0, end + 1);
}

/** Whether a path is another one or leads to it. */
function coversPath(path: readonly string[], other: readonly string[]): boolean {
  return path.length <= other.length && path.every((name, i) => name === other[i]);
}
