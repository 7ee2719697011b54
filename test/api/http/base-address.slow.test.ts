import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clientFor, idOf, makeVaultFixture, sendRequest, startServer, type Client, type VaultFixture, type TestOptions, type TestServer } from '../server.js'; // prettier-ignore
import { FormBrowser } from '../resources/browser.js';

/** A reverse proxy that serves the server below a path of its host. */
interface Proxy {
  readonly origin: string;
  readonly server: Server;
  /** The port to which the proxy forwards requests. */
  port: number;
  kind: ProxyKind;
}

/** Whether a proxy strips the prefix from paths, and which headers it adds to requests. */
interface ProxyKind {
  readonly name: string;
  readonly stripsPrefix: boolean;
  readonly headers: (host: string) => Record<string, string>;
}

const pathPrefix = '/genomes/lake';
/** The path of the metadata of an authorization server (RFC 8414, section 3). */
const metadataPath = '/.well-known/oauth-authorization-server';
const trustProxies = ['127.0.0.1'];
const noForwardedHeaders = (): Record<string, string> => ({});
/** The kinds of proxy that work with a server, grouped by the settings of the server. */
const proxyGroups: readonly {
  readonly name: string;
  readonly options: (base: string) => TestOptions;
  readonly kinds: readonly ProxyKind[];
}[] = [
  {
    name: 'a server with a public URL',
    options: (publicUrl) => ({ publicUrl }),
    kinds: [
      { name: 'the prefix passed through', stripsPrefix: false, headers: noForwardedHeaders },
      { name: 'the prefix stripped', stripsPrefix: true, headers: noForwardedHeaders },
    ],
  },
  {
    name: 'a server that trusts the proxy',
    options: () => ({ trustProxies }),
    kinds: [
      {
        name: 'X-Forwarded-*, and the prefix stripped',
        stripsPrefix: true,
        headers: (host) => ({ 'x-forwarded-for': '192.0.2.9', 'x-forwarded-host': host, 'x-forwarded-proto': 'http', 'x-forwarded-prefix': pathPrefix }), // prettier-ignore
      },
      {
        name: 'Forwarded, and the prefix passed through',
        stripsPrefix: false,
        headers: (host) => ({ forwarded: `for=192.0.2.9;proto=http;host="${host}"`, 'x-forwarded-prefix': pathPrefix }), // prettier-ignore
      },
    ],
  },
];

async function startProxy(kind: ProxyKind): Promise<Proxy> {
  const server = createServer((incoming, outgoing) => {
    const { stripsPrefix, headers } = proxy.kind;
    const { url = '/', method } = incoming;
    const isMetadata = url.startsWith(`${metadataPath}${pathPrefix}`);
    if (!url.startsWith(pathPrefix) && !isMetadata) return void outgoing.writeHead(404).end(`not below ${pathPrefix}`); // prettier-ignore
    const path = stripsPrefix && !isMetadata ? url.slice(pathPrefix.length) : url;
    const ownHeaders: IncomingHttpHeaders = { ...incoming.headers, host: 'inner.test', ...headers(incoming.headers.host ?? '') }; // prettier-ignore
    const upstream = request({
      port: proxy.port,
      host: '127.0.0.1',
      method,
      path,
      headers: ownHeaders,
    });
    upstream.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    upstream.on('error', () => outgoing.destroy());
    incoming.pipe(upstream);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: Proxy = { origin: `http://127.0.0.1:${port}`, server, port: 0, kind };
  return proxy;
}

/** Returns all strings in an answer that are addresses. */
function addressesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return /^(?:https?:\/)?\/(?!\/)\S*\/v[12]\//.test(value) || /^https?:/.test(value) ? [value] : []; // prettier-ignore
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(addressesIn) : []; // prettier-ignore
}

describe.each(proxyGroups)('behind a proxy, $name', ({ options, kinds }) => {
  let proxy: Proxy;
  let server: TestServer;
  let base: string;
  let ann: Client;
  let createdFixture: VaultFixture;

  beforeAll(async () => {
    proxy = await startProxy(kinds[0]!);
    base = proxy.origin + pathPrefix;
    const mail = { smtpUrl: 'smtp://127.0.0.1:9', mailFrom: 'a@lake.test' };
    const config = { threads: 1, workerMemoryMb: 512, ...mail };
    server = await startServer({ ...options(base), scheduler: { config } });
    proxy.port = server.port;
    const directClient = await server.user('ann', { role: 'admin' });
    ann = clientFor(base, directClient.user, directClient.token);
    // The fixture uploads a file to the `upload_url` that the server returns.
    createdFixture = await makeVaultFixture(ann);
  });
  afterAll(async () => {
    proxy.server.close();
    proxy.server.closeAllConnections();
    await server.close();
  });

  describe.each(kinds)('with $name', (kind) => {
    beforeAll(() => {
      proxy.kind = kind;
    });

    test('every address in answers is below the prefix, and works', async () => {
      const { vaultId, datasetId, exportId, importId, fieldId, commitId } = createdFixture;
      const beaconSetId = idOf(await ann.post('/v2/beacon_sets', { title: 'b', datasets: [] }));
      await ann.post('/v2/saved_queries', { name: 'q', dataset: String(datasetId), params: {} });
      await ann.post('/v1/groups', { name: 'g' });
      await ann.post('/v2/applications', { name: 'App', redirect_uris: 'https://apps.test/cb' });
      await ann.post('/v2/dataset_templates', { name: 't' });
      const linkedAddresses = new Set<string>();
      const paths = [
        '/v1/user',
        '/v1/users',
        '/v1/groups',
        '/v2/vaults?limit=1',
        `/v2/objects?vault_id=${vaultId}&limit=1&page=2`,
        `/v2/datasets/${datasetId}`,
        `/v2/datasets/${datasetId}/fields`,
        `/v2/datasets/${datasetId}/changelog`,
        `/v2/dataset_fields/${fieldId}`,
        `/v2/dataset_imports/${importId}`,
        `/v2/dataset_commits/${commitId}`,
        `/v2/dataset_exports/${exportId}`,
        `/v2/dataset_exports/${exportId}/download?redirect=`,
        `/v2/objects/${createdFixture.fileId}/download`,
        `/v2/beacon_sets/${beaconSetId}`,
        '/v2/saved_queries',
        '/v2/applications',
        '/v2/dataset_templates',
        '/v2/tasks?limit=2',
        '/v2/tokens',
      ];
      for (const path of paths) {
        const answer = await ann.get(path);
        expect([path, answer.status]).toEqual([path, 200]);
        const addresses = addressesIn(answer.json).filter((one) => !one.includes('apps.test'));
        for (const address of addresses) linkedAddresses.add(address);
        if (path !== '/v1/user' && path !== '/v1/users') expect([path, addresses.length > 0]).toEqual([path, true]); // prettier-ignore
      }
      expect(linkedAddresses.size).toBeGreaterThan(30);
      for (const address of linkedAddresses) {
        expect(address).toMatch(new RegExp(`^${base}/v[12]/`));
        const { status } = await ann.get(address);
        // Queries use POST, and the beacon of a dataset requires a chromosome and a coordinate.
        expect([address, status]).toEqual([
          address,
          /\/(?:query|data)$/.test(address) ? 405 : address.endsWith('/beacon') ? 400 : 200,
        ]);
      }
    });

    test('downloads redirect below the prefix', async () => {
      const { headers, status } = await ann.get(
        `/v2/dataset_exports/${createdFixture.exportId}/download`,
      );
      expect(status).toBe(302);
      expect(headers.get('location')).toMatch(new RegExp(`^${base}/v2/downloads/exports/`));
      const file = await ann.get(headers.get('location')!);
      expect([file.status, file.headers.get('content-type')]).toEqual([
        200,
        'application/octet-stream',
      ]);
    });

    test('an invitation leads to a page whose script finds the interface', async () => {
      const { link: url } = (await ann.post('/v1/invitations', {})).json;
      expect(String(url)).toMatch(new RegExp(`^${base}/join#`));
      const page = await sendRequest('', 'GET', String(url));
      const [, path] = /fetch\('([^']+)'/.exec(page.text) ?? [];
      const acceptUrl = new URL(path!, String(url));
      expect(acceptUrl.href).toBe(`${base}/v1/invitations/accept`);
      const code = String(url).split('#')[1];
      const joinAnswer = await sendRequest('', 'POST', acceptUrl.href, {
        code,
        email: `${code}@acme.org`,
      });
      expect(joinAnswer.status).toBe(200);
      expect(joinAnswer.json['url']).toBe(`${base}/v1/users/${idOf(joinAnswer)}`);
    });

    test('the pages and the description of the interface lead below the prefix', async () => {
      const startPage = await sendRequest(base, 'GET', '/', undefined, { accept: 'text/html' });
      const links = [...startPage.text.matchAll(/href="([^"]+)"/g)].map(([, href]) => new URL(href!, base)); // prettier-ignore
      expect(links.map(({ href }) => href)).toEqual(
        ['/docs', '/openapi.json', '/health'].map((path) => base + path),
      );
      for (const { href } of links) expect((await sendRequest('', 'GET', href)).status).toBe(200);
      const docsPage = await sendRequest(base, 'GET', '/docs');
      const [, openapiPath] = /fetch\('([^']+)'/.exec(docsPage.text) ?? [];
      expect(new URL(openapiPath!, `${base}/docs`).href).toBe(`${base}/openapi.json`);
      expect((await sendRequest(base, 'GET', '/openapi.json')).json['servers']).toEqual([
        { url: base },
      ]);
      const swagger = await sendRequest(base, 'GET', '/swagger');
      expect(new URL(swagger.headers.get('location')!, `${base}/swagger`).href).toBe(
        `${base}/docs`,
      );
    });

    test('the metadata of the issuer are between host and path, and below the path (RFC 8414, 3.1)', async () => {
      const betweenAnswer = await sendRequest(proxy.origin, 'GET', metadataPath + pathPrefix);
      const belowAnswer = await sendRequest(base, 'GET', metadataPath);
      expect([betweenAnswer.status, betweenAnswer.json]).toEqual([200, belowAnswer.json]);
      const { issuer } = betweenAnswer.json as { issuer: string };
      expect(issuer).toBe(base);
      const { origin, pathname } = new URL(issuer);
      expect(origin + metadataPath + pathname).toBe(proxy.origin + metadataPath + pathPrefix);
      for (const path of [`${pathPrefix}s`, `${pathPrefix}/v2/vaults`])
        expect((await sendRequest(proxy.origin, 'GET', metadataPath + path)).status).toBe(404);
    });

    test('the authorization page signs in, keeps its cookie to the prefix, and comes back', async () => {
      const phrase = 'correct horse battery';
      await ann.put('/v1/user/password', { password: phrase });
      const application = { name: 'App', redirect_uris: 'https://apps.test/cb' };
      const id = String(idOf(await ann.post('/v2/applications', application)));
      const query = new URLSearchParams({ response_type: 'code', client_id: id, redirect_uri: 'https://apps.test/cb' }); // prettier-ignore
      const browser = new FormBrowser(base);
      const page = await browser.openPage(`/authorize?${query}`);
      expect(page.headers.get('set-cookie')).toMatch(
        new RegExp(`^strandlake=\\w+; Path=${pathPrefix};`),
      );
      const answer = await browser.submitForm({ action: 'sign_in', email: 'ann@acme.org', password: phrase }); // prettier-ignore
      expect([answer.status, answer.headers.get('location')]).toEqual([303, `${pathPrefix}/authorize?${query}`]); // prettier-ignore
      const consent = await browser.openPage(
        new URL(answer.headers.get('location')!, proxy.origin).href,
      );
      expect(consent.text).toContain(`<code>${pathPrefix}/v2/tokens</code>`);
      const allowedAnswer = await browser.submitForm({ action: 'allow' });
      expect(allowedAnswer.headers.get('location')).toMatch(/^https:\/\/apps\.test\/cb\?code=/);
    });

    test('the e-mail of an export will have the address at which it was asked for', async () => {
      const body = {
        dataset_id: createdFixture.datasetId,
        format: 'csv',
        send_email_on_completion: true,
      };
      const { status, json } = await ann.post('/v2/dataset_exports', body);
      expect([status, json['metadata']]).toMatchObject([201, { email: { base_url: base } }]);
    });
  });
});
