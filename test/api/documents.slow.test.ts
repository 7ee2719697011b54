import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';
import { createUser } from '../../engine/catalog/create-user.js';
import { urlVariable } from '../../cli/remote.js';
import { settings } from '../../engine/core/config.js';
import { parseJson } from '../../engine/core/json.js';
import { querySchema } from '../../api/resources/records/record-schemas.js';
import { clientFor, idOf, sendRequest, startServer, waitForJob, type Client, type TestServer } from './server.js'; // prettier-ignore

/*
 * Runs the examples of the documents on a server with the bundled dataset. An example is a block of code, or a row of a table of conditions
 * and the records that they find; its language decides whether and how it is run. Placeholders are replaced by values from earlier answers
 * in the same document; at first, `<dataset id>`, `<file id>` and `<your email>` stand for the bundled dataset, its file and the user. The
 * address, the token and the data folder in the documents are replaced by those of the server.
 */

/** A block of code of a document, or a row of a table whose second column is titled "Finds". */
interface Example {
  readonly file: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

const documentFiles = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];
const examples = documentFiles.flatMap(examplesOf);

/** The reason why this test does not run the SQL of an engine, by the engine's name in the first line of the example. */
const reasonsNotToRunSql: Readonly<Record<string, string>> = {
  ClickHouse: 'npm run test:interop runs it',
  "DuckDB's delta extension": 'DuckDB would have to download it',
};

/** How an example is tested, by its language. */
const addExampleByLanguage: Readonly<Record<string, (example: Example) => void>> = {
  '': (example) => addShellExample({ ...example, text: curlCommandsIn(example.text) }),
  sh: addShellExample,
  json: (example) => addExample(example, () => sendJson(example)),
  python: (example) => {
    const missingModules = importedModulesIn(example.text).filter(
      (name) => !installedPythonModules.has(name),
    );
    if (missingModules.length > 0)
      test.skip(`${exampleTitleOf(example)} (needs Python with ${missingModules.join(', ')})`, () => {}); // prettier-ignore
    else addExample(example, () => runPython(example));
  },
  sql: (example) => {
    const engine = /^-- (ClickHouse|.* extension)/.exec(example.text)?.[1] ?? '';
    const reason = reasonsNotToRunSql[engine];
    if (reason !== undefined) test.skip(`${exampleTitleOf(example)} (${reason})`, () => {});
    else addExample(example, () => runSql(example));
  },
  Filter: (example) =>
    addExample(example, () =>
      sendConditionRow(example, (text) => ({ filters: [parseJson(text)] })),
    ),
  'Query string': (example) =>
    addExample(example, () => sendConditionRow(example, (text) => ({ query: text }))),
  // Configuration files of other programs are not run; another test checks that the settings in them exist.
  ini: () => {},
  nginx: () => {},
  dockerfile: () => {},
};

/** The Python modules that examples import and that this machine has. */
const installedPythonModules = new Set(
  spawnSync(
    'python3',
    [
      '-c',
      'import importlib.util as u, sys\nprint(*[n for n in sys.argv[1:] if u.find_spec(n)])',
      ...examples.flatMap(({ language, text }) =>
        language === 'python' ? importedModulesIn(text) : [],
      ),
    ],
    { encoding: 'utf8' },
  )
    .stdout?.trim()
    .split(' '),
);

/** Commands in shell examples that are not run, because they would change the machine. */
const untestedProgramPattern =
  /^(?:sudo |npm |docker |systemctl |journalctl |nginx |pip |strandlake |STRANDLAKE_\w+=)/;

let server: TestServer;
let client: Client;
let bundledDatasetId: number;
let bundledFileId: number;
let folder: string;
/** The values of the placeholders, by document. */
const placeholdersByDocument = new Map<string, Map<string, string>>();
/** The Python interpreter of each document: an example continues the earlier ones of its document. */
const interpreterByDocument = new Map<string, PythonInterpreter>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'strandlake-documents-'));
  server = await startServer();
  const owner = { email: 'owner@localhost', domain: 'local', token: { name: 'documents' } };
  const createdOwner = await server.catalog.transaction((tx) => createUser(tx, owner, server.key));
  client = clientFor(server.url, createdOwner.user, createdOwner.token?.secret ?? '');
  const vaultId = idOf(await client.post('/v2/vaults', { name: 'examples' }));
  const object = { vault_id: vaultId, object_type: 'file', filename: 'clinvar.vcf.gz' };
  const file = await client.post('/v2/objects', object);
  const content = readFileSync('examples/clinvar_grch38_2026_69k.vcf.gz');
  await sendRequest('', 'PUT', String(file.json['upload_url']), content);
  const dataset = { vault_id: vaultId, object_type: 'dataset', filename: 'clinvar' };
  bundledDatasetId = idOf(await client.post('/v2/objects', dataset));
  bundledFileId = idOf(file);
  const importParams = { dataset_id: bundledDatasetId, object_id: bundledFileId };
  await waitForEnd(await client.post('/v2/dataset_imports', importParams));
});

afterAll(async () => {
  for (const interpreter of interpreterByDocument.values()) interpreter.stop();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the bundled dataset', () => {
  /** The compared properties of each record of the bundled dataset, from the lines of its VCF file. */
  const sourceRecords = gunzipSync(readFileSync('examples/clinvar_grch38_2026_69k.vcf.gz'))
    .toString()
    .split(/\r?\n/)
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [chromosome, position, , reference = '', alternate = '', , , info = ''] = line.split('\t');
      const infoValueOf = (key: string) => new RegExp(`(?:^|;)${key}=([^;]*)`).exec(info)?.[1];
      const genes = infoValueOf('GENEINFO')?.split('|').map((one) => one.split(':')[0]) ?? [];
      const record =
        { chromosome, start: Number(position), reference, genes, rs: infoValueOf('RS'), diseases: infoValueOf('CLNDN')?.split('|') ?? [] };
      return alternate.split(',').map((allele) => ({ ...record, allele }));
    }); // prettier-ignore
  type SourceRecord = (typeof sourceRecords)[number];

  const queryEntities = async (entities: unknown): Promise<readonly [number, ReadonlyMap<string, number>]> => {
    const body = { entities, facets: { 'info.CLNDN': { limit: 0 } }, limit: 0 };
    const { status, json, text } = await client.post(`/v2/datasets/${bundledDatasetId}/data`, body);
    expect([status, text]).toEqual([200, expect.any(String)]);
    const facet = (json['facets'] as Record<string, [string, number][]>)['info.CLNDN']!;
    return [Number(json['total']), new Map(facet)];
  }; // prettier-ignore
  const isIn = (from: number, to: number) => ({ chromosome, start, reference }: SourceRecord) =>
    chromosome === '13' && start <= to && start + reference.length > from; // prettier-ignore
  const brca2 = ({ genes }: SourceRecord) => genes.includes('BRCA2');

  test.each<[unknown, (record: SourceRecord) => boolean]>([
    [['gene', 'BRCA2'], brca2],
    [['gene', 'FANCD1'], brca2],
    [['variant', 'brca2'], brca2],
    [['gene', ['TP53', 'MLH1']], ({ genes }) => genes.includes('TP53') || genes.includes('MLH1')],
    [['genomic_region', '13:32315086-32400268'], isIn(32315086, 32400268)],
    [['gene', 'chr13:32,315,086-32,330,000'], isIn(32315086, 32330000)],
  ])('answers %j, and the facet of diseases shows each of them', async (pair, isWanted) => {
    const records = sourceRecords.filter(isWanted);
    const diseases = new Map<string, number>();
    for (const record of records)
      for (const name of new Set(record.diseases)) diseases.set(name, (diseases.get(name) ?? 0) + 1);
    expect(records.length).toBeGreaterThan(0);
    expect(await queryEntities([pair])).toEqual([records.length, diseases]);
  }); // prettier-ignore

  test('answers variants and rs ids in every notation', async () => {
    const brca2Record = sourceRecords.find((record) => brca2(record) && record.rs !== undefined && /^[ACGT]$/.test(record.reference) && /^[ACGT]$/.test(record.allele))!;
    const samePlaceRecords = sourceRecords.filter(({ chromosome, start, reference, allele }) => chromosome === '13' && start === brca2Record.start && reference === brca2Record.reference && allele === brca2Record.allele);
    const { start, reference, allele } = brca2Record;
    for (const name of [`13-${start}-${reference}-${allele}`, `chr13:${start}:${reference}:${allele}`, `13:g.${start}${reference}>${allele}`, `hg38-13-${start}-${reference}-${allele}`, `GRCH38-13-${start}-${start}-${allele}`])
      expect([name, (await queryEntities([['variant', name]]))[0]]).toEqual([name, samePlaceRecords.length]);
    const sameRsRecords = sourceRecords.filter(({ rs }) => rs?.split('|').includes(brca2Record.rs!));
    expect((await queryEntities([['variant', `rs${brca2Record.rs!}`]]))[0]).toBe(sameRsRecords.length);
    expect((await queryEntities([['variant', `hg19-13-${start}-${reference}-${allele}`]]))[0]).toBe(0);
    const query = { entities: [['genomic_region', 'GRCh37:13:1-100']], explain: true };
    const { json } = await client.post(`/v2/datasets/${bundledDatasetId}/data`, query);
    expect(json).toMatchObject({ total: 0, explain: { causes: [{ cause: 'wrong_build', values: ['GRCh38'] }] } });
  }); // prettier-ignore
});

for (const file of documentFiles) {
  describe(file, () => {
    for (const example of examples.filter((one) => one.file === file)) {
      const register = addExampleByLanguage[example.language];
      if (register) register(example);
      else
        addExample(example, () =>
          expect(Object.keys(addExampleByLanguage)).toContain(example.language),
        );
    }
  });
}

test('the documents name no setting that does not exist', () => {
  const flags = new Set(Object.values(settings).map(({ flag }) => `--${flag}`));
  const variables = new Set<string>(Object.values(settings).map(({ env }) => env));
  variables.add(urlVariable); // the variable of commands that work through a server
  const testDocumentPattern = /^(CONTRIBUTING|docs\/(bad-input|threats|decisions\/.*))\.md$/;
  const unknownSettings = documentFiles.flatMap((file) => {
    if (testDocumentPattern.test(file)) return [];
    const text = readFileSync(file, 'utf8');
    const startCommands = [...text.matchAll(/(?:npm start --|strandlake serve|ExecStart=\S+ start --) ?([^`\n|]*)/g)]; // prettier-ignore
    const unknownFlags = startCommands
      .flatMap(([, rest = '']) => rest.match(/--[a-z-]+/g) ?? [])
      .filter((flag) => flag !== '--help' && !flags.has(flag));
    const unknownVariables = (text.match(/\bSTRANDLAKE_[A-Z_]+/g) ?? []).filter((name) => !variables.has(name)); // prettier-ignore
    return [...unknownFlags, ...unknownVariables].map((name) => `${file}: ${name}`);
  });
  expect(unknownSettings).toEqual([]);
});

/** Returns the code blocks of a Markdown document, and the rows of its tables whose second column is titled "Finds". */
function examplesOf(file: string): readonly Example[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  const fileExamples: Example[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, tableLanguage = ''] = /^\| (\w[\w ]*?) +\| Finds +\|/.exec(lines[at]!) ?? [];
    const rows = tableLanguage === '' ? [] : lines.slice(at + 2, lines.indexOf('', at));
    rows.forEach((text, i) =>
      fileExamples.push({ file, line: at + 3 + i, language: tableLanguage, text }),
    );
    const [, indent = '', language] = /^( *)```(\w*)$/.exec(lines[at]!) ?? [];
    if (language === undefined) continue;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end < 0) throw new Error(`${file}:${at + 1}: the block has no end`);
    const text = lines.slice(at + 1, end).join('\n');
    fileExamples.push({ file, line: at + 2, language, text });
    at = end;
  }
  return fileExamples;
}

function exampleTitleOf({ file, line, language, text }: Example): string {
  const firstCodeLine = text.split('\n').find((one) => !/^(#|--|\s*$)/.test(one)) ?? '';
  return `${file}:${line} ${language} ${firstCodeLine.slice(0, 60)}`;
}

function addExample(example: Example, run: () => Promise<void> | void): void {
  test(exampleTitleOf(example), run);
}

/** Returns the `curl` commands in the output of a program. */
function curlCommandsIn(text: string): string {
  return (text.match(/^curl (?:.*\\\n)*.*$/gm) ?? []).join('\n\n');
}

/** Runs the paragraphs of a shell example one after another, because a later one uses the ids of an earlier one. */
function addShellExample(example: Example): void {
  let line = example.line;
  for (const paragraph of example.text.split('\n\n')) {
    const paragraphExample = { ...example, line, text: paragraph };
    line += paragraph.split('\n').length + 1;
    const commands = paragraph.split('\n').filter((part) => !/^\s*(#|$)/.test(part));
    if (commands.length === 0) continue;
    if (untestedProgramPattern.test(commands[0]!)) {
      if (example.language === 'sh')
        test.skip(`${exampleTitleOf(paragraphExample)} (not run)`, () => {});
    } else addExample(paragraphExample, () => runShell(paragraphExample));
  }
}

async function runShell({ file, text }: Example): Promise<void> {
  const placeholderValues = placeholdersOf(file);
  if (text.includes('<code>') && placeholderValues.has('application id'))
    placeholderValues.set(
      'code',
      await newAuthorizationCode(Number(placeholderValues.get('application id'))),
    );
  const script = `set -eu
    curl() { command curl --fail-with-body --no-progress-meter "$@"; echo; }
    uuidgen() { cat /proc/sys/kernel/random/uuid; }
    S=${server.url} A="Authorization: Bearer ${client.token}" P="Prefer: handling=strict"
    ${withServerValues(text, placeholderValues)}`;
  const output = await runProgram('bash', ['-c', script]);
  for (const line of output.split('\n')) {
    const answer = line.startsWith('{') ? (parseJson(line) as Record<string, unknown>) : {};
    rememberIds(answer, placeholderValues);
    const isReachable = !text.includes('example.org');
    if (answer['task_id'] && isReachable) await waitForEnd({ json: answer });
  }
}

/** Returns an authorization code for the challenge of RFC 7636, appendix B, as the browser of a user would receive it. */
function newAuthorizationCode(applicationId: number): Promise<string> {
  const grant = {
    applicationId,
    userId: client.user.id,
    scope: 'read',
    redirectUri: 'https://apps.example.org/callback',
    codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  } as const;
  return server.catalog.grants.create(grant, server.key);
}

/** Stores the ids and other values of placeholders in an answer for later examples. */
function rememberIds(
  answer: Readonly<Record<string, unknown>>,
  placeholderValues: Map<string, string>,
): void {
  const kinds: Readonly<Record<string, string>> = {
    DatasetImport: 'import',
    DatasetExport: 'export',
    DatasetCommit: 'commit',
    SavedQuery: 'saved query',
    DatasetTemplate: 'template',
    Token: 'token',
    Application: 'application',
    BeaconSet: 'beacon set',
    Vault: 'vault',
    VaultPermission: 'permission',
    Group: 'group',
    User: 'user',
    Invitation: 'invitation',
    Object: String(answer['object_type']),
  };
  const kind = kinds[String(answer['class_name'])];
  if (kind !== undefined) placeholderValues.set(`${kind} id`, String(answer['id']));
  const [newest] = (answer['data'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  if (newest?.['class_name'] === 'DatasetCommit') rememberIds(newest, placeholderValues);
  if (answer['code']) placeholderValues.set('code', String(answer['code']));
  if (answer['upload_url']) placeholderValues.set('upload url', String(answer['upload_url']));
  if (answer['client_secret'])
    placeholderValues.set('client secret', String(answer['client_secret']));
  if (answer['refresh_token'])
    placeholderValues.set('refresh token', String(answer['refresh_token']));
  if (answer['cursor']) placeholderValues.set('cursor', String(answer['cursor']));
}

/** Waits for the task that an answer names, and expects that it succeeds. */
async function waitForEnd({ json }: { readonly json: Record<string, unknown> }): Promise<void> {
  const taskAnswer = await waitForJob(client, `/v2/tasks/${String(json['task_id'])}`);
  if (taskAnswer.json['status'] !== 'completed') throw new Error(taskAnswer.text);
}

function placeholdersOf(file: string): Map<string, string> {
  const placeholderValues =
    placeholdersByDocument.get(file) ??
    new Map([
      ['dataset id', String(bundledDatasetId)],
      ['clinvar id', String(bundledDatasetId)],
      ['file id', String(bundledFileId)],
      ['your email', client.user.email],
    ]);
  placeholdersByDocument.set(file, placeholderValues);
  return placeholderValues;
}

/** Returns an example in which the address, the token, the folder and the ids are those of the test's server. */
function withServerValues(text: string, placeholderValues: ReadonlyMap<string, string>): string {
  return text
    .replaceAll('http://127.0.0.1:3000', server.url)
    .replaceAll('<your token>', client.token)
    .replaceAll(/(?<=Bearer )[A-Za-z0-9]{30}/g, client.token)
    .replaceAll(/\b1000000000\d{5}\b/g, String(bundledDatasetId))
    .replaceAll(/<([a-z ]+)>/g, (whole, name: string) => placeholderValues.get(name) ?? whole)
    .replaceAll(/(?<![\w/])data\/datasets/g, join(server.data.root, 'datasets'));
}

/** Sends the body of a query to the dataset that the document describes; other JSON, such as a part of an answer, is only parsed. */
async function sendJson({ file, text }: Example): Promise<void> {
  const body = parseJson(text.startsWith('{') ? text : `{${text}}`) as Record<string, unknown>;
  const { properties } = querySchema.schema as { properties: object };
  if (!Object.keys(body).some((key) => Object.hasOwn(properties, key)) || 'dataset_id' in body || 'explain' in body) return; // prettier-ignore
  const path = `/v2/datasets/${placeholdersOf(file).get('dataset id')}/data`;
  const answer = await client.call('POST', path, body, { prefer: 'handling=strict' });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
}

/** Tests that the condition in a row of a table finds the records that the row names, ordered by relevance where the row says so. */
async function sendConditionRow(
  { file, text }: Example,
  bodyOf: (condition: string) => object,
): Promise<void> {
  const [, condition = '', idList = '', note = ''] =
    /^\| `(.*?)` +\| (.*?) +\| (.*?) *\|$/.exec(text) ?? [];
  const path = `/v2/datasets/${placeholdersOf(file).get('dataset id')}/data`;
  const answer = await client.post(path, { ...bodyOf(condition), fields: ['id'] });
  const ids = (answer.json['results'] as { id: string }[] | undefined)?.map(({ id }) => id);
  const isOrdered = /relevance|order$/.test(note);
  const expectedIds = idList === 'none' ? [] : idList.split(' ');
  expect([answer.status, isOrdered ? ids : ids?.sort()]).toEqual([
    200,
    isOrdered ? expectedIds : expectedIds.sort(),
  ]);
}

async function runPython({ file, text }: Example): Promise<void> {
  const interpreter = interpreterByDocument.get(file) ?? startPython();
  interpreterByDocument.set(file, interpreter);
  const failure = await interpreter.run(withServerValues(text, placeholdersOf(file)));
  if (failure !== null) throw new Error(failure);
}

/** A running Python interpreter. */
interface PythonInterpreter {
  /** Executes code that continues the code of earlier calls; returns the traceback of its error, or null. */
  run(code: string): Promise<string | null>;
  stop(): void;
}

const pythonLoop = `
import contextlib, json, sys, traceback
scope = {"__name__": "__main__"}
for line in sys.stdin:
    failure = None
    with contextlib.redirect_stdout(sys.stderr):
        try:
            exec(json.loads(line), scope)
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps(failure), flush=True)
`;

function startPython(): PythonInterpreter {
  const env = { ...process.env, QUARTZBIO_LOGFILE: join(folder, 'client.log') };
  const child = spawn('python3', ['-c', pythonLoop], { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] }); // prettier-ignore
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    run: async (code) => {
      child.stdin.write(`${JSON.stringify(code)}\n`);
      const { value, done } = await answers.next();
      return done === true ? 'Python has ended' : (JSON.parse(value) as string | null);
    },
    stop: () => child.stdin.end(),
  };
}

/** Returns the modules that Python code imports. */
function importedModulesIn(text: string): readonly string[] {
  return [...text.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => name!);
}

async function runSql({ file, text }: Example): Promise<void> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const statements = withServerValues(text, placeholdersOf(file)).split(/;$/m);
    let rowCount = 0;
    for (const statement of statements.filter((one) => one.trim() !== ''))
      rowCount = (await connection.runAndReadAll(statement)).currentRowCount;
    expect(rowCount).toBeGreaterThan(0);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Runs a program in a temporary folder; returns what it prints, and throws if it fails. */
async function runProgram(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} exited with ${code}: ${output}${errors}`);
  return output;
}
