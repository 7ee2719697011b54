import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { toErrorValue } from '../../../engine/core/errors.js';
import { importSource, type SourceOptions } from '../import-source.js';

async function errorOrCount(text: string | Uint8Array, options: SourceOptions = {}) {
  try {
    const { error, rows } = await importSource(text, 'xml', options);
    return error ?? `${rows.length} records`;
  } catch (error) {
    return toErrorValue(error).message;
  }
}

const billionLaughs = `<!DOCTYPE l [<!ENTITY a "lol">${'bcdefghij'
  .split('')
  .map((name, i) => `<!ENTITY ${name} "${`&${'abcdefghij'[i]};`.repeat(10)}">`)
  .join('')}]>`;

/** Cases of threat F11 (docs/threats.md) and syntax errors: name, text, and the expected message or number of records. */
const errorCases: readonly (readonly [string, string, string])[] = [
  [
    'billion laughs',
    `${billionLaughs}<r><i>&j;</i></r>`,
    'line 1: column 435: the entity &j; is none of',
  ],
  [
    'the same in an attribute',
    `${billionLaughs}\n<r><i a="&j;"/></r>`,
    'line 2: column 10: the entity &j;',
  ],
  [
    'the same around the records',
    `${billionLaughs}\n<r>&j;<i/></r>`,
    'line 2: column 4: the entity &j;',
  ],
  [
    'an entity of one character',
    '<!DOCTYPE r [<!ENTITY a "x">]>\n<r><i>&a;</i></r>',
    'line 2: column 7',
  ],
  ['entities declared and not used', `${billionLaughs}<r><i/></r>`, '1 records'],
  [
    'a parameter entity',
    '<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><r><i/></r>',
    '1 records',
  ],
  ['an external DTD', '<!DOCTYPE r SYSTEM "file:///etc/passwd"><r><i>x</i></r>', '1 records'],
  [
    'an unknown entity',
    '<r><i>\n &nbsp;</i></r>',
    'line 2: column 2: the entity &nbsp; is none of &lt;',
  ],
  ['an entity named __proto__', '<r><i>&__proto__;</i></r>', 'the entity &__proto__; is none'],
  ['a lone ampersand', '<r><i>a & b</i></r>', 'line 1: column 9: "&" begins no reference'],
  ['a reference beyond Unicode', '<r><i>&#x110000;</i></r>', '&#x110000; is no character of XML'],
  ['a reference to 0', '<r><i>&#0;</i></r>', '&#0; is no character of XML'],
  ['a reference to a surrogate', '<r><i a="&#xD800;"/></r>', '&#xD800; is no character'],
  ['a reference that is huge', `<r><i>&#${'9'.repeat(50)};</i></r>`, 'is no character of XML'],
  ['a malformed reference', '<r><i>&#x4G;</i></r>', '&#x4G; is no character of XML'],
  [
    'a duplicate attribute',
    '<r>\n<i a="1" b="2" a="3"/></r>',
    'line 2: column 16: the attribute a is there twice',
  ],
  [
    'a duplicate around the records',
    '<r a="1" a="2"><i/></r>',
    'line 1: column 10: the attribute a',
  ],
  [
    'an attribute without a value',
    '<r><i a/></r>',
    'line 1: column 8: the attribute a has no value',
  ],
  ['an attribute without quotes', '<r><i a=1/></r>', 'the value of a must stand in quotes'],
  ['attributes without a blank', '<r><i a="1"b="2"/></r>', 'expected white space'],
  [
    '< in an attribute',
    '<r><i a="<"/></r>',
    'line 1: column 4: the tag <i that begins here is not closed',
  ],
  ['a name that begins with a digit', '<r><1/></r>', '"<" begins no tag here'],
  ['an unclosed element', '<r>\n<i>\n<j></r>', 'line 3: column 4: </r> stands where </j> should'],
  ['an unclosed record', '<r>\n<i>\n<j>', 'line 3: column 1: the element <j> that is opened here'],
  ['an unclosed root', '<r>\n<i/>\n', 'line 3: column 1: the file ends before </r>'],
  ['a stray closing tag', '<r/>\n</r>', 'line 2: column 1: </r> closes nothing'],
  ['two roots', '<r><i/></r>\n<q/>', 'line 2: column 1: <q> is a second root element'],
  ['text behind the root', '<r><i/></r>\nx', 'line 2: column 1: "x" stands outside'],
  ['an unclosed comment', '<r><i/><!-- </r>', 'line 1: column 8: what begins here does not end'],
  ['an unclosed CDATA section', '<r><i><![CDATA[ </i></r>', 'column 7: what begins here'],
  ['an unclosed tag', '<r><i a="1', 'line 1: column 4: what begins here does not end'],
  ['an unclosed DOCTYPE', '<!DOCTYPE r [ <r/>', 'line 1: column 1: the DOCTYPE that begins here'],
  ['a DOCTYPE inside', '<r><!DOCTYPE r><i/></r>', '"<!" begins neither a comment nor'],
  [
    'a declaration inside',
    '<r><?xml version="1.0"?><i/></r>',
    'the XML declaration must come first',
  ],
  ['no root', '<?xml version="1.0"?>\n', 'line 2: column 1: there is no root element'],
  ['JSON', '{"a":1}', 'line 1: column 1: this is no XML: expected "<", found "{"'],
  ['an empty file', '', '0 records'],
  ['a control character', '<r><i>\x01</i></r>', 'the control character 0x1 is not allowed'],
  [']]> in a text', '<r><i>]]></i></r>', '"]]>" is not allowed in a text'],
  [
    'another encoding',
    '<?xml version="1.0" encoding="Shift_JIS"?><r/>',
    'the encoding "Shift_JIS" is not read',
  ],
  [
    'an encoding named __proto__',
    '<?xml version="1.0" encoding="__proto__"?><r/>',
    '"__proto__" is not read',
  ],
  ['a level named __proto__', '<r><__proto__><x/></__proto__></r>', '1 records'],
];

describe('a file with', () => {
  test.each(errorCases)(
    '%s is refused with its message, for any chunk size',
    async (_, text, message) => {
      const wholeError = await errorOrCount(text);
      expect(wholeError).toContain(message);
      expect(wholeError.length).toBeLessThan(300);
      for (const layer of ['plain', 'gzip'] as const)
        for (const targetBytes of [1, 5, 8])
          expect(await errorOrCount(text, { layer, targetBytes })).toBe(wholeError);
      expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    },
  );
});

test('the message about bytes that are not UTF-8 names their position', async () => {
  expect(await errorOrCount(Buffer.from('<r>\n<i>\xe9</i></r>', 'latin1'))).toBe(
    'file, line 2: column 4: the byte 0xE9 is not UTF-8, and the file declares no other encoding',
  );
});

test('UTF-16 without a byte order mark is refused with a message that names it', async () => {
  expect(await errorOrCount(Buffer.from('<r/>', 'utf16le'))).toContain('this is UTF-16 text');
});

describe('expensive documents are refused or read in little time (F11, T0)', () => {
  const hugeDocuments: readonly (readonly [string, () => string, string])[] = [
    [
      'levels',
      () => `<r>${'<a>'.repeat(1e6)}`,
      'elements may nest at most 256 levels deep: flatten',
    ],
    [
      'attributes',
      () => `<r><i${Array.from({ length: 1e6 }, (_, i) => ` a${i}="1"`).join('')}/></r>`,
      'more than 10000 attributes, the most that one may have: write them as elements',
    ],
    [
      'names',
      () =>
        `<r><i>${Array.from({ length: 1e5 }, (_, i) => `${i % 300 ? '' : '</i><i>'}<a${i}/>`).join('')}</i></r>`,
      'more than 40001 different names of elements and attributes, the most that an import may have: split the data over several imports',
    ],
    [
      'elements in one record',
      () => `<r><i>${'<a/>'.repeat(1_100_000)}</i></r>`,
      'more than 1000000 elements and attributes, the most that one may have: set reader_params.item_depth',
    ],
    ['numeric references', () => `<r><i>${'&#65;'.repeat(2e6)}</i></r>`, '1 records'],
    [
      'pieces of one text',
      () => `<r><i><t>${'&lt;<b>&lt;</b>'.repeat(4e5)}</t></i></r>`,
      '1 records',
    ],
    [
      'a quote that never closes',
      () => `<r><i a="${'x'.repeat(2e7)}`,
      'the tag <i is longer than 16 MiB, the most that one may have: close its quotes',
    ],
    ['comments', () => `<r>${'<!-- -->'.repeat(2e6)}<i/></r>`, '1 records'],
    [
      'a quadratic blow-up',
      () => `<!DOCTYPE r [<!ENTITY a "${'x'.repeat(5e4)}">]><r><i>${'&a;'.repeat(5e4)}</i></r>`,
      'the entity &a;',
    ],
  ];
  test.each(hugeDocuments)('%s', async (_, make, message) => {
    expect(await errorOrCount(make())).toContain(message);
  });

  const allowedTexts: readonly (readonly [string, string, () => string])[] = [
    ['xmlDepth', 'elements may nest', () => `<r>${'<a>'.repeat(255)}${'</a>'.repeat(255)}</r>`],
    [
      'xmlAttributes',
      'an element has more than',
      () =>
        `<r><i${Array.from({ length: 10_000 }, (_, i) => ` a${i % 10_000}="1"`).join('')}/></r>`,
    ],
    ['xmlNodes', 'a record holds more than', () => `<r><i>${'<a/>'.repeat(999_990)}</i></r>`],
  ];
  test.each(allowedTexts)('just within %s nothing says %s (T0)', async (_, message, make) => {
    expect(await errorOrCount(make())).not.toContain(message);
  });
});

test('entities cause no request and no growth of memory', async () => {
  let requestCount = 0;
  const server = createServer((_, response) => {
    requestCount++;
    response.end('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const rssBefore = process.memoryUsage().rss;
  for (const text of [
    `<!DOCTYPE r SYSTEM "${url}"><r><i/></r>`,
    `<!DOCTYPE r PUBLIC "-//X//Y" "${url}"><r><i/></r>`,
    `<!DOCTYPE r [<!ENTITY e SYSTEM "${url}">]><r><i>&e;</i></r>`,
    `<!DOCTYPE r [<!ENTITY % e SYSTEM "${url}">%e;]><r><i>&x;</i></r>`,
    `<r xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="${url}"/></r>`,
    `<?xml-stylesheet href="${url}"?><r xsi:schemaLocation="${url}"><i/></r>`,
    `${billionLaughs}<r><i>&j;</i></r>`,
  ])
    await errorOrCount(text);
  await new Promise((resolve) => server.close(resolve));
  expect(requestCount).toBe(0);
  expect(process.memoryUsage().rss - rssBefore).toBeLessThan(100 << 20);
});
