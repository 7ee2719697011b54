/**
 * The environment of a test file: the process itself. Jest sets the console of the file on `global`, and its wrapper of `process.exit`
 * does not change the process itself. Environment variables are restored after the file.
 */
export default class ProcessEnvironment {
  readonly global = {
    process: {},
    set console(value: Console) {
      globalThis.console = value;
    },
  };

  #variables: NodeJS.ProcessEnv = {};

  getVmContext(): null {
    return null;
  }

  async setup(): Promise<void> {
    this.#variables = { ...process.env };
  }

  async teardown(): Promise<void> {
    for (const name of Object.keys(process.env))
      if (!(name in this.#variables)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#variables);
  }
}
