import { describe, expect, test } from '@jest/globals';
import { Annotation } from '../../../engine/expression/annotate/annotate-record.js';
import type { AnnotationRequest } from '../../../engine/expression/annotate/annotate-record.js';
import type { AnnotationField } from '../../../engine/expression/annotate/annotation-fields.js';
import { jsonOfValue } from '../../../engine/expression/annotate/json-text.js';
import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import { toPlainValue } from '../../../engine/expression/values/plain-result.js';
import { noFields } from '../../../engine/expression/compile/scope.js';
import { compileExpression } from '../../../engine/expression/expression.js';
import { getItem } from '../../../engine/expression/values/dict.js';
import { stringRepr } from '../../../engine/expression/values/repr.js';
import { reprOf } from '../../../engine/expression/values/repr.js';
import { PyDict } from '../../../engine/expression/values/python-values.js';
import type { HostFunction } from '../../../engine/expression/values/python-values.js';
import { evaluateText, recordOf } from './evaluated.js';

function annotationFieldOf(
  name: string,
  expression: string | null,
  more: Partial<AnnotationField> = {},
) {
  return {
    name,
    expression,
    dataType: 'auto' as const,
    isList: null,
    ordering: 0,
    dependsOn: [],
    isTransient: false,
    ...more,
  };
}

function annotateJson(
  json: string,
  fields: readonly AnnotationField[],
  more: Partial<AnnotationRequest> = {},
  functions: ReadonlyMap<string, HostFunction> = new Map(),
): string {
  const annotation = new Annotation({ fields, includeErrors: true, ...more });
  const { records } = annotation.annotate(recordOf(json), { functions });
  const { runtime } = compileExpression('1');
  return records.map((record) => reprOf(runtime, record)).join(' ');
}

describe('the annotation examples of the specification', () => {
  test('1: a field sees what the fields before it wrote', () => {
    const fields = [
      annotationFieldOf('split_message', 'record.message.split()', {
        dataType: 'string',
        isList: true,
        ordering: 1,
      }),
      annotationFieldOf('message', "value + ' world'", { dataType: 'string' }),
    ];
    expect(annotateJson('{"message": "hello"}', fields)).toBe(
      "{'message': 'hello world', 'split_message': ['hello', 'world']}",
    );
  });

  test('2: transient fields are dropped, ties run in the order of the list', () => {
    const transientOptions = { isTransient: true, ordering: 1 };
    const header = { constant: valueOfJson('["CHROM","POS","ID","REF","ALT"]') };
    const fields: AnnotationField[] = [
      {
        ...annotationFieldOf('header', null, { ...transientOptions, isList: true }),
        expression: header,
      },
      annotationFieldOf('row', 'dict(zip(record.header, value.split()))', {
        ...transientOptions,
        dataType: 'object',
      }),
      annotationFieldOf('build', "'GRCh37'", transientOptions),
      annotationFieldOf(
        'variant',
        "'-'.join([record.build, record.row['CHROM'], record.row['POS'], record.row['POS'], record.row['ALT']])",
        { ordering: 2 },
      ),
      annotationFieldOf('rsid', "get(record, 'row.ID') if get(record, 'row.ID') != '.' else None", {
        ordering: 2,
      }),
    ];
    expect(annotateJson('{"row": "20 14370 rs6054257 G A"}', fields)).toBe(
      "{'variant': 'GRCh37-20-14370-14370-A', 'rsid': 'rs6054257'}",
    );
  });

  test('3: an error concerns one field', () => {
    const fields = [
      annotationFieldOf('q', 'record.n / record.d', { dataType: 'double' }),
      annotationFieldOf('p', 'record.n * 2', { dataType: 'integer' }),
    ];
    const json = '{"n": 4, "d": 0}';
    expect(annotateJson(json, fields)).toBe(
      "{'n': 4, 'd': 0, 'q': None, 'p': 8, '_errors': {'q': 'division by zero (line 1, column 10)'}}",
    );
    expect(annotateJson(json, fields, { includeErrors: false })).toBe(
      "{'n': 4, 'd': 0, 'q': None, 'p': 8}",
    );
  });

  test('4: a failing cast is an error', () => {
    expect(annotateJson('{}', [annotationFieldOf('x', "'abc'", { dataType: 'integer' })])).toBe(
      `{'x': None, '_errors': {'x': "Invalid value for data type integer: 'abc'"}}`,
    );
  });

  test('5: depends_on beats ordering, and a circle is an error', () => {
    const a = annotationFieldOf('a', 'record.b + 1', { dependsOn: ['b'] });
    expect(annotateJson('{}', [a, annotationFieldOf('b', '1', { ordering: 5 })])).toBe(
      "{'a': 2, 'b': 1}",
    );
    expect(() =>
      annotateJson('{}', [a, annotationFieldOf('b', '1', { dependsOn: ['a'] })]),
    ).toThrow('Fields depend on each other in a circle: a → b → a');
  });

  test('6: an explosion comes before the fields', () => {
    const fields = [annotationFieldOf('lower', 'record.g.lower()')];
    const preExpression = "explode(record, fields=['g'])";
    expect(annotateJson('{"g": ["A", "B"], "i": 1}', fields, { preExpression })).toBe(
      "{'g': 'A', 'i': 1, 'lower': 'a'} {'g': 'B', 'i': 1, 'lower': 'b'}",
    );
  });

  test('7: a left join', () => {
    const rows = valueOfJson('[{"gene": "TP53", "age": 54}, {"gene": "TP53", "age": 61}]');
    const emptyList = valueOfJson('[]');
    const functions = new Map<string, HostFunction>([
      [
        'dataset_query',
        (runtime, args) => (reprOf(runtime, args[4]!).includes('TP53') ? rows : emptyList),
      ],
    ]);
    const fields = [
      annotationFieldOf(
        'j',
        `dataset_query('D', fields=['gene','age'], filters=[["gene", get(record, "gene")]], limit=100000) if get(record, "gene") else {}`,
        { isTransient: true, isList: true },
      ),
      annotationFieldOf('b_age', '[get(item, "age") for item in get(record, "j")]', {
        isList: true,
        dependsOn: ['j'],
      }),
    ];
    const postExpression = "explode(record, fields=['b_age'])";
    const join = (json: string) => annotateJson(json, fields, { postExpression }, functions);
    expect(join('{"gene": "TP53"}')).toBe(
      "{'gene': 'TP53', 'b_age': 54} {'gene': 'TP53', 'b_age': 61}",
    );
    expect(join('{"gene": "KRAS"}')).toBe("{'gene': 'KRAS', 'b_age': None}");
  });

  test('8: a declared field that is missing is None', () => {
    const fields = [
      annotationFieldOf('x', null, { dataType: 'string' }),
      annotationFieldOf('y', "record.x or 'none'"),
    ];
    expect(annotateJson('{}', fields)).toBe("{'x': None, 'y': 'none'}");
  });
});

test('a record passes unchanged where the expression before the fields fails', () => {
  const text = annotateJson('{"a": 1}', [annotationFieldOf('b', '2')], { preExpression: '5' });
  expect(text).toContain("'a': 1, 'b': 2, '_errors': {'pre_annotation_expression': ");
  expect(annotateJson('{"a": 1}', [], { preExpression: 'None' })).toBe('');
});

test('fields of the schema are None for expressions and are not added', () => {
  expect(
    annotateJson('{}', [annotationFieldOf('y', 'record.z is None')], { schemaFields: ['z'] }),
  ).toBe("{'y': True}");
});

test('a syntax error names the field and the position', () => {
  expect(
    () => new Annotation({ fields: [annotationFieldOf('x', '1 +\n  ]')], includeErrors: true }),
  ).toThrow('x: Syntax error: invalid syntax (line 2, column 3)');
});

test('the input is not changed', () => {
  const record = recordOf('{"xs": [1]}');
  new Annotation({
    fields: [annotationFieldOf('y', 'record.xs.append(2)')],
    includeErrors: true,
  }).annotate(record);
  const { runtime } = compileExpression('1');
  expect(reprOf(runtime, record)).toBe("{'xs': [1]}");
  expect(stringRepr(runtime, 'a')).toBe("'a'");
});

test.each([
  ["record.a + record['b']", ['a', 'b']],
  ["get(record, 'c.d', 0)", ['c.d']],
  ["get(record, 'c[1].d.0')", ['c']],
  ["get(record, 'c.d.0.e')", ['c.d']],
  ["record.c.d + record['c']['e']['f']", ['c.d', 'c.e.f']],
  ['record.c.d + len(record.c)', ['c']],
  ["record.c.get('d') or record.get('e', 1)", ['c.d', 'e']],
  ["record.c.get('d', record.e)", ['c', 'e']],
  ['record.c.d.upper()', ['c.d']],
  ['[record.c.d for record in record.rs]', ['c.d', 'rs']],
  ["[x for x in record.xs if x > get(record, 'n')]", ['n', 'xs']],
  ['get(record, record.k)', 'all'],
  ['record.items()', 'all'],
  ['len(record)', 'all'],
  ['record[record.k]', 'all'],
  ['1', []],
])('%s reads %j', (text, expected) => {
  const { pathsRead } = compileExpression(text);
  const paths = pathsRead === 'all' ? 'all' : pathsRead.map((path) => path.join('.')).sort();
  expect(paths).toEqual(expected);
});

test('an expression is evaluated from the values at the paths that it reads', () => {
  const expression = compileExpression("record.a * 2 + get(record, 'b.0', 5)");
  expect(expression.pathsRead).toEqual([['b'], ['a']]);
  expect(expression.evaluatePaths([undefined, 1], noFields)).toBe(7);
  expect(expression.evaluatePaths([valueOfJson('[3]'), 1], noFields)).toBe(5);
});

test('a value that is not at hand is looked up with its whole field', () => {
  const wholeRecord = recordOf('{"o": {"a": 1, "n": null}, "s": "text", "z": null}');
  const evaluateBothWays = (text: string) => {
    const expression = compileExpression(text);
    const source = { ...noFields, lookUp: (name: string) => wholeRecord.map.get(name) };
    const lookedUpResult = resultOrMessage(() => expression.evaluatePaths([undefined], source));
    expect(lookedUpResult).toEqual(resultOrMessage(() => expression.evaluate(wholeRecord)));
    return lookedUpResult;
  };
  expect(evaluateBothWays('record.o.a')).toBe(1);
  expect(evaluateBothWays('record.o.n')).toBe(null);
  expect(evaluateBothWays("record.o.get('x', 3)")).toBe(3);
  expect(evaluateBothWays("get(record, 'o.x.y', 4)")).toBe(4);
  expect(evaluateBothWays('record.o.x')).toBe("'dict' object has no attribute 'x'");
  expect(evaluateBothWays("record.o['x']")).toBe("'x'");
  expect(evaluateBothWays('record.s.a')).toBe("'str' object has no attribute 'a'");
  expect(evaluateBothWays('record.z.a')).toBe("'NoneType' object has no attribute 'a'");
  expect(evaluateBothWays("record.z.get('a')")).toBe("'NoneType' object has no attribute 'get'");
  expect(evaluateBothWays('record.q.a')).toBe("record has no field 'q'");
});

test.each([
  ["record.get('x') if 'x' in record else 0", '{"x": 5}', '5'],
  ["len(record) + record.get('x')", '{"x": 5}', '6'],
  ["len(record) + record.get('x', 3)", '{}', '3'],
  ["record.get('x'), record.get('y'), record.get('z', 3)", '{"x": 5}', '(5, None, 3)'],
])('%s of %s calls the method of the record', (text, json, expected) => {
  expect(evaluateText(text, json)).toBe(expected);
});

test('a variable may be named record', () => {
  const expression = compileExpression("record.get('x')", {
    hasRecord: false,
    variables: ['record'],
  });
  expect(expression.evaluate(undefined, [recordOf('{"x": 5}')])).toBe(5);
});

/** Returns the result of a function, or the message of its error. */
function resultOrMessage(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as Error).message;
  }
}

test('a function of the host may evaluate the expression that calls it', () => {
  const expression = compileExpression('record.n + (0 if record.n == 0 else annotate(record, 1))');
  const functions = new Map<string, HostFunction>();
  const host = { functions };
  functions.set('annotate', () => expression.evaluate(recordOf('{"n": 0}'), [], host));
  expect(expression.evaluate(recordOf('{"n": 5}'), [], host)).toBe(5);
});

describe('values of JSON', () => {
  test.each([
    ['[1, -0, 1.0, 1e3, 9007199254740993, -123456789012345]', '[1, 0, 1.0, 1000.0, 9007199254740993, -123456789012345]'], // prettier-ignore
    ['["a\\"b", "\\\\", "\\\\\\"", "\\u00e9", ""]', `['a"b', '\\\\', '\\\\"', 'é', '']`],
    ['{"b": {"1": null}, "a": [true, false, NaN, -Infinity]}', "{'b': {'1': None}, 'a': [True, False, nan, -inf]}"], // prettier-ignore
  ])('%s', (json, repr) => {
    expect(reprOf(compileExpression('1').runtime, valueOfJson(json))).toBe(repr);
  });

  test('keys that begin with U+0000 are written as they are', () => {
    const json = String.raw`{"\u0000k":{"\u0000":1},"k":2}`;
    expect(jsonOfValue(valueOfJson(json), 100)).toBe(json);
    const expression = compileExpression(String.raw`{'\x00k': {'\x00': 1}, 'k': 2}`);
    const result = toPlainValue(expression.runtime, expression.evaluate(undefined));
    expect(jsonOfValue(result, 100)).toBe(json);
    expect(getItem(result as PyDict, '\0k')).toBeInstanceOf(PyDict);
  });

  test('a text of megabytes', () => {
    expect(valueOfJson(JSON.stringify('"'.repeat(12_000_000)))).toHaveLength(12_000_000);
  });

  test.each(['', '[1', '"a', '"a\\"', '{"a" 1}', '{a: 1}', '[01]', 'nul', '1 2', '"\n"'])(
    'refuses %j',
    (json) => {
      expect(() => valueOfJson(json)).toThrow('malformed JSON');
    },
  );
});
