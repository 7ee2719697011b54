import type { Catalog } from '../../engine/catalog/catalog.js';
import type { ExportRow } from '../../engine/catalog/exports.js';
import type { Config } from '../../engine/core/config.js';

interface ExportMailerOptions {
  readonly catalog: Catalog;
  readonly config: Partial<Pick<Config, 'smtpUrl' | 'mailFrom' | 'publicUrl'>>;
  /** Reports to the operator that an e-mail was not sent. */
  report(message: string): void;
  now(): number;
}

/** Timeouts in milliseconds for the mail server: for connecting, for its greeting, and for inactivity of the connection. */
const smtpTimeoutsMs = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
};

/**
 * Sends the e-mails that exports asked for (`send_email_on_completion`), one at a time, to the users who started the exports. When an
 * export completes, its `metadata.email` has the status `pending` until the e-mail is `sent` or has `failed`, so that e-mails that are due
 * are sent after a restart. A failure to send is reported and changes nothing else.
 */
export class ExportMailer {
  readonly #options: ExportMailerOptions;
  #isDue = false;
  #isClosed = false;
  #sending: Promise<void> | undefined;

  constructor(options: ExportMailerOptions) {
    this.#options = options;
  }

  /** Whether the settings name a mail server and a sender. */
  get isMailConfigured(): boolean {
    const { smtpUrl, mailFrom } = this.#options.config;
    return Boolean(smtpUrl) && Boolean(mailFrom);
  }

  /** Sends the e-mails that are due, in the background. */
  sendDueMails(): void {
    if (this.#isClosed || !this.isMailConfigured) return;
    this.#isDue = true;
    this.#sending ??= this.#sendAll();
  }

  /** Resolves when the e-mail in progress has been sent or has failed; no further e-mail is sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    const { catalog, report } = this.#options;
    try {
      while (this.#isDue && !this.#isClosed) {
        this.#isDue = false;
        for (const row of await catalog.exports.unmailed())
          if (!this.#isClosed) await this.#sendOne(row);
      }
    } catch (error) {
      report(`e-mails of exports: ${String(error)}`);
    } finally {
      this.#sending = undefined;
    }
  }

  async #sendOne(row: ExportRow): Promise<void> {
    const { catalog, report, now } = this.#options;
    const email = await this.#deliver(row).then(
      () => ({ status: 'sent', at: new Date(now()).toISOString() }),
      (error: unknown) => {
        report(`export ${row.id}: its e-mail was not sent: ${String(error)}`);
        const message = 'The e-mail could not be sent; the log of the server says why.';
        return { status: 'failed', message };
      },
    );
    await catalog.exports.update(row.id, { metadata: { ...row.metadata, email } });
  }

  async #deliver(row: ExportRow): Promise<void> {
    const { catalog, config } = this.#options;
    const { protocol, hostname, port, username, password } = new URL(String(config.smtpUrl));
    const user = await catalog.users.get(row.userId);
    const dataset = await catalog.objects.get(row.datasetId);
    const name = dataset?.filename ?? `dataset ${row.datasetId}`;
    const { base_url: base } = row.metadata['email'] as { readonly base_url?: string };
    const link = `${base ?? config.publicUrl ?? ''}/v2/dataset_exports/${row.id}/download`;
    const isSecure = protocol === 'smtps:';
    // Loaded on demand: few servers send e-mails, and the package takes a tenth of the time in which the API process starts.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      ...smtpTimeoutsMs,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isSecure ? 465 : 587) : Number(port),
      secure: isSecure,
      ...(username !== '' && {
        auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
      }),
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      await transport.sendMail({
        from: String(config.mailFrom),
        to: { name: '', address: user?.email ?? '' },
        subject: `The export of ${name} is ready`,
        text: [
          `${row.filename}: ${countedNoun(row.documentsCount ?? 0, 'record')}, ${countedNoun(row.bytes ?? 0, 'byte')}.`,
          `It can be downloaded until ${new Date(row.expiresAt ?? 0).toISOString()}, with a token of yours:`,
          `curl -LOJ -H 'Authorization: Bearer <token>' '${link}'`,
          ...(row.targetFullPath === null ? [] : [`It is also stored at ${row.targetFullPath}.`]),
          '',
        ].join('\n'),
      });
    } finally {
      transport.close();
    }
  }
}

function countedNoun(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
