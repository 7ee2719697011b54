import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { pollUntil } from '../../until.js';
import { Lake } from '../lake.js';

/** A mail server (RFC 5321) for tests that stores the received messages, or refuses every recipient. */
class MailServer {
  readonly messages: { readonly from: string; readonly to: string; readonly data: string }[] = [];
  readonly logins: string[] = [];
  refusesRecipients = false;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => {
      let text = '';
      let [from, to] = ['', ''];
      let isData = false;
      const say = (line: string): void => void socket.write(`${line}\r\n`);
      say('220 test');
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        text += bytes.toString();
        for (;;) {
          const end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n');
          if (end < 0) return;
          const line = text.slice(0, end);
          text = text.slice(end + (isData ? 5 : 2));
          if (isData) {
            this.messages.push({ from, to, data: line });
            isData = false;
            say('250 kept');
          } else if (line.startsWith('EHLO')) socket.write('250-test\r\n250 AUTH PLAIN\r\n');
          else if (line.startsWith('AUTH PLAIN ')) {
            this.logins.push(Buffer.from(line.slice(11), 'base64').toString());
            say('235 ok');
          } else if (line.startsWith('MAIL')) {
            from = line;
            say('250 ok');
          } else if (line.startsWith('RCPT')) {
            to = line;
            say(this.refusesRecipients ? '550 no such user' : '250 ok');
          } else if (line === 'DATA') {
            isData = true;
            say('354 go on');
          } else if (line === 'QUIT') {
            say('221 bye');
            socket.end();
          } else say('250 ok');
        }
      });
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}

let lake: Lake;
let mailServer: MailServer;
let scheduler: Scheduler;
let reportedMessages: string[];

beforeEach(async () => {
  lake = await Lake.make();
  mailServer = new MailServer();
  reportedMessages = [];
  await openMailer(`smtp://post:s%40cret@127.0.0.1:${await mailServer.listen()}`);
});
afterEach(async () => {
  await scheduler.close();
  mailServer.close();
  await lake.remove();
});

async function openMailer(smtpUrl: string | null): Promise<void> {
  const mailFrom = 'Strandlake <exports@lake.test>';
  const config = { threads: 1, workerMemoryMb: 512, smtpUrl, mailFrom, publicUrl: 'https://lake.test' }; // prettier-ignore
  scheduler = await lake.startScheduler({
    config,
    report: (message) => reportedMessages.push(message),
  });
}

async function newExport(sendEmailOnCompletion: boolean): Promise<ExportRow> {
  const datasetId = await lake.createDataset();
  const task = await lake.queueExport(datasetId, 'csv', { sendEmailOnCompletion });
  scheduler.wake();
  expect(await scheduler.wait(task.id)).toMatchObject({ status: 'completed' });
  return (await lake.catalog.exports.get(task.resourceId))!;
}

async function waitForEmail(id: number): Promise<ExportRow> {
  return pollUntil(async () => {
    const row = (await lake.catalog.exports.get(id))!;
    return (row.metadata['email'] as { status: string }).status === 'pending' ? undefined : row;
  });
}

test('the user is told where a completed export can be downloaded, once and only if asked for', async () => {
  expect(scheduler.sendsMail).toBe(true);
  const exportWithoutMail = await newExport(false);
  expect(exportWithoutMail.metadata['email']).toBeUndefined();
  const { id } = await newExport(true);
  const row = await waitForEmail(id);
  expect(row.metadata['email']).toEqual({ status: 'sent', at: expect.any(String) });
  expect(mailServer.messages).toHaveLength(1);
  const [message] = mailServer.messages;
  const user = await lake.catalog.users.get(row.userId);
  expect(message!.to).toContain(`<${user!.email}>`);
  expect(message!.from).toContain('<exports@lake.test>');
  expect(mailServer.logins).toEqual(['\0post\0s@cret']);
  const text = message!.data.replaceAll('=\r\n', '');
  expect(text).toContain(`https://lake.test/v2/dataset_exports/${id}/download`);
  expect(text).toContain('Subject: The export of variants-1 is ready');
  expect(text).toContain(row.filename);
  expect(text).toMatch(/: \d+ records?, [\d,]+ bytes\.\r\n/);
  expect(text).toContain('with a token of yours');
});

test('the link has the base address that the request for the export had', async () => {
  const datasetId = await lake.createDataset();
  const metadata = { email: { base_url: 'https://acme.lake.test/genomes' } };
  const task = await lake.queueExport(datasetId, 'csv', { sendEmailOnCompletion: true, metadata });
  scheduler.wake();
  await scheduler.wait(task.id);
  expect((await waitForEmail(task.resourceId)).metadata['email']).toMatchObject({ status: 'sent' });
  const text = mailServer.messages[0]!.data.replaceAll('=\r\n', '');
  expect(text).toContain(`https://acme.lake.test/genomes/v2/dataset_exports/${task.resourceId}/download`); // prettier-ignore
});

test('an e-mail that is refused is reported and noted, and the export is completed', async () => {
  mailServer.refusesRecipients = true;
  const { id } = await newExport(true);
  const row = await waitForEmail(id);
  expect(row).toMatchObject({ status: 'completed', metadata: { email: { status: 'failed' }, progress: { percent: 100 } } }); // prettier-ignore
  expect(JSON.stringify(row.metadata)).not.toContain('no such user');
  expect(reportedMessages.join()).toContain(`export ${id}: its e-mail was not sent`);
});

test('an e-mail that was due when the server ended is sent when it starts again', async () => {
  await scheduler.close();
  await openMailer(null); // without a mail server, so that the e-mail stays due
  const { id } = await newExport(true);
  expect((await lake.catalog.exports.get(id))!.metadata['email']).toEqual({ status: 'pending' });
  await scheduler.close();
  const laterServer = new MailServer();
  await openMailer(`smtp://127.0.0.1:${await laterServer.listen()}`);
  expect((await waitForEmail(id)).metadata['email']).toMatchObject({ status: 'sent' });
  expect(laterServer.messages).toHaveLength(1);
  laterServer.close();
});
