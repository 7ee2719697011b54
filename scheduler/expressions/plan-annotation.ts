import type { FieldRow } from '../../engine/catalog/fields.js';
import { AppError, invalidError } from '../../engine/core/errors.js';
import { stringifyJson } from '../../engine/core/json.js';
import type { JsonObject } from '../../engine/core/types.js';
import type { CastType } from '../../engine/expression/annotate/cast-result.js';
import {
  compileFields,
  compileFieldExpression,
  variableNames,
  type AnnotationField,
} from '../../engine/expression/annotate/annotation-fields.js';
import type { Expression } from '../../engine/expression/expression.js';
import { indexFields } from '../../engine/query/request/field-index.js';
import { reservedColumns } from '../../engine/store/arrow-columns.js';
import type { PageTask, RequestedField } from './host-call-protocol.js';

/** The fields and record-level expressions of a query or an export, and its constants: plain data. */
export interface AnnotationSettings {
  readonly fields: readonly RequestedField[];
  /** The expression of each target field, in the order of the fields; only those that are constants are used. */
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

/** The query that finds the records and fields that the expressions read, and the task that evaluates the expressions. */
interface AnnotationPlan {
  readonly query: JsonObject;
  readonly task: AnnotationTask;
}

/** Returns the settings that a row of the catalogue holds; null if it has neither target fields nor record-level expressions. */
export function annotationSettingsOfRow({
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

/** Returns the settings in the form that rows of the catalogue and the interface have. */
export function annotationSettingsToRow(settings: AnnotationSettings): {
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
 * Plans the annotation of the records that a query finds, over the fields of its dataset. Throws a 400 for a mistake in an expression,
 * which names `target_fields` or `annotator_params`.
 */
export function planAnnotation(
  settings: AnnotationSettings,
  query: JsonObject,
  fields: readonly FieldRow[],
): AnnotationPlan {
  const { fields: computedFields, constants, data, includeErrors, preExpression, postExpression } = settings; // prettier-ignore
  const compiled = compiledExpressions(settings, Object.keys(data));
  // The expression of a field may read the value that the field had before.
  const pathsRead = [
    ...compiled.flatMap(({ pathsNamed }) => pathsNamed),
    ...computedFields.map(({ name }) => [name]),
  ];
  const { selection, dropped } = addReadFields(query, fields, pathsRead, computedFields);
  return {
    query: { ...query, ...selection },
    task: {
      fields: computedFields,
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

/** Compiles all expressions. Throws a 400 that names the parameter with an invalid one. */
function compiledExpressions(
  { fields, preExpression, postExpression }: AnnotationSettings,
  dataNames: readonly string[],
): readonly Expression[] {
  const compileFor = (key: string, work: () => readonly Expression[]): readonly Expression[] => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
      throw invalidError(key, error.message);
    }
  };
  return [
    ...compileFor('target_fields', () =>
      compileFields(annotationFields(fields), dataNames).flatMap(
        ({ expression }) => expression ?? [],
      ),
    ),
    ...compileFor('annotator_params', () =>
      Object.entries({
        pre_annotation_expression: preExpression,
        post_annotation_expression: postExpression,
      })
        .filter(([, text]) => text.trim() !== '')
        .map(([name, text]) =>
          compileFieldExpression(name, text, { variables: variableNames(dataNames) }),
        ),
    ),
  ];
}

/** Returns the fields with the expressions to compile; the value of a constant does not matter, so it is null. */
function annotationFields(fields: readonly RequestedField[]): readonly AnnotationField[] {
  return fields.map(({ isConstant, ...field }) => ({
    ...field,
    expression: isConstant ? { constant: null } : field.expression,
  }));
}

/** The fields of an annotation that must be computed to obtain the requested ones, including those that their expressions read. */
interface RequiredFields {
  readonly names: ReadonlySet<string>;
  /** Whether the values are known to depend on the record alone, and not on the user, the time or datasets. */
  readonly isRepeatable: boolean;
}

/** Returns the requested names, with the fields that these fields read or declare to depend on, directly or through other fields. */
export function requiredFieldsOf(
  { fields, data }: AnnotationSettings,
  requestedNames: ReadonlySet<string>,
): RequiredFields {
  const allFields = annotationFields(fields);
  const compiled = compileFields(allFields, Object.keys(data));
  const names = new Set<string>();
  const openNames = [...requestedNames];
  for (let name = openNames.pop(); name !== undefined; name = openNames.pop()) {
    if (names.has(name)) continue;
    names.add(name);
    for (const { field, expression } of compiled) {
      if (field.name !== name) continue;
      const { fieldsRead: read = [] } = expression ?? {};
      openNames.push(...field.dependsOn.filter((one) => isField(one)));
      openNames.push(
        ...(read === 'all' ? allFields.map((one) => one.name) : [...read].filter(isField)),
      );
    }
  }
  function isField(name: string): boolean {
    return allFields.some((one) => one.name === name);
  }
  const usedFields = compiled.filter(({ field }) => names.has(field.name));
  const isRepeatable = usedFields.every(({ expression }) => expression?.isRepeatable ?? true);
  return { names, isRepeatable };
}

/**
 * Adds the fields that the expressions name to `fields` of a query, and removes them from `exclude_fields`. Paths that only the expressions
 * need are dropped from the records afterwards. Choice: an object that an expression needs as a whole is returned as a whole.
 */
function addReadFields(
  query: JsonObject,
  fields: readonly FieldRow[],
  pathsRead: readonly (readonly string[])[],
  computedFields: readonly { readonly name: string }[],
): { readonly selection: JsonObject; readonly dropped: readonly (readonly string[])[] } {
  const fieldIndex = indexFields(fields);
  const isComputed = (name: string): boolean => computedFields.some((one) => one.name === name);
  const listParam = (key: string): readonly string[] | undefined => {
    const value = query[key];
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list) || list.length === 0) return undefined;
    return list.filter((name): name is string => typeof name === 'string');
  };
  const readableFields = [
    ...reservedColumns.map(({ name }) => ({ name, path: [name] })),
    ...fields,
  ];
  const neededFields = pathsRead.flatMap((path) => nearestFieldAt(readableFields, path) ?? []);
  const requestedFields = listParam('fields');
  const excludedNames = listParam('exclude_fields') ?? [];
  const pathOf = (name: string): readonly string[] => fieldIndex.find(name)?.path ?? [name];
  const neededExclusions = excludedNames.filter((name) =>
    neededFields.some(
      ({ path }) => coversPath(pathOf(name), path) || coversPath(path, pathOf(name)),
    ),
  );
  const keptExclusions = excludedNames.filter((name) => !neededExclusions.includes(name));
  const storedNames = requestedFields?.filter(
    (name) => !isComputed(name) || fieldIndex.find(name) !== undefined,
  );
  const addedFields =
    storedNames === undefined
      ? []
      : neededFields.filter(
          ({ path }) => !storedNames.some((name) => coversPath(pathOf(name), path)),
        );
  const separateFields = addedFields.filter(
    ({ path }) => !storedNames!.some((name) => coversPath(path, pathOf(name))),
  );
  const isSelectionEmpty =
    storedNames !== undefined && storedNames.length + addedFields.length === 0;
  return {
    selection: {
      ...(excludedNames.length > 0 && { exclude_fields: keptExclusions }),
      ...(storedNames && {
        fields: isSelectionEmpty
          ? ['_id']
          : [...storedNames, ...addedFields.map(({ name }) => name)],
      }),
    },
    dropped: [
      // If the query requests no other part of an object, the whole object is dropped.
      ...separateFields.map(({ path }) => shortestDisjointPrefix(path, storedNames!.map(pathOf))),
      ...neededExclusions.map(pathOf),
      ...(isSelectionEmpty ? [['_id']] : []),
    ],
  };
}

/** Returns the field at a path, or the nearest field that contains it; undefined if there is none. */
function nearestFieldAt<F extends Pick<FieldRow, 'path'>>(
  fields: readonly F[],
  path: readonly string[],
): F | undefined {
  for (let length = path.length; length > 0; length--) {
    const nearestField = fields.find(
      (field) => field.path.length === length && coversPath(field.path, path),
    );
    if (nearestField !== undefined) return nearestField;
  }
  return undefined;
}

/** Returns the shortest prefix of a path that is not a prefix of any path in `others`; an empty path if there is none. */
function shortestDisjointPrefix(
  path: readonly string[],
  others: readonly (readonly string[])[],
): readonly string[] {
  const end = path.findIndex(
    (_, i) => !others.some((other) => coversPath(path.slice(0, i + 1), other)),
  );
  return path.slice(0, end + 1);
}

/** Whether `path` equals `other` or is a prefix of it. */
function coversPath(path: readonly string[], other: readonly string[]): boolean {
  return path.length <= other.length && path.every((name, i) => name === other[i]);
}
