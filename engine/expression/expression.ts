import { toPlainValue } from './values/plain-result.js';
import { evaluateNumbers, type NumberColumn } from './compile/number-columns.js';
import { memberPathOf, pathKey, findRecordUsage } from './compile/record-fields.js';
import type { MemberPath } from './compile/record-fields.js';
import { builtins } from './builtins/type-declarations.js';
import { compileNode } from './compile/compile-node.js';
import {
  findCallArgumentPath,
  hasNoSideEffects,
  countDatasetCalls,
  isDatasetCall,
  isRepeatable,
  usesName,
} from './compile/repeatable.js';
import { EvaluationState, NameScope, noFields } from './compile/scope.js';
import type { NameResolution, NodeCompiler, RecordFields } from './compile/scope.js';
import { libraryFunctionByName } from './library/library.js';
import { stepCostOf } from './syntax/children.js';
import { parseExpression } from './syntax/parser.js';
import type { SyntaxNode } from './syntax/syntax-tree.js';
import { keysOf } from './values/dict.js';
import { errorText, ExpressionError, suggestSimilar } from './values/expression-errors.js';
import type { SyntaxPosition } from './values/expression-errors.js';
import { Budget, defaultLimits, limitExceededError } from './values/expression-limits.js';
import type { ExpressionLimits } from './values/expression-limits.js';
import { ActivationFrame, PyDict } from './values/python-values.js';
import type { CompiledNode, ExpressionHost, PyValue } from './values/python-values.js';

/** How an expression is compiled. */
export interface ExpressionOptions {
  /** The names of the variables besides `record`, in the order of their values. */
  readonly variables?: readonly string[];
  readonly limits?: Partial<ExpressionLimits>;
  /** Returns the time in milliseconds, for the time limit. */
  readonly clock?: () => number;
  /** Whether the expression may read a record; true by default. */
  readonly hasRecord?: boolean;
  /**
   * Whether errors carry their position from the start, which slows each evaluation. If not, `locateError` evaluates the expression again
   * to find the position. In an expression that may change values, errors carry their position in any case.
   */
  readonly locatesErrors?: boolean;
}

/** A compiled expression. While it runs, a function of the host may evaluate it again. */
export class Expression {
  /** The paths of the record that the expression reads, in the order of the values of `evaluatePaths`; `all` for the whole record. */
  readonly pathsRead: readonly MemberPath[] | 'all';
  /** The paths of the record that the expression reads, even if it also uses the record as a whole. */
  readonly pathsNamed: readonly MemberPath[];
  readonly #state: EvaluationState;
  readonly #tree: SyntaxNode;
  readonly #options: ExpressionOptions;
  /** Whether errors carry their position from the start. */
  readonly #locates: boolean;
  readonly #code: CompiledNode;
  readonly #cost: number;
  readonly #frameSize: number;
  /** The frame of all evaluations, if the expression has no local variables. */
  readonly #frame: ActivationFrame | undefined;
  #isRunning = false;
  #inner: Expression | undefined;
  /** The code that locates errors; undefined until an error has to be located. */
  #locatingCode: CompiledNode | undefined;
  /** The texts of errors by message and position; they are remembered, because thousands of records may fail in the same way. */
  readonly #texts = new Map<string, string>();

  constructor(tree: SyntaxNode, options: ExpressionOptions = {}) {
    this.#tree = tree;
    this.#options = options;
    const limits = { ...defaultLimits, ...options.limits };
    const clock = options.clock ?? (() => performance.now());
    this.#state = new EvaluationState(new Budget(limits, clock), options.variables?.length ?? 0);
    const { paths, isWhole } = findRecordUsage(tree);
    this.pathsNamed = paths;
    this.pathsRead = isWhole ? 'all' : paths;
    // If the expression changes values, errors are located in the first evaluation, because a second evaluation would see the changed
    // values.
    this.#locates = options.locatesErrors === true || !hasNoSideEffects(tree);
    const scope = new NameScope();
    this.#code = this.#compile(this.#locates, scope);
    this.#frameSize = scope.layout.size;
    this.#frame = this.#frameSize === 0 ? new ActivationFrame([], undefined) : undefined;
    this.#cost = stepCostOf(tree);
  }

  /** The fields of the record that the expression reads, or `all`. */
  get fieldsRead(): ReadonlySet<string> | 'all' {
    return this.pathsRead === 'all' ? 'all' : new Set(this.pathsRead.map(([name]) => name!));
  }

  /** Whether the expression is known to have the same result whenever it reads the same values, and to change no value that it reads. */
  get isRepeatable(): boolean {
    return isRepeatable(this.#tree);
  }

  /**
   * The index of the path whose value is the result of the expression in all records that have a value there; undefined for other
   * expressions.
   */
  get projectedPathIndex(): number | undefined {
    return this.#pathIndex(memberPathOf(this.#tree));
  }

  /** How often the expression names a dataset function, which usually is the number of its calls of them. */
  get datasetCallCount(): number {
    return countDatasetCalls(this.#tree);
  }

  /** Whether the expression as a whole is a call of a dataset function, whatever its arguments are. */
  get isDatasetCall(): boolean {
    return isDatasetCall(this.#tree);
  }

  /**
   * The index of the path of the only value of the record that is an argument of the only call of a dataset function, unchanged, if every
   * evaluation makes that call; otherwise undefined.
   */
  get callArgumentPathIndex(): number | undefined {
    return this.#pathIndex(findCallArgumentPath(this.#tree));
  }

  /** Whether the expression is known to change no value that it reads, so that it can be evaluated again. */
  get isSideEffectFree(): boolean {
    return hasNoSideEffects(this.#tree);
  }

  /** Whether a name occurs in the expression. */
  usesName(name: string): boolean {
    return usesName(this.#tree, name);
  }

  /** Evaluates the expression for a record; `variables` are in the order of the options. Throws an `ExpressionError`. */
  evaluate(
    record: PyDict | undefined,
    variables: readonly (PyValue | undefined)[] = [],
    host: ExpressionHost = {},
  ): PyValue {
    if (this.#isRunning) return this.#copy().evaluate(record, variables, host);
    const { fields } = this.#state;
    if (this.pathsRead !== 'all')
      for (let i = 0; i < this.pathsRead.length; i++)
        fields[i] = memberAt(record, this.pathsRead[i]!);
    return this.#run(record, record ? new DictRecordFields(record) : noFields, variables, host);
  }

  /**
   * Evaluates the expression for the values at the paths that it reads. Undefined stands for a value that the record lacks or that is not
   * loaded; `source` then returns the whole field.
   */
  evaluatePaths(
    values: readonly (PyValue | undefined)[],
    source: RecordFields,
    variables: readonly (PyValue | undefined)[] = [],
    host: ExpressionHost = {},
  ): PyValue {
    if (this.#isRunning) return this.#copy().evaluatePaths(values, source, variables, host);
    const { fields } = this.#state;
    for (let i = 0; i < values.length; i++) fields[i] = values[i];
    return this.#run(undefined, source, variables, host);
  }

  /**
   * Returns the error that ended the last evaluation or the cast of its result, with the text for users and, if it can be found, its
   * position. An error that is not of the language is a bug and is thrown again.
   */
  locateError(error: unknown): ExpressionError {
    const expressionError = expressionErrorOf(error);
    if (!this.#locates) expressionError.position ??= this.#locate(expressionError);
    const { line, column } = expressionError.position ?? {};
    const key = `${line}:${column} ${expressionError.message}`;
    const text = this.#texts.get(key) ?? errorText(expressionError);
    if (this.#texts.size < maxKeptErrorTexts) this.#texts.set(key, text);
    expressionError.text = text;
    return expressionError;
  }

  /**
   * Evaluates the expression for `rows` records at once if it computes only with numbers. `columnOf` returns a new copy of the column of a
   * path, by the index of the path, if the column has numbers. NaN stands for results that the evaluation of the single record has to give.
   */
  evaluateNumbers(
    columnOf: (path: number) => NumberColumn | undefined,
    rows: number,
  ): NumberColumn | undefined {
    const column = (path: MemberPath) => {
      const index = this.#pathIndex(path);
      return index === undefined ? undefined : columnOf(index);
    };
    return evaluateNumbers(this.#tree, column, rows);
  }

  /** The state with the remaining budget; if the result is an iterator, the caller drains it with this state. */
  get runtime(): EvaluationState {
    return this.#state;
  }

  #pathIndex(path: MemberPath | undefined): number | undefined {
    const hasRecord = this.#options.hasRecord ?? true;
    if (path === undefined || this.pathsRead === 'all' || !hasRecord) return undefined;
    const key = pathKey(path);
    const index = this.pathsRead.findIndex((one) => pathKey(one) === key);
    return index < 0 ? undefined : index;
  }

  #run(
    record: PyDict | undefined,
    source: RecordFields,
    variables: readonly (PyValue | undefined)[],
    host: ExpressionHost,
  ): PyValue {
    const state = this.#state;
    state.record = record;
    state.recordFields = source;
    state.host = host;
    for (let i = 0; i < state.variables.length; i++) state.variables[i] = variables[i];
    state.budget.start(this.#cost);
    this.#isRunning = true;
    try {
      return this.#code(this.#newFrame());
    } catch (error) {
      throw asExpressionError(error);
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * Returns the position of an error that ended an evaluation, found by repeating the evaluation. Undefined for errors of the cast, for a
   * limit that may have taken long to reach, and if the repetition does not end with the same message.
   */
  #locate(error: ExpressionError): SyntaxPosition | undefined {
    const state = this.#state;
    if (error.exception === 'LimitError' && state.budget.mayHaveTakenLong) return undefined;
    this.#locatingCode ??= this.#compile(true, new NameScope());
    try {
      state.budget.start(this.#cost);
      // A generator throws its errors only when its items are read.
      toPlainValue(state, this.#locatingCode(this.#newFrame()));
      return undefined;
    } catch (again) {
      const locatedError = expressionErrorOf(again);
      return locatedError.message === error.message ? locatedError.position : undefined;
    }
  }

  #compile(locates: boolean, scope: NameScope): CompiledNode {
    return new TreeCompiler(this.#state, this.#options, this.pathsRead, locates).compile(
      this.#tree,
      scope,
    );
  }

  #newFrame(): ActivationFrame {
    return this.#frame ?? new ActivationFrame(this.#slots(), undefined);
  }

  /** Returns a copy of the expression, for an evaluation that a function of the host starts during another evaluation. */
  #copy(): Expression {
    this.#inner ??= new Expression(this.#tree, this.#options);
    return this.#inner;
  }

  #slots(): (PyValue | undefined)[] {
    const slots: (PyValue | undefined)[] = [];
    for (let i = 0; i < this.#frameSize; i++) slots.push(undefined);
    return slots;
  }
}

/** The maximum number of error texts that an expression remembers. */
const maxKeptErrorTexts = 100;

/** The fields of a record that is a dict. */
class DictRecordFields implements RecordFields {
  readonly #record: PyDict;

  constructor(record: PyDict) {
    this.#record = record;
  }

  lookUp(name: string): PyValue | undefined {
    return this.#record.map.get(name);
  }

  names(): Iterable<string> {
    return keysOf(this.#record).filter((key) => typeof key === 'string');
  }
}

/** Returns the value at a path, of which the names before index `from` are skipped; undefined if an object or its member is missing. */
export function memberAt(
  value: PyValue | undefined,
  path: MemberPath,
  from = 0,
): PyValue | undefined {
  let at = value;
  for (let i = from; i < path.length; i++)
    at = at instanceof PyDict ? at.map.get(path[i]!) : undefined;
  return at;
}

/** Compiles the text of an expression. Throws syntax errors and errors of exceeded limits. */
export function compileExpression(text: string, options: ExpressionOptions = {}): Expression {
  try {
    return new Expression(parseExpression(text), options);
  } catch (error) {
    throw asExpressionError(error);
  }
}

/** What exceeds a limit of the JavaScript engine, by the message of its RangeError. */
const engineLimits: ReadonlyMap<string, string> = new Map([
  ['Maximum call stack size exceeded', 'values or calls nested too deeply'],
  ['Invalid string length', 'a string that is too long'],
  ['Maximum BigInt size exceeded', 'an integer that is too large'],
  ['Invalid array length', 'a list that is too long'],
  ['Map maximum size exceeded', 'a dict with too many keys'],
  ['Set maximum size exceeded', 'a set with too many elements'],
  ['Array buffer allocation failed', 'the memory of the process'],
]);

/** Returns the error of an exceeded limit for a RangeError of `engineLimits`; any other error is returned unchanged. */
function asExpressionError(error: unknown): unknown {
  if (error instanceof ExpressionError) return error;
  // An error of another realm is no instance of `RangeError`.
  const isRangeError = error instanceof RangeError || (error as Error)?.name === 'RangeError';
  const limit = isRangeError ? engineLimits.get((error as Error).message) : undefined;
  return limit === undefined ? error : limitExceededError(limit);
}

/** Returns the error of the language that ended an evaluation; any other error is a bug and is thrown again. */
export function expressionErrorOf(error: unknown): ExpressionError {
  const expressionError = asExpressionError(error);
  if (expressionError instanceof ExpressionError) return expressionError;
  throw error;
}

class TreeCompiler implements NodeCompiler {
  readonly state: EvaluationState;
  readonly #variables: readonly string[];
  readonly #hasRecord: boolean;
  readonly #paths: ReadonlyMap<string, number>;
  readonly readsPaths: boolean;
  readonly addsPositions: boolean;

  constructor(
    state: EvaluationState,
    { variables = [], hasRecord = true }: ExpressionOptions,
    paths: readonly MemberPath[] | 'all',
    locates: boolean,
  ) {
    this.state = state;
    this.addsPositions = locates;
    this.#variables = variables;
    this.#hasRecord = hasRecord;
    this.readsPaths = hasRecord && paths !== 'all';
    const knownPaths = hasRecord && paths !== 'all' ? paths : [];
    this.#paths = new Map(knownPaths.map((path, i) => [pathKey(path), i]));
  }

  compile(node: SyntaxNode, scope: NameScope): CompiledNode {
    return this.withPosition(node, compileNode(this, node, scope));
  }

  withPosition<A extends readonly unknown[], R>(
    position: SyntaxPosition,
    code: (...args: A) => R,
  ): (...args: A) => R {
    if (!this.addsPositions) return code;
    return (...args) => {
      try {
        return code(...args);
      } catch (error) {
        const expressionError = asExpressionError(error);
        if (expressionError instanceof ExpressionError) expressionError.position ??= position;
        throw expressionError;
      }
    };
  }

  resolveName(name: string, scope: NameScope): NameResolution {
    const address = scope.find(name);
    if (address !== undefined) return { kind: 'slot', address };
    if (name === 'record' && this.#hasRecord) return { kind: 'record' };
    const index = this.#variables.indexOf(name);
    if (index >= 0) return { kind: 'variable', index };
    const value = builtins.get(name) ?? libraryFunctionByName.get(name)?.native;
    return value === undefined ? { kind: 'unknown' } : { kind: 'builtin', value };
  }

  pathIndex(path: MemberPath): number | undefined {
    return this.#paths.get(pathKey(path));
  }

  /** Suggests `record.x` for the name `x` of a field; otherwise similar names, or if there are none, similar fields of the record. */
  suggestions(name: string, scope: NameScope): readonly string[] {
    const fields = this.#hasRecord ? Array.from(this.state.fieldNames()) : [];
    if (fields.includes(name)) return [`record.${name}`];
    const knownNames = scope
      .names()
      .concat(
        this.#hasRecord ? ['record'] : [],
        this.#variables,
        Array.from(builtins.keys()),
        Array.from(libraryFunctionByName.keys()),
      );
    const nearNames = suggestSimilar(name, () => knownNames)();
    if (nearNames.length > 0) return nearNames;
    return suggestSimilar(name, () => fields)().map((field) => `record.${field}`);
  }
}
