import { regexError } from './parse.js';
import type { Assertion, ParsedRegex, RegexNode } from './regex-tree.js';

/** An instruction of a program; targets are indices of instructions. */
type Instruction =
  | { readonly op: 'character'; readonly code: number }
  | { readonly op: 'class'; readonly test: (code: number) => boolean }
  | { readonly op: 'assertion'; readonly assertion: Assertion }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; target: number }
  | { readonly op: 'save'; readonly slot: number }
  /** Continues at `target` if the slot holds the current position, that is, if the loop pass that began there has matched nothing. */
  | { readonly op: 'progress'; readonly slot: number; target: number }
  | {
      readonly op: 'look';
      readonly program: RegexProgram;
      readonly isNegative: boolean;
      /** For a look-behind, the number of characters that it reads; -1 for a look-ahead. */
      readonly width: number;
    }
  | { readonly op: 'match' };

/**
 * A compiled regular expression. Slots 2n and 2n + 1 hold the begin and end of group n. The slots after those of the groups hold, for each
 * loop whose body may match nothing, the position at which its current pass began.
 */
export interface RegexProgram {
  readonly instructions: readonly Instruction[];
  readonly groupCount: number;
  readonly slots: number;
  /** For each instruction, the slots of the enclosing loops whose passes may match nothing, from the outermost. */
  readonly loops: readonly (readonly number[])[];
  readonly names: ReadonlyMap<string, number>;
  /** The character with which every match begins; undefined if there is none, or if it is not known. */
  readonly firstCharacter: string | undefined;
}

/**
 * Maximum number of instructions, with those of look-arounds. Counted repetitions are copied, so a program may be much longer than its
 * pattern.
 */
const maxInstructions = 10_000;
/** Maximum number of nodes of the tree to assemble, each copy counted; an empty sequence, for example, adds no instruction. */
const maxAssembledNodes = 5 * maxInstructions;

/** What the assemblers of a pattern and of its look-arounds may still add. */
interface AssemblyBudget {
  instructions: number;
  nodes: number;
}

/** Compiles a parsed regular expression. Throws a `FunctionError` if the program is too long or a look-behind has no fixed width. */
export function compileRegex({ root, groups, names }: ParsedRegex): RegexProgram {
  const budget = { instructions: maxInstructions, nodes: maxAssembledNodes };
  return assembleProgram({ kind: 'group', index: 0, body: root }, groups, names, budget);
}

/** Returns the number of instructions of a program, with those of its look-arounds. */
export function sizeOfProgram({ instructions }: RegexProgram): number {
  return instructions.reduce(
    (sum, one) => sum + (one.op === 'look' ? sizeOfProgram(one.program) : 1),
    0,
  );
}

function assembleProgram(
  root: RegexNode,
  groups: number,
  names: ReadonlyMap<string, number>,
  budget: AssemblyBudget,
): RegexProgram {
  const assembler = new Assembler(groups, names, budget);
  assembler.emit(root);
  assembler.addInstruction({ op: 'match' });
  const first = assembler.instructions[1];
  const firstCharacter =
    assembler.instructions[0]?.op === 'save' && first?.op === 'character'
      ? String.fromCodePoint(first.code)
      : undefined;
  const { instructions, loops, slots } = assembler;
  return { instructions, groupCount: groups, slots, loops, names, firstCharacter };
}

class Assembler {
  readonly instructions: Instruction[] = [];
  readonly loops: (readonly number[])[] = [];
  slots: number;
  #open: readonly number[] = [];
  readonly #groups: number;
  readonly #names: ReadonlyMap<string, number>;
  readonly #budget: AssemblyBudget;

  constructor(groups: number, names: ReadonlyMap<string, number>, budget: AssemblyBudget) {
    this.#groups = groups;
    this.#names = names;
    this.#budget = budget;
    this.slots = 2 * groups + 2;
  }

  addInstruction<T extends Instruction>(instruction: T): T {
    if (--this.#budget.instructions < 0) throw tooLargeError();
    this.instructions.push(instruction);
    this.loops.push(this.#open);
    return instruction;
  }

  emit(node: RegexNode): void {
    if (--this.#budget.nodes < 0) throw tooLargeError();
    switch (node.kind) {
      case 'empty':
        return;
      case 'character':
        this.addInstruction({ op: 'character', code: node.code });
        return;
      case 'class':
        this.addInstruction({ op: 'class', test: node.test });
        return;
      case 'assertion':
        this.addInstruction({ op: 'assertion', assertion: node.assertion });
        return;
      case 'sequence':
        for (const part of node.parts) this.emit(part);
        return;
      case 'group':
        this.addInstruction({ op: 'save', slot: 2 * node.index });
        this.emit(node.body);
        this.addInstruction({ op: 'save', slot: 2 * node.index + 1 });
        return;
      case 'choice':
        this.#choice(node.parts);
        return;
      case 'repeat':
        this.#repeat(node);
        return;
      case 'look': {
        const width = node.isBehind ? fixedWidthOf(node.body) : -1;
        if (width === undefined) throw regexError('look-behind requires fixed-width pattern');
        const program = assembleProgram(node.body, this.#groups, this.#names, this.#budget);
        this.addInstruction({ op: 'look', program, isNegative: node.isNegative, width });
      }
    }
  }

  #choice(parts: readonly RegexNode[]): void {
    const ends: { target: number }[] = [];
    for (const [i, part] of parts.entries()) {
      if (i === parts.length - 1) {
        this.emit(part);
        break;
      }
      const split = this.addInstruction({
        op: 'split',
        first: this.instructions.length + 1,
        second: 0,
      });
      this.emit(part);
      ends.push(this.addInstruction({ op: 'jump', target: 0 }));
      split.second = this.instructions.length;
    }
    for (const end of ends) end.target = this.instructions.length;
  }

  #repeat({ body, min, max, isLazy }: RegexNode & { readonly kind: 'repeat' }): void {
    for (let i = 0; i < min; i++) this.emit(body);
    const splits: ((after: number) => void)[] = [];
    const passes: { target: number }[] = [];
    const option = () => {
      const splitInstruction = this.addInstruction({ op: 'split', first: 0, second: 0 });
      const innerStart = this.instructions.length;
      splits.push((after) => {
        splitInstruction.first = isLazy ? after : innerStart;
        splitInstruction.second = isLazy ? innerStart : after;
      });
      return innerStart;
    };
    // As in Python, a repetition ends after a pass that matches nothing.
    const pass = () => {
      if (!canBeEmpty(body)) return this.emit(body);
      const around = this.#open;
      const slot = this.slots++;
      this.addInstruction({ op: 'save', slot });
      this.#open = [...around, slot];
      this.emit(body);
      passes.push(this.addInstruction({ op: 'progress', slot, target: 0 }));
      this.#open = around;
    };
    if (max === Infinity) {
      const start = option();
      pass();
      const after = this.instructions.length + 1;
      const [first, second] = isLazy ? [after, start] : [start, after];
      this.addInstruction({ op: 'split', first, second });
    } else
      for (let i = min; i < max; i++) {
        option();
        if (i < max - 1) pass();
        else this.emit(body);
      }
    for (const close of splits) close(this.instructions.length);
    for (const one of passes) one.target = this.instructions.length;
  }
}

function tooLargeError(): Error {
  return regexError('the pattern is too large with its repetitions');
}

/** Whether a node can match without reading a character. */
function canBeEmpty(node: RegexNode): boolean {
  switch (node.kind) {
    case 'character':
    case 'class':
      return false;
    case 'empty':
    case 'assertion':
    case 'look':
      return true;
    case 'group':
      return canBeEmpty(node.body);
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.body);
    case 'sequence':
      return node.parts.every(canBeEmpty);
    case 'choice':
      return node.parts.some(canBeEmpty);
  }
}

/** Returns the number of characters that a node always reads; undefined if the number varies. */
function fixedWidthOf(node: RegexNode): number | undefined {
  switch (node.kind) {
    case 'character':
    case 'class':
      return 1;
    case 'empty':
    case 'assertion':
    case 'look':
      return 0;
    case 'group':
      return fixedWidthOf(node.body);
    case 'repeat': {
      const width = fixedWidthOf(node.body);
      return width === undefined || node.min !== node.max ? undefined : width * node.min;
    }
    case 'sequence': {
      let sum: number | undefined = 0;
      for (const part of node.parts) {
        const width = fixedWidthOf(part);
        sum = sum === undefined || width === undefined ? undefined : sum + width;
      }
      return sum;
    }
    case 'choice': {
      const widths = node.parts.map(fixedWidthOf);
      return widths.every((width) => width === widths[0]) ? widths[0] : undefined;
    }
  }
}
