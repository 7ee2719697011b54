import { sendRequest, type Answer } from '../server.js';

/** Simulates a browser on the pages of a server: it keeps a cookie and submits the forms of the last page. */
export class FormBrowser {
  readonly #url: string;
  #cookie = '';
  #address = '';
  #page = '';

  /** `cookie` is a cookie that the browser has from the beginning. */
  constructor(url: string, cookie = '') {
    this.#url = url;
    this.#cookie = cookie;
  }

  /** The cookie that the browser sends, as `name=value`. */
  get cookie(): string {
    return this.#cookie;
  }

  async openPage(address: string): Promise<Answer> {
    this.#address = address;
    const answer = await sendRequest(this.#url, 'GET', address, undefined, this.#makeHeaders());
    return this.#rememberAnswer(answer);
  }

  /** Sends `fields`, and the CSRF token of the last page unless `fields` has one, to the address that was opened last. */
  async submitForm(fields: Readonly<Record<string, string>>): Promise<Answer> {
    const csrf_token = /name="csrf_token" value="(\w+)"/.exec(this.#page)?.[1] ?? '';
    const body = new URLSearchParams({ csrf_token, ...fields }).toString();
    const headers = { ...this.#makeHeaders(), 'content-type': 'application/x-www-form-urlencoded' };
    return this.#rememberAnswer(await sendRequest(this.#url, 'POST', this.#address, body, headers));
  }

  #makeHeaders(): Record<string, string> {
    return { accept: 'text/html', ...(this.#cookie !== '' && { cookie: this.#cookie }) };
  }

  #rememberAnswer(answer: Answer): Answer {
    // If an answer sets the cookie more than once, the last value wins, as in browsers.
    this.#cookie = answer.headers.getSetCookie().at(-1)?.split(';')[0] ?? this.#cookie;
    if (answer.status !== 303) this.#page = answer.text;
    return answer;
  }
}
