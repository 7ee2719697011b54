import { KnownNames } from '../core/suggestion.js';
import { fieldsRead } from './compile/record-fields.js';
import type { FieldsRead } from './compile/record-fields.js';
import { builtins } from './builtins/types.js';
import { compileNode } from './compile/compile.js';
import { EvaluationState, NameScope } from './compile/scope.js';
import type { NameMeaning, NodeCompiler } from './compile/scope.js';
import { libraryFunctions } from './library/library.js';
import { costOf } from './syntax/children.js';
import { parseExpression } from './syntax/parser.js';
import type { SyntaxNode } from './syntax/tree.js';
import { ExpressionError } from './values/errors.js';
import { Budget, defaultLimits, limitExceeded } from './values/limits.js';
import type { ExpressionLimits } from './values/limits.js';
import { ActivationFrame } from './values/values.js';
import type { Code, ExpressionHost, PyDict, PyValue } from './values/values.js';

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
  /** The fields of the record that it reads, in the order in which `evaluateFields` wants them, or `all`. */
  readonly fieldsRead: FieldsRead;
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
    this.fieldsRead = fieldsRead(tree);
    const compiler = new TreeCompiler(state, variables, options.hasRecord ?? true, this.fieldsRead);
    const scope = new NameScope();
    this.#code = compiler.compile(tree, scope);
    this.#frameSize = scope.layout.size;
    this.#frame = this.#frameSize === 0 ? new ActivationFrame([], undefined) : undefined;
    this.#cost = costOf(tree);
    this.unknownNames = compiler.unknownNames();
  }

  /** Evaluates the expression for a record; `variables` in the order of the options. Throws an `ExpressionError`. */
  evaluate(
    record: PyDict | undefined,
    variables: readonly (PyValue | undefined)[] = [],
    host: ExpressionHost = {},
  ): PyValue {
    if (this.#isRunning) return this.#copy().evaluate(record, variables, host);
    const { fields } = this.#state;
    if (this.fieldsRead !== 'all')
      for (let i = 0; i < this.fieldsRead.length; i++)
        fields[i] = record?.map.get(this.fieldsRead[i]!);
    return this.#run(record, variables, host);
  }

  /** Evaluates the expression for the values of the fields that it reads; undefined is a field that the record lacks. */
  evaluateFields(
    values: readonly (PyValue | undefined)[],
    variables: readonly (PyValue | undefined)[] = [],
    host: ExpressionHost = {},
  ): PyValue {
    if (this.#isRunning) return this.#copy().evaluateFields(values, variables, host);
    const { fields } = this.#state;
    for (let i = 0; i < values.length; i++) fields[i] = values[i];
    return this.#run(undefined, variables, host);
  }

  /** What the evaluation in progress may still use; results that are iterators are drained with it. */
  get runtime(): EvaluationState {
    return this.#state;
  }

  #run(
    record: PyDict | undefined,
    variables: readonly (PyValue | undefined)[],
    host: ExpressionHost,
  ): PyValue {
    const state = this.#state;
    state.record = record;
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

class TreeCompiler implements NodeCompiler {
  readonly state: EvaluationState;
  readonly #variables: readonly string[];
  readonly #hasRecord: boolean;
  readonly #fields: FieldsRead;
  readonly #unknown: { name: string; line: number; column: number }[] = [];

  constructor(
    state: EvaluationState,
    variables: readonly string[],
    hasRecord: boolean,
    fields: FieldsRead,
  ) {
    this.state = state;
    this.#variables = variables;
    this.#hasRecord = hasRecord;
    this.#fields = hasRecord ? fields : 'all';
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

  fieldIndex(name: string): number | undefined {
    const index = this.#fields === 'all' ? -1 : this.#fields.indexOf(name);
    return index < 0 ? undefined : index;
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
