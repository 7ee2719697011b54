import { plainValue } from './annotate/plain.js';
import { evaluateNumbers, type NumberColumn } from './compile/number-columns.js';
import { memberPathOf, pathKey, recordUse } from './compile/record-fields.js';
import type { MemberPath } from './compile/record-fields.js';
import { builtins } from './builtins/types.js';
import { compileNode } from './compile/compile.js';
import {
  calledPath,
  changesNothing,
  datasetCalls,
  isDatasetCall,
  isRepeatable,
  usesName,
} from './compile/repeatable.js';
import { EvaluationState, NameScope, noFields } from './compile/scope.js';
import type { NameMeaning, NodeCompiler, RecordFields } from './compile/scope.js';
import { libraryFunctions } from './library/library.js';
import { costOf } from './syntax/children.js';
import { parseExpression } from './syntax/parser.js';
import type { SyntaxNode } from './syntax/tree.js';
import { keysOf } from './values/dict.js';
import { errorText, ExpressionError, suggestNear, type SyntaxPosition } from './values/errors.js';
import { Budget, defaultLimits, limitExceeded } from './values/limits.js';
import type { ExpressionLimits } from './values/limits.js';
import { ActivationFrame, PyDict } from './values/values.js';
import type { Code, ExpressionHost, PyValue } from './values/values.js';

/** How an expression is compiled. */
export interface ExpressionOptions {
  /** The names of the variables besides `record`, in the order in which their values are given. */
  readonly variables?: readonly string[];
  readonly limits?: Partial<ExpressionLimits>;
  /** The time in milliseconds, for the limit of time. */
  readonly clock?: () => number;
  /** Whether the expression may read a record; true by default. */
  readonly hasRecord?: boolean;
  /** Errors have their position at once, which makes each evaluation slower. Default: `failure` finds it by a second evaluation. */
  readonly locates?: boolean;
}

/** A compiled expression. A function of the host may evaluate it again meanwhile. */
export class Expression {
  /** The paths of the record that the expression reads, in the order in which `evaluatePaths` wants their values, or `all`. */
  readonly pathsRead: readonly MemberPath[] | 'all';
  /** The paths of the record that it names, also if it uses the record in another way. */
  readonly pathsNamed: readonly MemberPath[];
  readonly #state: EvaluationState;
  readonly #tree: SyntaxNode;
  readonly #options: ExpressionOptions;
  /** Errors have their position at once. */
  readonly #locates: boolean;
  readonly #code: Code;
  readonly #cost: number;
  readonly #frameSize: number;
  /** The frame of all evaluations, if none has variables. */
  readonly #frame: ActivationFrame | undefined;
  #isRunning = false;
  #inner: Expression | undefined;
  /** The code that locates errors, once it has been needed. */
  #locatingCode: Code | undefined;
  /** The texts of errors by message and position: thousands of records may fail in the same way. */
  readonly #texts = new Map<string, string>();

  constructor(tree: SyntaxNode, options: ExpressionOptions = {}) {
    this.#tree = tree;
    this.#options = options;
    const limits = { ...defaultLimits, ...options.limits };
    const clock = options.clock ?? (() => performance.now());
    this.#state = new EvaluationState(new Budget(limits, clock), options.variables?.length ?? 0);
    const { paths, isWhole } = recordUse(tree);
    this.pathsNamed = paths;
    this.pathsRead = isWhole ? 'all' : paths;
    // A second evaluation would see what the first has changed.
    this.#locates = options.locates === true || !changesNothing(tree);
    const scope = new NameScope();
    this.#code = this.#compile(this.#locates, scope);
    this.#frameSize = scope.layout.size;
    this.#frame = this.#frameSize === 0 ? new ActivationFrame([], undefined) : undefined;
    this.#cost = costOf(tree);
  }

  /** The fields of the record that it reads, or `all`. */
  get fieldsRead(): ReadonlySet<string> | 'all' {
    return this.pathsRead === 'all' ? 'all' : new Set(this.pathsRead.map(([name]) => name!));
  }

  /** Whether the expression has the same result whenever it reads the same values, and changes no value that it reads. */
  get isRepeatable(): boolean {
    return isRepeatable(this.#tree);
  }

  /** The path of the record whose value is its result in all records that have one there; undefined for other expressions. */
  get projectedPath(): number | undefined {
    return this.#pathIndex(memberPathOf(this.#tree));
  }

  /** The number of calls of dataset functions in the expression. */
  get datasetCalls(): number {
    return datasetCalls(this.#tree);
  }

  /** Whether the whole expression is one call of a dataset function. */
  get isDatasetCall(): boolean {
    return isDatasetCall(this.#tree);
  }

  /** The path of the only value of the record that its only call of a function of datasets has, as it is, if every evaluation makes that call. */
  get calledPath(): number | undefined {
    return this.#pathIndex(calledPath(this.#tree));
  }

  /** Whether the expression changes no value that it reads, so that it can be evaluated again. */
  get changesNothing(): boolean {
    return changesNothing(this.#tree);
  }

  /** Whether a name occurs in the expression. */
  usesName(name: string): boolean {
    return usesName(this.#tree, name);
  }

  /** Evaluates the expression for a record; `variables` in the order of the options. Throws an `ExpressionError`. */
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
    return this.#run(record, record ? new DictFields(record) : noFields, variables, host);
  }

  /**
   * Evaluates the expression for the values at the paths that it reads; undefined is a value that the record lacks, or that is not at hand.
   * `source` gives a whole field then.
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
   * The error with which the last evaluation ended, or the cast of its result, with its position and the text for users. Any other error is a
   * bug and is thrown on.
   */
  failure(error: unknown): ExpressionError {
    const expressionError = expressionErrorOf(error);
    if (!this.#locates) expressionError.position ??= this.#locate(expressionError);
    const { line, column } = expressionError.position ?? {};
    const key = `${line}:${column} ${expressionError.message}`;
    const text = this.#texts.get(key) ?? errorText(expressionError);
    if (this.#texts.size < keptTexts) this.#texts.set(key, text);
    expressionError.text = text;
    return expressionError;
  }

  /**
   * Evaluates the expression for `rows` records at once if it computes with numbers alone: `columnOf` gives a new copy of the
   * column of a path that it reads, by its number, if that has numbers. NaN stands for results that the evaluation of the record has to give.
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

  /** The state with the remaining budget; a result that is an iterator is drained with it. */
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
    state.source = source;
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
   * The position of an error with which an evaluation has ended, found by the same evaluation again. Of errors of the cast there is none, nor of a
   * limit that took long to reach.
   */
  #locate(error: ExpressionError): SyntaxPosition | undefined {
    const state = this.#state;
    if (error.exception === 'LimitError' && state.budget.tookTime) return undefined;
    this.#locatingCode ??= this.#compile(true, new NameScope());
    try {
      state.budget.start(this.#cost);
      // The errors of a generator occur when its items are read.
      plainValue(state, this.#locatingCode(this.#newFrame()));
      return undefined;
    } catch (again) {
      const found = expressionErrorOf(again);
      return found.message === error.message ? found.position : undefined;
    }
  }

  #compile(locates: boolean, scope: NameScope): Code {
    return new TreeCompiler(this.#state, this.#options, this.pathsRead, locates).compile(
      this.#tree,
      scope,
    );
  }

  #newFrame(): ActivationFrame {
    return this.#frame ?? new ActivationFrame(this.#slots(), undefined);
  }

  /** A copy of the expression, for an evaluation that a function of the host starts during another. */
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

/** The texts of errors that an expression keeps at most. */
const keptTexts = 100;

/** The fields of a record that is a dict. */
class DictFields implements RecordFields {
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

/** The value at a path; undefined if a step is missing, or is no object. */
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

/** Compiles the text of an expression. Throws syntax errors and the errors of limits. */
export function compileExpression(text: string, options: ExpressionOptions = {}): Expression {
  try {
    return new Expression(parseExpression(text), options);
  } catch (error) {
    throw asExpressionError(error);
  }
}

/** An error of the language as it is; a stack that overflowed becomes the error of a limit. Anything else is a bug and stays. */
export function asExpressionError(error: unknown): unknown {
  if (error instanceof ExpressionError) return error;
  const isOverflow = error instanceof RangeError || (error as Error)?.name === 'RangeError';
  return isOverflow ? limitExceeded('values or calls nested too deeply') : error;
}

/** The error of the language that an evaluation has ended with; any other one is a bug and is thrown on. */
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
  readonly locates: boolean;

  constructor(
    state: EvaluationState,
    { variables = [], hasRecord = true }: ExpressionOptions,
    paths: readonly MemberPath[] | 'all',
    locates: boolean,
  ) {
    this.state = state;
    this.locates = locates;
    this.#variables = variables;
    this.#hasRecord = hasRecord;
    this.readsPaths = hasRecord && paths !== 'all';
    const knownPaths = hasRecord && paths !== 'all' ? paths : [];
    this.#paths = new Map(knownPaths.map((path, i) => [pathKey(path), i]));
  }

  compile(node: SyntaxNode, scope: NameScope): Code {
    return this.located(node, compileNode(this, node, scope));
  }

  located<A extends readonly unknown[], R>(
    position: SyntaxPosition,
    code: (...args: A) => R,
  ): (...args: A) => R {
    if (!this.locates) return code;
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

  meaning(name: string, scope: NameScope): NameMeaning {
    const address = scope.find(name);
    if (address !== undefined) return { kind: 'slot', address };
    if (name === 'record' && this.#hasRecord) return { kind: 'record' };
    const index = this.#variables.indexOf(name);
    if (index >= 0) return { kind: 'variable', index };
    const value = builtins.get(name) ?? libraryFunctions.get(name)?.native;
    return value === undefined ? { kind: 'unknown' } : { kind: 'builtin', value };
  }

  pathIndex(path: MemberPath): number | undefined {
    return this.#paths.get(pathKey(path));
  }

  /** Names that are near, or else fields of the record, which are no names themselves. */
  suggestions(name: string, scope: NameScope): readonly string[] {
    const fields = this.#hasRecord ? Array.from(this.state.fieldNames()) : [];
    if (fields.includes(name)) return [`record.${name}`];
    const knownNames = scope
      .names()
      .concat(
        this.#hasRecord ? ['record'] : [],
        this.#variables,
        Array.from(builtins.keys()),
        Array.from(libraryFunctions.keys()),
      );
    const nearNames = suggestNear(name, () => knownNames)();
    if (nearNames.length > 0) return nearNames;
    return suggestNear(name, () => fields)().map((field) => `record.${field}`);
  }
}
