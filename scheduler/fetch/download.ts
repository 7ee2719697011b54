import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Written } from '../../engine/core/files.js';
import type { Promised } from '../jobs/import/source.js';
import { decoderOf, isDamage, type Decoder } from './decode.js';
import { FetchFailure, final, networkFailure, passing } from './failure.js';
import { keepPromise, refuseMore, Sent } from './promise.js';
import type { Answer } from './request.js';
import { rangeHeaders, strongTag, wholeBytes, type Bookmark } from './resume.js';
import { pauseBefore, statusFailure } from './retry.js';
import { Spool } from './spool.js';
import { visit, type Visit } from './visit.js';

/** What is to be fetched, and how one hears of it. */
export interface Download extends Visit {
  readonly url: URL;
  readonly file: string;
  readonly promised: Promised;
  /** How many bytes are here, and of how many; null while nobody has said. */
  report(bytes: number, total: number | null): void;
}

/** Fetches a URL into a new file, going on where a transfer broke off; on any failure the file is gone. */
export async function download(job: Download): Promise<Written> {
  const spool = await Spool.open(job.file);
  const transfer = new Transfer(job, spool);
  try {
    for (let retry = 0; ; retry += 1) {
      try {
        await transfer.run();
        break;
      } catch (error) {
        job.signal.throwIfAborted();
        const failure = failureOf(error);
        if (!failure.isPassing || retry >= job.limits.retries) throw failure;
        const ms = pauseBefore(retry + 1, failure.waitMs, job.limits);
        await pause(ms, undefined, { signal: job.signal });
      }
    }
    const written = await spool.finish();
    keepPromise(job.promised, written, transfer.sent?.written());
    return written;
  } catch (error) {
    await spool.abort();
    throw error;
  }
}

/** What is no failure of the network (a full disk) is passed on as it is. */
function failureOf(error: unknown): FetchFailure {
  const known = error as { name?: unknown } | null;
  if (known?.name === 'AppError') throw error;
  return networkFailure(error);
}

/** One file on its way, over as many connections as it takes. */
class Transfer {
  /** The bytes as they were sent, where they are encoded. */
  sent: Sent | undefined;
  #mark: Bookmark | undefined;
  /** The strong tag of what the file holds the beginning of. */
  #tag: string | undefined;
  readonly #job: Download;
  readonly #spool: Spool;

  constructor(job: Download, spool: Spool) {
    this.#job = job;
    this.#spool = spool;
  }

  async run(): Promise<void> {
    const { bytes } = this.#spool;
    this.#mark = this.#tag === undefined || bytes === 0 ? undefined : { bytes, tag: this.#tag };
    await visit(this.#job.url, rangeHeaders(this.#mark), this.#job, (answer) => this.#take(answer));
  }

  async #take(answer: Answer): Promise<void> {
    const { status, headers } = answer;
    if (status === 206 && this.#mark !== undefined) return this.#goOn(answer, this.#mark);
    if (status === 416 && this.#mark !== undefined) {
      this.#tag = undefined;
      throw passing('the host cannot go on where the connection broke off');
    }
    if (status !== 200) throw statusFailure(status, headers);
    const decoder = decoderOf(headers['content-encoding']);
    const length = lengthOf(answer, this.#job.promised);
    await this.#spool.restart();
    this.#tag = decoder === undefined ? strongTag(headers) : undefined;
    this.sent = decoder === undefined ? undefined : new Sent();
    if (decoder !== undefined) return this.#decode(answer.body, decoder, length);
    if (length !== null) {
      this.#spool.check(length);
      refuseMore(this.#job.promised, length, undefined);
    }
    await this.#keep(answer.body, length);
  }

  async #goOn(answer: Answer, mark: Bookmark): Promise<void> {
    const whole = wholeBytes(answer.headers, mark);
    const isEncoded = decoderOf(answer.headers['content-encoding']) !== undefined;
    if (whole === undefined || isEncoded) {
      this.#tag = undefined; // from the start, the next time
      throw passing('the host went on at another place');
    }
    this.#spool.check(whole);
    await this.#keep(answer.body, whole);
  }

  async #keep(body: AsyncIterable<Uint8Array>, whole: number | null): Promise<void> {
    for await (const piece of body) await this.#add(piece, whole);
    if (whole !== null && this.#spool.bytes !== whole) {
      throw passing(`${this.#spool.bytes} of ${whole} bytes came`);
    }
  }

  async #add(piece: Uint8Array, whole: number | null): Promise<void> {
    refuseMore(this.#job.promised, this.#spool.bytes + piece.byteLength, this.sent);
    await this.#spool.write(piece);
    this.#job.report(this.sent?.bytes ?? this.#spool.bytes, whole);
  }

  async #decode(
    body: AsyncIterable<Uint8Array>,
    decoder: Decoder,
    whole: number | null,
  ): Promise<void> {
    const { sent } = this;
    const iterator = body[Symbol.asyncIterator]();
    const first = await iterator.next();
    if (first.done === true) return;
    let broken: unknown;
    // What the decoder says is thrown into the generator too; only the connection's own failures count here.
    const next = (): Promise<IteratorResult<Uint8Array>> =>
      iterator.next().catch((error: unknown) => {
        broken = error;
        throw error;
      });
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (
        let piece: IteratorResult<Uint8Array> = first;
        piece.done !== true;
        piece = await next()
      ) {
        sent?.add(piece.value);
        yield piece.value;
      }
    }
    const add = (piece: Uint8Array): Promise<void> => this.#add(piece, whole);
    const decoded = decoder(first.value);
    try {
      await pipeline(Readable.from(pieces(), { objectMode: false }), decoded, async (source) => {
        for await (const piece of source) await add(piece as Uint8Array);
      });
    } catch (error) {
      if (broken !== undefined) throw broken;
      throw isDamage(error) ? final('its Content-Encoding is damaged') : error;
    }
    // A decoder may be content before the body ends: what follows it is not to be lost in silence.
    if ((await iterator.next()).done !== true) throw final('its Content-Encoding is damaged');
  }
}

/** How long the body is, as the host says; nothing that cannot be told from its beginning is taken for a file. */
function lengthOf({ headers }: Answer, promised: Promised): number | null {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  const isFramed = /\bchunked$/i.test(headers['transfer-encoding'] ?? '');
  if (isFramed || promised.bytes !== null || promised.md5 !== null) return null;
  throw final('the host does not say where it ends (no Content-Length); give size or md5');
}
