import { send, type Answer } from '../server.js';

/** A browser at the pages of a server: it keeps a cookie and sends the forms of the last page. */
export class Browser {
  readonly #url: string;
  #cookie = '';
  #address = '';
  #page = '';

  /** `cookie` is one that it already has. */
  constructor(url: string, cookie = '') {
    this.#url = url;
    this.#cookie = cookie;
  }

  /** The cookie that it sends, `name=value`. */
  get cookie(): string {
    return this.#cookie;
  }

  /** Loads a page. */
  async open(address: string): Promise<Answer> {
    this.#address = address;
    const answer = await send(this.#url, 'GET', address, undefined, this.#headers());
    return this.#received(answer);
  }

  /** Sends a form of the last page to its address; `fields` replaces values of the form. */
  async submit(fields: Readonly<Record<string, string>>): Promise<Answer> {
    const csrf_token = /name="csrf_token" value="(\w+)"/.exec(this.#page)?.[1] ?? '';
    const body = new URLSearchParams({ csrf_token, ...fields }).toString();
    const headers = { ...this.#headers(), 'content-type': 'application/x-www-form-urlencoded' };
    return this.#received(await send(this.#url, 'POST', this.#address, body, headers));
  }

  #headers(): Record<string, string> {
    return { accept: 'text/html', ...(this.#cookie !== '' && { cookie: this.#cookie }) };
  }

  #received(answer: Answer): Answer {
    // A later cookie of the same answer wins, as in browsers.
    this.#cookie = answer.headers.getSetCookie().at(-1)?.split(';')[0] ?? this.#cookie;
    if (answer.status !== 303) this.#page = answer.text;
    return answer;
  }
}
