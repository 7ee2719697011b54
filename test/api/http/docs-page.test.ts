import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createContext, runInContext } from 'node:vm';
import { idOf, sendRequest, startServer, type Client, type TestServer } from '../server.js';

/** The members of an HTML element that the page's script uses. */
interface FakeElement {
  readonly tag: string;
  readonly children: (FakeElement | string)[];
  textContent: string;
  value: string;
  placeholder: string;
  type?: string;
  files?: readonly Blob[];
  onclick?: () => Promise<void>;
  oninput?: () => void;
  append(...kids: (FakeElement | string)[]): void;
}

/** The section of an operation on the documentation page, as shown in the simulated browser. */
interface ShownOperation {
  readonly name: string;
  readonly elements: readonly FakeElement[];
}

let server: TestServer;
let ann: Client;

beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
});
afterAll(() => server.close());

test('every operation has a body to send, with its required keys marked', async () => {
  const { operations } = await openPage(new Map());
  const document = (await sendRequest(server.url, 'GET', '/openapi.json')).json as unknown as {
    paths: Record<string, Record<string, DescribedOperation>>;
    components: { schemas: Record<string, { required?: readonly string[] }> };
  };
  let bodyCount = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { deprecated, requestBody, parameters }] of Object.entries(methods)) {
      if (deprecated === true) continue;
      const shownOperation = operations.get(`${method.toUpperCase()} ${path}`);
      const texts = shownOperation!.elements.map(({ textContent }) => textContent).join('\n');
      for (const { name, required } of parameters)
        if (required === true) expect(texts).toContain(`${name} (required)`);
      const content = requestBody?.content['application/json'];
      if (content === undefined) continue;
      bodyCount += 1;
      const body = JSON.parse(
        shownOperation!.elements.find(({ tag }) => tag === 'textarea')!.value,
      ) as object;
      const { required = [] } =
        document.components.schemas[content.schema.$ref.split('/').at(-1)!]!;
      expect(Object.keys(body)).toEqual(expect.arrayContaining([...required]));
      expect(Object.keys(body).length).toBeGreaterThan(0);
      for (const key of required) expect(texts).toMatch(new RegExp(`^${key} \\(required\\)`, 'm'));
    }
  }
  expect(bodyCount).toBeGreaterThan(20);
});

test('keeps the token in the browser until it is cleared', async () => {
  const storage = new Map<string, string>();
  const firstPage = await openPage(storage);
  expect(firstPage.token.value).toBe('');
  enterText(firstPage.token, ann.token);
  const secondPage = await openPage(storage);
  expect(secondPage.token.value).toBe(ann.token);
  enterText(secondPage.token, '');
  expect(storage.size).toBe(0);
});

test('sends headers as headers: a repeated request with an Idempotency-Key creates one vault', async () => {
  const { operations, token } = await openPage(new Map());
  token.value = ann.token;
  const createOperation = operations.get('POST /v2/vaults')!;
  fillFields(createOperation, { 'Idempotency-Key': 'once' });
  const answers = [await pressSendButton(createOperation), await pressSendButton(createOperation)];
  for (const answer of answers) expect(answer).toMatch(/^POST \/v2\/vaults\n201 /);
  expect(answers[0]).toBe(answers[1]);
});

test('uploads a chosen file', async () => {
  const { operations, token } = await openPage(new Map());
  token.value = ann.token;
  const vault_id = idOf(await ann.post('/v2/vaults', { name: 'Uploads' }));
  const object = { vault_id, object_type: 'file', filename: 'a.txt' };
  const createdObject = await ann.post('/v2/objects', object);
  const uploadOperation = operations.get('PUT /v2/uploads/{id}/{revision}')!;
  fillFields(uploadOperation, { upload_url: String(createdObject.json['upload_url']) });
  uploadOperation.elements.find(({ type }) => type === 'file')!.files = [new Blob(['chosen'])];
  expect(await pressSendButton(uploadOperation)).toMatch(/^PUT .*\n200 /);
  const download = await ann.get(`/v2/objects/${idOf(createdObject)}/download`);
  const address = download.headers.get('location') ?? String(download.json['download_url']);
  expect((await sendRequest('', 'GET', address)).text).toBe('chosen');
});

interface DescribedOperation {
  readonly deprecated?: boolean;
  readonly parameters: readonly { readonly name: string; readonly required?: boolean }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;
  };
}

/** Runs the script of the page in a simulation of those parts of a browser that it uses. */
async function openPage(storage: Map<string, string>): Promise<{
  readonly token: FakeElement;
  readonly operations: ReadonlyMap<string, ShownOperation>;
}> {
  const page = await sendRequest(server.url, 'GET', '/docs');
  const [, script = ''] = /<script>(.*)<\/script>/s.exec(page.text) ?? [];
  const hash = createHash('sha256').update(script).digest('base64');
  expect(page.headers.get('content-security-policy')).toContain(`script-src 'sha256-${hash}'`);
  const [main, token] = [newElement('main'), newElement('input')];
  const globals = {
    document: {
      createElement: newElement,
      querySelector: (selector: string) => (selector === 'main' ? main : token),
    },
    localStorage: {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => storage.set(key, value),
      removeItem: (key: string) => storage.delete(key),
    },
    fetch: (path: string, init?: RequestInit) => fetch(new URL(path, `${server.url}/docs`), init),
    URL,
    URLSearchParams,
  };
  runInContext(script, createContext(globals));
  while (main.children.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const details = descendantsOf(main).filter(({ tag }) => tag === 'details');
  const operations = details.map((one): [string, ShownOperation] => {
    const elements = descendantsOf(one);
    const [, method, path] = elements;
    const name = `${method!.textContent} ${path!.textContent}`;
    return [name, { name, elements }];
  });
  return { token, operations: new Map(operations) };
}

function newElement(tag: string): FakeElement {
  const children: (FakeElement | string)[] = [];
  return {
    tag,
    children,
    textContent: '',
    value: '',
    placeholder: '',
    append: (...kids) => void children.push(...kids),
  };
}

function descendantsOf(one: FakeElement): readonly FakeElement[] {
  return one.children.flatMap((kid) =>
    typeof kid === 'string' ? [] : [kid, ...descendantsOf(kid)],
  );
}

function enterText(input: FakeElement, value: string): void {
  input.value = value;
  input.oninput?.();
}

/** Fills in the input fields of an operation's section by name. */
function fillFields({ elements }: ShownOperation, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    const label = elements.find(({ tag, children }) => {
      const [firstChild] = children;
      return tag === 'label' && (firstChild as FakeElement).textContent.split(' ')[0] === name;
    });
    (label!.children[1] as FakeElement).value = value;
  }
}

/** Presses the button of an operation's section; returns the answer that the section then shows. */
async function pressSendButton({ elements }: ShownOperation): Promise<string> {
  await elements.find(({ tag }) => tag === 'button')!.onclick!();
  return elements.find(({ tag, textContent }) => tag === 'pre' && /^[A-Z]+ \//.test(textContent))!
    .textContent;
}
