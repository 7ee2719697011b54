import type { SyntaxPosition } from '../values/expression-errors.js';
import type { PyValue } from '../values/python-values.js';

/** The binary operators of arithmetic and of bits. */
export type BinaryOperator =
  '+' | '-' | '*' | '/' | '//' | '%' | '**' | '<<' | '>>' | '&' | '^' | '|';

/** The operators of comparisons, including membership and identity. */
export type ComparisonOperator =
  '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in' | 'is' | 'is not';

/**
 * A node of the tree of an expression, as plain data. Its position is the one to which an error of the node refers: the operator of a unary
 * or binary node, the first operator of a comparison, the name of an attribute, the position of what is called, the bracket of a subscript,
 * the `for` of a comprehension, and otherwise the beginning of the node.
 */
export type SyntaxNode = SyntaxPosition & SyntaxNodeKinds;

type SyntaxNodeKinds =
  | { readonly kind: 'constant'; readonly value: PyValue }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'template'; readonly parts: readonly TemplatePart[] }
  | { readonly kind: 'list' | 'tuple' | 'set'; readonly items: readonly DisplayItem[] }
  | { readonly kind: 'dict'; readonly items: readonly DictItem[] }
  | {
      readonly kind: 'unary';
      readonly operator: '+' | '-' | '~' | 'not';
      readonly operand: SyntaxNode;
    }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: SyntaxNode;
      readonly right: SyntaxNode;
    }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly SyntaxNode[] }
  | {
      readonly kind: 'comparison';
      readonly first: SyntaxNode;
      readonly rest: readonly ComparisonPart[];
    }
  | {
      readonly kind: 'conditional';
      readonly test: SyntaxNode;
      readonly value: SyntaxNode;
      readonly otherwise: SyntaxNode;
    }
  | {
      readonly kind: 'comprehension';
      readonly result: 'list' | 'set' | 'dict' | 'generator';
      /** The key, if this is a dict comprehension; otherwise undefined. */
      readonly key: SyntaxNode | undefined;
      readonly element: SyntaxNode;
      readonly clauses: readonly ComprehensionClause[];
    }
  | {
      readonly kind: 'lambda';
      readonly parameters: readonly Parameter[];
      readonly body: SyntaxNode;
    }
  | { readonly kind: 'call'; readonly callee: SyntaxNode; readonly args: readonly Argument[] }
  | { readonly kind: 'subscript'; readonly object: SyntaxNode; readonly index: SyntaxNode }
  | {
      readonly kind: 'slice';
      readonly start: SyntaxNode | undefined;
      readonly stop: SyntaxNode | undefined;
      readonly step: SyntaxNode | undefined;
    }
  | { readonly kind: 'attribute'; readonly object: SyntaxNode; readonly name: string };

/** An operator of a comparison, with its position, and the operand after it. */
export interface ComparisonPart extends SyntaxPosition {
  readonly operator: ComparisonOperator;
  readonly operand: SyntaxNode;
}

/** An item of a list, tuple or set display; with `isUnpacked`, it is written `*item`. */
export interface DisplayItem {
  readonly value: SyntaxNode;
  readonly isUnpacked: boolean;
}

/** An item of a dict display; an item without a key is written `**value`. */
export interface DictItem {
  readonly key: SyntaxNode | undefined;
  readonly value: SyntaxNode;
}

/** The clause `for target in iterable if … if …`. */
export interface ComprehensionClause {
  readonly target: AssignmentTarget;
  readonly iterable: SyntaxNode;
  readonly conditions: readonly SyntaxNode[];
}

/** The target to which a `for` assigns the items; `starred` is the index of the target with a `*`, or -1. */
export type AssignmentTarget =
  | { readonly kind: 'name'; readonly name: string }
  | (SyntaxPosition & {
      readonly kind: 'unpack';
      readonly targets: readonly AssignmentTarget[];
      readonly starred: number;
    });

/** A parameter of a lambda; `rest` is `*args`, and `keywords` is `**kwargs`. */
export interface Parameter {
  readonly name: string;
  readonly kind: 'positional-only' | 'positional' | 'rest' | 'keyword-only' | 'keywords';
  readonly defaultValue: SyntaxNode | undefined;
}

/** An argument of a call; `unpacked` is written `*value`, and `unpacked-keywords` `**value`. */
export type Argument =
  | { readonly kind: 'positional' | 'unpacked' | 'unpacked-keywords'; readonly value: SyntaxNode }
  | { readonly kind: 'keyword'; readonly name: string; readonly value: SyntaxNode };

/** A part of an f-string: text, or a field. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'field';
      readonly value: SyntaxNode;
      readonly conversion: '' | 's' | 'r' | 'a';
      readonly spec: readonly TemplatePart[];
    };
