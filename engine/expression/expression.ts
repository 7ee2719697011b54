import { KnownNames } from '../core/suggestion.js';
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
import { EvaluationState, NameScope } from './compile/scope.js';
import type { NameMeaning, NodeCompiler } from './compile/scope.js';
import { libraryFunctions } from './library/library.js';
import { costOf } from './syntax/children.js';
import { parseExpression } from './syntax/parser.js';
import type { SyntaxNode } from './syntax/tree.js';
import { ExpressionError } from './values/errors.js';
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
  /** Whether there is a record. Default: yes. */
  readonly hasRecord?: boolean;
}

/** A name that nothing declares: reading it is an error when it happens. */
export interface UnknownName {
  readonly name: string;
  readonly suggestion: string | undefined;
  readonly line: number;
  readonly column: number;
}

/** A compiled expression. A function of the host may evaluate it again meanwhile. */
export class Expression {
  /** What it reads of the record, in the order in which `evaluatePaths` wants the values, or `all`. */
  readonly pathsRead: readonly MemberPath[] | 'all';
  /** The paths of the record that it names, also if it uses the record in another way. */
  readonly pathsNamed: readonly MemberPath[];
  readonly unknownNames: readonly UnknownName[];
  readonly #state: EvaluationState;
  readonly #tree: SyntaxNode;
  readonly #options: ExpressionOptions;
  readonly #code: Code;
  readonly #cost: number;
  readonly #frameSize: number;
  /** The frame of all evaluations, if none has variables. */
  readonly #frame: ActivationFrame | undefined;
  #isRunning = false;
  #inner: Expression | undefined;

  constructor(tree: SyntaxNode, options: ExpressionOptions = {}) {
    this.#tree = tree;
    this.#options = options;
    const variables = options.variables ?? [];
    const limits = { ...defaultLimits, ...options.limits };
    const clock = options.clock ?? (() => performance.now());
    const state = new EvaluationState(new Budget(limits, clock), variables.length);
    this.#state = state;
    const { paths, isWhole } = recordUse(tree);
    this.pathsNamed = paths;
    this.pathsRead = isWhole ? 'all' : paths;
    const compiler = new TreeCompiler(state, variables, options.hasRecord ?? true, this.pathsRead);
    const scope = new NameScope();
    this.#code = compiler.compile(tree, scope);
    this.#frameSize = scope.layout.size;
    this.#frame = this.#frameSize === 0 ? new ActivationFrame([], undefined) : undefined;
    this.#cost = costOf(tree);
    this.unknownNames = compiler.unknownNames();
  }

  /** The fields of the record that it reads, or `all`. */
  get fieldsRead(): ReadonlySet<string> | 'all' {
    return this.pathsRead === 'all' ? 'all' : new Set(this.pathsRead.map(([name]) => name!));
  }

  /** Whether it gives the same result for the same values of what it reads, and changes none of them. */
  get isRepeatable(): boolean {
    return isRepeatable(this.#tree);
  }

  /** The path of the record whose value is its result in all records that have one there; undefined for other expressions. */
  get projectedPath(): number | undefined {
    return this.#pathIndex(memberPathOf(this.#tree));
  }

  /** How often it names functions of datasets. */
  get datasetCalls(): number {
    return datasetCalls(this.#tree);
  }

  /** Whether it is nothing but a call of a function of datasets. */
  get isDatasetCall(): boolean {
    return isDatasetCall(this.#tree);
  }

  /** The path of the only value of the record that its only call of a function of datasets has, as it is, if every evaluation makes that call. */
  get calledPath(): number | undefined {
    return this.#pathIndex(calledPath(this.#tree));
  }

  /** Whether it changes no value that it reads, so that evaluating it twice is like doing so once. */
  get changesNothing(): boolean {
    return changesNothing(this.#tree);
  }

  /** Whether a name occurs in it. */
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
    return this.#run(record, (name) => record?.map.get(name), variables, host);
  }

  /**
   * Evaluates the expression for the values at the paths that it reads; undefined is a value that the record lacks, or that is not at hand.
   * `lookUp` gives a whole field then.
   */
  evaluatePaths(
    values: readonly (PyValue | undefined)[],
    lookUp: (name: string) => PyValue | undefined,
    variables: readonly (PyValue | undefined)[] = [],
    host: ExpressionHost = {},
  ): PyValue {
    if (this.#isRunning) return this.#copy().evaluatePaths(values, lookUp, variables, host);
    const { fields } = this.#state;
    for (let i = 0; i < values.length; i++) fields[i] = values[i];
    return this.#run(undefined, lookUp, variables, host);
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

  /** What the evaluation in progress may still use; results that are iterators are drained with it. */
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
    lookUp: (name: string) => PyValue | undefined,
    variables: readonly (PyValue | undefined)[],
    host: ExpressionHost,
  ): PyValue {
    const state = this.#state;
    state.record = record;
    state.lookUp = lookUp;
    state.host = host;
    for (let i = 0; i < state.variables.length; i++) state.variables[i] = variables[i];
    state.budget.start(this.#cost);
    this.#isRunning = true;
    try {
      return this.#code(this.#frame ?? new ActivationFrame(this.#slots(), undefined));
    } catch (error) {
      throw asExpressionError(error);
    } finally {
      this.#isRunning = false;
    }
  }

  /** The same expression, for an evaluation that a function of the host starts during one. */
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
  const known = asExpressionError(error);
  if (known instanceof ExpressionError) return known;
  throw error;
}

class TreeCompiler implements NodeCompiler {
  readonly state: EvaluationState;
  readonly #variables: readonly string[];
  readonly #hasRecord: boolean;
  readonly #paths: ReadonlyMap<string, number>;
  readonly readsPaths: boolean;
  readonly #unknown: { name: string; line: number; column: number }[] = [];

  constructor(
    state: EvaluationState,
    variables: readonly string[],
    hasRecord: boolean,
    paths: readonly MemberPath[] | 'all',
  ) {
    this.state = state;
    this.#variables = variables;
    this.#hasRecord = hasRecord;
    this.readsPaths = hasRecord && paths !== 'all';
    const known = hasRecord && paths !== 'all' ? paths : [];
    this.#paths = new Map(known.map((path, i) => [pathKey(path), i]));
  }

  compile(node: SyntaxNode, scope: NameScope): Code {
    if (node.kind === 'name' && this.meaning(node.name, scope).kind === 'unknown')
      this.#unknown.push({ name: node.name, line: node.line, column: node.column });
    return compileNode(this, node, scope);
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

  unknownNames(): UnknownName[] {
    if (this.#unknown.length === 0) return [];
    const record = this.#hasRecord ? ['record'] : [];
    const known = new KnownNames(
      record.concat(
        this.#variables,
        Array.from(builtins.keys()),
        Array.from(libraryFunctions.keys()),
      ),
    );
    return this.#unknown.map((one) => ({ ...one, suggestion: known.suggestionFor(one.name) }));
  }
}
