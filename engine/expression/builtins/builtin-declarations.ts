/** The documentation of a built-in function or type. */
interface BuiltinDeclaration {
  readonly name: string;
  readonly signature: string;
  readonly text: string;
  readonly example: string;
}

const builtinRows: readonly (readonly [signature: string, text: string, example: string])[] = [
  [
    'bool(object=False)',
    'Whether a value is true: not 0, not empty, not None.',
    'bool(record.tags)',
  ],
  [
    'dict(items=(), **named)',
    'An object of pairs and named values.',
    'dict(zip(record.keys, record.values))',
  ],
  ['float(x=0.0)', 'A float of a number or a text.', 'float(record.vaf)'],
  ['frozenset(items=())', 'A set that cannot change.', 'frozenset(record.tags)'],
  ['int(x=0, base=10)', 'An int of a number, cut towards zero, or of a text.', 'int(record.pos)'],
  ['list(items=())', 'A list of the items.', 'list(record.tags)'],
  [
    'range(start, stop, step=1)',
    'The ints from start to before stop; `range(stop)` begins at 0.',
    '[i for i in range(3)]',
  ],
  ['set(items=())', 'The different items.', 'set(record.tags)'],
  ['slice(start, stop, step=None)', 'A slice, for an index.', 'record.tags[slice(0, 2)]'],
  ["str(object='')", 'The text of a value.', 'str(record.pos)'],
  ['tuple(items=())', 'A tuple of the items.', 'tuple(record.tags)'],
  ['abs(x)', 'The size of a number.', 'abs(record.delta)'],
  ['bin(x)', 'The binary digits of an int.', 'bin(5)'],
  ['oct(x)', 'The octal digits of an int.', 'oct(8)'],
  ['hex(x)', 'The hexadecimal digits of an int.', 'hex(255)'],
  ['divmod(a, b)', 'Quotient and remainder.', 'divmod(17, 5)'],
  ['pow(base, exp, mod=None)', 'A power, modulo a number if one is given.', 'pow(2, 10)'],
  [
    'round(number, ndigits=None)',
    'The nearest int, or a number of `ndigits` decimals; halves go to the even one.',
    'round(record.vaf, 2)',
  ],
  ['all(items)', 'Whether all items are true.', "all(t != '' for t in record.tags)"],
  ['any(items)', 'Whether an item is true.', "any(t == 'a' for t in record.tags)"],
  [
    'enumerate(items, start=0)',
    'Pairs of number and item.',
    '[i for i, t in enumerate(record.tags)]',
  ],
  [
    'filter(function, items)',
    'The items for which a function is true; None keeps the true ones.',
    'list(filter(None, record.tags))',
  ],
  ['iter(items)', 'An iterator over the items.', 'next(iter(record.tags))'],
  [
    'map(function, *items)',
    'What a function gives for each item.',
    'list(map(str, record.counts))',
  ],
  [
    'max(items, *, key=None, default=None)',
    'The greatest item, or the greatest of several arguments.',
    'max(record.counts)',
  ],
  [
    'min(items, *, key=None, default=None)',
    'The least item, or the least of several arguments.',
    'min(record.counts)',
  ],
  [
    'next(iterator, default=None)',
    'The next item of an iterator; the default at its end, where one is given.',
    'next((t for t in record.tags if t), None)',
  ],
  ['reversed(items)', 'The items from the last to the first.', 'list(reversed(record.tags))'],
  [
    'sorted(items, *, key=None, reverse=False)',
    'The items in order, as a list.',
    'sorted(record.tags, key=len)',
  ],
  ['sum(items, start=0)', 'The sum of numbers.', 'sum(record.counts)'],
  [
    'zip(*items, strict=False)',
    'Tuples of the first items, the second ones and so on.',
    'list(zip(record.ref, record.alt))',
  ],
  ['ascii(object)', 'The text of a value as Python writes it, in ASCII.', 'ascii(record.name)'],
  ['chr(code)', 'The character of a code point.', 'chr(65)'],
  ["format(value, spec='')", 'The text of a value by a format.', "format(record.vaf, '.2f')"],
  [
    'isinstance(object, type)',
    'Whether a value is of a type, or of one of a tuple of types.',
    'isinstance(record.gene, list)',
  ],
  ['len(object)', 'The number of items or characters.', 'len(record.tags)'],
  ['ord(character)', 'The code point of a character.', "ord('A')"],
  ['repr(object)', 'The text of a value as Python writes it.', 'repr(record.vaf)'],
];

/** All built-in functions and types of the language; each has the meaning that it has in Python. */
export const builtinDeclarations: readonly BuiltinDeclaration[] = builtinRows.map(
  ([signature, text, example]) => {
    const name = signature.slice(0, signature.indexOf('('));
    return { name, signature, text, example };
  },
);
