import { appendFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { outstandingBufferCount } from '../../engine/core/buffers.js';
import * as globals from './globals.js';
import { isCountedModule, instrumentRefusals } from './refusals.js';

const require = createRequire(import.meta.url);
const testsUrl = new URL('../', import.meta.url).href;
const buildUrl = new URL('../../', import.meta.url).href;
/**
 * The folder in which tests note the refusals that they provoke: places of the product that reject a request. Undefined if none is noted.
 */
const refusalsFolder = process.env['STRANDLAKE_REFUSALS'];
const provokedRefusals = new Set<string>();
Object.assign(globalThis, { noteRefusal: (place: string) => provokedRefusals.add(place) });
/** Number of test files that this process has loaded. */
let loadedFileCount = 0;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals')
      return { url: new URL('./globals.js', import.meta.url).href, shortCircuit: true };
    const module = next(specifier, context);
    return module.url.startsWith(testsUrl)
      ? { ...module, url: `${module.url}?file=${loadedFileCount}` }
      : module;
  },
  load(url, context, next) {
    const module = next(url, context);
    const path = url.startsWith(buildUrl) ? url.slice(buildUrl.length) : '';
    if (refusalsFolder === undefined || !isCountedModule(path)) return module;
    return {
      ...module,
      source: instrumentRefusals(path, Buffer.from(module.source as Buffer).toString()),
    };
  },
});

/** Matches the paths of the test files that acquire pooled buffers in the thread in which the tests themselves run. */
const buffersTestPath = /\/dist\/test\/(?:readers|engine\/(?:change|ingest|parquet|store|query))/;

/** Checks that each test of the file that is loaded next releases every buffer that it acquires. */
function checkBuffersReleased(): void {
  const buffersBefore = outstandingBufferCount(); // earlier test files in the process may have kept some
  globals.afterEach(() => {
    globals
      .expect({ unreleased: outstandingBufferCount() - buffersBefore })
      .toEqual({ unreleased: 0 });
  });
}

/**
 * Loads test files as Node loads modules. The test files of one process share the modules of the product, compiled and optimised; with
 * Jest's own runtime, each file would load all of them anew into its own context. Modules of tests are loaded anew for each test file.
 */
export default class ProcessRuntime {
  /**
   * Loads the module of Jest that holds and runs the tests of a file. It is loaded anew for each file, so that it does not contain the
   * tests of earlier files.
   */
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
    loadedFileCount++;
    // The environment of the file removes the variable afterwards.
    if (!path.endsWith('.slow.test.js')) process.env['STRANDLAKE_WORKER'] ??= 'in-process';
    if (buffersTestPath.test(path)) checkBuffersReleased();
    return import(pathToFileURL(path).href);
  }

  setGlobalsForRuntime(values: globals.JestGlobals): void {
    globals.setGlobals(values);
  }

  enterTestCode(): void {}

  leaveTestCode(): void {}

  getSourceMaps(): undefined {}

  getAllCoverageInfoCopy(): undefined {}

  teardown(): void {
    if (refusalsFolder === undefined) return;
    const lines = [...provokedRefusals].map((place) => `${place}\n`);
    appendFileSync(join(refusalsFolder, String(process.pid)), lines.join(''));
    provokedRefusals.clear();
  }
}
