/** A node of the tree of a parsed regular expression. */
export type RegexNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'character'; readonly code: number }
  | { readonly kind: 'class'; readonly test: (code: number) => boolean }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'group'; readonly index: number; readonly body: RegexNode }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly RegexNode[] }
  | {
      readonly kind: 'repeat';
      readonly body: RegexNode;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    }
  | {
      readonly kind: 'look';
      readonly body: RegexNode;
      readonly isBehind: boolean;
      readonly isNegative: boolean;
    };

/** An assertion about a position; `last-line-end` is the end of the text, or the position before a line feed at its end. */
export type Assertion =
  | 'text-start'
  | 'text-end'
  | 'line-start'
  | 'line-end'
  | 'last-line-end'
  | 'word-boundary'
  | 'not-word-boundary';

/** The flags of a regular expression: `i`, `s`, `m` and `x` of Python. */
export interface RegexFlags {
  readonly ignoreCase: boolean;
  readonly dotAll: boolean;
  readonly multiline: boolean;
  readonly verbose: boolean;
}

/** A parsed pattern; `groups` is the number of its groups without group 0, the whole match. */
export interface ParsedRegex {
  readonly root: RegexNode;
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
  readonly flags: RegexFlags;
}
