import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import * as globals from './globals.js';

const require = createRequire(import.meta.url);
const tests = new URL('../', import.meta.url).href;
/** Number of test files that this process has loaded. */
let loadedFiles = 0;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals')
      return { url: new URL('./globals.js', import.meta.url).href, shortCircuit: true };
    const module = next(specifier, context);
    return module.url.startsWith(tests)
      ? { ...module, url: `${module.url}?file=${loadedFiles}` }
      : module;
  },
});

/**
 * Loads test files as Node loads modules. The files of one process share the modules that they test, compiled and optimised; with the runtime of
 * Jest, each file loads all of them anew into a context of its own. Modules of tests are loaded for each test file.
 */
export default class ProcessRuntime {
  /** Loads the module of Jest that holds the tests of a file and runs them. It is loaded anew, so that it holds none of earlier files. */
  requireInternalModule(path: string): unknown {
    Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
    Reflect.deleteProperty(require.cache, path);
    return require(path);
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(path: string): Promise<unknown> {
    loadedFiles++;
    return import(pathToFileURL(path).href);
  }

  setGlobalsForRuntime(values: globals.JestGlobals): void {
    globals.setGlobals(values);
  }

  enterTestCode(): void {}

  leaveTestCode(): void {}

  getSourceMaps(): undefined {}

  getAllCoverageInfoCopy(): undefined {}

  teardown(): void {}
}
