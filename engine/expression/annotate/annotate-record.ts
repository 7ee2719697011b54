import { expressionErrorOf, memberAt } from '../expression.js';
import type { Expression } from '../expression.js';
import { deleteItem, setItem } from '../values/dict.js';
import { valueError } from '../values/expression-errors.js';
import { typeName } from '../values/type-name.js';
import { PyDict, PyList } from '../values/python-values.js';
import type { ExpressionHost, PyValue, Runtime } from '../values/python-values.js';
import { castResult, castRuntime } from './cast-result.js';
import {
  compileFields,
  compileFieldExpression,
  neededPathsOf,
  variableNames,
} from './annotation-fields.js';
import type { AnnotationField, CompiledField } from './annotation-fields.js';
import { copyValue, toPlainValue } from '../values/plain-result.js';

/** The options of an annotation, which apply to each record. */
export interface AnnotationRequest {
  readonly fields: readonly AnnotationField[];
  readonly preExpression?: string;
  readonly postExpression?: string;
  readonly includeErrors: boolean;
  /** The names and values of the caller's `data`. */
  readonly data?: PyDict;
  /** Names of fields that the expressions of fields read as None where a record lacks them. */
  readonly schemaFields?: readonly string[];
  readonly sourceFilename?: string;
  readonly sourceDataset?: string;
  readonly targetDataset?: string;
}

/** The records that one record became, the number of errors in all of them, and the first error. */
export interface AnnotatedRecord {
  readonly records: readonly PyDict[];
  /** For each record, whether it has errors of this annotation. */
  readonly haveErrors: readonly boolean[];
  /** For each record, the names of the fields that were computed: all but those that lacked what they need. */
  readonly computedFields: readonly ReadonlySet<string>[];
  readonly fieldErrors: number;
  readonly firstError: { readonly field: string; readonly message: string } | undefined;
}

/** An annotation with its expressions compiled: make it once, and run it for each record. */
export class Annotation {
  readonly #request: AnnotationRequest;
  readonly #fields: readonly CompiledField[];
  readonly #pre: Expression | undefined;
  readonly #post: Expression | undefined;
  /** The fields that `prefetchCalls` computes: all if `#postAhead` is defined, otherwise those that `fieldsToPrefetch` returns. */
  readonly #prefetchedFields: readonly CompiledField[];
  readonly #postAhead: Expression | undefined;
  readonly #values: readonly (PyValue | undefined)[];
  readonly #declared: readonly string[];

  /** Throws an `AppError` that names the field for an invalid expression, and one for fields that depend on each other in a circle. */
  constructor(request: AnnotationRequest) {
    this.#request = request;
    const dataNames = Array.from(request.data?.map.keys() ?? [], String);
    const options = { variables: variableNames(dataNames) };
    this.#fields = compileFields(request.fields, dataNames);
    const compile = (name: string, text: string | undefined) =>
      text === undefined || text.trim() === ''
        ? undefined
        : compileFieldExpression(name, text, options);
    this.#pre = compile('pre_annotation_expression', request.preExpression);
    this.#post = compile('post_annotation_expression', request.postExpression);
    this.#postAhead = this.#post?.datasetCallCount ? this.#post : undefined;
    this.#prefetchedFields = this.#postAhead ? this.#fields : fieldsToPrefetch(this.#fields);
    this.#values = [
      null,
      request.sourceFilename ?? null,
      request.sourceDataset ?? null,
      request.targetDataset ?? null,
      ...(request.data?.map.values() ?? []),
    ];
    this.#declared = request.fields.map(({ name }) => name).concat(request.schemaFields ?? []);
  }

  /** The fields of the input that the annotation reads, or `all` if it may read any. */
  get fieldsRead(): ReadonlySet<string> | 'all' {
    const names = new Set<string>(this.#request.fields.map(({ name }) => name));
    const expressions = [
      this.#pre,
      this.#post,
      ...this.#fields.map(({ expression }) => expression),
    ];
    for (const expression of definedItems(expressions)) {
      if (expression.fieldsRead === 'all') return 'all';
      for (const name of expression.fieldsRead) names.add(name);
    }
    return names;
  }

  /** The expressions that `prefetchCalls` evaluates to find calls of dataset functions. */
  get prefetchExpressions(): readonly Expression[] {
    return definedItems([
      this.#pre,
      ...this.#prefetchedFields.map(({ expression }) => expression),
      this.#postAhead,
    ]);
  }

  /** Annotates one record. An error in an expression is reported in the result and not thrown. */
  annotate(input: PyDict, host: ExpressionHost = {}): AnnotatedRecord {
    const records: PyDict[] = [];
    const haveErrors: boolean[] = [];
    const computedFields: ReadonlySet<string>[] = [];
    let fieldErrorCount = 0;
    let firstError: AnnotatedRecord['firstError'];
    const reshapeErrors = new Map<string, string>();
    for (const record of this.#reshape(this.#pre, 'pre', input, reshapeErrors, host)) {
      const errors = new Map<string, string>(reshapeErrors);
      const computed = this.#runFields(record, errors, host);
      for (const one of this.#reshape(this.#post, 'post', record, errors, host)) {
        computedFields.push(computed);
        fieldErrorCount += errors.size;
        for (const [field, message] of errors) firstError ??= { field, message };
        records.push(this.#finish(one, errors));
        haveErrors.push(errors.size > 0);
      }
    }
    return { records, haveErrors, computedFields, fieldErrors: fieldErrorCount, firstError };
  }

  /** Evaluates a record only to determine its calls of dataset functions; the results are dropped. */
  prefetchCalls(input: PyDict, host: ExpressionHost): void {
    for (const record of this.#reshape(this.#pre, 'pre', input, null, host)) {
      this.#runFields(record, null, host, this.#prefetchedFields);
      if (this.#postAhead) this.#reshape(this.#postAhead, 'post', record, null, host);
    }
  }

  /**
   * Computes the fields of a record, and returns the names of all but those that lack what they need. Errors are added to `errors`, or
   * ignored if `errors` is null.
   */
  #runFields(
    record: PyDict,
    errors: Map<string, string> | null,
    host: ExpressionHost,
    fields = this.#fields,
  ): ReadonlySet<string> {
    const computed = new Set<string>();
    const variables = this.#values.slice();
    const missingNames = this.#declared.filter((name) => !record.map.has(name));
    record.isRecord = true;
    for (const name of missingNames) setItem(record, name, null);
    for (const compiled of fields) {
      const { field, expression, constant } = compiled;
      const { name, dataType, isList } = field;
      if (lacksNeededValues(compiled, record, computed)) {
        setItem(record, name, null);
        continue;
      }
      computed.add(name);
      const before = record.map.get(name) ?? null;
      variables[0] = before;
      let result: PyValue = null;
      try {
        const value = expression
          ? expression.evaluate(record, variables, host)
          : (constant ?? before);
        const runtime = expression?.runtime ?? castRuntime;
        if (expression === undefined) castRuntime.budget.start(0);
        result = castResult(runtime, value, dataType, isList);
      } catch (error) {
        addErrorMessage(errors, name, expression, error);
      }
      setItem(record, name, result);
    }
    // Fields that were added as None because the input lacks them are removed again, unless the annotation has a field of that name.
    for (const name of missingNames)
      if (!this.#request.fields.some((field) => field.name === name)) deleteItem(record, name);
    return computed;
  }

  /**
   * Returns the records that a record-level expression makes of one record; without an expression, or after an error, which is noted in
   * `errors`, an unchanged copy of the record.
   */
  #reshape(
    expression: Expression | undefined,
    stage: 'pre' | 'post',
    input: PyDict,
    errors: Map<string, string> | null,
    host: ExpressionHost,
  ): PyDict[] {
    const record = copyRecord(input);
    if (expression === undefined) return [record];
    try {
      const value = expression.evaluate(record, this.#values, host);
      return recordsOf(expression.runtime, value, stage);
    } catch (error) {
      addErrorMessage(errors, `${stage}_annotation_expression`, expression, error);
      return [copyRecord(input)];
    }
  }

  #finish(record: PyDict, errors: ReadonlyMap<string, string>): PyDict {
    for (const { name, isTransient } of this.#request.fields)
      if (isTransient) deleteItem(record, name);
    record.isRecord = false;
    if (errors.size === 0 || !this.#request.includeErrors) return record;
    const messages = new PyDict();
    for (const [name, message] of errors) setItem(messages, name, message);
    setItem(record, '_errors', messages);
    return record;
  }
}

/** Whether a record has none of the values of which a field needs one. A value that was computed before counts, also if it is null. */
function lacksNeededValues(
  compiled: CompiledField,
  record: PyDict,
  computed: ReadonlySet<string>,
): boolean {
  const isLacking = (path: readonly string[]): boolean => !computed.has(path[0]!) && (memberAt(record, path) ?? null) === null; // prettier-ignore
  return neededPathsOf(compiled)?.every(isLacking) ?? false;
}

function addErrorMessage(
  errors: Map<string, string> | null,
  name: string,
  expression: Expression | undefined,
  error: unknown,
): void {
  const expressionError = expressionErrorOf(error);
  errors?.set(name, (expression?.locateError(expressionError) ?? expressionError).text);
}

/** Returns the fields whose expressions call dataset functions, and the fields that these expressions read, directly or through others. */
function fieldsToPrefetch(fields: readonly CompiledField[]): readonly CompiledField[] {
  const prefetchedFields: CompiledField[] = [];
  for (const field of fields.toReversed()) {
    const isRead = prefetchedFields.some(({ expression }) => {
      const namesRead = expression?.fieldsRead ?? new Set<string>();
      return namesRead === 'all' || namesRead.has(field.field.name);
    });
    if (isRead || field.expression?.datasetCallCount) prefetchedFields.unshift(field);
  }
  return prefetchedFields;
}

function definedItems<T>(values: readonly (T | undefined)[]): readonly T[] {
  return values.filter((one) => one !== undefined);
}

function recordsOf(runtime: Runtime, value: PyValue, stage: 'pre' | 'post'): PyDict[] {
  if (value === null) return [];
  const plainResult = toPlainValue(runtime, value);
  const items = plainResult instanceof PyList ? plainResult.items : [plainResult];
  return items.map((item) => {
    if (!(item instanceof PyDict))
      throw valueError(
        `${stage}_annotation_expression must give an object or a list of objects, not ${typeName(item)}`,
      );
    item.isRecord = true;
    return item;
  });
}

/** Returns a deep copy of a record, so that expressions cannot change the caller's data. */
function copyRecord(record: PyDict): PyDict {
  const copy = copyValue(record) as PyDict;
  copy.isRecord = true;
  return copy;
}
