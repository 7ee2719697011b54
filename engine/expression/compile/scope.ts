import type { Budget } from '../values/expression-limits.js';
import type {
  CompiledNode,
  ExpressionHost,
  Native,
  PyDict,
  PyType,
  PyValue,
} from '../values/python-values.js';
import type { MemberPath } from './record-fields.js';
import type { SyntaxNode } from '../syntax/syntax-tree.js';
import type { SyntaxPosition } from '../values/expression-errors.js';

/** The state of a compiled expression while it runs. */
export class EvaluationState {
  readonly budget: Budget;
  host: ExpressionHost = {};
  /** The values of the declared variables; undefined for a variable to which the caller gives no value. */
  readonly variables: (PyValue | undefined)[];
  /**
   * The values at the paths that the expression reads, if it reads only paths; undefined for a value that is missing or has not been
   * loaded.
   */
  readonly fields: (PyValue | undefined)[] = [];
  /** The fields of the record: for paths of several names whose value in `fields` is undefined, and for suggestions of field names. */
  recordFields: RecordFields = noFields;
  record: PyDict | undefined;

  constructor(budget: Budget, variableCount: number) {
    this.budget = budget;
    this.variables = Array.from({ length: variableCount }, () => undefined);
  }

  /** Returns the names of the fields of the record. */
  fieldNames(): Iterable<unknown> {
    return this.record?.map.keys() ?? this.recordFields.names();
  }
}

/** The fields of a record, by name; a field may be loaded only when it is looked up. */
export interface RecordFields {
  /** Returns the value of a field; undefined if the record lacks it. */
  lookUp(name: string): PyValue | undefined;
  names(): Iterable<string>;
}

/** What stands for the fields of the record if there is no record: it contains none. */
export const noFields: RecordFields = { lookUp: () => undefined, names: () => [] };

/** The number of slots of a frame; it grows while the code of the frame is compiled. */
interface FrameLayout {
  size: number;
}

/** The address of a variable: slot `slot` of the frame that is `hops` levels up. */
export interface SlotAddress {
  readonly hops: number;
  readonly slot: number;
}

/**
 * The names declared in an expression, a comprehension or a lambda. A comprehension shares the frame of the code around it, unless it is a
 * generator or closures need a frame of its own.
 */
export class NameScope {
  readonly #names = new Map<string, number>();
  readonly #parent: NameScope | undefined;
  readonly layout: FrameLayout;

  constructor(parent?: NameScope, sharesFrame = false) {
    this.#parent = parent;
    this.layout = sharesFrame && parent ? parent.layout : { size: 0 };
  }

  /** Returns the slot of a name in this scope, which is reserved if the name is new. */
  declareName(name: string): number {
    const knownName = this.#names.get(name);
    if (knownName !== undefined) return knownName;
    const slot = this.layout.size++;
    this.#names.set(name, slot);
    return slot;
  }

  /** Returns the names that are declared in this scope and in those around it. */
  names(): string[] {
    return [...this.#names.keys(), ...(this.#parent?.names() ?? [])];
  }

  find(name: string): SlotAddress | undefined {
    const slot = this.#names.get(name);
    if (slot !== undefined) return { hops: 0, slot };
    const outerVariable = this.#parent?.find(name);
    if (outerVariable === undefined) return undefined;
    return {
      hops: outerVariable.hops + (this.#parent?.layout === this.layout ? 0 : 1),
      slot: outerVariable.slot,
    };
  }
}

/** The meaning of a name: a local variable, a variable of the caller, the record, a function or type of the language, or nothing. */
export type NameResolution =
  | { readonly kind: 'slot'; readonly address: SlotAddress }
  | { readonly kind: 'variable'; readonly index: number }
  | { readonly kind: 'record' }
  | { readonly kind: 'builtin'; readonly value: Native | PyType }
  | { readonly kind: 'unknown' };

/** The functions of the compiler that the files for the different kinds of nodes need. */
export interface NodeCompiler {
  readonly state: EvaluationState;
  compile(node: SyntaxNode, scope: NameScope): CompiledNode;
  resolveName(name: string, scope: NameScope): NameResolution;
  /** Returns names that an unknown name may stand for. */
  suggestions(name: string, scope: NameScope): readonly string[];
  /** Returns code whose errors get this position, unless they already have one. If `addsPositions` is false, returns the code unchanged. */
  withPosition<A extends readonly unknown[], R>(
    position: SyntaxPosition,
    code: (...args: A) => R,
  ): (...args: A) => R;
  /**
   * Whether the compiled code adds the position of a node to the errors of its evaluation. If so, the code of several nodes must not be
   * combined, because each node has its own position.
   */
  readonly addsPositions: boolean;
  /** Whether the expression reads only paths of the record, so that the record itself is not needed. */
  readonly readsPaths: boolean;
  /** Returns the index of a path in `state.fields`; undefined if these do not contain its value. */
  pathIndex(path: MemberPath): number | undefined;
}
